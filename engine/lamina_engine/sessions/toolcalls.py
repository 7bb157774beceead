"""Events of tool calls and of their results, as most agents write them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from lamina_engine.chunks.handoffs import HANDOFFS
from lamina_engine.sessions.events import Event
from lamina_engine.sessions.outcomes import SHELLS, outcome_facts
from lamina_engine.sessions.tooltext import file_of, list_entries, patched_files

_PLANS: Final = frozenset({"TodoWrite", "todowrite", "update_plan", "update_todo", "write_todos"})


def call_event(name: str, ref: str | None, arguments: Any, at: str | None, at_us: int | None) -> Event:
    """Return the event of a call; arguments may be JSON in a text."""
    if isinstance(arguments, str):
        arguments = loads(arguments)
    facts: dict[str, Any] = {}
    file = file_of(arguments)
    if file is not None:
        facts["file"] = file
    files = patched_files(arguments)
    if files:
        facts["files"] = files
    if name.endswith("memory_add") and isinstance(arguments, dict) and arguments.get("type") in HANDOFFS:
        facts["handoff"] = True
    entries = list_entries(arguments) if name in _PLANS else None
    if entries is not None:
        facts["todos"] = entries
    return Event("tool", "", at, at_us, name=name, ref=ref, arguments=arguments, facts=facts or None)


def result_event(
    name: str | None, ref: str | None, text: str, failed: bool | None, at: str | None, at_us: int | None
) -> Event:
    """Return the event of a result; of a command with its outcome."""
    facts = dict(outcome_facts(text, failed)) if name in SHELLS else {}
    return Event("result", text, at, at_us, name=name, ref=ref, facts=facts or None)


def loads(text: str) -> Any:
    """Return the value of a JSON text; the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
