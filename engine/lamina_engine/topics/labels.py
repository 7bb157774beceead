"""Words that tell a topic from the others: class-based TF-IDF over the texts of its members.

The weight of a word in a topic is its share of the topic's words times log(1 + mean words a topic / its count in all
topics) (Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", 2022, section 3.3).
Words are taken apart by the lexical lane's analysis and shown in the form in which they are written most often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lamina_engine.index.analysis import STOP_WORDS, Analyzer

WORDS: Final = 8
NAMED_BY: Final = 3
SAMPLE: Final = 200
"""Members of a topic whose texts are read."""
_CHARS: Final = 4000
"""Of each text: the beginning says what it is about."""


@dataclass(slots=True)
class WordCounts:
    """Words of one topic: how often each stem stands there, and how its forms are written."""

    stems: Counter[str] = field(default_factory=Counter)
    forms: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: WordCounts) -> None:
        """Count another topic's words too."""
        self.stems.update(other.stems)
        for stem, forms in other.forms.items():
            self.forms.setdefault(stem, Counter()).update(forms)


def count_words(texts: Sequence[str], analyzer: Analyzer) -> WordCounts:
    """Count the words of some texts; numbers, single letters and function words do not count."""
    counts = WordCounts()
    for text in texts:
        for term in analyzer.tokens(text[:_CHARS]):
            if term.kind in ("joined", "character") or len(term.stem) < 2 or not term.stem[0].isalpha():
                continue
            if term.surface.replace("'", "") in STOP_WORDS:
                continue
            counts.stems[term.stem] += 1
            counts.forms.setdefault(term.stem, Counter())[term.surface] += 1
    return counts


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
        total.update(counts[position].stems)
    mean = sum(total.values()) / max(len(basis), 1)
    return [_best(each, total, mean) for each in counts]


def _best(counts: WordCounts, total: Counter[str], mean: float) -> list[str]:
    whole = max(sum(counts.stems.values()), 1)
    weights = [
        (-(count / whole) * math.log1p(mean / max(total[stem], count)), stem) for stem, count in counts.stems.items()
    ]
    return [_form(counts.forms[stem]) for _, stem in sorted(weights)[:WORDS]]


def _form(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def name_of(words: Sequence[str]) -> str:
    """Return a topic's name: its first words. Text of the vault: whoever shows it escapes it."""
    return ", ".join(words[:NAMED_BY]) or "untitled"
