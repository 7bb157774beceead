"""Topic words by class-based TF-IDF over the texts of the members.

The weight of a word in a topic is its share of the topic's words times log(1 + mean words a topic / its count in all
topics) (Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", 2022, section 3.3).
Words are split by the lexical lane's analysis and shown in the form in which they are written most often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain, combinations, count
from typing import Final, NamedTuple

import numpy as np

from lamina_engine.index.analysis import STOP_WORDS, Analyzer
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot

WORDS: Final = 8
NAMED_BY: Final = 3
_SAMPLE, _LEAST, _IN_ALL = 200, 20, 20_000
_UNTITLED: Final = "untitled"
_CHARS: Final = 4000
"""Of each text: the beginning says what it is about."""
_REMEMBERED: Final = 1 << 17


_BLOCK: Final = 1024


def sample_size(topics: int) -> int:
    """Return the number of texts to read of each topic: some ten thousand in all."""
    return min(_SAMPLE, max(_LEAST, _IN_ALL // max(topics, 1)))


@dataclass(slots=True)
class WordCounts:
    """Counts of each form of each stem in the texts of one topic."""

    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stem and form."""

    def add(self, other: WordCounts) -> None:
        """Count another topic's words too."""
        self.forms.update(other.forms)

    def stems(self) -> Counter[str]:
        """Count each stem, in any form."""
        found: Counter[str] = Counter()
        for (stem, _), times in self.forms.items():
            found[stem] += times
        return found


class WordReader:
    """Counter of words; each distinct piece between white space is analysed once."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._known: dict[str, list[tuple[str, str]]] = {}

    def count(self, texts: Iterable[str]) -> WordCounts:
        """Count the words of some texts; numbers, single letters and function words do not count."""
        pieces: Counter[str] = Counter()
        for text in texts:
            pieces.update(text[:_CHARS].split())
        counts = WordCounts()
        for piece, times in pieces.items():
            for form in self._forms(piece):
                counts.forms[form] += times
        return counts

    def _forms(self, piece: str) -> list[tuple[str, str]]:
        found = self._known.get(piece)
        if found is None:
            found = [
                (term.stem, term.surface) for term in self._analyzer.tokens(piece)
                if term.kind not in ("joined", "character") and len(term.stem) > 1 and term.stem[0].isalpha()
                and term.surface.replace("'", "") not in STOP_WORDS
            ]  # fmt: skip
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[piece] = found
        return found


def select_words(counts: Sequence[WordCounts], basis: Sequence[int]) -> list[list[str]]:
    """Return the words of each topic, the best first, at most `WORDS`."""
    total: Counter[str] = Counter()
    for position in basis:
        total.update(counts[position].stems())
    mean = sum(total.values()) / max(len(basis), 1)
    return [_best(each, total, mean) for each in counts]


def _best(counts: WordCounts, total: Counter[str], mean: float) -> list[str]:
    stems = counts.stems()
    whole = max(sum(stems.values()), 1)
    weights = [(-(times / whole) * math.log1p(mean / max(total[stem], times)), stem) for stem, times in stems.items()]
    forms: dict[str, list[tuple[int, str]]] = {stem: [] for _, stem in nsmallest(WORDS, weights)}
    for (stem, form), times in counts.forms.items():
        if stem in forms:
            forms[stem].append((-times, form))
    return [min(ways)[1] for ways in forms.values()]


def make_name(words: Sequence[str]) -> str:
    """Return a topic's name: its first words. Text of the vault: escape it where it is shown."""
    return ", ".join(words[:NAMED_BY]) or _UNTITLED


def make_names(words: Sequence[Sequence[str]], names: Sequence[str | None], order: Sequence[int]) -> list[str]:
    """Return a name for each topic, no two of the same words."""
    taken = {_key(name) for name in names if name}
    found = list(names)
    for position in order:
        if found[position]:
            continue
        own = words[position]
        ways = (make_name(some) for some in combinations(own, min(NAMED_BY, len(own))))
        more = (f"{make_name(own)} ({number})" for number in count(2))
        name = next(name for name in chain(ways, more) if _key(name) not in taken)
        taken.add(_key(name))
        found[position] = name
    return [name or _UNTITLED for name in found]


def _key(name: str) -> frozenset[str]:
    return frozenset(name.casefold().split(", "))


class TopicWords(NamedTuple):
    """Name and words of a topic."""

    name: str
    words: list[str]


class TopicErasure:
    """Words of topics that only forgotten chunks have."""

    def __init__(self, snapshot: Snapshot, rows: Rows) -> None:
        self._snapshot, self._rows = snapshot, rows
        self._reader = WordReader()
        self._lost: dict[str, set[str]] | None = None

    def topics(self, segment: Segment) -> dict[int, TopicWords]:
        """Return a segment's topics with words of those chunks alone, without these words.

        Notes
        -----
        The texts of other chunks are looked at only where a topic has words of those that go, and until each was found
        in one of them.
        """
        if self._lost is None:
            self._lost = self._only_there()
        found = {}
        for offset, topic in _read_words(segment):
            words = [word for word in topic.words if not self._is_lost(word)]
            name = make_name(words) if self._is_lost(topic.name) else topic.name
            if (name, words) != topic:
                found[offset] = TopicWords(name, words)
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
        names = {
            text for segment in segments for _, topic in _read_words(segment) for text in (topic.name, *topic.words)
        }
        known = {stem for text in names for stem in self._stems(text)}
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


def _read_words(segment: Segment) -> Iterator[tuple[int, TopicWords]]:
    names, words = segment.column("name").to_pylist(), segment.column("words").to_pylist()
    for offset, (name, some) in enumerate(zip(names, words, strict=True)):
        yield offset, TopicWords(name, list(some))
