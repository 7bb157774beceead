"""Whether two short texts say the same, so that one may stand for both: alike in letters, and naming the same things.

ClawMem's merge gate: character trigrams must be close, closer still where neither text has a name, number or path to hold
on to; and where they have, those must not differ materially. "Alice likes tea" is not "Bob likes tea".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from lamina_engine.index.analysis import STOP_WORDS

ALIKE: Final = 0.93
"""Cosine of trigrams from which two texts may say the same."""
ALIKE_WITHOUT_ANCHORS: Final = 0.98
"""The same where neither has an anchor."""
SHARED_WORDS: Final = 0.5
"""Jaccard index of their longer words that must be exceeded."""
SHARED_ANCHORS: Final = 0.5
"""Share of the smaller set of anchors that must be exceeded."""
_LONG: Final = 4
_WORD: Final = re.compile(r"\w+", re.UNICODE)
_ANCHOR: Final = re.compile(
    r"(?P<path>[\w.~-]*/[\w./~-]+)|(?P<number>\d[\d.,:]*)|(?P<identifier>\w+(?:[._]\w+)+|[a-z]+[A-Z]\w*)|(?P<name>[^\W\d_a-z]\w*)"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|without|cannot|n't|isn't|doesn't|don't|won't|can't)\b|n['’]t\b", re.IGNORECASE
)


def says_the_same(a: str, b: str) -> bool:
    """Tell whether one of two texts may stand for both.

    Notes
    -----
    O(length of both).
    """
    if bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)):
        return False
    first, second = anchors(a), anchors(b)
    if differ_materially(first, second):
        return False
    least = ALIKE if first or second else ALIKE_WITHOUT_ANCHORS
    return shared_words(a, b) > SHARED_WORDS and trigram_cosine(a, b) >= least


def trigram_cosine(a: str, b: str) -> float:
    """Return the cosine of two texts' counts of runs of three characters, without case and runs of blanks; in [0, 1]."""
    first, second = _trigrams(a), _trigrams(b)
    if not first or not second:
        return 1.0 if a.split() == b.split() else 0.0
    product = sum(count * second[gram] for gram, count in first.items())
    return product / math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))


def anchors(text: str) -> set[str]:
    """Return what a text holds on to: capitalised names, numbers, paths and identifiers, without case."""
    found = {match[0].rstrip(".,:").casefold() for match in _ANCHOR.finditer(text)}
    return {anchor for anchor in found if anchor and anchor not in STOP_WORDS}


def differ_materially(first: set[str], second: set[str]) -> bool:
    """Tell whether two sets of anchors are of different things: at most half of the smaller set is in the other.

    A subset is fine, the empty one too.
    """
    smaller = min(len(first), len(second))
    return smaller > 0 and len(first & second) <= SHARED_ANCHORS * smaller


def shared_words(a: str, b: str) -> float:
    """Return the Jaccard index of two texts' words of more than three characters; 1 where neither has any."""
    first, second = (_long_words(text) for text in (a, b))
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _long_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _LONG}


def _trigrams(text: str) -> Counter[str]:
    plain = " ".join(text.casefold().split())
    return Counter(plain[i : i + 3] for i in range(len(plain) - 2))
