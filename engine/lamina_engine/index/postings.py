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

    sealed: _Keys
    """Sorted (term, row) keys of all full blocks."""
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
        self._state = _State(np.zeros(0, np.uint64), empty, empty, 0, 0)
        self._open: tuple[_State, _Keys] | None = None

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.first + self._state.rows

    def append(self, rows: TermRows) -> None:
        """Add rows after the last one.

        Notes
        -----
        O(e) for e entries, and one sort of all full blocks for each block that fills up: they are few.
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
        limit = state.rows if stop is None else min(max(stop - self.first, 0), state.rows)
        hit = np.zeros(state.rows, np.bool_)
        frequencies = np.zeros(len(hashes), np.int64)
        low = hashes.astype(np.uint64) << _SHIFT
        for keys in (state.sealed, self._sorted_open(state)):
            if not keys.size:
                continue
            # a row below the limit follows its term's lower bound, so a count is the distance of two places
            starts, stops = np.searchsorted(keys, low), np.searchsorted(keys, low + np.uint64(limit))
            frequencies += stops - starts
            for begin, end in zip(starts.tolist(), stops.tolist(), strict=True):
                hit[keys[begin:end] & _LOW] = True
        return np.flatnonzero(hit) + self.first, frequencies

    def rows_of(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return the rows that hold at least one of the terms; see `lookup`."""
        return self.lookup(hashes, stop=stop)[0]

    def document_frequencies(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return for each term how many rows hold it; see `lookup`."""
        return self.lookup(hashes, stop=stop)[1]

    def _sorted_open(self, state: _State) -> _Keys:
        """Return the keys of the open rows, sorted once for all look-ups until the next append."""
        cached = self._open
        if cached is None or cached[0] is not state:
            cached = self._open = (state, _sorted(state))
        return cached[1]


def _put(state: _State, hashes: U32, owners: U32, rows: int) -> _State:
    """Copy entries behind the open ones; readers of the old state never look there."""
    used = state.used + hashes.size
    open_hashes, open_owners = state.hashes, state.owners
    if used > open_hashes.size:
        open_hashes = np.concatenate([state.hashes[: state.used], np.empty(2 * used - state.used, np.uint32)])
        open_owners = np.concatenate([state.owners[: state.used], np.empty(2 * used - state.used, np.uint32)])
    open_hashes[state.used : used] = hashes
    open_owners[state.used : used] = owners
    return _State(state.sealed, open_hashes, open_owners, used, state.rows + rows)


def _sorted(state: _State) -> _Keys:
    keys = state.hashes[: state.used].astype(np.uint64) << _SHIFT | state.owners[: state.used]
    keys.sort()
    return keys


def _seal(state: _State) -> _State:
    """Sort the open entries in with the full blocks."""
    keys = np.concatenate([state.sealed, _sorted(state)])
    keys.sort()
    empty = np.zeros(0, np.uint32)
    return _State(keys, empty, empty, 0, state.rows)
