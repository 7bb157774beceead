"""Retrieval lanes: BM25 over text index and forward lists, cosine over FAISS and vectors.

Each returns rows with exact scores. Filters apply inside both lanes: where an index cannot filter, more rows are
fetched, and a small selection is scored exhaustively, so no filter starves a lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

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
from lamina_kernels.layouts import F32, F64, I64, U32

Mask = NDArray[np.bool_]
_NO_ROWS: Final[I64] = np.empty(0, np.int64)
DEPTHS: Final = (300, 1_000, 4_000, 16_000)
"""Rows requested from each part of the text index, until every unseen row is proved worse."""
_SPARE: Final = 1.5
"""Over-fetch of the first request: half as many rows more nearly always complete the proof."""
_CHUNK: Final = 16
"""Extra rows scored before the first check of the bounds."""
_MOST_TERMS: Final = 256
_MOST_FACET_CHARS: Final = 1_000


class Lane(Struct, frozen=True):
    """Rows of one lane, best first, with the lane's own scores."""

    rows: I64
    scores: F64


EMPTY: Final = Lane(_NO_ROWS, np.empty(0))


def rank_rows(rows: I64, scores: F64, limit: int) -> Lane:
    """Return at most ``limit`` rows with a score above 0, best first; ties to the newer row."""
    least = 0.0
    if len(scores) > 2 * limit:  # sort only what can be among the best
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    keep = scores >= least if least > 0.0 else scores > 0.0
    rows, scores = rows[keep], scores[keep]
    order = np.lexsort((-rows, -scores))[:limit]
    return Lane(rows[order], scores[order])


class Selection(Struct, frozen=True):
    """Rows that a recall may return."""

    live: Mask | None
    """bool (rows,); None for every row."""
    count: int
    """Number of selected rows."""
    must: tuple[str, ...]
    """Facets that every selected row has."""
    must_is_all: bool
    """True where these facets and the live status are the only conditions."""


class Bonus(NamedTuple):
    """A constant that some rows gain in the lane of words: those that match an operator which is not required."""

    name: str
    rows: I64
    """Ascending."""
    weight: float


class Words:
    """Lexical lane of a query, its terms weighed by the statistics of a view."""

    # The result equals a scan of every row, bit for bit, however many rows the text index covers. The index proposes
    # rows with upper bounds on their scores, and is searched deeper until no other row can be among the best. Where that
    # cannot be proved, every row is scored.

    def __init__(self, view: View, terms: list[QueryTerm], bm25: Bm25, bonuses: Sequence[Bonus] = ()) -> None:
        self.view, self.bm25, self._terms, self._bonuses = view, bm25, scoring_terms(terms), tuple(bonuses)
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
        """Rows below this are in the text index; the rest, the tail, are scanned."""
        self._tail: Matches | None = None
        """Postings of the terms in the tail."""
        if self.indexed < view.rows and len(self._keys):
            self._tail = view.tables.tail(view.snapshot, self.indexed).match(self._keys, view.rows)
        try:
            frequencies = self._frequencies()
            self.query: WeightedQuery = weigh(self._terms, frequencies, view.statistics.rows, self.bm25)
        except TextIndexDamaged as error:
            self._drop_index(error)
            return
        self.unknown = [term for term, rows in zip(self._terms, frequencies, strict=True) if not rows]
        """Terms that no row of the view holds."""
        most = float(np.cumsum(self.query.idf)[-1]) if len(self.query.idf) else 0.0
        self.ceiling = (most + sum(bonus.weight for bonus in self._bonuses)) * (self.bm25.k1 + 1.0)
        """Upper bound of any score: every term, at unlimited frequency."""
        self.names = (*self.query.terms, *(bonus.name for bonus in self._bonuses))
        """What adds to a score."""

    def _drop_index(self, error: TextIndexDamaged) -> None:
        """Continue without the damaged text index."""
        self.view.tables.distrust(str(self.view.snapshot.manifest.indexes[LEXICAL]["folder"]), error)
        self._weigh_terms()

    def _frequencies(self) -> list[int]:
        """Return how many rows of the view hold each term."""
        stems = np.array(self._stems, np.uint32)
        total = np.zeros(len(stems), np.int64)
        if self._index is not None and len(stems):
            total += self._index.frequencies(stems, self.indexed)
        if self._tail is not None:
            in_tail = np.bincount(self._tail.terms, minlength=len(self._keys))
            place = {key: i for i, key in enumerate(self._keys.tolist())}
            total += in_tail[[place[key] for key in self._stems]]
        counts: list[int] = total.tolist()
        return counts

    def score(self, rows: I64) -> F64:
        """Return the BM25 score of some rows, with what they gain beside it, float64 (n,)."""
        scores = self.score_words(rows)
        return self._add_bonuses(rows, scores) if self._bonuses else scores

    def score_words(self, rows: I64) -> F64:
        """Return the BM25 score of some rows, float64 (n,)."""
        if not len(self.query.idf) or not len(rows):
            return np.zeros(len(rows))
        return self.view.forward.score(rows, self.query, self.bm25, self._average)

    def _add_bonuses(self, rows: I64, scores: F64) -> F64:
        for bonus in self._bonuses:
            scores = scores + bonus.weight * np.isin(rows, bonus.rows)
        return scores

    def complete_scores(self, rows: I64) -> F64:
        """Return scores of ascending rows, float64 (n,), reusing those that `lane` computed."""
        out = np.zeros(len(rows))
        rest = np.ones(len(rows), np.bool_)
        scored = self._scored
        if len(scored.rows):
            place = np.minimum(np.searchsorted(scored.rows, rows), len(scored.rows) - 1)
            hit = np.flatnonzero(scored.rows[place] == rows)
            out[hit] = scored.scores[place[hit]]
            rest[hit] = False
        left = np.flatnonzero(rest)
        if len(left):
            out[left] = self.score(rows[left])
        return out

    def contributions(self, rows: I64) -> list[dict[str, float]]:
        """Return what each word adds to the score of each row."""
        if not len(self.names):
            return [{} for _ in range(len(rows))]
        parts = np.empty((len(rows), 0))
        if len(self.query.idf):
            parts = self.view.forward.contributions(rows, self.query, self.bm25, self._average)
        if self._bonuses:
            gained = [bonus.weight * np.isin(rows, bonus.rows) for bonus in self._bonuses]
            parts = np.column_stack([parts, *gained])
        names = self.names
        return [{name: part for name, part in zip(names, row, strict=True) if part} for row in parts.tolist()]

    def stems(self) -> dict[str, float]:
        """Return the weight of each stem that was asked for; written forms add to them and are left out."""
        pairs = zip(self.query.terms, self.query.idf.tolist(), strict=True)
        return {name: weight for name, weight in pairs if name[:1] != '"'}

    def lane(self, selection: Selection, depth: int) -> Lane:
        """Return at most ``depth`` rows by BM25."""
        if not self.names or not selection.count:
            return EMPTY
        try:
            found = self._search(selection, depth)
        except TextIndexDamaged as error:
            self._drop_index(error)
            found = self._search(selection, depth)
        if self._bonuses and found is not None:
            found = self._with_bonuses(found, selection)
        if found is None:
            self.view.tables.depths[0] += 1
            return self._scan(selection, depth)
        order = np.argsort(found.rows)
        self._scored = Lane(found.rows[order], found.scores[order])
        return rank_rows(found.rows, found.scores, depth)

    def _with_bonuses(self, found: Lane, selection: Selection) -> Lane | None:
        """Return rows with what they gain added, and every selected row that gains something; None where those are many.

        A row that gains nothing is among the best with the bonuses only if it is so without.
        """
        gaining = np.unique(np.concatenate([bonus.rows for bonus in self._bonuses]))
        if selection.live is not None:
            gaining = gaining[selection.live[gaining]]
        if len(gaining) > DEPTHS[-1]:
            return None
        new = np.setdiff1d(gaining, found.rows)
        scores = self._add_bonuses(found.rows, found.scores)
        return Lane(np.concatenate([found.rows, new]), np.concatenate([scores, self.score(new)]))

    def _search(self, selection: Selection, depth: int) -> Lane | None:
        """Return rows that include the ``depth`` best; None where every row must be scored."""
        if not len(self.query.idf):
            return EMPTY
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
        """Return tail rows that hold any term, bounded by the summed weights of their terms."""
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
        for bonus in self._bonuses:
            scores[bonus.rows] += bonus.weight * live[bonus.rows]
        rows = np.flatnonzero(scores)
        self._scored = Lane(rows, scores[rows])
        return rank_rows(rows, scores[rows], depth)


