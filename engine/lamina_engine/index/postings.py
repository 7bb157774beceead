"""Postings of the tail: which of the newest rows hold a term, and how well those rows answer a query.

The rows that no Tantivy segment holds yet are few (below 4,096), and each must be found as soon as it is written.
Their entries lie in one growing list. A process's first answers compare all of it with each term by NumPy (0.04 ms a
term and 2,000 rows); once the kernels are compiled, entries are put in buckets by their hash, and the open ones, at
most a quarter of them, are compared. Adding a row copies its terms, and a reader sees each append whole or not at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_kernels.layouts import F64, I64, U8, U16, U32, TermRows
from lamina_kernels.postings import BUCKETS, Postings, bucket_order, posting_frequencies, score_postings

_OPEN_SHARE = 4
_OPEN_ENTRIES = 8_192
"""Entries are put in buckets anew when the open ones are more than this and than one in `_OPEN_SHARE` of all."""


class _State(NamedTuple):
    """What readers see; replaced as a whole. Arrays are longer than what is used of them."""

    hashes: U32
    owners: U32
    counts: U8
    used: int
    lengths: U16
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
        self._state = _State(empty, empty, np.zeros((0, 3), np.uint8), 0, np.zeros((0, 3), np.uint16), 0)
        self._ordered: tuple[_State, Postings] | None = None

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.first + self._state.rows

    @property
    def scores(self) -> bool:
        """Whether `score` can be called: its kernels are compiled."""
        return score_postings.ready and posting_frequencies.ready and bucket_order.ready

    def append(self, rows: TermRows) -> None:
        """Add rows after the last one. O(e) amortised, for e entries."""
        state, n, e = self._state, rows.lengths.shape[0], rows.hashes.size
        owners = np.repeat(np.arange(state.rows, state.rows + n, dtype=np.uint32), np.diff(rows.indptr))
        counts = np.stack([rows.body, rows.header, rows.context], axis=1)
        self._state = _State(
            _after(state.hashes, state.used, rows.hashes),
            _after(state.owners, state.used, owners),
            _after(state.counts, state.used, counts),
            state.used + e,
            _after(state.lengths, state.rows, rows.lengths),
            state.rows + n,
        )

    def document_frequencies(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return for each term how many rows hold it, int64 (q,); only rows below ``stop``, a reader's snapshot."""
        state = self._state
        if self.scores:
            out = np.empty(len(hashes), np.int64)
            posting_frequencies(self._postings(state), hashes, self._limit(state, stop), out)
            return out
        return np.array([len(rows) for rows in self._rows_of_each(state, hashes, stop)], np.int64)

    def rows_of(self, hashes: U32, *, stop: int | None = None) -> I64:
        """Return the rows that hold at least one of the terms, int64 (m,) ascending; only those below ``stop``."""
        state = self._state
        hit = np.zeros(state.rows, np.bool_)
        for rows in self._rows_of_each(state, hashes, stop):
            hit[rows] = True
        return np.flatnonzero(hit) + self.first

    def score(
        self, hashes: U32, idf: F64, weights: F64, k1: float, b: float, average_length: float, *, stop: int
    ) -> F64:
        """Score the rows below ``stop`` by BM25.

        Parameters
        ----------
        hashes, idf, weights, k1, b, average_length
            As `lamina_kernels.postings.score_postings` takes them.
        stop : int
            Row number; one past the last row that the reader sees.

        Returns
        -------
        float64 (stop - first,)
            By row from ``first`` on; 0 where no term stands. The bits of `ForwardLists.score`.
        """
        state = self._state
        out = np.empty(self._limit(state, stop))
        score_postings(self._postings(state), hashes, idf, weights, k1, b, average_length, out)
        return out

    def _limit(self, state: _State, stop: int | None) -> int:
        return state.rows if stop is None else min(max(stop - self.first, 0), state.rows)

    def _rows_of_each(self, state: _State, hashes: U32, stop: int | None) -> list[NDArray[np.uint32]]:
        limit = self._limit(state, stop)
        used, owners = state.hashes[: state.used], state.owners[: state.used]
        found = [owners[np.flatnonzero(used == wanted)] for wanted in hashes]
        return found if limit == state.rows else [rows[rows < limit] for rows in found]

    def _postings(self, state: _State) -> Postings:
        """Return the entries for the kernels, put in buckets anew where many are open."""
        known = self._ordered
        if known is not None and known[0] is state:
            return known[1]
        bucketed = int(known[1].starts[-1]) if known is not None and known[0].used <= state.used else 0
        if known is None or state.used - bucketed > max(_OPEN_ENTRIES, state.used // _OPEN_SHARE):
            found = _bucketed(state)
        else:  # what is in buckets stays, the rest follows in row order
            former, tail = known[1], slice(bucketed, state.used)
            found = Postings(
                former.starts,
                np.concatenate([former.hashes[:bucketed], state.hashes[tail]]),
                np.concatenate([former.owners[:bucketed], state.owners[tail]]),
                np.concatenate([former.counts[:bucketed], state.counts[tail]]),
                state.lengths[: state.rows],
            )
        found = _read_only(found)
        self._ordered = (state, found)
        return found


def _bucketed(state: _State) -> Postings:
    hashes = state.hashes[: state.used]
    starts, order = np.empty(BUCKETS + 1, np.int32), np.empty(state.used, np.int32)
    bucket_order(hashes, starts, order)
    return Postings(starts, hashes[order], state.owners[order], state.counts[order], state.lengths[: state.rows])


def _read_only(postings: Postings) -> Postings:
    """Arrays that no call has to make again; see `lamina_kernels._jit`."""
    for array in postings:
        array.flags.writeable = False
    return postings


def _after(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """Copy values behind those in use, in place where there is room: readers of the old state never look there."""
    end = used + len(more)
    if end > len(array):
        array = np.concatenate([array[:used], np.empty((2 * end - used, *more.shape[1:]), array.dtype)])
    array[used:end] = more
    return array
