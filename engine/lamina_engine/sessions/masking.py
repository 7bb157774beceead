"""Masking of secrets in events, before anything of them is cut or kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.sessions.events import Event, Thread
from lamina_engine.sessions.streams import clean_surrogates
from lamina_engine.sessions.tooltext import RESULT_CHARS, argument_text, cut_to_size, redaction_window

if TYPE_CHECKING:
    from lamina_engine.redact.redactor import Finding, Redactor

_MOST_NAMES: Final = 20_000


class EventMasker:
    """Masks secrets in events, and cuts arguments and results of tools to size."""

    def __init__(self, redactor: Redactor, *, thinking: bool, harmless: dict[str, str] | None = None) -> None:
        self._redactor, self._thinking = redactor, thinking
        self._names: dict[str, str] = {}
        self._harmless: dict[str, str] = {} if harmless is None else harmless
        self.found = 0
        """Secrets masked so far."""
        self.kinds: set[str] = set()

    def mask_thread(self, thread: Thread) -> Thread:
        """Return a thread without secrets."""
        return Thread(
            self._name(thread.session), self._name(thread.agent),
            None if thread.project is None else self._name(thread.project),
            None if thread.title is None else self._name(thread.title.strip()),
            {key: self._value(value) for key, value in thread.facts.items()},
        )  # fmt: skip

    def mask_events(self, events: Sequence[Event]) -> None:
        """Mask events in place."""
        kept: list[Event] = []
        texts: list[str] = []
        sizes: list[tuple[int, int]] = []
        self._search_names(events)
        for event in events:
            if event.facts is not None:
                event.facts = {key: self._value(value) for key, value in event.facts.items()}
            if event.name is not None:
                event.name = self._name(event.name)
            if event.kind == "touch" or (event.kind == "thought" and not self._thinking):
                event.text = ""
                continue
            text, limit = event.text, 0
            if event.kind == "tool":
                text, limit = argument_text(event.arguments)
                event.arguments = None
            elif event.kind == "result":
                limit = RESULT_CHARS
            text = _plain(text)
            sizes.append((limit, len(text)))
            texts.append(redaction_window(text, limit) if limit else text)
            kept.append(event)
        for index, clean, findings in self._redactor.clean_batch(texts):
            texts[index] = clean
            self._count(findings)
        for event, text, (limit, length) in zip(kept, texts, sizes, strict=True):
            event.text = cut_to_size(text, limit, length) if limit else text

    def _search_names(self, events: Sequence[Event]) -> None:
        """Search the names that are new, all at once: alone each would cost as much as a text."""
        if len(self._names) >= _MOST_NAMES:
            self._names.clear()
        found = {name for event in events if event.facts is not None for name in _strings(event.facts)}
        self._search_new([name for name in found if name not in self._harmless and name not in self._names])

    def _search_new(self, new: Sequence[str]) -> None:
        for known in (self._harmless, self._names):
            if len(known) >= _MOST_NAMES:
                known.clear()
        texts = [_plain(name) for name in new]
        self._harmless.update(zip(new, texts, strict=True))
        for index, clean, findings in self._redactor.clean_batch(texts):
            del self._harmless[new[index]]
            self._names[new[index]] = clean
            self._count(findings)

    def _count(self, findings: Sequence[Finding]) -> None:
        self.found += len(findings)
        self.kinds.update(finding.kind for finding in findings)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._name(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._name(key): self._value(item) for key, item in value.items()}
        return value

    def _name(self, name: str) -> str:
        """Return a short text without secrets; each is searched once."""
        if name not in self._harmless and name not in self._names:
            self._search_new([name])
        return self._harmless[name] if name in self._harmless else self._names[name]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)


def _plain(text: str) -> str:
    """Return a text with newlines as the log has them, and nothing that UTF-8 cannot hold."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return clean_surrogates(text)
