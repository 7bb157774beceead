"""Forms of a word, brought together by their stem; remembered, as questions and predicates share few words."""

from __future__ import annotations

import functools
from typing import Final

from lamina_engine.index.analysis import Analyzer

_analyzer: Final = Analyzer()


@functools.lru_cache(1 << 15)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; of an identifier, the last of its forms: all of it, joined."""
    terms = _analyzer.tokens(word)
    return terms[-1].stem if terms else word
