"""What topics still say of forgotten chunks: words, and names made of them, that no other chunk says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_engine.topics.labels import WordReader, name_of

_BLOCK: Final = 1024


class Said(NamedTuple):
    """What a topic is called and by which words."""

    name: str
    words: list[str]


class Unsaid:
    """Words that go with some chunks.

    Parameters
    ----------
    snapshot : Snapshot
    rows : int64 (m,)
        All rows of the chunks that go, ascending.
    """

    def __init__(self, snapshot: Snapshot, rows: Rows) -> None:
        self._snapshot, self._rows = snapshot, rows
        self._reader = WordReader()
        self._lost: dict[str, set[str]] | None = None

    def topics(self, segment: Segment) -> dict[int, Said]:
        """Return the topics of a segment that say something which only those chunks said, as they are without it.

        Returns
        -------
        dict
            By offset. A name that says it gives way to the words that are left.

        Notes
        -----
        The texts of other chunks are looked at only where a topic has words of those that go, and until each was found
        in one of them.
        """
        if self._lost is None:
            self._lost = self._only_there()
        found = {}
        for offset, said in _said(segment):
            words = [word for word in said.words if not self._is_lost(word)]
            name = name_of(words) if self._is_lost(said.name) else said.name
            if (name, words) != said:
                found[offset] = Said(name, words)
        return found

    def _is_lost(self, text: str) -> bool:
        return any(stem in self._lost for stem in self._stems(text)) if self._lost else False

    def _stems(self, text: str) -> set[str]:
        return {stem for stem, _ in self._reader.count([text]).forms}

    def _only_there(self) -> dict[str, set[str]]:
        """Return the stems, with their forms, that topics say and no chunk but those."""
        segments = self._snapshot.segments("topics")
        if not segments or not self._rows.size:
            return {}
        told = {text for segment in segments for _, said in _said(segment) for text in (said.name, *said.words)}
        known = {stem for text in told for stem in self._stems(text)}
        lost: dict[str, set[str]] = {}
        for stem, form in self._reader.count(self._texts(self._rows)).forms:
            if stem in known:
                lost.setdefault(stem, set()).add(form)
        others = np.setdiff1d(np.arange(self._snapshot.rows("chunks")), self._rows, assume_unique=True)
        for start in range(0, others.size, _BLOCK):
            if not lost:
                break
            for text in self._texts(others[start : start + _BLOCK]):
                folded = text.casefold()  # few texts hold one of the words, and only those are taken apart
                if any(form in folded for forms in lost.values() for form in forms):
                    for stem in self._stems(text):
                        lost.pop(stem, None)
        return lost

    def _texts(self, rows: Rows) -> Iterator[str]:
        titles = self._snapshot.values("chunks", "title", rows)
        texts = self._snapshot.values("chunks", "text", rows)
        return (f"{title or ''}\n{text}" for title, text in zip(titles, texts, strict=True))


def _said(segment: Segment) -> Iterator[tuple[int, Said]]:
    names, words = segment.column("name").to_pylist(), segment.column("words").to_pylist()
    for offset, (name, some) in enumerate(zip(names, words, strict=True)):
        yield offset, Said(name, list(some))
