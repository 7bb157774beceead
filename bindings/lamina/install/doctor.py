"""The doctor: what is installed is run as by its agent; a fault is named with its remedy."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lamina import InvalidArgument, InvalidConfig, LaminaError, location
from lamina.hooks import events, gate
from lamina.hooks.capture import LOG, read_log
from lamina.hooks.queue import FOLDER
from lamina.install import jsonc, toml
from lamina.install.agents import SERVER, Agent, Options, Target, program_path, shared_files
from lamina.install.files import Installed, find_present, is_ours, program_of
from lamina_engine.sessions import privacy

_MODEL: Final = ("LAMINA_JUDGE_URL", "LAMINA_JUDGE_MODEL")
_RUN_LIMIT_S: Final = 20.0
_STUCK_S: Final = 3_600.0
_MOST_CHARACTERS: Final = 10_000
_SECONDS: Final = range(1, 601)
_MILLISECONDS: Final = range(1_000, 600_001)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """An agent's name, or ``vault``."""
    text: str
    remedy: str = ""
    """The command, or the step, that mends it; empty where all is well."""

    def line(self) -> str:
        """Return it as one line."""
        mark = "!!" if self.remedy else "ok"
        return f"{mark}  {self.about}: {self.text}" + (f"; mend it with: {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, str]:
        """Return the fields."""
        return asdict(self)


def examine(agents: Sequence[Agent], vault: str | None) -> list[Finding]:
    """Examine the vault, and each agent that has anything of Lamina's."""
    found = list(_vault_findings(vault))
    scopes = [Options(_program(), "user")]
    if Path.cwd() != Path.home():
        scopes.append(Options(_program(), "project", Path.cwd()))
    seen = False
    for agent in agents:
        for options in scopes:
            if options.scope == "project" and not agent.has_projects:
                continue
            of_agent = list(_agent_findings(agent, options))
            seen = seen or bool(of_agent)
            found += of_agent
    if not seen:
        names = ", ".join(agent.name for agent in agents)
        found.append(
            Finding("agents", f"nothing of Lamina is installed for {names}", f"lamina install {agents[0].name}")
        )
    return found


def _program() -> str:
    try:
        return program_path()
    except InvalidArgument:
        return "lamina"


# ---------------------------------------------------------------------- the vault


def _vault_findings(named: str | None) -> Iterator[Finding]:
    import lamina
    from lamina.trust import is_trusted

    if gate.is_off():
        yield Finding("hooks", f"${gate.SWITCH} switches all hooks off", f"unset {gate.SWITCH}")
    root = named or location.find_vault()
    if root is None:
        yield Finding("vault", f"there is none for {Path.cwd()}", "lamina init --user")
        return
    if privacy.is_ignored(str(Path.cwd())):
        yield Finding(
            "vault",
            f"a {privacy.IGNORE} leaves {Path.cwd()} out",
            f"remove it from {privacy.IGNORE}, if it should be in",
        )
    if root.startswith(location.SERVED):
        yield Finding(
            "vault", f"{root} is served by a cluster: commands and the MCP server read it, hooks do not",
            "lamina init --user" if named else f"unset {location.ENVIRONMENT} && lamina init --user",
        )  # fmt: skip
        return
    if location.is_url(root):
        yield Finding(
            "vault", f"{root} is on object storage: commands and the MCP server open it, hooks do not",
            "lamina init --user" if named else f"unset {location.ENVIRONMENT} && lamina init --user",
        )  # fmt: skip
        return
    if not (Path(root) / "CURRENT").exists():
        made = f"lamina init --vault {root}" if not Path(root).exists() else f"lamina verify --vault {root}"
        yield Finding("vault", f"{root} is not a vault, or has lost its CURRENT file", made)
        return
    if not is_trusted(root):
        yield Finding(
            "vault", f"{root} came with a clone or belongs to another user: no hook opens it", f"lamina trust {root}"
        )
    try:
        with lamina.open(root, mode="r") as vault:
            count = vault.stats()["chunks"]
    except (LaminaError, OSError) as error:
        yield Finding("vault", f"{root} cannot be opened: {error}", f"lamina verify --vault {root}")
        return
    yield Finding("vault", f"{root}, {count:,} chunk{'' if count == 1 else 's'}")
    yield from _queue_findings(Path(root))


def _queue_findings(root: Path) -> Iterator[Finding]:
    yield from _judging_findings(root)
    folder = root / FOLDER
    waiting = [*folder.glob("*.json"), *folder.glob("*.taken")]
    old = [path for path in waiting if time.time() - path.stat().st_mtime > _STUCK_S]
    runs = [run for run in read_log(str(root)) if "chunks" in run or "error" in run]
    if runs and (runs[-1].get("error") or (runs[-1].get("problems") and not runs[-1]["chunks"])):
        session, why = runs[-1].get("session"), runs[-1].get("error") or "its transcript could not be read"
        yield Finding("captures", f"the newest, of session {session}, failed: {why}", f"a look into {folder / LOG}")
    if old:
        yield Finding(
            "captures", f"{len(old)} wait{'s' if len(old) == 1 else ''} for more than an hour; {folder / LOG} says why",
            f"python -m lamina.hooks.capture {root}",
        )  # fmt: skip


def _judging_findings(root: Path) -> Iterator[Finding]:
    """Say what waits for the language model, and why."""
    unset = [name for name in _MODEL if not os.environ.get(name)]
    if len(unset) == 1:
        yield Finding("model", f"${unset[0]} is not set, so nothing is asked", f"export {unset[0]}=…")
    try:
        note = _read(root / FOLDER / "judging.state")
    except InvalidConfig:  # torn: the next run writes another
        return
    if not isinstance(note, dict) or not note.get("left"):
        return
    left = "1 question waits for it" if note["left"] == 1 else f"{note['left']} questions wait for it"
    if len(unset) == len(_MODEL):
        yield Finding("model", f"{left}, and none is configured", f"export {_MODEL[0]}=… {_MODEL[1]}=…")
    elif note.get("stopped"):
        yield Finding("model", f"{left}: {note['stopped']}", f"lamina judge --vault {root}")
    else:
        yield Finding("model", left)


# ---------------------------------------------------------------------- one agent


def _agent_findings(agent: Agent, options: Options) -> Iterator[Finding]:
    """Examine what is installed for one agent; nothing where nothing is."""
    targets = agent.targets(options)
    present = find_present(agent.name, targets, Installed(), shared_files(agent, options))
    if not present:
        return
    documents: dict[Path, Any] = {}
    for target in targets:
        try:
            documents[target.path] = _read(target.path)
        except InvalidConfig as error:
            yield Finding(
                agent.name, f"{target.path} does not parse: {error}", f"an editor: mend {target.path}, line by line"
            )
    install = f"lamina install {agent.name}" + (" --scope project" if options.scope == "project" else "")
    wrong = [
        *_file_findings(agent, present, documents, install),
        *_server_findings(agent, targets, documents, install),
        *_hook_findings(agent, targets, documents, install),
    ]
    yield from wrong
    if not any(finding.remedy for finding in wrong):
        yield Finding(agent.name, f"{len(present)} file{'' if len(present) == 1 else 's'} in order ({options.scope})")


def _file_findings(agent: Agent, present: list[Target], documents: dict[Path, Any], install: str) -> Iterator[Finding]:
    for target in present:
        if target.content is not None and documents.get(target.path) != target.content:
            state = "is missing" if documents.get(target.path) is None else "is not what this Lamina writes"
            yield Finding(agent.name, f"{target.path} {state}", install)
    for document in documents.values():
        if isinstance(document, dict) and document.get("disableAllHooks") is True:
            yield Finding(agent.name, "its setting disableAllHooks is on", "set disableAllHooks to false")


def _server_findings(
    agent: Agent, targets: list[Target], documents: dict[Path, Any], install: str
) -> Iterator[Finding]:
    for target in targets:
        document = documents.get(target.path)
        for key in ("mcpServers", "servers", "mcp", "mcp_servers"):
            entry = (
                document.get(key, {}).get(SERVER)
                if isinstance(document, dict) and isinstance(document.get(key), dict)
                else None
            )
            if not isinstance(entry, dict):
                continue
            command = entry.get("command")
            program = command[0] if isinstance(command, list) and command else command
            if not isinstance(program, str) or not Path(program).exists():
                yield Finding(agent.name, f"the MCP entry in {target.path} names {program}, which is gone", install)
            elif find_spec("mcp") is None:
                yield Finding(
                    agent.name, "an MCP entry, and the server's extra is not installed", "pip install 'lamina[mcp]'"
                )


def _hook_findings(agent: Agent, targets: list[Target], documents: dict[Path, Any], install: str) -> Iterator[Finding]:
    if not agent.events:
        return
    handlers = [pair for target in targets for pair in _handlers(_document_of(documents.get(target.path)))]
    told = Counter(name for name, _ in handlers)
    if not handlers:
        return
    for name in agent.events:
        if told[name] == 0:
            yield Finding(agent.name, f"no hook for {name}", install)
        elif told[name] > 1:
            yield Finding(agent.name, f"{told[name]} hooks for {name}: each is answered", install)
    for name, handler in handlers:
        if handler.get("type") == "mcp_tool":
            continue
        words = program_of(handler) or []
        event = agent.events.get(name, events.event_of(name))
        yield from _timeout_findings(agent, name, handler, install)
        if not Path(words[0]).exists():
            yield Finding(agent.name, f"the hook for {name} names {words[0]}, which is gone", install)
        elif not os.access(words[0], os.X_OK):
            yield Finding(
                agent.name, f"the hook for {name} names {words[0]}, which cannot be run", f"chmod +x {words[0]}"
            )
        else:
            if os.path.realpath(words[0]) != os.path.realpath(_program()):
                yield Finding(agent.name, f"the hook for {name} runs {words[0]}, another Lamina than this one", install)
            yield from _run(agent, name, event, words, install)


def _timeout_findings(agent: Agent, name: str, handler: dict[str, Any], install: str) -> Iterator[Finding]:
    given = handler.get("timeoutSec", handler.get("timeout"))
    in_ms = agent.name == events.GEMINI
    if not isinstance(given, int) or given in (_MILLISECONDS if in_ms else _SECONDS):
        return
    unit = "milliseconds" if in_ms else "seconds"
    yield Finding(agent.name, f"the hook for {name} has a timeout of {given}, and {agent.title} reads {unit}", install)


def _run(agent: Agent, name: str, event: str, words: list[str], install: str) -> Iterator[Finding]:
    """Run a hook as its agent would, with a session of the doctor's own."""
    payload = {"session_id": "lamina-doctor", "cwd": str(Path.cwd()), "hook_event_name": name, "source": "startup"}
    payload |= {"prompt": f"what do we know, says the doctor at {time.time():.3f}?"} if event == events.PROMPT else {}
    began = time.monotonic()
    try:
        done = subprocess.run(
            words, input=json.dumps(payload).encode(), capture_output=True, timeout=_RUN_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(agent.name, f"the hook for {name} cannot be run: {error}", install)
        return
    seconds = time.monotonic() - began
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if done.returncode != 0 or not isinstance(document, dict):
        yield Finding(
            agent.name, f"the hook for {name} exits with {done.returncode} and prints no JSON object", install
        )
        return
    limit = agent.limits_s.get(event, 10.0)
    if seconds > limit:
        yield Finding(
            agent.name, f"the hook for {name} took {seconds:.1f} s, and {agent.title} waits {limit:g} s",
            "a look at what else runs on this machine",
        )  # fmt: skip
    if len(done.stdout) > _MOST_CHARACTERS * 4:
        yield Finding(
            agent.name, f"the hook for {name} prints {len(done.stdout):,} bytes", "a lower BOOTSTRAP_TOKEN_BUDGET"
        )


def _handlers(document: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return our handlers of a settings file, each with the agent's name of its event."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    found = []
    for name, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            inner = group.get("hooks") if isinstance(group, dict) else None
            both = [group, *(inner if isinstance(inner, list) else ())]
            found += [(name, handler) for handler in both if is_ours(handler)]
    return found


def _document_of(content: Any) -> Any:
    """Return what a file of ours says, whose text is known, as what a settings file says."""
    if isinstance(content, str) and content.lstrip().startswith("{"):
        return jsonc.read(content)
    return content


def _read(path: Path) -> Any:
    """Return what a settings file says, the text of one that is ours, or None."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(str(error)) from error
    if path.suffix in (".md", ".js") or path.name.startswith("lamina."):
        return text
    return toml.read(text) if path.suffix == ".toml" else jsonc.read(text)
