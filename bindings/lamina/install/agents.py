"""Agents: where each keeps its settings, and what is written there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lamina import InvalidArgument
from lamina.hooks import events

SERVER: Final = "lamina"
"""Name of the MCP entry."""
_MCP: Final = ("mcp", "--text")
"""Agents show a model the data in place of the text (Claude Code, Codex) or beside it (Copilot): text alone costs half."""

_SECONDS: Final = {events.SESSION_START: 10, events.PROMPT: 5}
_OTHER_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of one installation."""

    program: str
    """Absolute path of the program ``lamina``."""
    scope: str = "user"
    folder: Path = Path()
    """The project, for the scope ``project``."""
    hooks: bool = True
    mcp: bool = True
    skills: bool = True
    warm: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One value that is ours in a settings file."""

    path: tuple[str, ...]
    """Keys down to the object that holds it, or to the array it is an element of."""
    value: Any


@dataclass(frozen=True, slots=True)
class Target:
    """One file that an installation writes: entries among others', or the whole file."""

    path: Path
    entries: tuple[Entry, ...] = ()
    content: str | None = None
    """The text of a file that is ours altogether."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its events, its files and its patience."""

    name: str
    title: str
    events: Mapping[str, str]
    """Its own names of the events that it tells us."""
    targets: Callable[[Options], list[Target]]
    limits_s: Mapping[str, float]
    """Seconds after which it gives up waiting for an event."""
    has_projects: bool = True
    """False where its settings are its user's alone."""


def _home() -> Path:
    return Path.home()


def _below(variable: str, *parts: str) -> Path:
    """Return the folder that a variable of the agent names, else one below the home folder."""
    named = os.environ.get(variable)
    return Path(named) if named else _home().joinpath(*parts)


def program_path() -> str:
    """Return the absolute path of the program; a link on PATH, which outlives versions, is best."""
    name = "lamina.exe" if os.name == "nt" else "lamina"
    own = Path(sys.executable).parent / name
    found = shutil.which("lamina")
    if found and (not own.exists() or os.path.realpath(found) == os.path.realpath(own)):
        return os.path.abspath(found)  # noqa: PTH100 - resolving would name a version
    if own.exists():
        return str(own)
    raise InvalidArgument(
        f"the program lamina is neither beside {sys.executable} nor on PATH; install it, such as with `pip install lamina`"
    )


def _quoted(word: str) -> str:
    """Return one word of a command line for agents that know no other form."""
    plain = all(letter.isalnum() or letter in "/\\._:-+@" for letter in word)
    return word if plain else f'"{word}"'


def _words(agent: str, event: str) -> list[str]:
    return ["hook", event, "--agent", agent]


def _line(program: str, agent: str, event: str) -> str:
    return " ".join([_quoted(program), *_words(agent, event)])


def _timeout(event: str) -> int:
    return _SECONDS.get(event, _OTHER_SECONDS)


# ---------------------------------------------------------------------- hooks, in each agent's own form

_EVENTS: Final = (
    events.SESSION_START, events.PROMPT, events.PRE_COMPACT, events.STOP, events.SUBAGENT_STOP, events.SESSION_END,
)  # fmt: skip


def _named(*names: str) -> dict[str, str]:
    """Return our names of events by an agent's own, which come in the order of ours."""
    return {name: event for name, event in zip(names, _EVENTS, strict=True) if name}


