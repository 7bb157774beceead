"""The two lanes: words through Tantivy and the forward lists, meaning through FAISS and the vectors of the log.

Each gives rows with its own exact scores. A filter reaches both: what an index cannot filter is over-fetched, and few
rows are scored one and all, so that no filter starves a lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine.index import nearest
from lamina_engine.index.analysis import QueryTerm, surface_hash, term_hash
from lamina_engine.index.inverted import InvertedLists, Sought
from lamina_engine.index.lexical import LexicalDamaged, LexicalIndex
from lamina_engine.index.postings import TailPostings
from lamina_engine.index.scoring import Bm25, WeightedQuery, asked, weigh
from lamina_engine.index.tables import LEXICAL
from lamina_engine.index.view import View
from lamina_engine.recall.fuse import EMPTY, Lane, ranked
from lamina_kernels.layouts import F32, F64, I64, U32

Mask = NDArray[np.bool_]
NARROW_ROWS: Final = 4_096
"""So few rows are scored one and all, faster than an index could be asked around a filter."""
_SPARE: Final = 1.25
_GROWTH: Final = 4


class Selection(Struct, frozen=True):
    """Which rows a recall may return."""

    live: Mask | None
    """bool (rows,); None where every row is."""
    count: int
    """How many rows that is."""
    must: tuple[str, ...]
    """Facets that every one of them has."""
    must_is_all: bool
    """True where nothing but those facets and being alive was asked for."""


class Words:
    """A query's words, weighed by the statistics of a view.

    Parameters
    ----------
    view : View
        What is read.
    terms : sequence of QueryTerm
        The query, analysed.
    bm25 : Bm25
        Parameters of the score.
    """

    def __init__(self, view: View, terms: list[QueryTerm], bm25: Bm25) -> None:
        self.view, self.bm25, self._terms = view, bm25, asked(terms)
        self.stems = [term.stem for term in self._terms]
        self._hashes: U32 = np.array([term_hash(stem) for stem in self.stems], np.uint32)
        self._sought: Sought | None = None
        """The postings of the query's words."""
        try:
            self._weigh()
        except LexicalDamaged as error:
            self._without_index(error)

    def _without_index(self, error: LexicalDamaged) -> None:
        """Weigh the words anew without Tantivy's index, which turned out to be damaged."""
        self.view.tables.distrust(str(self.view.snapshot.manifest.indexes[LEXICAL]["folder"]), error)
        self._weigh()

    def _weigh(self) -> None:
        view, bm25 = self.view, self.bm25
        self.inverted: InvertedLists | None = view.inverted
        index = view.tables.lexical(view.snapshot) if self.inverted is None else None
        # an index that has rows which this view does not see would count them
        self.index: LexicalIndex | None = (
            None if view.is_past or (index is not None and index.rows > view.rows) else index
        )
        self._tail: TailPostings | None = None
        self._known: Lane | None = None
        self._tail_scores: F64 | None = None
        """Of the rows from ``indexed`` on, where all of them have been scored."""
        self.query: WeightedQuery = weigh(self._terms, self._frequencies(), view.statistics.rows, bm25)
        if self._sought is not None:
            self._sought = self._sought.only(self.query.hashes)
        self._average = view.statistics.average_length(bm25)
        self.ceiling = float(np.cumsum(self.query.idf)[-1]) * (bm25.k1 + 1.0) if len(self.query.idf) else 0.0
        """What no score can exceed: every word, as often as one likes."""

    @property
    def indexed(self) -> int:
        """Rows below this are found through the inverted lists, or Tantivy; the others through the tail."""
        if self.inverted is not None:
            return self.inverted.rows
        return self.index.rows if self.index is not None else 0

    def _frequencies(self) -> list[int]:
        view = self.view
        if self.inverted is not None:
            self._tail = view.tables.tail(view.snapshot, self.inverted.rows)
            self._sought = self.inverted.seek(self._forms(), stop=view.rows)
            found = self._sought.frequencies()[: len(self._hashes)]
            total: list[int] = (found + self._tail.document_frequencies(self._hashes, stop=view.rows)).tolist()
            return total
        if view.is_past or view.rows < self.indexed:
            counts: list[int] = view.forward.document_frequencies(self._hashes, view.rows).tolist()
            return counts
        self._tail = view.tables.tail(view.snapshot, self.indexed)
        recent: list[int] = self._tail.document_frequencies(self._hashes, stop=view.rows).tolist()
        if self.index is None:
            return recent
        return [self.index.doc_freq(stem) + count for stem, count in zip(self.stems, recent, strict=True)]

    def _forms(self) -> U32:
        """Return the hashes of all stems, then of the surfaces that differ from theirs, and that `weigh` weighs too."""
        surfaces = [surface_hash(form) for term in self._terms for form in term.surfaces if form != term.stem]
        return np.concatenate([self._hashes, np.array(surfaces, np.uint32)])

    def score(self, rows: I64) -> F64:
        """Return the BM25 score of some rows, float64 (n,)."""
        if not len(self.query.idf) or not len(rows):
            return np.zeros(len(rows))
        return self.view.forward.score(rows, self.query, self.bm25, self._average)

    def completed(self, rows: I64) -> F64:
        """Return the score of some ascending rows after `lane`, float64 (n,): what it has computed, the rest now."""
        out = np.zeros(len(rows))
        rest = np.ones(len(rows), np.bool_)
        if self._tail_scores is not None:
            first = int(np.searchsorted(rows, self.indexed))
            out[first:] = self._tail_scores[rows[first:] - self.indexed]
            rest[first:] = False
        known = self._known
        if known is not None and len(known.rows):
            place = np.minimum(np.searchsorted(known.rows, rows), len(known.rows) - 1)
            found = np.flatnonzero(known.rows[place] == rows)
            out[found] = known.scores[place[found]]
            rest[found] = False
        left = np.flatnonzero(rest)
        if len(left):
            out[left] = self.score(rows[left])
        return out

    def contributions(self, rows: I64) -> list[dict[str, float]]:
        """Return what each word adds to the score of each row."""
        parts = self.view.forward.contributions(rows, self.query, self.bm25, self._average)
        names = self.query.terms
        return [{name: part for name, part in zip(names, row, strict=True) if part} for row in parts.tolist()]

    def lane(self, selection: Selection, depth: int) -> Lane:
        """Return the rows that hold the query's words best, at most ``depth``."""
        if not len(self.query.idf) or not selection.count:
            return EMPTY
        best = self._best(selection, depth)
        if best is None:
            return self._scan(selection, depth)
        found, scores = best
        order = np.argsort(found)
        self._known = Lane(found[order], scores[order])
        tail = self._score_tail(selection)
        if len(found):
            tail = Lane(np.concatenate([found, tail.rows]), np.concatenate([scores, tail.scores]))
        return ranked(tail.rows, tail.scores, depth)

    def _best(self, selection: Selection, depth: int) -> tuple[I64, F64] | None:
        """Return the best of the indexed rows with their scores; None where every row is to be scored."""
        view = self.view
        if self._sought is not None:
            live = None if selection.live is None else selection.live.view(np.uint8)
            return self._sought.best(self.query.idf, self.bm25, self._average, depth, live=live)
        if view.is_past or self._is_narrow(selection):
            return None
        try:
            found = self._find(selection, depth)
        except LexicalDamaged as error:
            self._without_index(error)
            return None
        return None if found is None else (found, self.score(found))

    def _score_tail(self, selection: Selection) -> Lane:
        """Return the selected rows of the tail that hold any of the words, with their scores, in row order."""
        tail, first, live = self._tail, self.indexed, selection.live
        if tail is None:
            return EMPTY
        if not tail.scores:
            rows = tail.rows_of(self._hashes, stop=self.view.rows)
            rows = rows if live is None else rows[live[rows]]
            return Lane(rows, self.score(rows))
        query, bm25 = self.query, self.bm25
        scores = tail.score(query.hashes, query.idf, bm25.weights, bm25.k1, bm25.b, self._average, stop=self.view.rows)
        self._tail_scores = scores
        rows = np.flatnonzero(scores if live is None else scores * live[first : self.view.rows])
        return Lane(rows + first, scores[rows])

    def _is_narrow(self, selection: Selection) -> bool:
        """Tell whether scoring the selected rows one and all is cheaper than asking an index around the filter."""
        if self.index is None:  # every row is in the tail, whose terms are not sorted for many rows
            return self.view.rows > NARROW_ROWS * 4
        return selection.live is not None and not selection.must_is_all and selection.count <= NARROW_ROWS

    def _scan(self, selection: Selection, depth: int) -> Lane:
        live = np.ones(self.view.rows, np.uint8) if selection.live is None else selection.live.view(np.uint8)
        scores = self.view.forward.scan(live, self.query, self.bm25, self._average)
        rows = np.flatnonzero(scores)
        return ranked(rows, scores[rows], depth)

    def _find(self, selection: Selection, depth: int) -> I64 | None:
        """Ask Tantivy for enough rows that ``depth`` of them pass the filter; None where scanning is cheaper, or the only way."""
        index = self.index
        if index is None:
            return np.empty(0, np.int64)
        if selection.live is None:
            return index.search(self.stems, depth)
        passing = 1.0 if selection.must_is_all else selection.count / max(self.view.rows, 1)
        limit = math.ceil(depth / passing * _SPARE)
        while limit * 2 < index.rows or selection.must_is_all:
            found = index.search(self.stems, limit, selection.must)
            if found is None:
                return None
            kept = found[selection.live[found]]
            if len(kept) >= depth or len(found) < limit:
                return kept
            limit *= _GROWTH
        return None


