"""The two lanes: words through the text index and the forward lists, meaning through FAISS and the vectors of the log.

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
from lamina_engine.index.scoring import Bm25, WeightedQuery, scoring_terms, weigh
from lamina_engine.index.tables import LEXICAL
from lamina_engine.index.tail import Matches
from lamina_engine.index.textindex import ROUNDING, Hits, TextIndexDamaged, TextPart, encodable
from lamina_engine.index.view import View
from lamina_engine.recall.fuse import EMPTY, Lane, ranked
from lamina_kernels.layouts import F32, F64, I64, U32

Mask = NDArray[np.bool_]
_NO_ROWS: Final[I64] = np.empty(0, np.int64)
DEPTHS: Final = (300, 1_000, 4_000, 16_000)
"""Rows asked of each part of the text index, until those that were not seen are proved to be worse."""
_SPARE: Final = 1.5
"""Rows asked for first, for each that is wanted: half as many more prove that the others are worse, nearly always."""
_CHUNK: Final = 16
"""Rows scored beyond those that are wanted, before the first look at who can still be among the best."""
_MOST_TERMS: Final = 256
_MOST_FACET_CHARS: Final = 1_000


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

    What the lane gives is what a scan of every row would give, bit for bit, whatever part of the rows stands in the
    text index: that proposes rows with a bound on their scores, and is asked for more until no row that it has not
    proposed can be among the best. Where that cannot be proved, every row is scored.

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
        self.view, self.bm25, self._terms = view, bm25, scoring_terms(terms)
        self._stems = [term_hash(term.stem) for term in self._terms]
        surfaces = [surface_hash(form) for term in self._terms for form in term.surfaces if form != term.stem]
        self._keys: U32 = np.array(list(dict.fromkeys([*self._stems, *surfaces])), np.uint32)
        """Of all stems, then of the surfaces that differ from theirs."""
        self._average = view.statistics.average_length(bm25)
        self._scored: Lane = EMPTY
        """Rows that `lane` has scored, ascending."""
        self._weigh_terms()

    def _weigh_terms(self) -> None:
        view = self.view
        self._index = view.tables.text(view.snapshot)
        self.indexed = 0 if self._index is None else min(self._index.rows, view.rows)
        """Rows below this are found through the text index; the others, the tail, are scanned."""
        self._tail: Matches | None = None
        """Where the terms stand in the tail."""
        if self.indexed < view.rows and len(self._keys):
            self._tail = view.tables.tail(view.snapshot, self.indexed).match(self._keys, view.rows)
        try:
            self.query: WeightedQuery = weigh(self._terms, self._frequencies(), view.statistics.rows, self.bm25)
        except TextIndexDamaged as error:
            self._drop_index(error)
            return
        self.ceiling = float(np.cumsum(self.query.idf)[-1]) * (self.bm25.k1 + 1.0) if len(self.query.idf) else 0.0
        """What no score can exceed: every word, as often as one likes."""

    def _drop_index(self, error: TextIndexDamaged) -> None:
        """Go on without the text index, which turned out to be damaged."""
        self.view.tables.distrust(str(self.view.snapshot.manifest.indexes[LEXICAL]["folder"]), error)
        self._weigh_terms()

    def _frequencies(self) -> list[int]:
        """Return how many rows of the view hold each term."""
        stems = np.array(self._stems, np.uint32)
        total = np.zeros(len(stems), np.int64)
        if self._index is not None and len(stems):
            total += self._index.frequencies(stems, self.indexed)
        if self._tail is not None:
            held = np.bincount(self._tail.terms, minlength=len(self._keys))
            place = {key: i for i, key in enumerate(self._keys.tolist())}
            total += held[[place[key] for key in self._stems]]
        counts: list[int] = total.tolist()
        return counts

    def score(self, rows: I64) -> F64:
        """Return the BM25 score of some rows, float64 (n,)."""
        if not len(self.query.idf) or not len(rows):
            return np.zeros(len(rows))
        return self.view.forward.score(rows, self.query, self.bm25, self._average)

    def completed(self, rows: I64) -> F64:
        """Return the score of some ascending rows after `lane`, float64 (n,): what it has computed, the rest now."""
        out = np.zeros(len(rows))
        rest = np.ones(len(rows), np.bool_)
        known = self._scored
        if len(known.rows):
            place = np.minimum(np.searchsorted(known.rows, rows), len(known.rows) - 1)
            hit = np.flatnonzero(known.rows[place] == rows)
            out[hit] = known.scores[place[hit]]
            rest[hit] = False
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
        try:
            found = self._search(selection, depth)
        except TextIndexDamaged as error:
            self._drop_index(error)
            found = self._search(selection, depth)
        if found is None:
            self.view.tables.depths[0] += 1
            return self._scan(selection, depth)
        order = np.argsort(found.rows)
        self._scored = Lane(found.rows[order], found.scores[order])
        return ranked(found.rows, found.scores, depth)

    def _search(self, selection: Selection, depth: int) -> Lane | None:
        """Return rows with their scores, the ``depth`` best among them; None where all are to be scored."""
        index, live = self._index, selection.live
        best = _Best(self, depth)
        if index is None or not self.indexed:
            best.offer(self._tail_hits(), live)
            best.score()
            return Lane(best.rows, best.scores)
        facets = tuple(encodable(facet) for facet in selection.must if len(facet) <= _MOST_FACET_CHARS)
        exact = live is None or (selection.must_is_all and len(facets) == len(selection.must))
        passing = 1.0 if exact else selection.count / self.view.rows
        first = math.ceil(depth * _SPARE / passing)
        if first > DEPTHS[-1] or selection.count <= 2 * first or len(self.query.idf) > _MOST_TERMS:
            return None
        best.offer(self._tail_hits(), live)
        keys, weights = self.query.hashes.tolist(), self.query.idf.tolist()
        parts = [_Probe(part, part.ratio(self.bm25, self._average)) for part in index.below(self.indexed)]
        if any(math.isinf(probe.ratio) for probe in parts):
            return None
        for limit in (first, *(size for size in DEPTHS if size > first)):
            for probe in parts:
                if probe.rest > 0.0 and probe.rest >= best.least:
                    hits = index.search(probe.part, keys, weights, limit, probe.ratio, facets, self.indexed)
                    if hits is None:
                        return None
                    best.offer(hits, live, probe.seen)
                    probe.rest, probe.seen = hits.rest, hits.rows
            best.score()
            if all(probe.rest == 0.0 or probe.rest < best.least for probe in parts):
                self.view.tables.depths[limit] += 1
                return Lane(best.rows, best.scores)
        return None

    def _tail_hits(self) -> Hits:
        """Return the rows of the tail that hold any of the words; no score exceeds the weights of a row's words."""
        if self._tail is None:
            return Hits(_NO_ROWS, np.empty(0), 0.0)
        weights = dict(zip(self.query.hashes.tolist(), self.query.idf.tolist(), strict=True))
        most = np.array([weights.get(key, 0.0) for key in self._keys.tolist()]) * (self.bm25.k1 + 1.0)
        span = self.view.rows - self.indexed
        bounds: F64 = np.bincount(self._tail.rows - self.indexed, most[self._tail.terms], span).astype(np.float64)
        rows = np.flatnonzero(bounds)
        return Hits(rows + self.indexed, bounds[rows] * (1.0 + ROUNDING), 0.0)

    def _scan(self, selection: Selection, depth: int) -> Lane:
        """Score every selected row."""
        live = np.ones(self.view.rows, np.uint8) if selection.live is None else selection.live.view(np.uint8)
        scores = self.view.forward.scan(live, self.query, self.bm25, self._average)
        rows = np.flatnonzero(scores)
        self._scored = Lane(rows, scores[rows])
        return ranked(rows, scores[rows], depth)


