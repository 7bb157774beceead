"""Likeness of texts by their words: whether one goes on with the matter of another.

Words weigh by how rare they are in English, as the bundled tokenizer's ids tell it (it gave the smallest to the most
frequent pieces), so likeness is a function of the two texts alone: not of the vault, its embedder, or when it is asked.
It is the cosine of weights times log2(1 + count). Sentences that both texts have word for word are nobody's matter.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Final

from lamina_engine import after_fork
from lamina_engine.embed.bundled import Merges, encode_word, load_merges, tokenizer_path

_COMMON: Final = 300
"""Ids below this are bytes, letters and the commonest words: they weigh nothing."""
_UNCOMMON: Final = 4.0
"""Weight of a word that has no token of its own, and of a file: below that of the rarest token (4.67)."""
_REPEATED_WORDS: Final = 8
"""From so many words on a sentence that both texts have counts for neither."""
_MOST_PIECES: Final = 2
_MOST_CHARS: Final = 16_000
_WORD: Final = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W_]+)*")
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MIXED: Final = re.compile(r"[a-z][A-Z]|[a-zA-Z]_[a-zA-Z]")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n")
_ENDINGS: Final = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "s", "ly")


@after_fork.track_property_locks
@dataclass(frozen=True)
class Matter:
    """The words of a text, sentence by sentence."""

    sentences: dict[str, Counter[str]]
    files: frozenset[str]

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weights of the words of all sentences."""
        return _weigh(self, ())


def matter_of(texts: Iterable[str], files: Collection[str] = ()) -> Matter:
    """Return the words of some texts, and the files they are about. O(characters)."""
    sentences: dict[str, Counter[str]] = {}
    room = _MOST_CHARS
    for text in texts:
        for sentence in _SENTENCE.split(text[:room]):
            if sentence and sentence not in sentences:
                sentences[sentence] = Counter(_stems(sentence))
        room -= len(text)
        if room <= 0:
            break
    return Matter(sentences, frozenset(files))


def likeness(a: Matter, b: Matter) -> float:
    """Return the likeness of two texts, in [0, 1]; symmetric."""
    repeated = {s for s in a.sentences.keys() & b.sentences.keys() if a.sentences[s].total() >= _REPEATED_WORDS}
    first, second = (_weigh(a, repeated), _weigh(b, repeated)) if repeated else (a.weights, b.weights)
    shared = math.fsum(first[stem] * second[stem] for stem in sorted(first.keys() & second.keys()))
    size = math.fsum(w * w for w in first.values()) * math.fsum(w * w for w in second.values())
    return shared / math.sqrt(size) if shared else 0.0


def _weigh(matter: Matter, repeated: Collection[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for sentence, stems in matter.sentences.items():
        if sentence not in repeated:
            counts.update(stems)
    found = {stem: weight * math.log2(1 + n) for stem, n in counts.items() if (weight := _weight(stem))}
    return found | {f"/{file}": _UNCOMMON for file in matter.files}


def _stems(sentence: str) -> Iterable[str]:
    for word in _WORD.findall(sentence):
        yield _stem(word)
        if _MIXED.search(word):
            yield from (_stem(part) for part in _PART.findall(word))


@lru_cache(50_000)
def _stem(word: str) -> str:
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@lru_cache(50_000)
def _weight(stem: str) -> float:
    """Return how rare a word is: 0 for the commonest ones."""
    if len(stem) < 2:
        return 0.0
    for form in (stem, f"{stem}e", f"{stem}s"):
        ids = encode_word(form, _merges())
        if len(ids) == 1:
            return max(0.0, math.log(ids[0] / _COMMON))
        if len(ids) > _MOST_PIECES:
            break  # one more letter makes no single token of it
    return _UNCOMMON


@cache
def _merges() -> Merges:
    return load_merges(tokenizer_path())
