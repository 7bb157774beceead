from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import distances
from lamina_kernels.distances import (
    Located,
    best_proposals,
    exact_dots,
    fill_exact_dots,
    gather_exact_dots,
    pairwise_plan,
    unit_rows,
    unit_rows_numpy,
)
from lamina_kernels.layouts import F32, I64
from lamina_kernels.simd import lane_sum, number_at
from tests.oracles import distances as oracle


def random_units(n: int, d: int, seed: int = 0) -> F32:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    units: F32 = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def row_kernel(matrix: F32, query: F32) -> F32:
    out = np.full(matrix.shape[0], -9, np.float32)
    distances.row_dots(matrix, query, out)
    return out


def gather_kernel(matrix: F32, rows: I64, query: F32) -> F32:
    out = np.full(rows.size, -9, np.float32)
    distances.gather_dots(matrix, rows, query, out)
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("d", [1, 7, 64, 257])
def test_every_way_equals_oracle(n: int, d: int) -> None:
    matrix, query = random_units(n, d), random_units(1, d, 1)[0]
    ref = [oracle.dot(row.tolist(), query.tolist()) for row in matrix]
    tolerance = 1e-6  # float32 sums of unit rows in any order
    np.testing.assert_allclose(row_kernel(matrix, query), ref, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.matmul(matrix, query), ref, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(distances.exact_dots(matrix, query), np.array(ref, np.float32))
    rows = np.random.default_rng(d).permutation(np.arange(n))
    permuted = [ref[row] for row in rows]
    np.testing.assert_allclose(gather_kernel(matrix, rows, query), permuted, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.matmul(matrix[rows], query), permuted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("d", [1, 8, 100, 256, 1000])
def test_exact_value_depends_on_nothing_but_the_row(d: int) -> None:
    matrix, query = random_units(1100, d), random_units(1, d, 1)[0]  # more than one block
    whole = distances.exact_dots(matrix, query)
    chosen = np.array([0, 3, 512, 1023, 1024, 1099])
    singly = np.concatenate([distances.exact_dots(matrix[i : i + 1], query) for i in chosen])
    np.testing.assert_array_equal(whole[chosen], singly)
    np.testing.assert_array_equal(distances.exact_dots(np.asfortranarray(matrix), query), whole)
    np.testing.assert_array_equal(distances.exact_dots(matrix[::-1], query), whole[::-1])


def test_exact_dots_survive_cancellation() -> None:
    matrix = np.array([[1e8, 1.0, -1e8]], np.float32)
    assert distances.exact_dots(matrix, np.ones(3, np.float32)).tolist() == [1.0]


@given(st.floats(-1.5, 1.5))
def test_angular_distance_equals_oracle(cosine: float) -> None:
    got = distances.angular_distance(np.array([cosine]))[0]
    assert got == pytest.approx(oracle.angular_distance(cosine), abs=1e-15)
    assert 0.0 <= got <= 1.0


def test_angular_distance_of_float32() -> None:
    got = distances.angular_distance(np.array([1.0, 0.0, -1.0, 1.0000001], np.float32))
    assert got.tolist() == [0.0, 0.5, 1.0, 0.0]


def compiled(matrix: F32, rows: I64, query: F32) -> F32:
    out = np.full(rows.size, -9, np.float32)
    cut = len(matrix) // 3  # rows of several arrays, as those of a log
    arrays = [np.ascontiguousarray(part) for part in (matrix[:cut], matrix[cut:])]
    located = Located.of([array for array in arrays if len(array)])
    gather_exact_dots(*located, rows, query.astype(np.float64), pairwise_plan(query.size), out)
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


@pytest.mark.parametrize("d", [1, 7, 129, 256])
def test_only_what_is_unknown_is_filled_with_the_same_bits(d: int) -> None:
    random = np.random.default_rng(d)
    matrix, query = random.standard_normal((20, d)).astype(np.float32), random.standard_normal(d).astype(np.float32)
    rows = random.integers(0, 20, 40)
    out = np.where(random.random(40) < 0.5, np.nan, 7.0)
    unknown = np.isnan(out)
    fill_exact_dots(*Located.of([matrix]), rows, query.astype(np.float64), pairwise_plan(d), out)
    np.testing.assert_array_equal(out, np.where(unknown, exact_dots(matrix[rows], query).astype(np.float64), 7.0))


def test_no_rows() -> None:
    assert compiled(np.zeros((2, 3), np.float32), np.empty(0, np.int64), np.zeros(3, np.float32)).size == 0


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def kernel_rows(rows: F32) -> F32:
    out = np.full(rows.shape, 9, np.float32)
    assert unit_rows(rows, out) == -1
    return out


def unit_oracle(row: list[float]) -> list[float]:
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
    ref = np.array([unit_oracle(row) for row in rows.astype(np.float64).tolist()], np.float32).reshape(rows.shape)
    np.testing.assert_array_equal(got, ref)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite_is_told(wrong: float) -> None:
    rows = np.ones((4, 3), np.float32)
    rows[2, 1] = rows[3, 0] = wrong
    assert unit_rows(rows, np.empty_like(rows)) == 2


def test_the_greatest_numbers_do_not_overflow() -> None:
    rows = np.full((1, 300), np.finfo(np.float32).max)
    np.testing.assert_allclose(np.linalg.norm(kernel_rows(rows).astype(np.float64)), 1.0, rtol=1e-6)


@pytest.mark.parametrize(("d", "stop"), [(8, 8), (64, 64), (130, 128)])
def test_lanes_add_up_as_instructions_do(d: int, stop: int) -> None:
    row, query = random_units(1, d, 3)[0], random_units(1, d, 4)[0].astype(np.float64)
    matrix, out = np.ascontiguousarray(row[None, :stop]), np.empty(1, np.float32)
    located = Located.of([matrix])
    gather_exact_dots(*located, np.zeros(1, np.int64), query[:stop].copy(), np.array([[0, stop, 0]]), out)
    assert np.float32(lane_sum(int(located.addresses[0]), query, 0, stop)) == out[0]
    assert [number_at(int(located.addresses[0]), i) for i in range(stop)] == row[:stop].tolist()


def proposed(matrix: F32, query: F32, rows: I64, promises: F32, fetch: int, covered: int, k: int) -> I64 | None:
    """Return the best of some proposals and of the rows behind the index, with their scores checked."""
    best, scores = np.full(k, -9, np.int64), np.full(k, -9, np.float32)
    wide, plan = query.astype(np.float64), pairwise_plan(query.size)
    arrays = [np.ascontiguousarray(part) for part in np.array_split(matrix, 3)]
    located = Located.of(arrays)
    found = best_proposals(*located, rows, promises, fetch, covered, len(matrix), wide, plan, k, best, scores)
    if found < 0:
        return None
    np.testing.assert_array_equal(scores[:found], exact_dots(matrix[best[:found]], query))
    return best[:found]


@pytest.mark.parametrize("d", [1, 7, 8, 130, 256])
@pytest.mark.parametrize("k", [1, 10, 500])
def test_the_best_proposals_are_those_of_exact_dots(d: int, k: int) -> None:
    matrix = random_units(400, d, d)
    matrix[40:60] = matrix[40]  # equal scores: the higher row first
    query = random_units(1, d, 9)[0]
    rows = np.random.default_rng(1).permutation(300)[:90].astype(np.int64)
    rows = np.concatenate([rows, np.setdiff1d(np.arange(40, 60), rows)])
    promises = np.sort(random_units(1, len(rows), 2)[0])[::-1].copy()
    promises[70:75] = promises[70]  # what ties with the last that is fetched is scored, too
    chosen = np.concatenate([rows[:75], np.arange(300, 400)])
    scores = exact_dots(matrix[chosen], query)
    wanted = chosen[np.lexsort((-chosen, -scores))][:k]
    found = proposed(matrix, query, rows, promises, 71, 300, k)
    assert found is not None
    np.testing.assert_array_equal(found, wanted)


def test_proposals_that_do_not_decide_are_refused() -> None:
    matrix, query = random_units(50, 16), random_units(1, 16, 1)[0]
    rows, level = np.arange(20), np.ones(20, np.float32)
    assert proposed(matrix, query, rows, level, 5, 40, 3) is None  # every one ties, so that others may
    assert proposed(matrix, query, rows, level, 5, 20, 3) is not None  # but where there are no others
    matrix[45] = 0.0  # a row without a vector, behind the index
    assert proposed(matrix, query, rows, level, 5, 20, 3) is None
