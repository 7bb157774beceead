"""Plain-text logs of talk: lines that begin with ``User:`` or ``Assistant:``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader

AGENT: Final = "log"
NAME: Final = "log"
MAX_EVENT_CHARS: Final = 1 << 22
"""A longer turn of one side is split."""

_USER: Final = "user|human|you|me|prompt|question"
_ASSISTANT: Final = "assistant|ai|claude|chatgpt|gpt|gemini|copilot|codex|bot|model|agent|answer"
SPEAKER: Final = re.compile(
    r"[ \t]{0,3}(?:\[(?P<before>[^\]\n]{8,40})\][ \t]*)?(?:#{1,6}[ \t]+|>[ \t]*)?\*{0,2}"
    rf"(?:(?P<user>{_USER})|(?P<said>{_ASSISTANT})|(?P<other>system|developer|tool))"
    r"\*{0,2}[ \t]*(?:[(\[](?P<after>[^)\]\n]{8,40})[)\]])?[ \t]*\*{0,2}[:\uff1a]\*{0,2}(?:[ \t]+|$)",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


class PlainLogReader(TranscriptReader):
    """Reader of one plain-text log."""

    def __init__(self, name: FileName, source: str, times: Times) -> None:
        self._name, self._source, self._times = name, source, times
        self._started = False
        self._fence: str | None = None
        self._lines: list[str] = []
        self._length = 0
        self._speaker: Event | None = None

    def feed(self, data: bytes) -> Sequence[Thread | Event]:
        """Return the events that a line completes.

        Bytes that are no UTF-8 are replaced.
        """
        text = data.rstrip(b"\r").decode("utf-8", "replace").removeprefix("\ufeff")
        completed: list[Thread | Event] = []
        if not self._started:
            self._started = True
            completed.append(Thread(self._name.session or self._source, AGENT, facts={"format": NAME}))
        found = SPEAKER.match(text) if self._fence is None else None
        self._watch_fence(text)
        if found is not None or self._length > MAX_EVENT_CHARS:
            completed += self._flush()
        if found is not None:
            text = text[found.end() :]
            at, at_us = self._times.read((found["before"] or found["after"] or "").strip())
            kind = "user" if found["user"] else "said" if found["said"] else "touch"
            self._speaker = Event(kind, "", at, at_us)  # type: ignore[arg-type]
        self._lines.append(text)
        self._length += len(text) + 1
        return completed

    def finish(self) -> Sequence[Thread | Event]:
        """Return the remaining events at the end of the file."""
        return self._flush()

    def _flush(self) -> list[Event]:
        text, speaker = "\n".join(self._lines).strip(), self._speaker
        self._lines, self._length = [], 0
        if text and speaker is not None and speaker.kind != "touch":
            return [Event(speaker.kind, text, speaker.at, speaker.at_us)]
        return []

    def _watch_fence(self, text: str) -> None:
        found = _FENCE.match(text)
        if found is None:
            return
        if self._fence is None:
            self._fence = found[1]
        elif found[1].startswith(self._fence) and not text[found.end() :].strip():
            self._fence = None
