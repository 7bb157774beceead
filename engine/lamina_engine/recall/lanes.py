"""Retrieval lanes: BM25 over inverted lists and the tail, cosine over FAISS and vectors.

Each returns rows with exact scores. Filters apply inside both lanes: where an index cannot filter, more rows are
fetched, and a small selection is scored exhaustively, so no filter starves a lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.index import vectors
from lamina_engine.index.analysis import QueryTerm, stem_hashes, surface_hash
from lamina_engine.index.inverted import TermPostings
from lamina_engine.index.scoring import Bm25, WeightedQuery, inverse_document_frequency, scoring_terms, weigh
from lamina_engine.index.tail import Matches
from lamina_engine.index.view import View
from lamina_kernels.layouts import F32, F64, I64, U32

if TYPE_CHECKING:
    from lamina_engine.index.helper import Helper

Mask = NDArray[np.bool_]
_NO_ROWS: Final[I64] = np.empty(0, np.int64)
_NO_SCORES: Final[F64] = np.empty(0)
_ROUNDING: Final = 1e-9
"""Relative; more than the rounding of a sum of many parts in any order."""
_AS_IN_VAULT: Final = 50.0
"""Chunks that hold words as often as the vault does and are added to a scope, whose own may be few; 10 and 200 win and lose .005."""


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


@after_fork.track_property_locks
class PreferredRows:
    """Rows that a question prefers, added to every lane so that they are candidates.

    A lane that has ``enough`` of them already is not searched twice: what most rows are costs nothing.
    """

    def __init__(self, live: Mask, selection: Selection, enough: int) -> None:
        self._live, self._selection, self._enough = live, selection, enough

    def complete(self, lane: Lane, search: Callable[[Selection], Lane]) -> Lane:
        """Return a lane with the rows that it finds inside the window; scores are the same in both."""
        if np.count_nonzero(self._live[lane.rows]) >= self._enough:
            return lane
        other = search(self._rows)
        known = set(lane.rows.tolist())  # np.isin takes ten times as long for a hundred rows
        new = [place for place, row in enumerate(other.rows.tolist()) if row not in known]
        if not new:
            return lane
        rows = np.concatenate([lane.rows, other.rows[new]])
        return rank_rows(rows, np.concatenate([lane.scores, other.scores[new]]), len(rows))

    def near(self) -> I64:
        """Return the rows in or near the window that may be returned, ascending."""
        live = self._selection.live
        return np.flatnonzero(self._live if live is None else self._live & live)

    @cached_property
    def _rows(self) -> Selection:
        allowed = self._selection
        live = self._live if allowed.live is None else self._live & allowed.live
        return Selection(live, int(np.count_nonzero(live)), allowed.must, must_is_all=False)


class Bonus(NamedTuple):
    """Constant that rows gain in the lexical lane by matching an optional operator."""

    name: str
    rows: I64
    """Ascending."""
    weight: float


class Words:
    """Lexical lane of a query, its terms weighed by the statistics of a view or a scope."""

    # The result equals a scan of every row, bit for bit, however many rows stand in inverted lists: these are exact
    # behind any mask and below any row, and so is the scan of the rows behind them.

    def __init__(
        self, view: View, terms: list[QueryTerm], bm25: Bm25, bonuses: Sequence[Bonus] = (), scope: Mask | None = None
    ) -> None:
        self.view, self.bm25, self._terms, self._bonuses = view, bm25, scoring_terms(terms), tuple(bonuses)
        stems = [stem_hashes(term.stem, term.others) for term in self._terms]
        surfaces = [
            surface_hash(form) for term in self._terms for form in term.surfaces if form != term.stem or term.others
        ]
        self._keys: U32 = np.array(list(dict.fromkeys([*itertools.chain(*stems), *surfaces])), np.uint32)
        """Of all stems, then of the surfaces that differ from theirs."""
        self._average = view.cached(("average length", bm25), lambda: view.statistics.average_length(bm25))
        lists = view.tables.inverted(view.snapshot)
        self.indexed = min(lists.rows, view.rows)
        """Rows below this are in inverted lists; the rest, the tail, are scanned."""
        self._beside: Lane | None = None
        """Rows of another lane that `lane` has scored, and their scores."""
        self._tail: Matches | None = None
        """Postings of the terms in the tail."""
        if self.indexed < view.rows and len(self._keys):
            self._tail = view.tables.tail(view.snapshot, self.indexed).match(self._keys, view.rows)
        postings = lists.seek(self._keys, stop=view.rows)
        frequencies = postings.frequencies()
        if self._tail is not None:
            frequencies += np.bincount(self._tail.terms, minlength=len(self._keys))
        rows_of = dict(zip(self._keys.tolist(), frequencies.tolist(), strict=True))
        counts: list[float] = []
        found: list[QueryTerm] = []
        for term, keys in zip(self._terms, stems, strict=True):
            held = [rows_of[key] for key in keys]
            counts.append(sum(held))
            found.append(term if all(held) else _held(term, held))
        self.unknown = [term for term, rows in zip(self._terms, counts, strict=True) if not rows]
        """Terms that no row of the view holds."""
        self.are_stop_words = all(term.stop for term in self._terms)
        """True where the query has no other words."""
        self._rows: float = view.statistics.rows
        self._counts: Sequence[float] = counts
        if scope is not None and any(counts):
            self._count_within(scope, postings)
        self.query: WeightedQuery = weigh(found, self._counts, self._rows, bm25)
        self._postings = postings.only(self.query.hashes)
        most = 0.0
        for weight in self.query.idf.tolist():  # one by one: `sum` rounds otherwise in some versions
            most += weight
        self.ceiling = (most - self.query.again + sum(bonus.weight for bonus in self._bonuses)) * (bm25.k1 + 1.0)
        """Upper bound of any score: every term, at unlimited frequency."""
        self.names = (*self.query.terms, *(bonus.name for bonus in self._bonuses))
        """What adds to a score."""

    def _count_within(self, scope: Mask, postings: TermPostings) -> None:
        """Let words be as frequent as in a scope, to which some rows like all of the view are added."""
        held = np.array([np.count_nonzero(scope[rows]) for rows in postings.rows_of_each()], np.int64)
        if self._tail is not None:
            held += np.bincount(self._tail.terms[scope[self._tail.rows]], minlength=len(held))
        rows_of = dict(zip(self._keys.tolist(), held.tolist(), strict=True))
        within = [sum(rows_of[key] for key in stem_hashes(term.stem, term.others)) for term in self._terms]
        share = _AS_IN_VAULT / self._rows
        self._counts = [inside + share * count for inside, count in zip(within, self._counts, strict=True)]
        self._rows = float(np.count_nonzero(scope)) + _AS_IN_VAULT

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
        """Return the weight of each stem of the query, without its written forms."""
        pairs = zip(self.query.terms, self.query.idf.tolist(), strict=True)
        return {name: weight for name, weight in pairs if name[:1] != '"'}

    def rarity(self) -> dict[str, float]:
        """Return the inverse document frequency of each word as written, unknown ones too."""
        return {
            form: inverse_document_frequency(count, self._rows)
            for term, count in zip(self._terms, self._counts, strict=True)
            for form in term.surfaces
        }

    def lane(self, selection: Selection, depth: int, beside: I64 = _NO_ROWS) -> Lane:
        """Return at most ``depth`` rows by BM25; rows ``beside`` them are scored for `scores_of`."""
        if not self.names or not selection.count:
            return EMPTY
        found = self._best_by_words(selection, depth, beside) if len(self.query.idf) else EMPTY
        if not self._bonuses:
            return found
        found = self._with_bonuses(found, selection)
        return rank_rows(found.rows, found.scores, depth)

    def _with_bonuses(self, found: Lane, selection: Selection) -> Lane:
        """Return rows with what they gain added, and every selected row that gains something."""
        # a row that gains nothing is among the best with the bonuses only if it is so without
        gaining = np.unique(np.concatenate([bonus.rows for bonus in self._bonuses]))
        if selection.live is not None:
            gaining = gaining[selection.live[gaining]]
        new = np.setdiff1d(gaining, found.rows)
        scores = self._add_bonuses(found.rows, found.scores)
        return Lane(np.concatenate([found.rows, new]), np.concatenate([scores, self.score(new)]))

    def scores_of(self, lane: Lane) -> F64:
        """Return the score of each row of another lane, or none where they are to be computed."""
        return self._beside.scores if self._beside is not None and self._beside.rows is lane.rows else _NO_SCORES

    def _best_by_words(self, selection: Selection, depth: int, beside: I64) -> Lane:
        """Return the ``depth`` best rows by words."""
        live = None if selection.live is None else selection.live.view(np.uint8)
        # with a tail or bonuses there is more to a score than lists hold
        scores_others = self._postings.scores_others and self._tail is None and not self._bonuses
        rows, scores, found = self._postings.best(
            self.query.idf, self.bm25, self._average, depth, live=live, beside=beside if scores_others else _NO_ROWS
        )
        if scores_others:
            self._beside = Lane(beside, found)
        if self._tail is None:
            return Lane(rows, scores)
        least = float(scores[-1]) if len(scores) == depth else 0.0
        tail = self._best_of_tail(self._tail, selection.live, depth, least)
        return rank_rows(np.concatenate([rows, tail.rows]), np.concatenate([scores, tail.scores]), depth)

    def _best_of_tail(self, tail: Matches, live: Mask | None, depth: int, least: float) -> Lane:
        """Return the tail's rows that can be among the ``depth`` best, scored."""
        # no score exceeds the weights of a row's words: rows of the greatest bounds are scored first
        weights = dict(zip(self.query.hashes.tolist(), self.query.idf.tolist(), strict=True))
        most = np.array([weights.get(key, 0.0) for key in self._keys.tolist()]) * (self.bm25.k1 + 1.0)
        most *= 1.0 + _ROUNDING
        span = self.view.rows - self.indexed
        bounds: F64 = np.bincount(tail.rows - self.indexed, most[tail.terms], span).astype(np.float64)
        rows = np.flatnonzero(bounds >= least if least > 0.0 else bounds)
        bounds, rows = bounds[rows], rows + self.indexed
        if live is not None:
            kept = live[rows]
            bounds, rows = bounds[kept], rows[kept]
        if len(rows) <= 2 * depth:
            return Lane(rows, self.score_words(rows))
        order = np.argpartition(-bounds, depth)
        first, rest = order[:depth], order[depth:]
        scores = self.score_words(rows[first])
        rest = rest[bounds[rest] >= max(least, _kth(scores, depth))]
        return Lane(np.concatenate([rows[first], rows[rest]]), np.concatenate([scores, self.score_words(rows[rest])]))


