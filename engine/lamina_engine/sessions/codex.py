"""Rollouts of Codex: one JSON object a line, wrapped in ``payload`` (older ones are not)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import (
    Event,
    FileName,
    Thread,
    Times,
    TranscriptReader,
    project_of_folder,
    spawn_facts,
)
from lamina_engine.sessions.outcomes import SHELLS, outcome_facts
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event, loads
from lamina_engine.sessions.tooltext import IMAGE, list_of, result_text, text_of

AGENT: Final = "codex"
NAME: Final = "codex"

_WRAPPED: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_NOT_TYPED: Final = (
    "<user_instructions>",
    "<environment_context>",
    "# AGENTS.md instructions",
    "<permissions",
    "<turn_aborted>",
)
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_SPAWN: Final = "spawn_agent"


class CodexReader(TranscriptReader):
    """Reader of one rollout."""

    def __init__(self, name: FileName, times: Times) -> None:
        self._name, self._times = name, times
        self._started = False
        self._model: str | None = None
        self._tools: dict[str, str] = {}

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        """Return the thread and the events of one line."""
        kind, item = row.get("type"), row
        if kind is not None and not isinstance(kind, str):
            raise Unreadable(f"its type must be text, not {type(kind).__name__}")
        if kind in _WRAPPED:
            payload = row.get("payload")
            if not isinstance(payload, dict):
                raise Unreadable(f"its payload must be an object, not {type(payload).__name__}")
            item = payload
        elif kind is None and "record_type" not in row and not (isinstance(row.get("id"), str) and "timestamp" in row):
            raise Unreadable("it has no type")
        found: list[Thread | Event] = []
        if not self._started:
            self._started = True
            found.append(self._begin_thread(item if kind in (None, "session_meta") else {}))
        at, at_us = self._times.read(row.get("timestamp"))
        if kind == "turn_context":
            self._model = text_of(item.get("model")) or self._model
        elif kind == "compacted":
            text = text_of(item.get("message"))
            if text is not None:
                found.append(Event("summary", text, at, at_us))
        elif kind == "event_msg" and item.get("type") == "turn_aborted":
            found.append(Event("touch", "", at, at_us, facts={"interrupted": True}))
        elif kind not in (None, "session_meta", "event_msg"):
            found += self._item(item, at, at_us)
        return found

    def _begin_thread(self, meta: dict[str, Any]) -> Thread:
        facts: dict[str, Any] = {"format": NAME}
        folder, git, identity = text_of(meta.get("cwd")), meta.get("git"), text_of(meta.get("id"))
        if folder is not None:
            facts["cwd"] = folder
        if isinstance(git, dict) and text_of(git.get("branch")):
            facts["branch"] = git["branch"]
        session, agent, parent = identity or self._name.session or self._name.stem[-36:], AGENT, _parent(meta)
        if parent is not None:
            facts["agent_id"] = session
            session, agent = parent, f"{AGENT}/{session}"
        return Thread(session, agent, project_of_folder(folder), facts=facts)

    def _item(self, item: dict[str, Any], at: str | None, at_us: int | None) -> Iterator[Event]:
        kind = text_of(item.get("type"))
        if kind == "message":
            yield from self._message(item, at, at_us)
        elif kind == "reasoning":
            text = result_text([*list_of(item.get("summary")), *list_of(item.get("content"))])
            if text.strip():
                yield Event("thought", text, at, at_us)
        elif kind in _CALLS:
            yield self._call(item, at, at_us)
        elif kind in _OUTPUTS:
            yield self._output(item, at, at_us)
        else:
            yield Event("touch", "", at, at_us)

    def _message(self, item: dict[str, Any], at: str | None, at_us: int | None) -> Iterator[Event]:
        role, content = item.get("role"), item.get("content")
        if not isinstance(content, str | list):
            raise Unreadable(f"its content must be text or a list, not {type(content).__name__}")
        if role not in ("user", "assistant"):
            return
        parts = [content] if isinstance(content, str) else [_part(block) for block in content]
        text = "\n\n".join(part for part in parts if part.strip() and not part.lstrip().startswith(_NOT_TYPED))
        if text:
            facts = {"model": self._model} if self._model and role == "assistant" else None
            yield Event("user" if role == "user" else "said", text, at, at_us, facts=facts)

    def _call(self, item: dict[str, Any], at: str | None, at_us: int | None) -> Event:
        name = text_of(item.get("name")) or ("shell" if item.get("type") == "local_shell_call" else "web_search")
        ref = text_of(item.get("call_id"))
        if ref is not None:
            self._tools[ref] = name
        called = call_event(name, ref, item.get("arguments", item.get("input", item.get("action"))), at, at_us)
        if name == _SPAWN and isinstance(called.arguments, dict):
            called.facts = {**(called.facts or {}), "spawn": spawn_facts(ref, at, called.arguments)}
        return called

    def _output(self, item: dict[str, Any], at: str | None, at_us: int | None) -> Event:
        ref, output = text_of(item.get("call_id")), item.get("output")
        name = self._tools.pop(ref, None) if ref is not None else None
        value = loads(output) if isinstance(output, str) and output.startswith("{") else output
        text = result_text(output)
        facts: dict[str, Any] = {}
        failed: bool | None = None
        if isinstance(value, dict):
            text = (
                value["output"] if isinstance(value.get("output"), str) else result_text(value.get("content", output))
            )
            agent = text_of(value.get("agent_id"))
            if name == _SPAWN and agent is not None and ref is not None:
                facts["agents"] = {ref: agent}
            code = value["metadata"].get("exit_code") if isinstance(value.get("metadata"), dict) else None
            failed = None if code is None else code != 0
        if name in SHELLS:
            facts.update(outcome_facts(text, failed))
        return Event("result", text, at, at_us, name=name, ref=ref, facts=facts or None)


def _parent(meta: dict[str, Any]) -> str | None:
    """Return the session that spawned this one, if the rollout names it."""
    found: Any = meta.get("source")
    for key in ("subagent", "thread_spawn", "parent_thread_id"):
        found = found.get(key) if isinstance(found, dict) else None
    return text_of(found)


def _part(block: object) -> str:
    if isinstance(block, dict) and "image" in str(block.get("type")):
        return IMAGE
    return result_text([block])