def vector_lane(view: View, query: F32, selection: Selection, depth: int) -> Lane:
    """Return the rows nearest to a vector by cosine, at most ``depth``; those at a right angle or beyond are left out."""
    rows = view.vector_rows
    if not rows or not selection.count:
        return EMPTY
    live = selection.live[:rows] if selection.live is not None else None
    index = view.tables.quantised(view.snapshot)
    found = nearest.search(view.vectors, index, query, depth, n_rows=rows, live=live)
    scores = found.scores.astype(np.float64)
    positive = int(np.count_nonzero(scores > 0.0))  # they descend, equal ones by higher row, as in every lane
    return Lane(found.rows[:positive], scores[:positive])


def completed(rank: I64, lane: Lane, score: Callable[[I64], F64]) -> F64:
    """Return the lane's score of every candidate: what the lane has computed already, the rest now.

    A row's score does not depend on the rows beside it, so both are the same number.

    Parameters
    ----------
    rank : int64 (n,)
        Place of each candidate in the lane, from 1; 0 where the lane did not find it.
    lane : Lane
        What the lane found.
    score : callable
        Gives the scores of some positions.
    """
    out = np.empty(len(rank))
    has = np.flatnonzero(rank)
    out[has] = lane.scores[rank[has] - 1]
    rest = np.flatnonzero(rank == 0)
    if len(rest):
        out[rest] = score(rest)
    return out


def cosines(view: View, query: F32 | None, rows: I64) -> F64:
    """Return the exact cosine of some rows to a query, float64 (n,); 0 for rows without a vector."""
    out = np.zeros(len(rows))
    if query is not None and view.vector_rows:
        has = rows < view.vector_rows
        out[has] = view.vectors.dots(rows[has], query)
    return out
