"""Retrieval measures by their textbook sums, one rank at a time."""

from __future__ import annotations

import math


def relevance(ranking: list[str], gold: set[str], k: int) -> list[int]:
    """0 or 1 at each of the ranks 1 to k, repeats taken out."""
    distinct: list[str] = []
    for item in ranking:
        if item not in distinct:
            distinct.append(item)
    return [1 if i < len(distinct) and distinct[i] in gold else 0 for i in range(k)]


def recall(ranking: list[str], gold: set[str], k: int) -> float:
    return sum(relevance(ranking, gold, k)) / len(gold)


def hit(ranking: list[str], gold: set[str], k: int) -> float:
    return float(any(relevance(ranking, gold, k)))


def mrr(ranking: list[str], gold: set[str], k: int) -> float:
    for i, relevant in enumerate(relevance(ranking, gold, k)):
        if relevant:
            return 1 / (i + 1)
    return 0.0


def ndcg(ranking: list[str], gold: set[str], k: int) -> float:
    best = [1 if i < len(gold) else 0 for i in range(k)]
    dcg = 0.0
    ideal = 0.0
    for i, (got, want) in enumerate(zip(relevance(ranking, gold, k), best, strict=True)):
        dcg += (2**got - 1) / math.log2(i + 2)
        ideal += (2**want - 1) / math.log2(i + 2)
    return dcg / ideal
