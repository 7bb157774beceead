"""Plugins for marketplaces: the same hooks, MCP entry and skills, in an agent's own layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from lamina import VaultExists, __version__
from lamina.hooks import events
from lamina.install.agents import SERVER, Options, find_agent
from lamina.install.skills import SKILLS

_FOLDERS: Final = {events.CLAUDE_CODE: ".claude-plugin", events.CODEX: ".codex-plugin"}
_DESCRIPTION: Final = (
    "A local memory: what matters at the start of a session, what fits at each prompt, transcripts kept."
)
_GUARD: Final = (
    'command -v lamina >/dev/null 2>&1 && exec lamina hook {event} --agent {agent}; cat >/dev/null; echo "{{}}"; '
    "echo \"lamina: not on PATH; install it, such as with 'uv tool install lamina'\" >&2"
)
"""A plugin cannot know where the program is; where it is not, the agent must not be troubled."""

_README: Final = """\
# Lamina

A local memory for agents. At the start of a session the agent is told what matters: the last handoff, decisions, what changed. Each prompt
gets the memories that fit it, or none. What was said is kept in a vault on this machine; nothing leaves it.

## Setup

Install the program, such as with `uv tool install 'lamina[mcp]'`, so that `lamina` is on PATH, and make a vault with `lamina init --user`.
Where the program is missing, the hooks do nothing and say so. `lamina doctor` says what is wrong, `LAMINA_HOOKS=off` turns the hooks off.

## What is in it

Hooks (start, prompt, compaction, stop, end), an MCP server with seven tools, and four skills: memory, freshness report, refresh, handoff.
"""
"""Marketplaces take no plugin without one."""


def write_plugin(folder: Path, agent: str) -> list[Path]:
    """Write a plugin into a new or empty folder, and return its files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise VaultExists(f"{folder} is not empty; give a folder that is empty or does not exist yet")
    hooks: dict[str, Any] = {}
    for target in find_agent(agent).targets(Options("lamina", mcp=False, skills=False)):
        for entry in target.entries:
            event = events.event_of(entry.path[-1])
            handler = {key: value for key, value in entry.value["hooks"][0].items() if key != "args"}
            handler["command"] = _GUARD.format(event=event, agent=agent)
            hooks[entry.path[-1]] = [{"hooks": [handler]}]
    about = {"name": "lamina", "version": __version__, "description": _DESCRIPTION, "license": "Apache-2.0"}
    server = {"mcpServers": {SERVER: {"command": "lamina", "args": ["mcp", "--text"]}}}
    texts = {
        f"{_FOLDERS[agent]}/plugin.json": _json(about),
        "hooks/hooks.json": _json({"hooks": hooks}),
        ".mcp.json": _json(server),
        "README.md": _README,
        **{f"skills/{name}/SKILL.md": text for name, text in SKILLS.items()},
    }
    written = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
