"""Turns of dialogues in a score.

How much a turn says counts, and whether the question names who speaks.

A turn is a chunk of a session. One of a few words says little, whatever it matches; one whose speaker the question names is
more often the one that is meant. Both are factors of its score; what a question passes on to the turn after it is part of
the match (`lamina_kernels.candidates`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.index.analysis import STOP_WORDS, fold
from lamina_kernels.layouts import BOOL, F64, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.profiles import Profile

_WORD: Final = re.compile(r"[^\W_]+")
_ENOUGH_WORDS: Final = 63
"""A turn of so many words says as much as any."""
_LEAST_LETTERS: Final = 3
"""Letters that a short form of a name has: Mel for Melanie."""


def turn_factors(view: View, profile: Profile, rows: I64, named: frozenset[int]) -> F64 | None:
    """Return the factor of each row as a turn; None where none is one, or none differs."""
    settings = profile.dialogue
    turns = view.categories.gather(view.snapshot, "session", rows) >= 0
    if not (settings.length or (settings.named and named)) or not turns.any():
        return None
    factors = 1.0 - settings.length * _missing(view, rows)
    if named:
        factors *= np.where(_is_by(view, rows, named), 1.0 + settings.named, 1.0)
    return np.where(turns, factors, 1.0)


def turn_terms(view: View, profile: Profile, rows: I64, named: frozenset[int]) -> list[dict[str, Any] | None]:
    """Return the explanation term ``turn`` of each row; None for what is no turn."""
    settings = profile.dialogue
    turns = view.categories.gather(view.snapshot, "session", rows) >= 0
    if not (settings.length or settings.named) or not turns.any():
        return [None] * len(rows)
    words, by = view.forward.words(rows), _is_by(view, rows, named)
    columns = zip(turns.tolist(), words.tolist(), by.tolist(), strict=True)
    return [
        {"words": count, "length": settings.length, "named": settings.named if is_named else 0.0} if is_turn else None
        for is_turn, count, is_named in columns
    ]


def recompute_turn(terms: Mapping[str, Any]) -> float:
    """Recompute the factor from a term of `turn_terms`."""
    missing = np.log2(_ENOUGH_WORDS + 1) - np.log2(1 + min(terms["words"], _ENOUGH_WORDS))
    return float((1.0 - terms["length"] * missing) * (1.0 + terms["named"]))


def named_agents(view: View, text: str) -> frozenset[int]:
    """Return the codes of the agents that a question names, by a name or a short form of it."""
    return frozenset[int]().union(*agents_by_word(view, text).values())


def agents_by_word(view: View, text: str) -> dict[str, set[int]]:
    """Return the codes of the agents that each word of a question names."""
    view.categories.column(view.snapshot, "agent")  # reads the names
    names = view.categories.values("agent")
    if not names:
        return {}
    # a capital at the beginning says nothing
    asked = {fold(word): place > 0 and word[0].isupper() for place, word in enumerate(_WORD.findall(text))}
    asked = {word: upper for word, upper in asked.items() if word not in STOP_WORDS}
    known = _words_of_agents(view, names)
    found = {word: set(known[word]) for word in asked if word in known}
    for word, upper in asked.items():
        if upper and len(word) >= _LEAST_LETTERS and word not in known:
            for name, codes in known.items():
                if len(name) >= _LEAST_LETTERS and (name.startswith(word) or word.startswith(name)):
                    found.setdefault(word, set()).update(codes)
    return found


def count_names(view: View, words: Iterable[str]) -> int:
    """Return how many words are of an agent's name."""
    view.categories.column(view.snapshot, "agent")  # reads the names
    names = view.categories.values("agent")
    known = _words_of_agents(view, names) if names else {}
    return sum(fold(word) in known for word in words)


def _words_of_agents(view: View, names: list[str]) -> dict[str, list[int]]:
    """Return the agents by each word of their names."""
    known = view.tables.peek_cached("agents")
    if known is None or known[0] != len(names):
        words: dict[str, list[int]] = {}
        for code, name in enumerate(names):
            for word in {fold(word) for word in _WORD.findall(name)}:
                words.setdefault(word, []).append(code)
        known = view.tables.put_cached("agents", (len(names), words))
    found: dict[str, list[int]] = known[1]
    return found


def _missing(view: View, rows: I64) -> F64:
    """Return log2 of how many times more words each row would need to say enough, at least 0."""
    words = np.minimum(view.forward.words(rows), _ENOUGH_WORDS)
    missing: F64 = np.log2(_ENOUGH_WORDS + 1) - np.log2(1.0 + words)
    return missing


def _is_by(view: View, rows: I64, named: frozenset[int]) -> BOOL:
    agents = view.categories.gather(view.snapshot, "agent", rows)
    found: BOOL = np.isin(agents, list(named))
    return found
