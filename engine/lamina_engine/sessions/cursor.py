"""Transcripts of Cursor's agent: one message a line, without dates or ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event, result_event
from lamina_engine.sessions.tooltext import result_text, text_of

AGENT: Final = "cursor"
NAME: Final = "cursor"

_QUERY: Final = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)


class CursorReader(TranscriptReader):
    """Reader of one transcript."""

    def __init__(self, name: FileName, times: Times) -> None:
        self._name, self._times = name, times
        self._is_begun = False
        self._tools: dict[str, str] = {}
        self._last = ""

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        role, message = row.get("role"), row.get("message")
        if role not in ("user", "assistant"):
            if isinstance(row.get("type"), str):
                return ()  # marks such as the end of a turn
            raise Unreadable("it has no role")
        content = message.get("content") if isinstance(message, dict) else message
        found: list[Thread | Event] = []
        if not self._is_begun:
            self._is_begun = True
            found.append(Thread(self._name.session or self._name.stem, AGENT, facts={"format": NAME}))
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        at, at_us = self._times.read(row.get("timestamp"))
        for block in blocks:
            if isinstance(block, dict):
                found += self._block(str(role), block, at, at_us)
        return found

    def _block(self, role: str, block: dict[str, Any], at: str | None, at_us: int | None) -> Iterator[Event]:
        kind, text = block.get("type"), text_of(block.get("text"))
        if kind == "tool_use":
            name, ref = text_of(block.get("name")) or "tool", text_of(block.get("id"))
            self._last = name
            if ref is not None:
                self._tools[ref] = name
            yield call_event(name, ref, block.get("input"), at, at_us)
        elif kind == "tool_result":
            ref = text_of(block.get("tool_use_id"))
            name = self._tools.pop(ref, self._last) if ref is not None else self._last
            failed = True if block.get("is_error") is True else None
            yield result_event(name or None, ref, result_text(block.get("content")), failed, at, at_us)
        elif text is not None and role == "user":
            asked = "\n\n".join(_QUERY.findall(text)) or text
            yield Event("user", asked, at, at_us)
        elif text is not None:
            yield Event("said", text, at, at_us)