def _held(term: QueryTerm, rows: Sequence[int]) -> QueryTerm:
    """Return a term with those of its stems alone that rows hold, or as it is where none does."""
    stems = [stem for stem, held in zip((term.stem, *term.others), rows, strict=True) if held]
    return QueryTerm(stems[0], term.surfaces, term.weight, term.stop, tuple(stems[1:])) if stems else term


def _kth(scores: F64, depth: int) -> float:
    """Return the ``depth``-th highest score; 0 where there are fewer."""
    if len(scores) < depth:
        return 0.0
    place = len(scores) - depth
    return float(np.partition(scores, place)[place])


def vector_lane(view: View, query: F32, selection: Selection, depth: int, helper: Helper | None = None) -> Lane:
    """Return at most ``depth`` rows with a cosine above 0, nearest first."""
    rows = view.vector_rows
    if not rows or not selection.count:
        return EMPTY
    live = selection.live[:rows] if selection.live is not None else None
    index = view.tables.quantised(view.snapshot)
    found = vectors.search(view.vectors, index, query, depth, n_rows=rows, live=live, helper=helper)
    scores = found.scores.astype(np.float64)  # they descend, equal ones by higher row, as in every lane
    if len(scores) and scores[-1] > 0.0:  # as a rule
        return Lane(found.rows, scores)
    positive = int(np.count_nonzero(scores > 0.0))
    return Lane(found.rows[:positive], scores[:positive])


def cosines(view: View, query: F32 | None, rows: I64) -> F64:
    """Return exact cosines of some rows to a query, float64 (n,); 0 without a vector."""
    if query is not None and view.vector_rows == view.rows:  # as a rule
        return view.vectors.dots(rows, query).astype(np.float64)
    out = np.zeros(len(rows))
    if query is not None and view.vector_rows:
        has = rows < view.vector_rows
        out[has] = view.vectors.dots(rows[has], query)
    return out


def fill_cosines(view: View, query: F32 | None, rows: I64, cosine: F64) -> None:
    """Replace each NaN by what `cosines` gives for its row."""
    if query is not None and view.vector_rows == view.rows:  # as a rule
        view.vectors.fill_dots(rows, query, cosine)
    elif len(unknown := np.isnan(cosine).nonzero()[0]):
        cosine[unknown] = cosines(view, query, rows[unknown])
