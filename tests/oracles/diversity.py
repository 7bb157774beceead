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


def fitting_relevance(
    relevance: Sequence[float], cosines: Table, sizes: Sequence[int], budget: int, lam: float, k: int
) -> list[int]:
    chosen: list[int] = []
    top = max(relevance, default=0.0) or 1.0
    while len(chosen) < k:
        left = budget - sum(sizes[i] for i in chosen)
        values = {
            i: lam * score / top - (1.0 - lam) * max([0.0, *(cosines[i][j] for j in chosen)])
            for i, score in enumerate(relevance)
            if i not in chosen and sizes[i] <= left
        }
        if not values:
            break
        chosen.append(max(values, key=lambda i: (values[i], -i)))
    return chosen


def near_duplicates(cosines: Table, order: Sequence[int], threshold: float) -> list[int]:
    kept: list[int] = []
    for i in order:
        if all(cosines[i][j] < threshold for j in kept):
            kept.append(i)
    return kept
