"""The vector lane by hand: every row, one sum in extended precision each, sorted."""

from __future__ import annotations

import numpy as np

from lamina_engine.index.vectors import F32, Nearest, Rows, VectorBlocks


def unit(n: int, dim: int, seed: int = 0) -> F32:
    matrix = np.random.default_rng(seed).standard_normal((n, dim))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.astype(np.float32)


def split(matrix: F32, cuts: list[int]) -> VectorBlocks:
    return VectorBlocks(np.split(matrix, sorted(cuts)), matrix.shape[1])


def by_hand(matrix: F32, query: F32, k: int, rows: Rows | None = None) -> Nearest:
    """Every row, one sum in extended precision each, sorted: what a scan must give."""
    scores = (matrix.astype(np.longdouble) * query).sum(axis=1)
    allowed = np.arange(len(matrix)) if rows is None else rows
    ranked = sorted((-np.float32(scores[row]), -row) for row in allowed.tolist() if matrix[row].any())[:k]
    return Nearest(
        np.array([-row for _, row in ranked], np.int64), np.array([-score for score, _ in ranked], np.float32)
    )


def check_equal(ref: Nearest, got: Nearest) -> None:
    assert got.rows.dtype == np.int64
    assert got.scores.dtype == np.float32
    np.testing.assert_array_equal(got.rows, ref.rows)
    np.testing.assert_array_equal(got.scores, ref.scores)
