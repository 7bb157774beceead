"""The candidate set: every row that a lane found, and the chunk before each, scored by the profile's formula."""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct

from lamina_engine.index.state import INVALIDATED
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.boosts import boosted
from lamina_engine.recall.fuse import Lane
from lamina_engine.recall.lanes import Selection, Words, completed, cosines
from lamina_engine.recall.request import Request
from lamina_engine.recall.score import ages, blend
from lamina_engine.recall.time_window import apply_window
from lamina_kernels.candidates import join_lanes
from lamina_kernels.candidates import score_candidates as compute_scores
from lamina_kernels.fusion import reciprocal_rank_fusion
from lamina_kernels.layouts import F32, F64, I64

_NO_ROWS: Final = np.empty(0, np.int64)
_NO_MASK: Final = np.empty(0, np.uint8)
_NO_SCORES: Final = np.empty(0)
_ASKED_FOR_INVALIDATED: Final = 0.5
"""Factor of an invalidated chunk that only a filter on status brings in."""


class Candidates(Struct):
    """The candidate set, column by column; rows ascend."""

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


def score_candidates(
    view: View,
    request: Request,
    words: Words,
    lexical: Lane,
    vector: Lane,
    query: F32 | None,
    share: float,
    selection: Selection,
) -> Candidates:
    """Score every row that a lane found, and the chunk before each short one: the one whose words it was indexed with."""
    profile = request.profile
    live = _NO_MASK if selection.live is None else selection.live.view(np.uint8)
    joined = join_lanes(lexical.rows, vector.rows, view.previous if profile.spread else _NO_ROWS, live)
    rows = joined.rows
    bm25 = words.completed(rows)
    cosine = completed(joined.vector_rank, vector, lambda rest: cosines(view, query, rows[rest]))
    ranks = _NO_SCORES
    if profile.fusion == "ranks":
        ranks = _rank_scores(rows, lexical, vector, share, profile.rank_constant)
    parts = compute_scores(bm25, cosine, joined.before, words.ceiling, share, profile.spread, ranks)
    weight = profile.decay.semantic_weight
    recency = ages(view, rows, profile.decay, request.aged_us).recency if weight < 1.0 else _NO_SCORES
    factor = factors(view, profile, rows)
    score = apply_window(view, request.meant, rows, blend(parts.semantic, recency, weight, factor))
    score = boosted(view, request, rows, score)
    return Candidates(
        rows,
        bm25,
        parts.coverage,
        cosine,
        joined.lexical_rank,
        joined.vector_rank,
        parts.own,
        parts.received,
        parts.semantic,
        factor,
        score,
    )


def _rank_scores(rows: I64, lexical: Lane, vector: Lane, share: float, constant: float) -> F64:
    """Return reciprocal ranks fused, divided by what first places in both lanes give."""
    fused = reciprocal_rank_fusion([lexical.rows, vector.rows], [1.0 - share, share], rank_constant=constant)
    out = np.zeros(len(rows))
    out[np.searchsorted(rows, fused.rows)] = fused.scores * (constant + 1.0)
    return out


def factors(view: View, profile: Profile, rows: I64) -> F64:
    """Return what multiplies the scores of some rows: less than 1 for invalidated ones."""
    if view.all_active:
        return np.ones(len(rows))
    invalidated = view.state.status[rows] == INVALIDATED
    return np.where(invalidated, profile.invalidated or _ASKED_FOR_INVALIDATED, 1.0)


def ranking(view: View, candidates: Candidates, among: I64 | None = None) -> list[int]:
    """Return positions by score, then newer created_at, then id; positions without any score are left out.

    Parameters
    ----------
    view : View
    candidates : Candidates
    among : int64 (m,), optional
        Positions, ascending; all unless given.
    """
    positions = np.flatnonzero(candidates.score > 0.0) if among is None else among[candidates.score[among] > 0.0]
    worse = -candidates.score[positions]
    order = np.argsort(worse, kind="stable")
    if (worse[order[1:]] == worse[order[:-1]]).any():
        order = _with_ties(view, candidates.rows[positions], worse)
    ranked: list[int] = positions[order].tolist()
    return ranked


def _with_ties(view: View, rows: I64, worse: F64) -> I64:
    """Return the order of rows, equal ones by date and then by id; ids are read of those alone that need them."""
    older = -view.created_us[rows].astype(np.float64)
    order = np.lexsort((older, worse))
    equal = (worse[order[1:]] == worse[order[:-1]]) & (older[order[1:]] == older[order[:-1]])
    if not equal.any():
        return order
    tied = np.sort(order[np.append(equal, False) | np.insert(equal, 0, False)])
    names = view.snapshot.values("chunks", "id", rows[tied])
    places = np.zeros(len(rows), np.int64)
    places[tied[sorted(range(len(tied)), key=names.__getitem__)]] = np.arange(len(tied))
    return np.lexsort((places, older, worse))
