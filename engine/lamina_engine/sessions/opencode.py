"""Sessions of OpenCode: one object from its export, or a line a message from its plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader, project_of_folder
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event, result_event
from lamina_engine.sessions.tooltext import list_of, result_text, text_of

AGENT: Final = "opencode"
NAME: Final = "opencode"


class OpenCodeReader(TranscriptReader):
    """Reader of one session."""

    def __init__(self, name: FileName, times: Times) -> None:
        self._name, self._times = name, times

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        info = row.get("info")
        if not isinstance(info, dict):
            raise Unreadable("it has no info")
        if "parts" in row:
            return list(self._events(info, row["parts"]))
        found: list[Thread | Event] = [self._thread(info)]
        for message in list_of(row.get("messages")):
            if isinstance(message, dict) and isinstance(message.get("info"), dict):
                found += self._events(message["info"], message.get("parts"))
        return found

    def _thread(self, info: dict[str, Any]) -> Thread:
        facts: dict[str, Any] = {"format": NAME}
        folder, session = text_of(info.get("directory")), text_of(info.get("id")) or self._name.stem
        if folder is not None:
            facts["cwd"] = folder
        agent, parent = AGENT, text_of(info.get("parentID"))
        if parent is not None:
            facts["agent_id"] = session
            session, agent = parent, f"{AGENT}/{session}"
        return Thread(session, agent, project_of_folder(folder), text_of(info.get("title")), facts)

    def _events(self, info: dict[str, Any], parts: object) -> Iterator[Event]:
        time, model = info.get("time"), text_of(info.get("modelID"))
        at, at_us = self._times.read_milliseconds(time.get("created") if isinstance(time, dict) else None)
        is_user = info.get("role") == "user"
        for part in list_of(parts):
            if not isinstance(part, dict):
                continue
            kind, text = part.get("type"), text_of(part.get("text"))
            if kind == "text" and text is not None and not part.get("synthetic"):
                facts = {"model": model} if model and not is_user else None
                yield Event("user" if is_user else "said", text, at, at_us, facts=facts)
            elif kind == "reasoning" and text is not None:
                yield Event("thought", text, at, at_us)
            elif kind == "tool":
                yield from self._call(part, at, at_us)
            elif kind == "compaction":
                yield Event("touch", "", at, at_us)

    def _call(self, part: dict[str, Any], at: str | None, at_us: int | None) -> Iterator[Event]:
        name, ref, state = text_of(part.get("tool")) or "tool", text_of(part.get("callID")), part.get("state")
        state = state if isinstance(state, dict) else {}
        time, metadata = state.get("time"), state.get("metadata")
        if isinstance(time, dict):
            at, at_us = self._times.read_milliseconds(time.get("start"))
        yield call_event(name, ref, state.get("input"), at, at_us)
        output = state.get("output", state.get("error"))
        if output is not None:
            code = metadata.get("exit") if isinstance(metadata, dict) else None
            failed = code != 0 if isinstance(code, int) else (True if state.get("status") == "error" else None)
            if isinstance(time, dict):
                at, at_us = self._times.read_milliseconds(time.get("end"))
            yield result_event(name, ref, result_text(output), failed, at, at_us)
