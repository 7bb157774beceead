"""Maximal marginal relevance and near-duplicates over a full table of similarities."""

from __future__ import annotations

from collections.abc import Sequence

Table = Sequence[Sequence[float]]


def maximal_marginal_relevance(relevance: Sequence[float], cosines: Table, lam: float, k: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < min(k, len(relevance)):
        best, best_value = -1, 0.0
        for i, score in enumerate(relevance):
            if i in chosen:
                continue
            value = lam * score
            if chosen:
                value -= (1.0 - lam) * max(cosines[i][j] for j in chosen)
            if best < 0 or value > best_value:
                best, best_value = i, value
        chosen.append(best)
    return chosen


def near_duplicates(cosines: Table, order: Sequence[int], threshold: float) -> list[int]:
    kept: list[int] = []
    for i in order:
        if all(cosines[i][j] < threshold for j in kept):
            kept.append(i)
    return kept
