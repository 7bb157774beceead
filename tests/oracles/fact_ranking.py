"""The best facts of a question's words, by looking at every row."""

from __future__ import annotations

from collections.abc import Sequence


def best_of_all(
    words: Sequence[tuple[float, Sequence[int]]], confidence: Sequence[float], stands: Sequence[bool], k: int
) -> list[tuple[float, float, int]]:
    """Return (score, confidence, row) of the k best: more weight, then surer, then newer."""
    ordered = sorted((word for word in words if word[1]), key=lambda word: -word[0])
    found = []
    for row in range(len(confidence)):
        score = 0.0
        for weight, rows in ordered:
            score += weight if row in rows else 0.0
        if score > 0.0 and stands[row]:
            found.append((score, confidence[row], row))
    return sorted(found, reverse=True)[:k]
