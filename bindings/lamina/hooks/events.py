"""Events of agents under one set of names, and the shape of each agent's answers."""

from __future__ import annotations

SESSION_START, PROMPT, PRE_COMPACT, STOP, SUBAGENT_STOP, SESSION_END, TOOL = (
    "session-start", "prompt", "pre-compact", "stop", "subagent-stop", "session-end", "tool",
)  # fmt: skip

DEADLINES_MS = {
    SESSION_START: 3_000, PROMPT: 1_500, PRE_COMPACT: 500, STOP: 500, SUBAGENT_STOP: 500, SESSION_END: 300, TOOL: 400,
}  # fmt: skip
"""Time that an event may take from Lamina's first line on; with the start of Python below the limits of all agents."""

CAPTURES = frozenset({PRE_COMPACT, STOP, SUBAGENT_STOP, SESSION_END})

CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT, VSCODE, OPENCODE = (
    "claude-code", "codex", "gemini", "cursor", "copilot", "vscode", "opencode",
)  # fmt: skip
AGENTS = (CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT, VSCODE, OPENCODE)

_ALIASES = {
    "sessionstart": SESSION_START,
    "userpromptsubmit": PROMPT, "userpromptsubmitted": PROMPT, "beforeagent": PROMPT, "beforesubmitprompt": PROMPT,
    "precompact": PRE_COMPACT, "precompress": PRE_COMPACT,
    "stop": STOP, "afteragent": STOP, "agentstop": STOP,
    "subagentstop": SUBAGENT_STOP,
    "sessionend": SESSION_END,
    "pretooluse": TOOL, "posttooluse": TOOL,
}  # fmt: skip
_NAMES = {SESSION_START: "SessionStart", PROMPT: "UserPromptSubmit", TOOL: "PostToolUse"}
"""Names in answers of the agents that follow Claude Code; Gemini has one of its own."""

_CHARACTERS = 9_500
_MOST_CHARACTERS = {CODEX: 7_000}
"""Longer contexts are put in a file by Claude Code (10,000 characters) and Codex (2,500 tokens): 7,000 is 2,300 tokens."""
_END_OF_MEMORY = "</memory>\n"


def event_of(name: str) -> str:
    """Return Lamina's name of an agent's event; an unknown one stays as it is."""
    return name if name in DEADLINES_MS else _ALIASES.get(name.replace("-", "").replace("_", "").lower(), name)


def takes_context(agent: str, event: str) -> bool:
    """Return True where an agent reads context at an event."""
    if agent in (CURSOR, COPILOT):
        return event == SESSION_START
    return event in (SESSION_START, PROMPT, TOOL)


def nothing(agent: str, event: str) -> dict[str, object]:
    """Return the answer that changes nothing."""
    return {"continue": True} if agent == CURSOR and event == PROMPT else {}


def answer(agent: str, event: str, text: str) -> dict[str, object]:
    """Return a context in the shape that an agent reads."""
    shown = _within(text, _MOST_CHARACTERS.get(agent, _CHARACTERS))
    if not shown or not takes_context(agent, event):
        return nothing(agent, event)
    if agent == CURSOR:
        return {"additional_context": shown}
    if agent in (COPILOT, OPENCODE):
        return {"additionalContext": shown}
    name = "BeforeAgent" if agent == GEMINI and event == PROMPT else _NAMES[event]
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": shown}}


def _within(text: str, most: int) -> str:
    """Drop whole memories from the end of a block until it fits."""
    # no memory holds these tags: `<` is escaped in every text
    parts = text.split(_END_OF_MEMORY)
    while len(text) > most and len(parts) > 1:
        parts.pop(-2)
        text = _END_OF_MEMORY.join(parts)
    return text if len(text) <= most and len(parts) > 1 else ""
