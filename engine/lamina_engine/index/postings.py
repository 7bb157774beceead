"""Postings of the tail: which of the newest rows hold a term.

The rows that no Tantivy segment holds yet are few (below 4,096), and each must be found as soon as it is written.
Full blocks of rows are sorted by (term, row) once; the rows after the last full block stay unsorted and are compared
one by one. Adding a row costs a copy of its terms, and a reader sees each append whole or not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_kernels.layouts import I64, U32, TermRows

BLOCK_ROWS = 512
"""Rows sorted together."""

_Keys = NDArray[np.uint64]
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


class _State(NamedTuple):
    """What readers see; replaced as a whole."""

    blocks: tuple[_Keys, ...]
    hashes: U32
    owners: U32
    used: int
    rows: int


class TailPostings:
    """Term → rows for consecutive rows that start at ``first``; one writer, any number of readers.

    Parameters
    ----------
    first : int
        Row number of the first row that will be appended.
    """

    def __init__(self, first: int = 0) -> None:
        self.first = first
        empty = np.zeros(0, np.uint32)
        self._state = _State((), empty, empty, 0, 0)

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.first + self._state.rows

    def append(self, rows: TermRows) -> None:
        """Add rows after the last one.

        Notes
        -----
        O(e) for e entries, and one sort for each block that fills up.
        """
        n = rows.lengths.shape[0]
        start = 0
        while start < n:
            state = self._state
            stop = min(n, start + BLOCK_ROWS - state.rows % BLOCK_ROWS)
            first, last = int(rows.indptr[start]), int(rows.indptr[stop])
            owners = np.repeat(np.arange(start, stop) + (state.rows - start), np.diff(rows.indptr[start : stop + 1]))
            state = _put(state, rows.hashes[first:last], owners.astype(np.uint32), stop - start)
            self._state = _seal(state) if state.rows % BLOCK_ROWS == 0 else state
            start = stop

    def lookup(self, hashes: U32, *, stop: int | None = None) -> tuple[I64, I64]:
        """Find some terms.

        Parameters
        ----------
        hashes : uint32 (q,)
            Terms, in any order.
        stop : int, optional
            Only rows below it (a reader's snapshot); all rows otherwise.

        Returns
        -------
        rows : int64 (m,)
            Rows that hold at least one of them, ascending.
        frequencies : int64 (q,)
            How many rows hold each.
        """
        state = self._state
        hit = np.zeros(state.rows, np.bool_)
        limit = state.rows if stop is None else max(stop - self.first, 0)
        frequencies = np.zeros(len(hashes), np.int64)
        for i, wanted in enumerate(hashes):
            owners = _owners(state, wanted)
            hit[owners] = True
            frequencies[i] = owners.size if limit >= state.rows else np.count_nonzero(owners < limit)
        return np.flatnonzero(hit[:limit]) + self.first, frequencies

    def rows_of(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return the rows that hold at least one of the terms; see `lookup`."""
        return self.lookup(hashes, stop=stop)[0]

    def document_frequencies(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return for each term how many rows hold it; see `lookup`."""
        return self.lookup(hashes, stop=stop)[1]


def _put(state: _State, hashes: U32, owners: U32, rows: int) -> _State:
    """Copy entries behind the open ones; readers of the old state never look there."""
    used = state.used + hashes.size
    open_hashes, open_owners = state.hashes, state.owners
    if used > open_hashes.size:
        open_hashes = np.concatenate([state.hashes[: state.used], np.empty(2 * used - state.used, np.uint32)])
        open_owners = np.concatenate([state.owners[: state.used], np.empty(2 * used - state.used, np.uint32)])
    open_hashes[state.used : used] = hashes
    open_owners[state.used : used] = owners
    return _State(state.blocks, open_hashes, open_owners, used, state.rows + rows)


def _seal(state: _State) -> _State:
    """Sort the open entries into a block."""
    keys = state.hashes[: state.used].astype(np.uint64) << _SHIFT | state.owners[: state.used]
    keys.sort()
    empty = np.zeros(0, np.uint32)
    return _State((*state.blocks, keys), empty, empty, 0, state.rows)


def _owners(state: _State, wanted: np.uint32) -> I64:
    """Return the rows, counted from the first, that hold a term."""
    low = np.uint64(wanted) << _SHIFT
    found = [state.owners[: state.used][state.hashes[: state.used] == wanted].astype(np.int64)]
    for keys in state.blocks:
        start, stop = np.searchsorted(keys, low), np.searchsorted(keys, low | _LOW, side="right")
        found.append((keys[start:stop] & _LOW).astype(np.int64))
    return np.concatenate(found)
