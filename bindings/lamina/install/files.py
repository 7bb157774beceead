"""Settings files: our entries put in and taken out, the former bytes kept to be given back.

For each file that was changed a note in the user's settings says which agents' entries it holds, what it was before, and the
digest of what it became. Where the digest still fits, the former bytes are given back; else our entries alone are taken out.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import difflib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lamina import InvalidConfig, LaminaError
from lamina.install import jsonc, toml
from lamina.install.agents import SERVER, Entry, Target
from lamina.location import user_settings
from lamina_engine.atomic_write import atomic_write

_BACKUP: Final = ".before-lamina"
_LARGEST: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one file."""

    path: Path
    before: bytes | None
    """None where there is no file."""
    after: bytes | None
    """None where the file goes."""
    is_taken: bool = False
    """True where somebody's own file has the name that ours would have; it is left alone."""

    @property
    def changes(self) -> bool:
        """True where anything is to be done."""
        return self.before != self.after

    def diff(self) -> Iterator[str]:
        """Yield the change as a unified diff, without line ends."""
        old, new = ((part or b"").decode("utf-8", "replace").splitlines() for part in (self.before, self.after))
        was, becomes = ("/dev/null" if part is None else str(self.path) for part in (self.before, self.after))
        yield from difflib.unified_diff(old, new, was, becomes, lineterm="")