_CLAUDE_EVENTS: Final = _named("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
_CODEX_EVENTS: Final = _named("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "", "SessionEnd")
_GEMINI_EVENTS: Final = _named("SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "", "SessionEnd")
_CURSOR_EVENTS: Final = _named("sessionStart", "beforeSubmitPrompt", "preCompact", "stop", "", "sessionEnd")
_COPILOT_EVENTS: Final = _named("sessionStart", "userPromptSubmitted", "preCompact", "agentStop", "", "sessionEnd")
_VSCODE_EVENTS: Final = _named("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "")

_WARM: Final = {
    "type": "mcp_tool", "server": SERVER, "tool": "context_turn",
    "input": {"prompt": "${prompt}", "session": "${session_id}"}, "timeout": _SECONDS[events.PROMPT],
}  # fmt: skip
"""The prompt hook on the running MCP server: 10 ms and no process, and nothing where it is not connected."""


def _claude_hooks(options: Options) -> tuple[Entry, ...]:
    found = []
    for name, event in _CLAUDE_EVENTS.items():
        handler: dict[str, Any] = {
            "type": "command", "command": options.program, "args": _words(events.CLAUDE_CODE, event), "timeout": _timeout(event),
        }  # fmt: skip
        if event in (events.STOP, events.SUBAGENT_STOP):
            handler["async"] = True
        if options.warm and event == events.PROMPT:
            handler = dict(_WARM)
        found.append(Entry(("hooks", name), {"hooks": [handler]}))
    return tuple(found)


def _codex_hooks(options: Options) -> tuple[Entry, ...]:
    found = []
    for name, event in _CODEX_EVENTS.items():
        seconds = 3 if event == events.SESSION_END else _timeout(event)  # its limit for this event
        handler: dict[str, Any] = {
            "type": "command", "command": _line(options.program, events.CODEX, event), "timeout": seconds,
        }  # fmt: skip
        if options.warm and event == events.PROMPT:
            handler = dict(_WARM)
        found.append(Entry(("hooks", name), {"hooks": [handler]}))
    return tuple(found)


def _gemini_hooks(options: Options) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            ("hooks", name),
            {"hooks": [{
                "name": "lamina", "type": "command", "command": _line(options.program, events.GEMINI, event),
                "timeout": _timeout(event) * 1_000,
            }]},
        )
        for name, event in _GEMINI_EVENTS.items()
    )  # fmt: skip


def _cursor_hooks(options: Options) -> tuple[Entry, ...]:
    return tuple(
        Entry(("hooks", name), {"command": _line(options.program, events.CURSOR, event), "timeout": _timeout(event)})
        for name, event in _CURSOR_EVENTS.items()
    )


def _copilot_file(options: Options) -> str:
    hooks = {
        name: [{
            "type": "command", "exec": options.program, "args": _words(events.COPILOT, event), "timeoutSec": _timeout(event),
        }]
        for name, event in _COPILOT_EVENTS.items()
    }  # fmt: skip
    return _json({"version": 1, "hooks": hooks})


def _vscode_file(options: Options) -> str:
    hooks = {
        name: [{"type": "command", "command": _line(options.program, events.VSCODE, event), "timeout": _timeout(event)}]
        for name, event in _VSCODE_EVENTS.items()
    }
    return _json({"hooks": hooks})


def _json(document: Any) -> str:
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------------- MCP entries and skills


def _server(options: Options, **more: Any) -> dict[str, Any]:
    return {**more, "command": options.program, "args": list(_MCP)}


def _skills(folder: Path) -> list[Target]:
    from lamina.install.skills import SKILLS

    return [Target(folder / name / "SKILL.md", content=text) for name, text in SKILLS.items()]


def _chosen(options: Options, hooks: list[Target], mcp: list[Target], skills: Path | None) -> list[Target]:
    """Join what is to be written; entries of one file become one target."""
    parts = [*(hooks if options.hooks else []), *(mcp if options.mcp else [])]
    joined: dict[Path, Target] = {}
    for part in parts:
        former = joined.get(part.path)
        joined[part.path] = part if former is None else Target(part.path, former.entries + part.entries)
    return [*joined.values(), *(_skills(skills) if options.skills and skills is not None else [])]


def _claude_code(options: Options) -> list[Target]:
    if options.scope == "project":
        top = options.folder / ".claude"
        mcp, settings = options.folder / ".mcp.json", top / "settings.local.json"
    else:
        top = _below("CLAUDE_CONFIG_DIR", ".claude")
        mcp = top / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else _home() / ".claude.json"
        settings = top / "settings.json"
    entry = Entry(("mcpServers", SERVER), _server(options, type="stdio"))
    return _chosen(options, [Target(settings, _claude_hooks(options))], [Target(mcp, (entry,))], top / "skills")


def _codex(options: Options) -> list[Target]:
    project = options.scope == "project"
    top = options.folder / ".codex" if project else _below("CODEX_HOME", ".codex")
    skills = (options.folder if project else _home()) / ".agents" / "skills"
    entry = Entry(("mcp_servers", SERVER), _server(options))
    return _chosen(
        options, [Target(top / "hooks.json", _codex_hooks(options))], [Target(top / "config.toml", (entry,))], skills
    )


def _gemini(options: Options) -> list[Target]:
    top = (options.folder if options.scope == "project" else _home()) / ".gemini"
    settings = top / "settings.json"
    entry = Entry(("mcpServers", SERVER), _server(options))
    return _chosen(options, [Target(settings, _gemini_hooks(options))], [Target(settings, (entry,))], top / "skills")


def _cursor(options: Options) -> list[Target]:
    top = (options.folder if options.scope == "project" else _home()) / ".cursor"
    entry = Entry(("mcpServers", SERVER), _server(options))
    hooks = (Entry(("version",), 1), *_cursor_hooks(options))
    return _chosen(options, [Target(top / "hooks.json", hooks)], [Target(top / "mcp.json", (entry,))], top / "skills")


def _copilot(options: Options) -> list[Target]:
    if options.scope == "project":
        top = options.folder / ".github"
        mcp = options.folder / ".mcp.json"
        entry = Entry(("mcpServers", SERVER), _server(options, type="stdio"))
    else:
        top = _below("COPILOT_HOME", ".copilot")
        mcp = top / "mcp-config.json"
        entry = Entry(("mcpServers", SERVER), {**_server(options, type="local"), "tools": ["*"]})
    hooks = Target(top / "hooks" / "lamina.json", content=_copilot_file(options))
    return _chosen(options, [hooks], [Target(mcp, (entry,))], top / "skills")


def _vscode(options: Options) -> list[Target]:
    entry = Entry(("servers", SERVER), _server(options, type="stdio"))
    project = options.scope == "project"
    mcp = options.folder / ".vscode" / "mcp.json" if project else _application_folder("Code") / "User" / "mcp.json"
    top = options.folder / ".github" if project else _home() / ".copilot"
    hooks = Target(top / "hooks" / "lamina.vscode.json", content=_vscode_file(options))
    return _chosen(options, [hooks], [Target(mcp, (entry,))], top / "skills")


def _opencode(options: Options) -> list[Target]:
    from lamina.install.opencode import plugin

    if options.scope == "project":
        top, settings = options.folder / ".opencode", options.folder
    else:
        top = settings = _below("XDG_CONFIG_HOME", ".config") / "opencode"
    file = next((settings / name for name in ("opencode.jsonc", "opencode.json") if (settings / name).exists()), None)
    entry = Entry(("mcp", SERVER), {"type": "local", "command": [options.program, *_MCP], "enabled": True})
    hooks = Target(top / "plugins" / "lamina.js", content=plugin(options.program))
    return _chosen(options, [hooks], [Target(file or settings / "opencode.json", (entry,))], top / "skills")


def _claude_desktop(options: Options) -> list[Target]:
    if options.scope == "project":
        raise InvalidArgument("claude-desktop has settings of its user alone; leave out --scope project")
    entry = Entry(("mcpServers", SERVER), _server(options))
    file = _application_folder("Claude") / "claude_desktop_config.json"
    return _chosen(options, [], [Target(file, (entry,))], None)


def _application_folder(name: str) -> Path:
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / name
    if os.name == "nt":
        return _below("APPDATA", "AppData", "Roaming") / name
    return _below("XDG_CONFIG_HOME", ".config") / name


_LIMITS: Final = {events.SESSION_START: 10.0, events.PROMPT: 5.0, events.SESSION_END: 10.0}

AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent(events.CLAUDE_CODE, "Claude Code", _CLAUDE_EVENTS, _claude_code, {**_LIMITS, events.SESSION_END: 1.5}),
        Agent(events.CODEX, "Codex", _CODEX_EVENTS, _codex, {**_LIMITS, events.SESSION_END: 3.0}),
        Agent(events.CURSOR, "Cursor", _CURSOR_EVENTS, _cursor, _LIMITS),
        Agent(events.GEMINI, "Gemini CLI", _GEMINI_EVENTS, _gemini, _LIMITS),
        Agent(events.COPILOT, "Copilot CLI", _COPILOT_EVENTS, _copilot, _LIMITS),
        Agent(events.VSCODE, "VS Code", _VSCODE_EVENTS, _vscode, _LIMITS),
        Agent(events.OPENCODE, "OpenCode", {}, _opencode, _LIMITS),
        Agent("claude-desktop", "Claude Desktop", {}, _claude_desktop, {}, has_projects=False),
    )
}
"""By the name that `lamina install` takes."""


def shared_files(agent: Agent, options: Options) -> set[Path]:
    """Return the files that other agents read, too."""
    return {
        target.path
        for other in AGENTS.values()
        if other is not agent and (options.scope == "user" or other.has_projects)
        for target in other.targets(options)
    }


def find_agent(name: str) -> Agent:
    """Return an agent by its name."""
    if name not in AGENTS:
        from difflib import get_close_matches

        near = get_close_matches(name, AGENTS, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InvalidArgument(f"no agent {name!r}; {hint}give one of {', '.join(AGENTS)}")
    return AGENTS[name]