class _Probe:
    """Search state of one part of the text index."""

    __slots__ = ("part", "ratio", "rest", "seen")

    def __init__(self, part: TextPart, ratio: float) -> None:
        self.part, self.ratio = part, ratio
        self.rest = math.inf
        """Upper bound of the rows not proposed yet; 0 where none is left."""
        self.seen = _NO_ROWS


class _Best:
    """Top rows so far; rows that may be among them are scored in the order of their bounds."""

    def __init__(self, words: Words, depth: int) -> None:
        self._words, self._depth = words, depth
        self.rows, self.scores = _NO_ROWS, np.empty(0)
        self._waiting: I64 = _NO_ROWS
        self._bounds: F64 = np.empty(0)
        self.least = 0.0
        """Score of the last of the top rows; 0 while there are too few."""

    def offer(self, hits: Hits, live: Mask | None, seen: I64 | None = None) -> None:
        """Queue rows that may be among the best, skipping those in ``seen``."""
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
        """Score the rows whose bounds reach `least`, highest bound first."""
        order = np.argsort(-self._bounds, kind="stable")
        rows, bounds = self._waiting[order], self._bounds[order]
        at, stop = 0, max(self._depth - len(self.rows), 0) + _CHUNK
        while at < len(rows):
            chunk = np.sort(rows[at:stop])
            self.rows = np.concatenate([self.rows, chunk])
            self.scores = np.concatenate([self.scores, self._words.score_words(chunk)])
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
    """Return at most ``depth`` rows with a cosine above 0, nearest first."""
    rows = view.vector_rows
    if not rows or not selection.count:
        return EMPTY
    live = selection.live[:rows] if selection.live is not None else None
    index = view.tables.quantised(view.snapshot)
    found = nearest.search(view.vectors, index, query, depth, n_rows=rows, live=live)
    scores = found.scores.astype(np.float64)
    positive = int(np.count_nonzero(scores > 0.0))  # they descend, equal ones by higher row, as in every lane
    return Lane(found.rows[:positive], scores[:positive])


def complete_scores(rank: I64, lane: Lane, score: Callable[[I64], F64]) -> F64:
    """Return the lane's scores by rank (from 1; 0 for absent rows), computing those it lacks."""
    # a row's score does not depend on the batch, so both ways give the same number
    out = np.empty(len(rank))
    has = np.flatnonzero(rank)
    out[has] = lane.scores[rank[has] - 1]
    rest = np.flatnonzero(rank == 0)
    if len(rest):
        out[rest] = score(rest)
    return out


def cosines(view: View, query: F32 | None, rows: I64) -> F64:
    """Return exact cosines of some rows to a query, float64 (n,); 0 without a vector."""
    out = np.zeros(len(rows))
    if query is not None and view.vector_rows:
        has = rows < view.vector_rows
        out[has] = view.vectors.dots(rows[has], query)
    return out