class Installed:
    """The notes of what is installed, one for each file."""

    def __init__(self) -> None:
        self.folder = Path(user_settings()) / "installed"

    def note(self, path: Path) -> dict[str, Any]:
        """Return the note of a file; empty where it has none."""
        try:
            found = json.loads(self._place(path).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(
        self, path: Path, agents: Sequence[str], before: bytes | None, after: bytes, made: Sequence[str], *, is_new: bool
    ) -> None:  # fmt: skip
        """Note what a file was and has become."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = None if before is None else base64.b64encode(before).decode()
        note = {
            "path": str(path),
            "agents": sorted(agents),
            "before": kept,
            "after": _digest(after),
            "made": list(made),
            "is_new": is_new,  # there was no file before ours
        }
        with atomic_write(self._place(path)) as aside:
            aside.touch(mode=0o600)  # what stood in a settings file is nobody else's business
            aside.write_text(json.dumps(note), encoding="utf-8")

    def forget(self, path: Path) -> None:
        """Remove the note of a file."""
        self._place(path).unlink(missing_ok=True)

    def paths(self, agent: str) -> list[Path]:
        """Return the files that hold an agent's entries, by their notes."""
        return [Path(note["path"]) for note in self._notes() if agent in note.get("agents", [])]

    def made_above(self, path: Path) -> list[str]:
        """Return the folders above a file that were made for other files, innermost first."""
        made = {folder for note in self._notes() for folder in note.get("made", [])}
        return [folder for folder in map(str, path.parents) if folder in made]

    def _notes(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(OSError):
            for place in sorted(self.folder.glob("*.json")):
                with contextlib.suppress(OSError, ValueError):
                    if isinstance(note := json.loads(place.read_bytes()), dict):
                        yield note

    def _place(self, path: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(path), digest_size=12).hexdigest()
        return self.folder / f"{name}.json"


def plan_install(target: Target, installed: Installed) -> Change:
    """Plan our entries in a file, whatever of ours it held before."""
    current = _read(target.path)
    if target.content is not None:
        content = target.content.encode()
        foreign = current not in (None, content) and not installed.note(target.path)
        if foreign and not _is_named_after_us(target.path):  # a skill of their own by the same name
            return Change(target.path, current, current, is_taken=True)
        return Change(target.path, current, content)
    text = _decode(target.path, current)
    base = _former(target.path, current, installed)
    cleaned = _decode(target.path, base[0]) if base is not None else _without(target.path, text)
    for entry in target.entries:
        cleaned = _with(target.path, cleaned, entry)
    after = cleaned.encode()
    return Change(target.path, current, current if _same(target.path, text, cleaned, base is not None) else after)


def apply_install(target: Target, change: Change, agent: str, installed: Installed) -> None:
    """Write a file, and note what it was."""
    if change.is_taken:
        return
    note = installed.note(target.path)
    former = _former(target.path, change.before, installed)
    before = former[0] if former is not None else change.before
    made = [*_missing_folders(target.path.parent), *installed.made_above(target.path)]
    is_new = change.before is None
    if former is not None or (note and not is_new and (target.content is not None or holds_entries(target.path))):
        made, is_new = note.get("made", []), note.get("is_new", False)  # edited since, and still the file of then
    if former is None and change.before is not None and target.content is None:
        # theirs, if ours was in it
        before = _theirs(_without(target.path, _decode(target.path, change.before)), is_new=is_new)
    agents = {agent, *(note.get("agents", []) if note else [])}
    if change.changes:
        assert change.after is not None
        if change.before is not None and former is None:
            _back_up(target.path, change.before)
        _write(target.path, change.after)
    assert change.after is not None
    installed.write(target.path, sorted(agents), before, change.after, made, is_new=is_new)


def plan_uninstall(path: Path, agent: str, installed: Installed) -> Change:
    """Plan the removal of our entries: the former bytes come back, if ours is the last edit."""
    current, note = _read(path), installed.note(path)
    if set(note.get("agents", [])) - {agent} or current is None:
        return Change(path, current, current)  # another agent reads the same file, or it is gone
    former = _former(path, current, installed)
    if former is not None:
        return Change(path, current, former[0])
    if path.suffix in (".md", ".js") or path.name.startswith("lamina."):
        return Change(path, current, current)  # a file of ours that somebody has made theirs
    text = _decode(path, current)
    return Change(path, current, _theirs(_without(path, text), is_new=note.get("is_new", False)))


def apply_uninstall(changes: Sequence[Change], agent: str, installed: Installed) -> None:
    """Write files, or remove them with the folders that were made for them."""
    made = [folder for change in changes for folder in _uninstall_one(change, agent, installed)]
    for folder in sorted(made, key=len, reverse=True):
        with contextlib.suppress(OSError):  # somebody else uses it by now
            Path(folder).rmdir()


def _uninstall_one(change: Change, agent: str, installed: Installed) -> list[str]:
    path, note = change.path, installed.note(change.path)
    others = set(note.get("agents", [])) - {agent}
    if others:
        note["agents"] = sorted(others)
        before = None if note.get("before") is None else base64.b64decode(note["before"])
        made, is_new = note.get("made", []), note.get("is_new", False)
        installed.write(path, sorted(others), before, change.before or b"", made, is_new=is_new)
        return []
    if change.changes and change.after is None:
        path.unlink()
    elif change.changes and change.after is not None:
        _write(path, change.after)
    path.with_name(path.name + _BACKUP).unlink(missing_ok=True)
    installed.forget(path)
    return [str(folder) for folder in note.get("made", [])]


def _is_named_after_us(path: Path) -> bool:
    name = path.parent.name if path.name == "SKILL.md" else path.name
    return name.startswith(SERVER)


def holds_entries(path: Path) -> bool:
    """Return True where a settings file holds entries of ours, noted or not."""
    content = _read(path)
    if content is None:
        return False
    text = _decode(path, content)
    if path.suffix == ".toml":
        return SERVER in toml.read(text).get("mcp_servers", {})
    return _first_of_ours(jsonc.read(text)) is not None


def find_present(
    agent: str, targets: Sequence[Target], installed: Installed, shared: Collection[Path] = ()
) -> list[Target]:
    """Return the files that hold ours for an agent: noted, or more than shared ones."""
    noted = set(installed.paths(agent))
    own = [target for target in targets if target.path in noted]
    for target in targets:
        if target.path in noted or target.content is not None or installed.note(target.path):
            continue
        with contextlib.suppress(InvalidConfig, OSError):  # said where it is written, or looked at
            if holds_entries(target.path):
                own.append(target)
    return own if any(target.path in noted or target.path not in shared for target in own) else []


def is_ours(handler: object) -> bool:
    """Return True for a hook's handler that calls Lamina."""
    if not isinstance(handler, dict):
        return False
    if handler.get("type") == "mcp_tool":
        return handler.get("server") == SERVER
    words = program_of(handler)
    return words is not None and len(words) > 1 and words[1] == "hook"


def program_of(handler: dict[str, Any]) -> list[str] | None:
    """Return the words of a handler's command line; None where its program is not named lamina."""
    program = handler.get("exec") or handler.get("command") or handler.get("bash")
    if not isinstance(program, str):
        return None
    arguments = handler.get("args")
    if isinstance(arguments, list):
        words = [program, *map(str, arguments)]
    elif program.startswith('"'):
        first, _, rest = program[1:].partition('"')
        words = [first, *rest.split()]
    else:
        words = program.split()
    name = words[0].replace("\\", "/").rpartition("/")[2] if words else ""
    return words if name in ("lamina", "lamina.exe") else None


# ---------------------------------------------------------------------- one file's text


def _theirs(text: str, *, is_new: bool) -> bytes | None:
    """Return what is left without our entries; None for a file of ours without anything else."""
    is_bare = "".join(text.split()) in ("", "{}", '{"version":1}')
    return None if is_new and is_bare else text.encode()


def _with(path: Path, text: str, entry: Entry) -> str:
    """Return the text with an entry, believed once it reads as meant."""
    if path.suffix == ".toml":
        changed, reader = toml.add(text, entry.path, entry.value), toml.read
        meant = _set(toml.read(text), entry)
    else:
        existing = jsonc.read(text)
        meant = _set(existing, entry)
        if meant == existing:  # "version": 1 is there
            return text
        value = entry.value if not _is_listed(entry) or _at(existing, entry.path) is not None else [entry.value]
        changed, reader = jsonc.add(text, entry.path, value), jsonc.read
    _check(path, reader, changed, meant)
    return changed


def _without(path: Path, text: str) -> str:
    """Return the text without any entry of ours."""
    if path.suffix == ".toml":
        while SERVER in toml.read(text).get("mcp_servers", {}):
            meant = copy.deepcopy(toml.read(text))
            del meant["mcp_servers"][SERVER]
            if not meant["mcp_servers"]:
                del meant["mcp_servers"]
            changed = toml.remove(text, ("mcp_servers", SERVER))
            _check(path, toml.read, changed, meant)
            text = changed
        return text
    while (place := _first_of_ours(jsonc.read(text))) is not None:
        meant = copy.deepcopy(jsonc.read(text))
        holder = _at(meant, place[:-1])
        del holder[place[-1]]
        changed = jsonc.remove(text, place)
        _check(path, jsonc.read, changed, meant)
        text = changed
    return text


def _first_of_ours(document: Any) -> tuple[str | int, ...] | None:
    """Return the place of an entry of ours, or of a container of nothing else."""
    if not isinstance(document, dict):
        return None
    for key in ("mcpServers", "servers", "mcp"):
        servers = document.get(key)
        if isinstance(servers, dict) and SERVER in servers:
            return (key, SERVER) if len(servers) > 1 else (key,)
    hooks = document.get("hooks")
    if not isinstance(hooks, dict):
        return None
    for name, groups in hooks.items():
        for i, group in enumerate(groups if isinstance(groups, list) else ()):
            place = _ours_in_group(name, i, group)
            if place is not None:
                if len(place) == 3 and groups[1:] == []:
                    return ("hooks", name) if len(hooks) > 1 else ("hooks",)
                return place
    return None


def _ours_in_group(name: str, i: int, group: object) -> tuple[str | int, ...] | None:
    if is_ours(group):
        return ("hooks", name, i)
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        return None
    for j, handler in enumerate(handlers):
        if is_ours(handler):
            return ("hooks", name, i) if len(handlers) == 1 else ("hooks", name, i, "hooks", j)
    return None


def _is_listed(entry: Entry) -> bool:
    return len(entry.path) > 1 and entry.path[0] == "hooks"


def _at(document: Any, path: Sequence[str | int]) -> Any:
    for name in path:
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and isinstance(name, int):
            document = document[name]
        else:
            return None
    return document


def _set(document: Any, entry: Entry) -> Any:
    """Return what a document should say with an entry."""
    if not isinstance(document, dict):
        raise InvalidConfig(f"it holds a {type(document).__name__} where an object should be")
    meant = copy.deepcopy(document)
    inner = meant
    for name in entry.path[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InvalidConfig(f"{name!r} is no object")
    last = entry.path[-1]
    if not _is_listed(entry):
        inner[last] = inner.get(last, entry.value) if last == "version" else entry.value
        return meant
    former = inner.get(last, [])
    if not isinstance(former, list):
        raise InvalidConfig(f"{'.'.join(entry.path)} is no array")
    inner[last] = [*former, entry.value]
    return meant


def _check(path: Path, reader: Callable[[str], Any], text: str, meant: Any) -> None:
    try:
        said = reader(text)
    except InvalidConfig:
        said = None
    if said != meant:
        raise InvalidConfig(
            f"{path} is written in a way that cannot be edited safely; add the entries of --print by hand"
        )


def _same(path: Path, text: str, changed: str, has_former: bool) -> bool:
    """Return True where a file that others have edited says what it should already."""
    if has_former or not text:
        return text == changed
    reader = toml.read if path.suffix == ".toml" else jsonc.read
    return bool(reader(text) == reader(changed))


def _former(path: Path, current: bytes | None, installed: Installed) -> tuple[bytes | None] | None:
    """Return what a file was before us, in a tuple; None where it has changed since."""
    note = installed.note(path)
    if not note or current is None or note.get("after") != _digest(current):
        return None
    return (None if note.get("before") is None else base64.b64decode(note["before"]),)


def _read(path: Path) -> bytes | None:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidConfig(f"{path} is no regular file; it is left alone: put the agent's settings there")
        if found.st_size > _LARGEST:
            raise InvalidConfig(f"{path} has more than {_LARGEST:,} bytes; it is left alone")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _decode(path: Path, content: bytes | None) -> str:
    try:
        text = (content or b"").decode("utf-8")
        toml.read(text) if path.suffix == ".toml" else jsonc.read(text)
    except UnicodeDecodeError as error:
        raise InvalidConfig(f"{path} is not UTF-8 (byte {error.start:,}); it is left alone") from error
    except LaminaError as error:
        raise InvalidConfig(
            f"{path} does not parse, so it is left alone: {error}; mend it and run this again"
        ) from error
    return text


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as aside:
        if path.exists():
            aside.touch(mode=0o600)  # it gets the mode of the former file, and is nobody's to read until then
        aside.write_bytes(content)


def _back_up(path: Path, content: bytes) -> None:
    """Keep the former file beside it, for its owner's eyes."""
    aside = path.with_name(path.name + _BACKUP)
    aside.unlink(missing_ok=True)
    aside.touch(mode=0o600)
    aside.write_bytes(content)


def _missing_folders(folder: Path) -> list[str]:
    """Return the folders that writing a file will make, innermost first."""
    missing = []
    while not folder.exists():
        missing.append(str(folder))
        folder = folder.parent
    return missing


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
