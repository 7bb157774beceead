"""Nearness of words in meaning, by the bundled table of word vectors.

It is asked only about words that no table of words knows. Cosines of single words say little by themselves; that a word is
nearer to one predicate than to all others of the vault says more.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamina_engine.embed.bundled import WordLlamaEmbedder


@functools.cache
def _table() -> WordLlamaEmbedder:
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    return WordLlamaEmbedder()


@functools.lru_cache(1 << 13)
def _vector(words: str) -> list[float]:
    vector: list[float] = _table().embed_query(words).tolist()
    return vector


def nearness(word: str, phrase: str) -> float:
    """Return the cosine of a word and a few words, in [-1, 1]; the exact sum, rounded once."""
    return math.fsum(a * b for a, b in zip(_vector(word), _vector(phrase), strict=True))


@functools.lru_cache(1 << 12)
def nearest(word: str, phrases: tuple[str, ...]) -> tuple[str, float]:
    """Return the phrase nearest to a word, and their cosine; the first of equal ones."""
    found = max(phrases, key=lambda phrase: (nearness(word, phrase), phrase))
    return found, nearness(word, found)
