"""Forward lists as dictionaries, and BM25 over zones term by term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lamina_kernels.layouts import TermRows

Counts = tuple[int, int, int]
Row = Mapping[int, Counts]


def pack(rows: Sequence[Row], lengths: Sequence[Counts]) -> TermRows:
    """Lay dictionaries out as the arrays the kernels take."""
    entries = [(term, row[term]) for row in rows for term in sorted(row)]
    counts = np.array([count for _, count in entries], np.uint8).reshape(-1, 3)
    return TermRows(
        indptr=np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
        hashes=np.array([term for term, _ in entries], np.uint32),
        body=counts[:, 0].copy(),
        header=counts[:, 1].copy(),
        context=counts[:, 2].copy(),
        lengths=np.array(lengths, np.uint16).reshape(-1, 3),
    )


def bm25(
    row: Row,
    lengths: Counts,
    query: Sequence[int],
    idf: Sequence[float],
    weights: Sequence[float],
    k1: float,
    b: float,
    average_length: float,
) -> float:
    length = sum(weight * size for weight, size in zip(weights, lengths, strict=True))
    score = 0.0
    for term, rarity in zip(query, idf, strict=True):
        tf = sum(weight * count for weight, count in zip(weights, row.get(term, (0, 0, 0)), strict=True))
        if tf > 0:
            score += rarity * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average_length))
    return score


def document_frequency(rows: Sequence[Row], term: int, stop_row: int) -> int:
    return sum(1 for row in rows[:stop_row] if any(row.get(term, (0, 0, 0))))
