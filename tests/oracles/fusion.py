"""Reciprocal rank fusion with a dictionary."""

from __future__ import annotations

from collections.abc import Sequence


def reciprocal_rank_fusion(lanes: Sequence[Sequence[int]], weights: Sequence[float], k: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    for lane, weight in zip(lanes, weights, strict=True):
        seen: set[int] = set()
        for rank, row in enumerate(lane, start=1):
            if row not in seen:
                seen.add(row)
                scores[row] = scores.get(row, 0.0) + weight / (k + rank)
    return dict(sorted(scores.items()))
