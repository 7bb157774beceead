"""Inverted lists of all segments but the smallest; exact top rows of a query.

What is found is what a scan of every row by its forward list (`ForwardLists.scan`) would find, bit for bit: at a past
watermark, behind any filter, before and after the kernels are compiled. The lists of a segment lie in a file of their
own beside its forward lists, of which they are a function; the builder behind the commit writes them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index import terms
from lamina_engine.index.analysis import ANALYSIS_ID
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.sealed import ALIGNMENT, Seal
from lamina_engine.index.terms import TermsDamaged
from lamina_kernels.inverted import (
    CODES,
    MOST_ROWS,
    ROOM,
    Inverted,
    Segments,
    best_postings,
    code_lengths,
    find_terms,
    find_terms_numpy,
    length_norms,
    locate_lengths,
    sum_postings_numpy,
)
from lamina_kernels.layouts import F64, I64, U8, U16, U32, TermRows
from lamina_kernels.terms import Blocks

LEAST_ROWS = 512
"""Segments with fewer rows have no file of lists: they are scanned, a fifth of a millisecond a thousand rows."""
_NO_MASK = np.empty(0, np.uint8)
_NO_ROWS: Final = np.empty(0, np.int64)
_ZONES = 3
_SEAL: Final = Seal(b"LAMLISTS", 1, "24sQQQ", what="file of inverted lists", damaged=TermsDamaged)
"""Fields: analysis, rows, terms, postings. Payload: the arrays of `Inverted`, each starting at a multiple of 64."""


def write_lists(path: Path, rows: int, inverted: Inverted) -> None:
    """Write the inverted lists of a segment to a file, all of it or nothing."""
    parts: list[bytes | memoryview] = []
    for array in inverted:
        if array.size:
            parts += [np.ascontiguousarray(array).data, bytes(-array.nbytes % ALIGNMENT)]
    _SEAL.write(path, (ANALYSIS_ID.encode(), rows, inverted.terms.size, inverted.rows.size), parts)


def open_lists(path: Path, rows: int, *, verify: bool) -> Inverted:
    """Map the inverted lists of a segment, checked as forward lists are.

    Raises
    ------
    TermsDamaged
        When the file is missing, torn, flipped, of another segment, or made by another version or other rules.
    """
    (analysis, n, names, postings), data = terms.open_sealed(path, _SEAL, verify=verify)
    made_by = analysis.rstrip(b"\0").decode()
    if (made_by, n) != (ANALYSIS_ID, rows):
        raise TermsDamaged(f"{path} was made by {made_by} of {n} rows, not {ANALYSIS_ID} of {rows}; build it again")
    layout = (
        (np.uint32, names), (np.uint32, names + 1), (np.uint16, postings), (np.uint8, postings),
        (np.uint8, CODES * _ZONES),
    )  # fmt: skip
    hashes, starts, places, codes, triples = terms.arrays_of(path, data, layout)
    if starts[0] != 0 or starts[-1] != postings or (starts[1:] < starts[:-1]).any():
        raise TermsDamaged(f"{path} has inverted lists out of order; build it again from the log")
    return Inverted(hashes, starts, places, codes, triples.reshape(CODES, _ZONES))


class InvertedSegment:
    """Lists and row lengths of one segment; shared by all versions that have it.

    Parameters
    ----------
    start : int
        Its first row.
    block : TermRows
        Its forward lists.
    inverted : Inverted
        The same, by term.
    """

    __slots__ = ("_lengths", "block", "inverted", "rows", "start")

    def __init__(self, start: int, block: TermRows, inverted: Inverted) -> None:
        self.start, self.block, self.inverted = start, TermRows(*_frozen(block)), Inverted(*_frozen(inverted))
        self.rows = block.lengths.shape[0]
        self._lengths: dict[bytes, tuple[U16, F64]] = {}

    def lengths(self, weights: F64) -> tuple[U16, F64]:
        """Return the length code of each row, uint16 (MOST_ROWS,), and the lengths, float64 (l,)."""
        key = weights.tobytes()
        found = self._lengths.get(key)
        if found is None:
            codes, values = np.zeros(MOST_ROWS, np.uint16), np.empty(self.rows)
            count = code_lengths(self.block.lengths, weights, codes, values)
            # threads may get here together: all take what the first one kept, for its address is passed
            found = self._lengths.setdefault(key, (codes, values[:count].copy()))
        return found


class _Room(threading.local):
    """Room of a thread for sums, 0 between calls; fresh pages for it would cost a tenth."""

    def __init__(self) -> None:
        self.sums = np.zeros(MOST_ROWS)


_room = _Room()


class InvertedLists:
    """The inverted lists of consecutive segments from row 0 on.

    Parameters
    ----------
    segments : sequence of InvertedSegment
        In row order.
    """

    def __init__(self, segments: Sequence[InvertedSegment]) -> None:
        self.segments = tuple(segments)
        self.rows = self.segments[-1].start + self.segments[-1].rows if self.segments else 0
        """Rows below this are in them."""
        self._lengths: dict[bytes, I64] = {}
        self._located: tuple[Segments, Blocks] | None = None

    def locate(self) -> tuple[Segments, Blocks]:
        """Return where all lists lie."""
        if self._located is None:
            blocks = Blocks.of([each.block for each in self.segments])
            self._located = Segments.of([each.inverted for each in self.segments]), blocks
        return self._located

    def lengths(self, weights: F64) -> I64:
        """Return where the lengths of all segments lie; see `InvertedSegment.lengths`."""
        key = weights.tobytes()
        found = self._lengths.get(key)
        if found is None:
            lengths = [each.lengths(weights) for each in self.segments]  # the segments hold them
            found = self._lengths[key] = locate_lengths(lengths)
        return found

    def seek(self, hashes: U32, *, stop: int) -> TermPostings:
        """Return the postings of distinct terms in the rows below ``stop``. O(q log t) a segment."""
        stops = np.array([min(stop - each.start, each.rows) for each in self.segments if each.start < stop], np.int64)
        if find_terms.ready:
            spans = np.empty((stops.size, hashes.size, 2), np.int64)
            find_terms(*self.locate()[0], stops, hashes, spans)
        else:
            each = [
                find_terms_numpy(s.inverted, hashes, below)
                for s, below in zip(self.segments, stops.tolist(), strict=False)
            ]
            spans = np.array(each, np.int64).reshape(stops.size, hashes.size, 2)
        return TermPostings(self, hashes, stops, spans)


class TermPostings:
    """Places of the postings of some terms; made by `InvertedLists.seek`.

    Parameters
    ----------
    lists : InvertedLists
    hashes : uint32 (q,)
        The terms.
    stops : int64 (s,)
        Of the first segments, how many rows are seen.
    spans : int64 (s, q, 2)
        The first posting in each, and one past the last.
    """

    def __init__(self, lists: InvertedLists, hashes: U32, stops: I64, spans: I64) -> None:
        self.hashes = hashes
        self._lists, self._stops, self._spans = lists, stops, spans

    def _parts(self) -> Iterator[tuple[InvertedSegment, int, I64]]:
        """Give each segment, how many of its rows are seen, and its spans; none without terms."""
        return zip(self._lists.segments if self.hashes.size else (), self._stops.tolist(), self._spans, strict=False)

    def frequencies(self) -> I64:
        """Return how many rows hold each term, int64 (q,)."""
        counts: I64 = self._spans[:, :, 1] - self._spans[:, :, 0]
        found: I64 = counts[0] if len(counts) == 1 else counts.sum(axis=0)
        return found

    def only(self, hashes: U32) -> TermPostings:
        """Return the same for some of the terms, in their order."""
        place = {key: i for i, key in enumerate(self.hashes.tolist())}
        picked = [place[key] for key in hashes.tolist()]
        return TermPostings(self._lists, hashes, self._stops, self._spans.take(picked, 1))

    def rows_of_each(self) -> list[I64]:
        """Return the rows that hold each term, int64 (m,) ascending."""
        found: list[list[I64]] = [[np.empty(0, np.int64)] for _ in range(self.hashes.size)]
        for segment, _, spans in self._parts():
            for rows, (first, last) in zip(found, spans.tolist(), strict=True):
                if first < last:
                    rows.append(segment.inverted.rows[first:last].astype(np.int64) + segment.start)
        return [np.concatenate(rows) for rows in found]

    def rows_of_all(self) -> I64:
        """Return the rows that hold all terms (at least one), int64 (m,) ascending."""
        rows = [np.empty(0, np.int64)]
        for segment, below, spans in self._parts():
            lists = sorted((segment.inverted.rows[first:last] for first, last in spans.tolist()), key=len)
            common = lists[0]
            for other in lists[1:]:
                common = np.intersect1d(common, other, assume_unique=True)
            rows.append(common[common < below].astype(np.int64) + segment.start)
        return np.concatenate(rows)

    scores_others = True
    """True where `best` scores other rows beside."""

    def best(
        self, idf: F64, bm25: Bm25, average_length: float, depth: int, *, live: U8 | None = None, beside: I64 = _NO_ROWS
    ) -> tuple[I64, F64, F64]:
        """Return the rows with the highest scores.

        Parameters
        ----------
        idf : float64 (q,)
            Weights of the terms, whose parts are added in this order.
        bm25 : Bm25
        average_length : float
            Of the rows that the reader sees.
        depth : int
            How many rows; of equal ones the newer; > 0.
        live : uint8 (n,), optional
            For every row below the stop, 0 where it is left out.
        beside : int64 (s,)
            Rows below the stop that are scored, too: cheaply, as every posting is read anyway.

        Returns
        -------
        rows : int64 (m,), m ≤ depth
            Best first; every one holds one of the terms.
        scores : float64 (m,)
            Bit-equal to `ForwardLists.score`.
        others : float64 (s,)
            Scores of ``beside``.
        """
        is_ready = best_postings.ready and code_lengths.ready
        best = self._best if is_ready else self._best_numpy
        others = np.zeros(beside.size)
        rows, scores = best(idf, bm25, average_length, depth, live, beside, others)
        return rows, scores, others

    def _best(
        self, idf: F64, bm25: Bm25, average_length: float, depth: int, live: U8 | None, beside: I64, others: F64
    ) -> tuple[I64, F64]:
        rows, scores = np.empty(2 * depth + ROOM, np.int64), np.empty(2 * depth + ROOM)
        segments, blocks = self._lists.locate()
        found = best_postings(
            *segments, *blocks, self._lists.lengths(bm25.weights), bm25.k1, bm25.b, average_length, self._stops, self._spans,
            self.hashes, idf, bm25.weights, _NO_MASK if live is None else live, beside, depth, _room.sums, rows, scores,
            others,
        )  # fmt: skip
        return rows[:found], scores[:found]

    def _best_numpy(
        self, idf: F64, bm25: Bm25, average_length: float, depth: int, live: U8 | None, beside: I64, others: F64
    ) -> tuple[I64, F64]:
        rows, scores, least = np.empty(0, np.int64), np.empty(0), 0.0
        for segment, stop, spans in reversed(list(self._parts())):
            norms = length_norms(segment.block.lengths[:stop], bm25.weights, bm25.k1, bm25.b, average_length)
            fixed = (self.hashes, idf, bm25.weights, bm25.k1)
            sums = sum_postings_numpy(segment.inverted, segment.block, norms, spans, *fixed)
            here = (beside >= segment.start) & (beside < segment.start + stop)
            others[here] = sums[beside[here] - segment.start]
            if live is not None:
                sums *= live[segment.start : segment.start + stop]
            found = np.flatnonzero(sums > least)
            rows, scores = np.concatenate([rows, found + segment.start]), np.concatenate([scores, sums[found]])
            kept = np.lexsort((-rows, -scores))[:depth]
            rows, scores = rows[kept], scores[kept]
            least = float(scores[-1]) if len(rows) == depth else 0.0
        return rows, scores


def _frozen(arrays: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return views that no call has to make again; see `lamina_kernels._jit`."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views