class _Probe:
    """How far one part of the text index has been searched."""

    __slots__ = ("part", "ratio", "rest", "seen")

    def __init__(self, part: TextPart, ratio: float) -> None:
        self.part, self.ratio = part, ratio
        self.rest = math.inf
        """No row that it has not proposed has a higher score; 0 where there is none."""
        self.seen = _NO_ROWS


class _Best:
    """The best rows so far: those that may be among them are scored, in the order of their bounds."""

    def __init__(self, words: Words, depth: int) -> None:
        self._words, self._depth = words, depth
        self.rows, self.scores = _NO_ROWS, np.empty(0)
        self._waiting: I64 = _NO_ROWS
        self._bounds: F64 = np.empty(0)
        self.least = 0.0
        """Score that a row must reach to be among the best; 0 while there are too few."""

    def offer(self, hits: Hits, live: Mask | None, seen: I64 | None = None) -> None:
        """Take rows that may be among the best; those that were offered before are passed over."""
        rows, bounds = hits.rows, hits.bounds
        if live is not None:
            kept = live[rows]
            rows, bounds = rows[kept], bounds[kept]
        if seen is not None and len(seen):
            new = ~np.isin(rows, seen)
            rows, bounds = rows[new], bounds[new]
        self._waiting = np.concatenate([self._waiting, rows])
        self._bounds = np.concatenate([self._bounds, bounds])

    def score(self) -> None:
        """Score the rows whose bounds reach `least`, the most promising first."""
        order = np.argsort(-self._bounds, kind="stable")
        rows, bounds = self._waiting[order], self._bounds[order]
        at, stop = 0, max(self._depth - len(self.rows), 0) + _CHUNK
        while at < len(rows):
            chunk = np.sort(rows[at:stop])
            self.rows = np.concatenate([self.rows, chunk])
            self.scores = np.concatenate([self.scores, self._words.score(chunk)])
            self.least = _kth(self.scores, self._depth)
            at = stop
            stop = int(np.searchsorted(-bounds, -self.least, side="right"))  # the rest cannot reach it
            if stop <= at:
                break
        self._waiting, self._bounds = rows[at:], bounds[at:]


def _kth(scores: F64, depth: int) -> float:
    """Return the ``depth``-th highest score; 0 where there are fewer."""
    if len(scores) < depth:
        return 0.0
    place = len(scores) - depth
    return float(np.partition(scores, place)[place])


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
