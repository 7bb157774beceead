"""Trust in vaults: those of clones and other users are read, and not written until trusted.

Hooks and MCP do not open an untrusted vault at all: what a repository brings along would be somebody else's words in the
user's prompt. Trust is kept in the user's settings, by path and by the vault's random name, never in the vault. A hook
asks before anything else is imported; git is asked only about a vault in a repository that no `lamina init` made.
"""

from __future__ import annotations

import json
import os

from lamina.location import repository_root, user_settings
from lamina_engine.real_files import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "trusted"
_GIT_LIMIT_S = 5.0
_LONGEST_MANIFEST = 64_000_000


def check_trusted(root: str | Path) -> None:
    """Raise `VaultUntrusted` for a vault that this user has neither made nor trusted."""
    if objection := _objection(os.path.abspath(root)):  # no pathlib: see above
        from lamina_engine.errors import VaultUntrusted

        raise VaultUntrusted(
            f"{root} {objection}, and no `lamina init` of yours made it: it is read, never written, and hooks and MCP do "
            f"not open it; look at it with `lamina list`, then allow it with `lamina trust {root}`"
        )


def is_trusted(root: str | Path) -> bool:
    """Return True where hooks and servers may open a vault."""
    return _objection(os.path.abspath(root)) is None


def record_trust(root: Path) -> Path:
    """Trust a vault from now on, and return its path as it was recorded."""
    from lamina_engine.store import manifest as manifests

    place = root.resolve()
    note = _note(manifests.load_newest(root)[1].vault)
    paths = [*_recorded(note), str(place)]
    os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
    aside = f"{note}.{os.getpid()}.tmp"
    with open(aside, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.writelines(f"{path}\n" for path in dict.fromkeys(paths))
    os.replace(aside, note)
    return place


def _objection(root: str) -> str | None:
    """Return an objection to a vault, its owner or that git tracks it; None without one."""
    try:
        owner = os.stat(root).st_uid
    except OSError:
        return None  # what is missing is said better by whoever opens it
    if hasattr(os, "getuid"):
        me = os.getuid()
        if owner not in (me, 0) or (owner == 0 and me != 0 and os.access(root, os.W_OK)):
            return None if _is_recorded(root) else f"belongs to user id {owner}, you are {me}"
    # a link may be tracked as well as what it points at
    places = dict.fromkeys((root, os.path.realpath(root)))
    inside = [place for place in places if repository_root(os.path.dirname(place)) is not None]
    if not inside or _is_recorded(root):
        return None
    return "is tracked by git" if any(_is_tracked(place) for place in inside) else None


def _is_tracked(root: str) -> bool:
    from pathlib import Path

    from lamina_engine.ingest.git import GitFailed, run_git

    place = Path(root)
    try:
        return bool(run_git(place.parent, "ls-files", "-z", "--", place.name, timeout_s=_GIT_LIMIT_S))
    except GitFailed:  # no git, or a repository it does not read: nothing says that the vault is the user's own
        return True


def _is_recorded(root: str) -> bool:
    name = _name(root)
    return name is not None and os.path.realpath(root) in _recorded(_note(name))


def _name(root: str) -> str | None:
    """Return the random name of a vault, read from its newest manifest without the engine."""
    manifest = before = ""
    while True:
        try:
            manifest = os.path.basename(read_file(os.path.join(root, "CURRENT"), 200).decode("ascii").strip())
            found = json.loads(read_file(os.path.join(root, "manifests", manifest), _LONGEST_MANIFEST))
        except FileNotFoundError:
            if manifest == before:
                return None
            before = manifest  # writers may have replaced it since CURRENT was read: a vault is none the less its own
            continue
        except (OSError, ValueError, RecursionError):
            return None
        name = found.get("vault") if isinstance(found, dict) else None
        return name if isinstance(name, str) else None


def _note(vault: str) -> str:
    """Return the file of the paths at which a vault is trusted."""
    plain = vault.isascii() and vault.isalnum() and len(vault) <= 64
    name = vault if plain else vault.encode("utf-8", "replace").hex()[:128]
    return os.path.join(user_settings(), _FOLDER, name or "unnamed")


def _recorded(note: str) -> list[str]:
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as lines:
            return lines.read().splitlines()
    except OSError:
        return []
