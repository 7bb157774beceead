"""Candidate table: the rows of every lane and the chunk before each, with match and score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.chunks.turns import QUESTION
from lamina_engine.recall.lanes import Words, cosines, fill_cosines
from lamina_engine.recall.score import (
    AgeScale,
    age_scale,
    formula_of_all,
    order_by_id,
    row_factors,
    row_traits,
    score_rows,
    special_factors,
)
from lamina_kernels.candidates import Joined, join_lanes, match_candidates, rank_candidates, reciprocal_rank_fusion
from lamina_kernels.layouts import F32, F64, I64, U8

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.factlane import FactHit, FactLane
    from lamina_engine.recall.lanes import Lane, Selection
    from lamina_engine.recall.pages import Page
    from lamina_engine.recall.request import Request

_NO_ROWS: Final = np.empty(0, np.int64)
_NO_MASK: Final = np.empty(0, np.uint8)
_NO_ROLES: Final = np.empty(0, np.int32)
_NO_SCORES: Final = np.empty(0)


class Candidates(Struct, frozen=True):
    """Candidates as columns: rows from the lanes ascend, appended rows follow."""

    rows: I64
    bm25: F64
    coverage: F64
    cosine: F64
    lexical_rank: I64
    vector_rank: I64
    own: F64
    received: F64
    semantic: F64
    factor: F64
    score: F64
    scale: AgeScale | None = None
    """What ages are weighed by, where age orders only what matches."""
    ceiling: float | None = None
    """Score that none of them passes, on the pages behind the first."""

    def append(self, rows: I64) -> Candidates:
        """Return the table with more rows, which have 0 in every other column."""
        rest: list[Any] = [np.concatenate([c, np.zeros(len(rows), c.dtype)]) for c in self._columns()[1:]]
        return self._with(np.concatenate([self.rows, rows]), *rest)

    def take(self, positions: I64) -> Candidates:
        """Return the table with some of its rows, in their order."""
        return self._with(*(column[positions] for column in self._columns()))

    def _with(self, *columns: Any) -> Candidates:
        return msgspec.structs.replace(Candidates(*columns), scale=self.scale, ceiling=self.ceiling)

    def _columns(self) -> tuple[Any, ...]:
        return msgspec.structs.astuple(self)[:-2]


def score_candidates(
    view: View,
    request: Request,
    words: Words,
    lanes: tuple[Lane, Lane],
    query: F32 | None,
    share: float,
    selection: Selection,
    facts: FactLane,
) -> tuple[Candidates, list[int]]:
    """Score the rows of both lanes; return them and the positions above 0, best first."""
    # a short turn was indexed with the words of the turn before it, which receives part of its match
    profile, (lexical, vector) = request.profile, lanes
    live = _NO_MASK if selection.live is None else selection.live.view(np.uint8)
    roles = view.categories.column(view.snapshot, "role") if profile.dialogue.answers else _NO_ROLES
    question = view.categories.code("role", QUESTION)  # after the column: it reads the names
    roles = roles if question >= 0 else _NO_ROLES
    previous = view.previous if profile.spread or roles.size else _NO_ROWS
    beside = words.scores_of(vector)
    joined = join_lanes(
        lexical.rows, lexical.scores, vector.rows, vector.scores, beside, previous, live, roles, question
    )
    rows, bm25, cosine = joined.rows, joined.lexical_score, joined.vector_score
    # a row's score does not depend on the batch: those of the lanes are what these calls would give
    is_known = beside.size == vector.rows.size and not previous.size
    if not is_known and len(rest := np.isnan(bm25).nonzero()[0]):
        bm25[rest] = words.score(rows[rest])
    fill_cosines(view, query, rows, cosine)
    ranks = (
        _rank_scores(rows, lexical, vector, share, profile.rank_constant) if profile.fusion == "ranks" else _NO_SCORES
    )
    asks = (roles[rows] == question).view(np.uint8) if roles.size else _NO_MASK
    matched = bm25, cosine, joined.before, words.ceiling, share, profile.spread, ranks, asks, profile.dialogue.answers
    if rank_candidates.ready and not any(facts):
        ranked = _rank_at_once(view, request, rows, joined, matched)
        if ranked is not None:
            return ranked
    parts = match_candidates(*matched)
    found = Candidates(
        rows, bm25, parts.coverage, cosine, joined.lexical_rank, joined.vector_rank, parts.own, parts.received,
        parts.semantic, _NO_SCORES, _NO_SCORES,
    )  # fmt: skip
    if any(facts):
        found = _add_facts(view, request, words, query, share, found, facts.chunks)
    factor = row_factors(view, request, found.rows)
    scale = age_scale(view, request, found.rows, found.semantic)
    score, order = score_rows(view, request, found.rows, found.semantic, factor, scale=scale)
    return msgspec.structs.replace(found, factor=factor, score=score, scale=scale), order


def _rank_at_once(
    view: View,
    request: Request,
    rows: I64,
    joined: Joined,
    matched: tuple[F64, F64, I64, float, float, float, F64, U8, float],
) -> tuple[Candidates, list[int]] | None:
    """Match, age and rank candidates in one call; None where that cannot score them."""
    formula = formula_of_all(view, request)
    if formula is None:
        return None
    decay = request.profile.decay
    least, speed = (-1.0, 1.0) if decay.least_match is None else (decay.least_match, decay.speed)
    if formula.semantic_weight >= 1.0:
        least, speed = -1.0, 1.0
    parts = np.empty((6, rows.size))
    order, newest = np.empty(rows.size, np.int64), np.empty(2, np.int64)
    count, tied, best = rank_candidates(
        rows, *matched, *row_traits(view, request.profile), special_factors(view, request, rows), least, request.aged_us,
        speed, formula, parts, order, newest,
    )  # fmt: skip
    to_us, is_far = newest.tolist()
    if is_far:
        return None
    (bm25, cosine), (coverage, own, received, semantic, factor, score) = matched[:2], parts
    found = Candidates(
        rows, bm25, coverage, cosine, joined.lexical_rank, joined.vector_rank, own, received, semantic, factor, score,
        AgeScale(best, to_us) if least >= 0.0 else None,
    )  # fmt: skip
    ranked = order[:count]
    if tied:
        ranked = order_by_id(view, rows, score)
    positions: list[int] = ranked.tolist()
    return found, positions


def score_by_time(view: View, request: Request, rows: I64, most: int) -> tuple[Candidates, list[int]]:
    """Score rows for a question that holds only a time: each matches fully, and time ranks them."""
    # one call scores them all, every row of a vault if need be; the best become candidates
    ones, factor = np.ones(len(rows)), row_factors(view, request, rows, turns=False)
    scale = age_scale(view, request, rows, ones)
    score, best = score_rows(view, request, rows, ones, factor, scale=scale, most=most)
    ascending = np.sort(best)
    chosen, nothing = rows[ascending], np.zeros(len(best))
    nowhere = np.zeros(len(best), np.int64)
    table = Candidates(
        chosen, nothing, nothing, nothing, nowhere, nowhere, nothing, nothing, ones[ascending], factor[ascending],
        score[ascending], scale,
    )  # fmt: skip
    order: list[int] = np.searchsorted(ascending, best).tolist()
    return table, order


def match_shown(view: View, words: Words, query: F32 | None, c: Candidates, kept: list[int], first: int) -> Candidates:
    """Fill in the own match of shown candidates appended at position ``first`` or later."""
    # it changes no score, so it is computed for the few that are shown
    new = np.array([position for position in kept if position >= first], np.int64)
    if not new.size:
        return c
    bm25, coverage, cosine = c.bm25.copy(), c.coverage.copy(), c.cosine.copy()
    bm25[new] = words.score(c.rows[new])
    coverage[new] = bm25[new] / words.ceiling if words.ceiling else 0.0
    cosine[new] = cosines(view, query, c.rows[new])
    return msgspec.structs.replace(c, bm25=bm25, coverage=coverage, cosine=cosine)


def fill_up(
    view: View, page: Page, selection: Selection, query: F32 | None, c: Candidates, kept: list[int]
) -> tuple[Candidates, list[int]]:
    """Append selected rows that do not match until there are k: nearest first, scored 0."""
    lacking = page.wanted - len(kept)
    if lacking <= 0 or selection.count <= len(kept) + len(page.rows):
        return c, kept
    free = np.ones(view.rows, np.bool_) if selection.live is None else selection.live.copy()
    free[c.rows[kept]] = False
    free[list(page.rows)] = False
    rows = np.flatnonzero(free)
    cosine, created = cosines(view, query, rows), view.created_us[rows]
    order = np.lexsort((~created, -cosine))
    if len(order) > lacking:  # ids decide among equals only, so they are read up to the last equal
        last = order[lacking - 1]
        order = order[: np.searchsorted(-cosine[order], -cosine[last], "right")]
        tied = (cosine[order] == cosine[last]) & (created[order] < created[last])
        order = order[~tied]
    names = np.array(view.snapshot.values("chunks", "id", rows[order]), object)
    order = order[np.lexsort((names, ~created[order], -cosine[order]))][:lacking]
    return c.append(rows[order]), [*kept, *range(len(c.rows), len(c.rows) + len(order))]


def own_matches(view: View, words: Words, query: F32 | None, share: float, rows: I64) -> F64:
    """Return the match by words and meaning of rows that no lane gave, float64 (n,)."""
    coverage = words.score(rows) / words.ceiling if words.ceiling else np.zeros(len(rows))
    return (1.0 - share) * coverage + share * np.maximum(cosines(view, query, rows), 0.0)


def _rank_scores(rows: I64, lexical: Lane, vector: Lane, share: float, constant: float) -> F64:
    """Return reciprocal-rank fusion of both lanes, scaled so that two first places give 1."""
    fused = reciprocal_rank_fusion([lexical.rows, vector.rows], [1.0 - share, share], rank_constant=constant)
    out = np.zeros(len(rows))
    out[np.searchsorted(rows, fused.rows)] = fused.scores * (constant + 1.0)
    return out


def _add_facts(
    view: View,
    request: Request,
    words: Words,
    query: F32 | None,
    share: float,
    c: Candidates,
    fact_hits: Mapping[int, FactHit],
) -> Candidates:
    """Add the chunks of the facts lane and mix its share into the semantic scores; rows ascend."""
    by_row = np.array(list(fact_hits), np.int64)
    new = np.setdiff1d(by_row, c.rows)
    bm25, cosine = words.score(new), cosines(view, query, new)
    coverage = bm25 / words.ceiling if words.ceiling else np.zeros(len(new))
    # under rank fusion a row without a rank has no match of its own
    is_ranked = request.profile.fusion == "ranks"
    own = np.zeros(len(new)) if is_ranked else (1.0 - share) * coverage + share * np.maximum(cosine, 0.0)
    fresh = slice(len(c.rows), None)
    blank = np.zeros(len(c.rows))
    c = msgspec.structs.replace(c, factor=blank, score=blank).append(new)
    for column, values in ((c.bm25, bm25), (c.coverage, coverage), (c.cosine, cosine), (c.own, own)):
        column[fresh] = values
    c = c.take(np.argsort(c.rows, kind="stable"))
    parts = np.zeros(len(c.rows))
    parts[np.searchsorted(c.rows, by_row)] = [fact.part for fact in fact_hits.values()]
    semantic = np.minimum((1.0 - request.profile.facts.share) * (c.own + c.received) + parts, 1.0)
    return msgspec.structs.replace(c, semantic=semantic)
