"""Chats that VS Code itself keeps: one object, or a journal of changes to it, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event
from lamina_engine.sessions.tooltext import list_of, text_of

AGENT: Final = "vscode"
NAME: Final = "vscode"

_START, _SET, _APPEND, _DELETE = range(4)


class VSCodeReader(TranscriptReader):
    """Reader of one chat: its events come at the end, when the journal has been played."""

    def __init__(self, name: FileName, times: Times) -> None:
        self._name, self._times = name, times
        self._chat: dict[str, Any] = {}

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        """Take a whole chat, or one change; ValueError where it is neither."""
        if isinstance(row.get("requests"), list):
            self._chat = row
        elif row.get("kind") == _START and isinstance(row.get("v"), dict):
            self._chat = row["v"]
        elif row.get("kind") in (_SET, _APPEND, _DELETE) and isinstance(row.get("k"), list) and row["k"]:
            _change(self._chat, row)
        else:
            raise Unreadable("it is no chat and no change of one")
        return ()

    def finish(self) -> Sequence[Thread | Event]:
        """Return the thread and its events."""
        requests = self._chat.get("requests")
        if not isinstance(requests, list):
            return ()
        session = text_of(self._chat.get("sessionId")) or self._name.stem
        found: list[Thread | Event] = [
            Thread(session, AGENT, title=text_of(self._chat.get("customTitle")), facts={"format": NAME})
        ]
        for request in requests:
            if isinstance(request, dict):
                found += self._events(request)
        return found

    def _events(self, request: dict[str, Any]) -> Iterator[Event]:
        message = request.get("message")
        at, at_us = self._times.read_milliseconds(request.get("timestamp"))
        asked = text_of(message.get("text") if isinstance(message, dict) else message)
        if asked is not None:
            yield Event("user", asked, at, at_us)
        model, said = text_of(request.get("modelId")), ""
        facts = {"model": model} if model else None
        for part in list_of(request.get("response")):
            if not isinstance(part, dict):
                continue
            kind, value = part.get("kind"), part.get("value", part.get("content"))
            text = value.get("value") if isinstance(value, dict) else value
            if kind in (None, "markdownContent") and isinstance(text, str):
                said += text  # parts of one answer, as they came
            elif kind == "inlineReference":
                said += f"`{text_of(part.get('name')) or _path(part.get('inlineReference'))}`"
            elif kind == "toolInvocationSerialized":
                if said.strip():
                    yield Event("said", said, at, at_us, facts=facts)
                said = ""
                name, ref = text_of(part.get("toolId")) or "tool", text_of(part.get("toolCallId"))
                given = part.get("toolSpecificData")
                yield call_event(name, ref, _arguments(given), at, at_us)
        if said.strip():
            yield Event("said", said, at, at_us, facts=facts)


def _change(chat: dict[str, Any], row: dict[str, Any]) -> None:
    """Play one change; one whose place is not there is left out, as VS Code does."""
    *way, last = row["k"]
    holder: Any = chat
    try:
        for key in way:
            holder = holder[key]
        if row["kind"] == _DELETE:
            del holder[last]
        elif row["kind"] == _SET and isinstance(holder, list) and last == len(holder):
            holder.append(row.get("v"))
        elif row["kind"] == _SET:
            holder[last] = row.get("v")
        else:
            items = holder.setdefault(last, []) if isinstance(holder, dict) else holder[last]
            if isinstance(row.get("i"), int):
                del items[row["i"] :]
            items.extend(row["v"] if isinstance(row.get("v"), list) else ())
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise Unreadable("the place that it changes is not there") from error


def _arguments(given: object) -> object:
    """Return what a tool was given, as far as VS Code keeps it."""
    line = given.get("commandLine") if isinstance(given, dict) else None
    if isinstance(line, dict):
        return {"command": line.get("toolEdited") or line.get("original")}
    return given


def _path(reference: object) -> str:
    found = reference.get("path", reference.get("fsPath")) if isinstance(reference, dict) else None
    return str(found or "").rpartition("/")[2]
