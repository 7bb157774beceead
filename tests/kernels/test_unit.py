from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import F32
from lamina_kernels.unit import unit_rows, unit_rows_numpy

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def kernel_rows(rows: F32) -> F32:
    out = np.full(rows.shape, 9, np.float32)
    assert unit_rows(rows, out) == -1
    return out


def oracle(row: list[float]) -> list[float]:
    squares = 0.0
    for value in row:
        squares += value * value
    length = math.sqrt(squares)
    return [value / length if length > 0 else 0.0 for value in row]


@given(st.integers(0, 5).flatmap(lambda d: st.lists(st.lists(NUMBERS, min_size=d, max_size=d), max_size=4)))
def test_twins_are_equal_to_the_byte_and_equal_the_oracle(values: list[list[float]]) -> None:
    rows = np.array(values, np.float32).reshape(len(values), -1 if values and values[0] else 0)
    got = kernel_rows(rows)
    assert got.tobytes() == unit_rows_numpy(rows).tobytes()
    ref = np.array([oracle(row) for row in rows.astype(np.float64).tolist()], np.float32).reshape(rows.shape)
    np.testing.assert_array_equal(got, ref)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite_is_told(wrong: float) -> None:
    rows = np.ones((4, 3), np.float32)
    rows[2, 1] = rows[3, 0] = wrong
    assert unit_rows(rows, np.empty_like(rows)) == 2


def test_the_greatest_numbers_do_not_overflow() -> None:
    rows = np.full((1, 300), np.finfo(np.float32).max)
    np.testing.assert_allclose(np.linalg.norm(kernel_rows(rows).astype(np.float64)), 1.0, rtol=1e-6)
