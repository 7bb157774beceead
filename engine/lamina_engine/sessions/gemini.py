"""Chats of Gemini CLI: a line a message, again when it changes; older ones are one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event, result_event
from lamina_engine.sessions.tooltext import IMAGE, list_of, result_text, text_of

AGENT: Final = "gemini"
NAME: Final = "gemini"

_NOT_TYPED: Final = ("<session_context>", "<loaded_context>")
_SNAPSHOT: Final = "<state_snapshot>"
_HASH_LENGTH: Final = 64


class GeminiReader(TranscriptReader):
    """Reader of one chat: what its last lines say of a message holds, so events come at the end."""

    def __init__(self, name: FileName, folder: str, times: Times) -> None:
        self._name, self._folder, self._times = name, PurePath(folder), times
        self._head: dict[str, Any] = {}
        self._messages: dict[str, dict[str, Any]] = {}

    def finish(self) -> Sequence[Thread | Event]:
        """Return the thread and its events."""
        if not self._head and not self._messages:
            return ()
        return [self._thread(), *(event for row in self._messages.values() for event in self._events(row))]

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        """Take a line, or a whole chat; ValueError where it is neither."""
        changed = row.get("$set")
        if isinstance(changed, dict):
            row = changed  # after compaction a list of what is left: earlier messages stay known
        elif isinstance(row.get("$rewindTo"), str):
            names = list(self._messages)
            if row["$rewindTo"] in self._messages:
                for name in names[names.index(row["$rewindTo"]) :]:
                    del self._messages[name]
            return ()
        elif text_of(row.get("sessionId")) is not None:
            self._head = row
        elif isinstance(row.get("id"), str) and isinstance(row.get("type"), str):
            self._messages[row["id"]] = row
            return ()
        else:
            raise Unreadable("it is no message of a chat")
        for message in row.get("messages") or ():
            if isinstance(message, dict) and isinstance(message.get("id"), str):
                self._messages[message["id"]] = message
        return ()

    def _thread(self) -> Thread:
        facts: dict[str, Any] = {"format": NAME}
        session, agent = text_of(self._head.get("sessionId")) or self._name.stem, AGENT
        folder = self._folder
        if self._head.get("kind") == "subagent":  # in a folder that its session names
            facts["agent_id"] = session
            session, agent, folder = folder.name, f"{AGENT}/{session}", folder.parent
        project = folder.parent.name if folder.name == "chats" else ""
        return Thread(session, agent, project if 0 < len(project) < _HASH_LENGTH else None, facts=facts)

    def _events(self, row: dict[str, Any]) -> Iterator[Event]:
        at, at_us = self._times.read(row.get("timestamp"))
        kind, content = row.get("type"), row.get("content")
        parts = content if isinstance(content, list) else [content]
        texts = [text for text in map(_text, parts) if text.strip() and not text.lstrip().startswith(_NOT_TYPED)]
        text = "\n\n".join(texts)
        if kind == "user" and text.lstrip().startswith(_SNAPSHOT):
            yield Event("summary", text, at, at_us)
        elif kind == "user" and text:
            yield Event("user", text, at, at_us)
        elif kind == "gemini":
            model = text_of(row.get("model"))
            for thought in list_of(row.get("thoughts")):
                if isinstance(thought, dict):
                    about = [text_of(thought.get("subject")), text_of(thought.get("description"))]
                    yield Event("thought", "\n".join(filter(None, about)), at, at_us)
            yield Event("said" if text else "touch", text, at, at_us, facts={"model": model} if model else None)
            for call in list_of(row.get("toolCalls")):
                if isinstance(call, dict):
                    yield from self._call(call)
        else:
            yield Event("touch", "", at, at_us)

    def _call(self, call: dict[str, Any]) -> Iterator[Event]:
        at, at_us = self._times.read(call.get("timestamp"))
        name, ref = text_of(call.get("name")) or "tool", text_of(call.get("id"))
        yield call_event(name, ref, call.get("args"), at, at_us)
        outputs = []
        for part in list_of(call.get("result")):
            response = part.get("functionResponse") if isinstance(part, dict) else None
            answer = response.get("response") if isinstance(response, dict) else None
            if isinstance(answer, dict):
                outputs.append(result_text(answer.get("output", answer.get("error", answer))))
        if outputs:
            failed = True if call.get("status") == "error" else None
            yield result_event(name, ref, "\n".join(map(_unwrapped, outputs)), failed, at, at_us)


def _text(part: object) -> str:
    if isinstance(part, dict):
        return str(part.get("text") or "") if "inlineData" not in part else IMAGE
    return part if isinstance(part, str) else ""


def _unwrapped(output: str) -> str:
    """Return an output without the marks by which the program tells its model to be careful."""
    return output.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>").removeprefix("Output: ")
