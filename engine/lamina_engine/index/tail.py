"""Tail: the newest rows, without lists yet, scanned by their forward lists and words."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index.terms import read_only
from lamina_kernels.layouts import I64, U32, TermRows
from lamina_kernels.terms import find_entries, find_entries_numpy

_COPIED_ROWS: Final = 4_096
"""Fewer rows are copied behind the ones before them, so that many small writes are scanned as one block."""
_SPARE: Final = 2


class Matches(NamedTuple):
    """Entries of the tail's forward lists that are query terms, in no order."""

    rows: I64
    terms: I64
    """Which of the query's terms each is."""


class Tail:
    """Growing forward lists of the rows from ``first`` on; one writer, many readers.

    Rows never change and only ever come after the last one, so a reader of an older version reads the first of them.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._blocks: tuple[tuple[int, TermRows], ...] = ()
        """By first row; replaced as a whole."""
        self._room: TermRows | None = None
        """What the last block is the beginning of, where rows can be copied behind it."""

    @property
    def stop(self) -> int:
        """One past the last row."""
        blocks = self._blocks
        return blocks[-1][0] + len(blocks[-1][1].lengths) if blocks else self.first

    def append(self, rows: TermRows) -> None:
        """Add rows after the last one. O(entries) amortised for few rows, O(rows) for many."""
        if len(rows.lengths) >= _COPIED_ROWS:
            self._room = None
            self._blocks = (*self._blocks, (self.stop, read_only(rows)))
            return
        if self._room is None:
            before, start, block = self._blocks, self.stop, _EMPTY
            self._room = block
        else:
            before, (start, block) = self._blocks[:-1], self._blocks[-1]
        n, entries = len(block.lengths), block.hashes.size
        used = (n + 1, entries, entries, entries, entries, n)
        more: tuple[NDArray[Any], ...] = (rows.indptr[1:] + entries, *rows[1:])
        room = [_put_after(array, at, new) for array, at, new in zip(_arrays(self._room), used, more, strict=True)]
        grown = [array[: at + len(new)] for array, at, new in zip(room, used, more, strict=True)]
        self._room = TermRows._make(room)
        self._blocks = (*before, (start, read_only(TermRows._make(grown))))

    def match(self, keys: U32, stop: int) -> Matches:
        """Return where distinct terms stand in the rows below ``stop``."""
        rows: list[I64] = [np.empty(0, np.int64)]
        terms: list[I64] = [np.empty(0, np.int64)]
        for start, block in self._blocks if keys.size else ():
            if start < stop:
                found, entries = _find(_head(block, stop - start), keys)
                rows.append(np.searchsorted(block.indptr, entries, side="right") + (start - 1))
                terms.append(found)
        return Matches(np.concatenate(rows), np.concatenate(terms))


class TailWords:
    """Words of consecutive rows from ``first`` on; one writer, any number of readers."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.titles: list[str] = []
        """Surface forms of each row's title, with a blank on either side of each."""
        self.words: list[str] = []
        """Those of title and text, with a line's end between the two."""
        self._rows: dict[str, list[int]] = {}
        """Ascending, by word."""
        self._ordered: list[str] = []

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.first + len(self.words)

    def append(self, titles: Sequence[str], texts: Sequence[str]) -> None:
        """Add rows after the last one, given by their surface forms joined by blanks."""
        for title, text in zip(titles, texts, strict=True):
            words = f" {title} \n {text} "
            for word in dict.fromkeys(words.split()):
                self._rows.setdefault(word, []).append(self.first + len(self.words))
            self.titles.append(f" {title} ")
            self.words.append(words)

    def from_row(self, first: int) -> TailWords:
        """Return the words of the rows from one on."""
        out = TailWords(first)
        out.titles, out.words = self.titles[first - self.first :], self.words[first - self.first :]
        for row, words in enumerate(out.words, first):
            for word in dict.fromkeys(words.split()):
                out._rows.setdefault(word, []).append(row)
        return out

    def vocabulary(self, prefix: str = "") -> list[str]:
        """Return the words that begin with a prefix, by alphabet."""
        ordered = self._ordered
        if len(ordered) < len(self._rows):  # only the words since are new to the sort, which merges runs
            ordered = self._ordered = sorted([*ordered, *itertools.islice(self._rows, len(ordered), None)])
        first = bisect.bisect_left(ordered, prefix)
        return list(itertools.takewhile(lambda word: word.startswith(prefix), itertools.islice(ordered, first, None)))

    def frequencies(self, words: Collection[str], stop: int) -> dict[str, int]:
        """Return by word how many rows below ``stop`` hold it; those that none holds are left out."""
        rows = self._rows
        counts = {word: bisect.bisect_left(rows[word], stop) for word in words if word in rows}
        return {word: count for word, count in counts.items() if count}

    def rows_of(self, words: Collection[str], stop: int) -> I64:
        """Return the rows below ``stop`` that hold any of some words, int64 (m,) ascending."""
        rows = {row for word in words for row in self._rows.get(word, ()) if row < stop}
        return np.array(sorted(rows), np.int64)

    def rows_with_all(self, words: Collection[str], stop: int) -> I64:
        """Return the rows below ``stop`` that hold each of some words, int64 (m,) ascending."""
        lists = sorted([self._rows.get(word, ()) for word in words], key=len)
        rows = set(lists[0]).intersection(*lists[1:])
        return np.array(sorted([row for row in rows if row < stop]), np.int64)


def _find(block: TermRows, keys: U32) -> tuple[I64, I64]:
    if not find_entries.ready:
        return find_entries_numpy(block, keys)
    size = min(block.hashes.size, len(block.lengths) * keys.size)
    terms, entries = np.empty(size, np.int64), np.empty(size, np.int64)
    count = find_entries(block, keys, terms, entries)
    return terms[:count], entries[:count]


def _head(block: TermRows, rows: int) -> TermRows:
    if rows >= len(block.lengths):
        return block
    stop = int(block.indptr[rows])
    ends = (rows + 1, stop, stop, stop, stop, rows)
    return TermRows._make([array[:end] for array, end in zip(_arrays(block), ends, strict=True)])


def _arrays(block: TermRows) -> tuple[NDArray[Any], ...]:
    return tuple(block)


def _put_after(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """Append values behind those in use, in place if there is room; readers never look there."""
    end = used + len(more)
    if end > len(array):
        array = np.concatenate([array[:used], np.empty((_SPARE * end - used, *more.shape[1:]), array.dtype)])
    array[used:end] = more
    return array


_NO_COUNTS = np.zeros(0, np.uint8)
_EMPTY: Final = TermRows(
    np.zeros(1, np.int64), np.zeros(0, np.uint32), _NO_COUNTS, _NO_COUNTS, _NO_COUNTS, np.zeros((0, 3), np.uint16)
)
