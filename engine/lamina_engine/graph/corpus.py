"""Texts of the active chunks of a view, found by their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.graph.naming import Texts
from lamina_engine.index.analysis import STOP_WORDS, Analyzer, term_hash
from lamina_engine.index.languages import ENGLISH
from lamina_engine.index.state import ACTIVE
from lamina_engine.index.zones import body

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lamina_engine.index.view import View
    from lamina_kernels.layouts import I64

_FEW: Final = 8
"""Rows from which on it costs less to look at the texts than at more lists of rows."""
_PARTS: Final = ("word", "part")
"""Terms that a word has wherever it stands, also inside an identifier."""


def texts_of(view: View) -> Texts:
    """Return the active chunks' texts without the addresses of links, read on demand."""

    def read(row: int) -> str:
        return body(str(view.snapshot.values("chunks", "text", np.array([row], np.int64))[0]))

    words = _Words(view)
    return Texts(read, words.rows_with, words.look_up, round_count(int(view.state.active().sum())))


def round_count(count: int, bits: int = 3) -> int:
    """Return a count at so many significant bits: limits by it move seldom as a vault grows."""
    spare = max(count.bit_length() - bits, 0)
    return count >> spare << spare


class _Words:
    """Active rows by word, looked up once for each of its terms."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._active = view.state.status == ACTIVE
        english = Analyzer()
        self._analyzers = [english.of(language) for language in (ENGLISH, *view.languages)]
        self._keys: dict[str, set[tuple[int, ...]]] = {}
        self._rows: dict[int, I64] = {}
        self._joined: dict[str, I64] = {}

    def look_up(self, words: Iterable[str]) -> None:
        """Look up the rows of many words at once."""
        keys = {key for word in words for stems in self._keys_of(word) for key in stems}
        new = np.array(sorted(keys.difference(self._rows)), np.uint32)
        found = self._view.rows_with_each(new) if new.size else []
        self._rows |= {key: rows[self._active[rows]] for key, rows in zip(new.tolist(), found, strict=True)}

    def rows_with(self, words: Sequence[str]) -> list[int]:
        """Return the rows that may hold all of some words, ascending."""
        self.look_up(words)
        lists = [rows for word in set(words) if (rows := self._rows_of(word)) is not None]
        if not lists:
            return np.flatnonzero(self._active).tolist()
        found: list[int] = _common(lists).tolist()
        return found

    def _rows_of(self, word: str) -> I64 | None:
        """Return the rows with a word in any language; None where the index leaves it out."""
        if word in self._joined:
            return self._joined[word]
        found = [_common([self._rows[key] for key in stems]) for stems in self._keys_of(word)]
        if len(found) > 1:  # kept: a word of most titles is asked for with each of them
            self._joined[word] = np.unique(np.concatenate(found))
            return self._joined[word]
        return found[0] if found else None

    def _keys_of(self, word: str) -> set[tuple[int, ...]]:
        """Return the keys of each text with a word, by language, whatever it is a part of."""
        if word not in self._keys:
            found = set()
            for analyzer in self._analyzers:
                terms = [term for each in analyzer.words(word) for term in each if term.kind in _PARTS]
                stems = {term.stem for term in terms if term.surface not in STOP_WORDS}
                found.add(tuple(sorted(map(term_hash, stems))))
            self._keys[word] = set() if () in found else found
        return self._keys[word]


def _common(lists: Sequence[I64]) -> I64:
    """Return the rows of all of some lists; of the last few those of the shortest."""
    rows, *others = sorted(lists, key=len)
    for other in others:
        if len(rows) <= _FEW:
            break
        rows = rows[other[np.searchsorted(other, rows).clip(max=len(other) - 1)] == rows]
    return rows
