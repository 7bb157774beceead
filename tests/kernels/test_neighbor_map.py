from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina_kernels.layouts import F32, F64, I32, I64
from lamina_kernels.neighbor_map import _LEAST_SCALE, move_rows, unite, weigh_neighbors


def lists(n: int, k: int, seed: int) -> tuple[I32, F64]:
    """Return random lists of k other rows, with ascending distances."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], np.int32)
    return rows, np.sort(rng.random((n, k)), axis=1)


def weights_of(distances: F64) -> F32:
    out = np.full(distances.shape, -1, np.float32)
    weigh_neighbors(distances, 0, len(distances), out)
    return out


def united(rows: I32, weights: F32, least: float = 0.0) -> tuple[I64, I32, F32]:
    indptr = np.full(len(rows) + 1, -1)
    unite(rows, weights, least, indptr, np.empty(0, np.int32), np.empty(0, np.float32))
    near, rates = np.full(indptr[-1], -1, np.int32), np.full(indptr[-1], -1, np.float32)
    unite(rows, weights, least, indptr, near, rates)
    return indptr, near, rates


@example(n=3, seed=88, scale=1e-6)
@given(n=st.integers(3, 12), seed=st.integers(0, 99), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_weights_fall_with_distance_and_sum_to_the_logarithm(n: int, seed: int, scale: float) -> None:
    k = n - 1
    distances = lists(n, k, seed)[1] * scale
    weights = weights_of(distances)
    assert (weights[:, 0] == 1).all()
    assert (np.diff(weights, axis=1) <= 0).all()
    # where the nearest are as good as equal, no scale that is allowed makes the others weigh little enough
    least = np.exp((distances[:, :1] - distances) / (_LEAST_SCALE * distances.mean(axis=1, keepdims=True)))
    wanted = np.maximum(max(math.log2(k), 1.0), least.sum(axis=1))
    np.testing.assert_allclose(weights.sum(axis=1), wanted, atol=1e-3)


def test_equal_rows_weigh_one() -> None:
    assert weights_of(np.zeros((2, 5))).tolist() == [[1] * 5] * 2
    assert weights_of(np.array([[0.0, 0.0, 0.3, 0.9]]))[0, :3].tolist() == [
        1,
        1,
        1,
    ]  # the nearest that is apart is near


@example(n=4, seed=43, least=0.0)  # a weight so small that it is 0
@given(n=st.integers(2, 12), seed=st.integers(0, 99), least=st.sampled_from([0.0, 0.3]))
def test_both_directions_are_united(n: int, seed: int, least: float) -> None:
    k = min(3, n - 1)
    rows, distances = lists(n, k, seed)
    weights = weights_of(distances)
    dense = np.zeros((n, n))
    dense[np.arange(n)[:, None], rows] = weights
    ref = dense + dense.T - dense * dense.T
    ref[ref < least] = 0.0
    indptr, near, rates = united(rows, weights, least)
    got = np.zeros((n, n))
    for i in range(n):
        some = slice(indptr[i], indptr[i + 1])
        assert np.unique(near[some]).size == near[some].size
        got[i, near[some]] = rates[some]
    np.testing.assert_allclose(got, ref, atol=1e-6)


def mixed(state: int) -> int:
    state = ((state ^ (state >> 16)) * 0x7FEB352D) % 2**32
    state = ((state ^ (state >> 15)) * 0x846CA68B) % 2**32
    return state ^ (state >> 16)


def moved(indptr: I64, near: I32, rates: F32, places: F32, step: int, pace: float) -> F64:
    """Move all rows once, as the paper writes it, in float64."""
    out = places.astype(np.float64)

    def add(at: F64, other: F64, force: float) -> None:
        at += pace * np.clip(force * (at - other), -4, 4)

    for i in range(len(out)):
        at = places[i].astype(np.float64)
        state = mixed((mixed(i) + step) % 2**32)
        for entry in range(indptr[i], indptr[i + 1]):
            phase = mixed(entry) / 2**32
            rate = float(rates[entry])
            if math.floor(rate * (step + 1) + phase) == math.floor(rate * step + phase):
                continue
            other = places[near[entry]].astype(np.float64)
            add(at, other, -2 * 1.577 / (1 + 1.577 * ((at - other) ** 2).sum()))
            for _ in range(5):
                state = mixed((state + 1) % 2**32)
                other = places[state * len(out) // 2**32].astype(np.float64)
                square = ((at - other) ** 2).sum()
                add(at, other, 4 / ((0.001 + square) * (1 + 1.577 * square)))
        out[i] = at
    return out


@example(n=5, seed=57, step=480)  # in float32 a row would be due one step later
@given(n=st.integers(2, 12), seed=st.integers(0, 99), step=st.integers(0, 500))
def test_a_move_is_that_of_the_paper(n: int, seed: int, step: int) -> None:
    rows, distances = lists(n, min(4, n - 1), seed)
    graph = united(rows, weights_of(distances))
    places = (5 * np.random.default_rng(seed).standard_normal((n, 2))).astype(np.float32)
    out = np.full_like(places, np.nan)
    move_rows(*graph, places, 0, n, step, 0.5, out)
    # a push of near rows turns a rounding into more: by at most 4 each
    np.testing.assert_allclose(out, moved(*graph, places, step, 0.5), atol=0.05, rtol=1e-3)


def test_only_the_rows_asked_for_move_and_equal_places_stay_finite() -> None:
    rows, distances = lists(9, 4, 1)
    graph = united(rows, weights_of(distances))
    places, out = np.zeros((9, 2), np.float32), np.full((9, 2), 7, np.float32)
    move_rows(*graph, places, 3, 5, 0, 1.0, out)
    assert (out[[0, 1, 2, 5, 6, 7, 8]] == 7).all()
    assert (out[3:5] == 0).all()  # whoever lies on the same spot is drawn and pushed nowhere


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_a_rate_is_the_share_of_steps_with_a_move(rate: float) -> None:
    indptr, near, rates = np.array([0, 1, 1]), np.array([1], np.int32), np.array([rate], np.float32)
    places, out = np.array([[0, 0], [1000, 0]], np.float32), np.zeros((2, 2), np.float32)
    moves = 0
    for step in range(400):
        move_rows(indptr, near, rates, places, 0, 1, step, 1.0, out)
        moves += bool(out[0].any())
    assert abs(moves - 400 * rate) <= 1
