from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64, U8
from lamina_kernels.simd import beats, grant_tiles, insert_sorted, lowest_bit, prefetch_line, square_distance


def _compare_examples() -> tuple[object, ...]:
    return np.zeros(70, np.float32), np.zeros(70, np.float32), np.float32(0.0), np.zeros(64, np.uint8)


@kernel(examples=[_compare_examples])
def _compare(scores: F32, floors: F32, floor: float | np.float32, out: U8) -> None:
    mask = beats(scores, 3, floors, 5, floor)
    while mask != np.uint64(0):
        out[lowest_bit(mask)] = 1
        mask &= mask - np.uint64(1)


def _distance_examples() -> tuple[object, ...]:
    return np.zeros(48, np.float32), 8, 1.0, 16, 1.0, 8, np.zeros(1)


@kernel(examples=[_distance_examples])
def _distance(values: F32, i: int, a: float, j: int, b: float, size: int, out: F64) -> None:
    out[0] = square_distance(values, i, a, values, j, b, size)


def _insert_examples() -> tuple[object, ...]:
    return 8, 8, 1, np.float32(0.0), np.zeros((2, 8), np.int32), np.zeros((2, 8), np.float32)


@kernel(examples=[_insert_examples])
def _insert(
    start: int, count: int, row: int, score: float | np.float32, out_rows: I32, out_scores: F32
) -> None:  # fmt: skip
    insert_sorted(out_rows, out_scores, start, count, np.int32(row), np.float32(score))


def _prefetch_examples() -> tuple[object, ...]:
    return 0, np.zeros(1, np.int64)


@kernel(examples=[_prefetch_examples])
def _prefetch(place: int, out: I64) -> None:
    prefetch_line(place)
    out[0] += 1


@pytest.mark.parametrize("place", [0, -1, 2**62])
def test_a_line_may_be_asked_for_anywhere(place: int) -> None:
    out = np.zeros(1, np.int64)
    _prefetch(place, out)
    prefetch_line(place)
    assert out[0] == 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16, 32]))
def test_a_row_goes_after_its_equals_and_no_other_list_changes(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.integers(-3, 4, (3, count)).astype(np.float32), axis=1)
    scores[1, int(rng.integers(count)) :] = -np.inf  # not full yet, which it never is again
    rows = rng.integers(0, 99, (3, count)).astype(np.int32)
    new = np.float32(rng.integers(int(max(scores[1, -1], -4)) + 1, 6))
    listed = [(-float(score), 0, int(row)) for score, row in zip(scores[1], rows[1], strict=True)]
    ref = sorted([*listed, (-float(new), 1, 100)], key=lambda each: each[:2])[:count]
    for put in (_insert, lambda *given: insert_sorted(given[4], given[5], given[0], given[1], given[2], given[3])):
        got_rows, got_scores = rows.copy(), scores.copy()
        put(count, count, 100, new, got_rows, got_scores)
        assert got_rows[1].tolist() == [row for _, _, row in ref]
        assert got_scores[1].tolist() == [-score for score, _, _ in ref]
        for other in (0, 2):
            assert got_rows[other].tolist() == rows[other].tolist()
            assert got_scores[other].tolist() == scores[other].tolist()


def test_another_system_than_linux_is_not_asked_for_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert not grant_tiles()


@given(st.integers(0, 2**32 - 1))
def test_scores_are_compared_with_the_lower_floor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, floors = (rng.integers(-3, 4, 70).astype(np.float32) for _ in range(2))
    scores[10], floors[20] = np.nan, -np.inf
    floor = np.float32(rng.integers(-3, 4))
    out = np.zeros(64, np.uint8)
    _compare(scores, floors, floor, out)
    ref = scores[3:67] > np.minimum(floors[5:69], floor)
    assert out.tolist() == ref.astype(np.uint8).tolist()


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16]))
def test_square_distance_equals_its_twin_to_the_bit_both_ways(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal(48) * 10.0 ** rng.integers(-9, 9, 48)).astype(np.float32)
    a, b, out = float(rng.random()), float(rng.random()), np.zeros(1)
    ref = square_distance(values, 8, a, values, 16, b, size)  # called from Python: the twin
    _distance(values, 8, a, 16, b, size, out)
    assert out[0] == ref
    _distance(values, 16, b, 8, a, size, out)
    assert out[0] == ref
    plain = math.fsum(
        (float(x) * a - float(y) * b) ** 2 for x, y in zip(values[8 : 8 + size], values[16 : 16 + size], strict=True)
    )
    assert out[0] == pytest.approx(plain, rel=1e-13)
