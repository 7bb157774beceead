"""Kernels against the NumPy expressions that they replace, on equal answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.timing import whole
from lamina_kernels.distances import gather_dots
from lamina_kernels.pooling import pool_words, pool_words_numpy
from lamina_kernels.topk import top_k, top_k_scan

K = 10
DIM = 256
Work = Callable[[], Any]


@pytest.fixture(scope="module")
def n(pytestconfig: pytest.Config) -> int:
    """Rows: a million, or few without timing."""
    return 1_000_000 if pytestconfig.getoption("benchmark_enable") else 20_000


@pytest.mark.parametrize("system", ["kernel", "numpy"])
def bench_top_k(benchmark: BenchmarkFixture, n: int, system: str) -> None:
    scores = np.random.default_rng(21).random(n, np.float32)
    every, rows, best = np.empty(0, np.uint8), np.empty(K, np.int64), np.empty(K, np.float32)

    def partitioned() -> NDArray[np.int64]:
        found = np.argpartition(-scores, K)[:K]
        return found[np.argsort(-scores[found])]

    top_k_scan(scores, every, rows, best)
    assert set(rows) == set(partitioned()) == set(top_k(scores, K).rows)
    works: dict[str, tuple[str, Work]] = {
        "kernel": ("Lamina top_k_scan", lambda: top_k_scan(scores, every, rows, best)),
        "numpy": ("NumPy argpartition", partitioned),
    }
    _time(benchmark, works[system], f"Top {K} of scores", "million scores/s", n / 1e6)


@pytest.mark.parametrize("system", ["kernel", "numpy"])
def bench_gather_dots(benchmark: BenchmarkFixture, n: int, system: str) -> None:
    rng = np.random.default_rng(22)
    matrix = rng.standard_normal((n // 10, DIM)).astype(np.float32)
    rows = np.sort(rng.choice(len(matrix), len(matrix) // 20, replace=False))
    query, out = matrix[0].copy(), np.empty(len(rows), np.float32)
    gather_dots(matrix, rows, query, out)
    np.testing.assert_allclose(out, np.matmul(matrix[rows], query), atol=1e-3)
    works: dict[str, tuple[str, Work]] = {
        "kernel": ("Lamina gather_dots", lambda: gather_dots(matrix, rows, query, out)),
        "numpy": ("NumPy gather, matmul", lambda: np.matmul(matrix[rows], query)),
    }
    _time(benchmark, works[system], "Dot products of 5 % of the rows, 256-d", "million rows/s", len(rows) / 1e6)


@pytest.mark.parametrize("system", ["kernel", "numpy"])
def bench_pool_words(benchmark: BenchmarkFixture, n: int, system: str) -> None:
    rng = np.random.default_rng(23)
    texts, words = n // 500, 200
    # sums of float16 values, as the table's are: exact in any order
    sums = rng.standard_normal((20_000, DIM)).astype(np.float16).astype(np.float64)
    ids = rng.integers(0, len(sums), texts * words).astype(np.int32)
    indptr, out = np.arange(0, ids.size + 1, words), np.empty((texts, DIM), np.float32)
    pool_words(ids, indptr, sums, out)
    np.testing.assert_array_equal(out, pool_words_numpy(ids, indptr, sums))
    works: dict[str, tuple[str, Work]] = {
        "kernel": ("Lamina pool_words", lambda: pool_words(ids, indptr, sums, out)),
        "numpy": ("NumPy, a text at a time", lambda: pool_words_numpy(ids, indptr, sums)),
    }
    _time(benchmark, works[system], f"Pooling texts of {words} words", "thousand texts/s", texts / 1e3)


def _time(benchmark: BenchmarkFixture, work: tuple[str, Work], group: str, unit: str, amount: float) -> None:
    whole(benchmark, work[1], amount, group=group, unit=unit, system=work[0])
