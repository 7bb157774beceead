"""Words that tell a topic from the others: class-based TF-IDF over the texts of its members.

The weight of a word in a topic is its share of the topic's words times log(1 + mean words a topic / its count in all
topics) (Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", 2022, section 3.3).
Words are taken apart by the lexical lane's analysis and shown in the form in which they are written most often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain, combinations, count
from typing import Final

from lamina_engine.index.analysis import STOP_WORDS, Analyzer

WORDS: Final = 8
NAMED_BY: Final = 3
_SAMPLE, _LEAST, _IN_ALL = 200, 20, 20_000
_UNTITLED: Final = "untitled"
_CHARS: Final = 4000
"""Of each text: the beginning says what it is about."""
_REMEMBERED: Final = 1 << 17


def texts_read(topics: int) -> int:
    """Return how many texts of each topic are read where there are so many: some ten thousand in all tell enough."""
    return min(_SAMPLE, max(_LEAST, _IN_ALL // max(topics, 1)))


@dataclass(slots=True)
class WordCounts:
    """How often each form of each stem stands in the texts of one topic."""

    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stem and form."""

    def add(self, other: WordCounts) -> None:
        """Count another topic's words too."""
        self.forms.update(other.forms)

    def stems(self) -> Counter[str]:
        """Return how often each stem stands there, in any form."""
        found: Counter[str] = Counter()
        for (stem, _), times in self.forms.items():
            found[stem] += times
        return found


class WordReader:
    """Counts words of texts; what stands between white space is taken apart once, however often it stands there."""

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


def best_words(counts: Sequence[WordCounts], basis: Sequence[int]) -> list[list[str]]:
    """Return the words of each topic, the best first, at most `WORDS`.

    Parameters
    ----------
    counts : sequence of WordCounts
    basis : sequence of int
        Positions of the topics that words are weighed against: those without topics below them.

    Returns
    -------
    list of list of str
        Equal weights in alphabetical order of the stem.
    """
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


def name_of(words: Sequence[str]) -> str:
    """Return a topic's name: its first words. Text of the vault: whoever shows it escapes it."""
    return ", ".join(words[:NAMED_BY]) or _UNTITLED


def names_of(words: Sequence[Sequence[str]], names: Sequence[str | None], order: Sequence[int]) -> list[str]:
    """Return a name for each topic, no two of the same words.

    Parameters
    ----------
    words : sequence of sequence of str
        Of each topic, the best first.
    names : sequence of str or None
        Names that stay as they are.
    order : sequence of int
        Positions of the topics in the order in which they choose.

    Returns
    -------
    list of str
        A topic whose first words are taken, such as a part of a wider one, puts later ones in their place, as few as
        can be; where all are taken, a number is added.
    """
    taken = {_key(name) for name in names if name}
    found = list(names)
    for position in order:
        if found[position]:
            continue
        own = words[position]
        ways = (name_of(some) for some in combinations(own, min(NAMED_BY, len(own))))
        more = (f"{name_of(own)} ({number})" for number in count(2))
        name = next(name for name in chain(ways, more) if _key(name) not in taken)
        taken.add(_key(name))
        found[position] = name
    return [name or _UNTITLED for name in found]


def _key(name: str) -> frozenset[str]:
    return frozenset(name.casefold().split(", "))
