"""The candidate set: every row that a lane found, and the chunk before each, scored by the profile's formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.index.state import INVALIDATED
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.fuse import Lane, spread, union
from lamina_engine.recall.lanes import Selection, Words, completed, cosines
from lamina_engine.recall.request import Request
from lamina_engine.recall.score import ages, blend
from lamina_kernels.fusion import reciprocal_rank_fusion
from lamina_kernels.layouts import F32, F64, I64

_ASKED_FOR_INVALIDATED: Final = 0.5
"""Factor of an invalidated chunk that only a filter on status brings in."""


@dataclass(slots=True)
class Candidates:
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
    """Score every row that a lane found, and the chunk before each of them."""
    profile = request.profile
    direct = union(lexical.rows, vector.rows)
    previous = _previous(view, direct, selection) if profile.spread else np.full(len(direct), -1, np.int64)
    rows = union(direct, previous[previous >= 0])
    n = len(rows)
    bm25 = words.completed(rows)
    cosine = completed(rows, vector, lambda rest: cosines(view, query, rest))
    coverage = bm25 / words.ceiling if words.ceiling else np.zeros(n)
    own = (
        (1.0 - share) * coverage + share * np.maximum(cosine, 0.0)
        if profile.fusion == "absolute"
        else _rank_scores(rows, lexical, vector, share, profile.rank_constant)
    )
    received = np.zeros(n)
    targets, given = spread(Lane(direct, own[np.searchsorted(rows, direct)]), previous, profile.spread)
    received[np.searchsorted(rows, targets)] = given
    semantic = np.minimum(own + received, 1.0)
    weight = profile.decay.semantic_weight
    recency = ages(view, rows, profile.decay, request.now_us).recency if weight < 1.0 else np.zeros(n)
    factor = _factors(view, profile, rows)
    score = blend(semantic, recency, weight, factor)
    return Candidates(
        rows,
        bm25,
        coverage,
        cosine,
        _ranks(rows, lexical),
        _ranks(rows, vector),
        own,
        received,
        semantic,
        factor,
        score,
    )


def _previous(view: View, rows: I64, selection: Selection) -> I64:
    """Return the row before each short chunk: the one whose words it was indexed with; -1 where that may not be returned."""
    previous = view.snapshot.numbers("chunks", "previous", rows).astype(np.int64)
    borrowed = view.forward.context_lengths(rows) > 0
    previous[~borrowed] = -1
    if selection.live is not None:
        has = previous >= 0
        previous[has] = np.where(selection.live[previous[has]], previous[has], -1)
    return previous


def _rank_scores(rows: I64, lexical: Lane, vector: Lane, share: float, constant: float) -> F64:
    """Return reciprocal ranks fused, divided by what first places in both lanes give."""
    fused = reciprocal_rank_fusion([lexical.rows, vector.rows], [1.0 - share, share], rank_constant=constant)
    out = np.zeros(len(rows))
    out[np.searchsorted(rows, fused.rows)] = fused.scores * (constant + 1.0)
    return out


def _ranks(rows: I64, lane: Lane) -> I64:
    """Return the rank of each row in a lane, from 1; 0 where the lane did not find it."""
    out = np.zeros(len(rows), np.int64)
    out[np.searchsorted(rows, lane.rows)] = np.arange(1, len(lane.rows) + 1)
    return out


def _factors(view: View, profile: Profile, rows: I64) -> F64:
    invalidated = view.state.status[rows] == INVALIDATED
    return np.where(invalidated, profile.invalidated or _ASKED_FOR_INVALIDATED, 1.0)


def ranking(view: View, candidates: Candidates) -> list[int]:
    """Return positions by score, then newer created_at, then id; positions without any score are left out."""
    keep = np.flatnonzero(candidates.score > 0.0)
    created = view.snapshot.numbers("chunks", "created_at", candidates.rows[keep], MISSING_US).astype(np.int64)
    score = candidates.score[keep]
    order = np.lexsort((-created.astype(np.float64), -score))
    positions = keep[order]
    tied = np.flatnonzero((score[order][1:] == score[order][:-1]) & (created[order][1:] == created[order][:-1]))
    if len(tied):
        names = view.snapshot.values("chunks", "id", candidates.rows[positions])
        key = list(
            zip(
                (-score[order]).tolist(),
                (-created[order].astype(np.float64)).tolist(),
                names,
                positions.tolist(),
                strict=True,
            )
        )
        return [item[3] for item in sorted(key)]
    ordered: list[int] = positions.tolist()
    return ordered
