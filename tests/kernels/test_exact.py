from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.distances import exact_dots
from lamina_kernels.exact import gather_exact_dots, pairwise_plan
from lamina_kernels.layouts import F32, I64


def compiled(matrix: F32, rows: I64, query: F32) -> F32:
    out = np.full(rows.size, -9, np.float32)
    gather_exact_dots(matrix, rows, query.astype(np.float64), pairwise_plan(query.size), out)
    return out


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 15, 64, 100, 127, 128, 129, 136, 256, 257, 384, 511, 768, 1024, 3000])
def test_bits_are_numpy_s(d: int) -> None:
    random = np.random.default_rng(d)
    matrix, query = random.standard_normal((6, d)).astype(np.float32), random.standard_normal(d).astype(np.float32)
    rows = np.array([5, 0, 0, 3])
    np.testing.assert_array_equal(compiled(matrix, rows, query), exact_dots(matrix[rows], query))


@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_bits_are_numpy_s_where_sums_cancel(d: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    large = np.float32(10.0) ** random.integers(-12, 12, (3, d)).astype(np.float32)
    matrix, query = (large * random.standard_normal((3, d))).astype(np.float32), np.ones(d, np.float32)
    np.testing.assert_array_equal(compiled(matrix, np.arange(3), query), exact_dots(matrix, query))


@pytest.mark.parametrize("d", [1, 8, 128, 129, 256, 1000, 20_000])
def test_a_plan_takes_every_number_once_and_leaves_one_sum(d: int) -> None:
    plan = pairwise_plan(d)
    assert plan[0, 0] == 0
    assert plan[-1, 1] == d
    np.testing.assert_array_equal(plan[1:, 0], plan[:-1, 1])
    assert len(plan) - plan[:, 2].sum() == 1


def test_no_rows() -> None:
    assert compiled(np.zeros((2, 3), np.float32), np.empty(0, np.int64), np.zeros(3, np.float32)).size == 0
