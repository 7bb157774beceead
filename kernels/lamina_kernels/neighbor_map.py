"""Two-dimensional layout that keeps neighbours together.

McInnes, Healy, Melville, "UMAP: Uniform Manifold Approximation and Projection" (2018): the nearest rows of each row get
weights by `weigh_neighbors` (algorithm 3), both directions are united by `unite` (algorithm 1, line 6), and
`move_rows` draws neighbours together and pushes random rows apart (algorithm 5).

Here a row is moved alone, by its own neighbours, while all others stand where they stood: rows can be moved in any order
and on any number of threads, and the bytes are the same. Random numbers are hashes of the seed, the step, the row and a
count.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64

_ROUNDS: Final = 64
_CLOSE_ENOUGH: Final = 1e-5
_LEAST_SCALE: Final = 1e-3
"""Bisection of a row's scale, and its least share of the mean distance: as in the authors' program."""

_FARTHEST: Final = 4.0
"""Longest move by one pair, in each coordinate."""

_SPREAD: Final = np.float32(1.577)
_PULL: Final = np.float32(2.0) * _SPREAD
"""Closeness 1 / (1 + a d²) with the paper's `a` for a least distance of 0.1, but b = 1: no power to compute. `_PULL` is from
the slope of its logarithm."""

_PUSHES: Final = 5
_PUSH: Final = np.float32(4.0)
_NEAR: Final = np.float32(0.001)
"""Random rows that push after each move to a neighbour, twice as strongly as in the paper: that makes up for b."""


def _weigh_examples() -> tuple[object, ...]:
    return np.ones((2, 3)), 0, 2, np.zeros((2, 3), np.float32)


@kernel(examples=[_weigh_examples])
def weigh_neighbors(distances: F64, start: int, stop: int, out: F32) -> None:
    """Write each row's weights: 1 for its nearest, in all the binary logarithm of their number.

    Parameters
    ----------
    distances : float64 (n, k)
        Ascending in each row.
    start, stop : int
        Rows to weigh.
    out : float32 (n, k)
    """
    k = distances.shape[1]
    wanted = np.log2(k)
    for i in range(start, stop):
        near = 0.0
        total = 0.0
        for j in range(k):
            total += distances[i, j]
            if near == 0.0:
                near = distances[i, j]
        low, high, scale = 0.0, np.inf, 1.0
        for _ in range(_ROUNDS):
            found = 0.0
            for j in range(k):
                beyond = distances[i, j] - near
                found += np.exp(-beyond / scale) if beyond > 0.0 else 1.0
            if abs(found - wanted) < _CLOSE_ENOUGH:
                break
            if found > wanted:
                high = scale
                scale = (low + high) / 2.0
            else:
                low = scale
                scale = scale * 2.0 if high == np.inf else (low + high) / 2.0
        scale = max(scale, _LEAST_SCALE * total / k)
        for j in range(k):
            beyond = distances[i, j] - near
            out[i, j] = np.exp(-beyond / scale) if beyond > 0.0 and scale > 0.0 else 1.0


@kernel
def _weight_of(rows: I32, weights: F32, i: int, row: int) -> float:
    """Return the weight row ``i`` gives another, or -1 where it lists none: one may be 0."""
    for j in range(rows.shape[1]):
        if rows[i, j] == row:
            return float(weights[i, j])
    return -1.0


def _unite_examples() -> tuple[object, ...]:
    return (
        np.array([[1], [0]], np.int32), np.ones((2, 1), np.float32), 0.0, np.zeros(3, np.int64),
        np.zeros(0, np.int32), np.zeros(0, np.float32),
    )  # fmt: skip


@kernel(examples=[_unite_examples])
def unite(rows: I32, weights: F32, least: float, out_indptr: I64, out_rows: I32, out_weights: F32) -> None:
    """Write the symmetric graph, a + b − ab for weights a and b of the two directions.

    Called twice: without room for the entries it counts them, and with room it writes them.

    Parameters
    ----------
    rows : int32 (n, k)
    weights : float32 (n, k)
    least : float
        Weaker pairs are left out.
    out_indptr : int64 (n + 1,)
        Written where ``out_rows`` is empty.
    out_rows : int32 (nnz,)
    out_weights : float32 (nnz,)
    """
    n, k = rows.shape
    counting = out_rows.size == 0
    at = np.zeros(n, np.int64) if counting else out_indptr[:n].copy()
    for i in range(n):
        for j in range(k):
            other = rows[i, j]
            back = _weight_of(rows, weights, other, i)
            other_way = max(back, 0.0)
            united = weights[i, j] + other_way - weights[i, j] * other_way
            if united < least:
                continue
            if not counting:
                out_rows[at[i]] = other
                out_weights[at[i]] = united
            at[i] += 1
            if back < 0.0:
                if not counting:
                    out_rows[at[other]] = i
                    out_weights[at[other]] = united
                at[other] += 1
    if counting:
        out_indptr[0] = 0
        for i in range(n):
            out_indptr[i + 1] = out_indptr[i] + at[i]


@kernel
def _mixed(state: int) -> int:
    """Mix a number below 2³²: lowbias32 (Wellons, "Prospecting for hash functions", 2018)."""
    state = ((state ^ (state >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    state = ((state ^ (state >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return state ^ (state >> 16)


@kernel
def _bounded(value: float) -> float:
    return np.float32(min(max(float(value), -_FARTHEST), _FARTHEST))  # type: ignore[return-value]


def _move_examples() -> tuple[object, ...]:
    return (
        np.array([0, 1, 2]), np.array([1, 0], np.int32), np.ones(2, np.float32), np.eye(2, dtype=np.float32),
        0, 2, 0, 1.0, np.zeros((2, 2), np.float32),
    )  # fmt: skip


@kernel(examples=[_move_examples])
def move_rows(
    indptr: I64, rows: I32, rates: F32, places: F32, start: int, stop: int, step: int, pace: float, out: F32
) -> None:  # fmt: skip
    """Move rows once: to neighbours, as often as their rates say, and away from random rows.

    Parameters
    ----------
    indptr : int64 (n + 1,)
    rows : int32 (nnz,)
    rates : float32 (nnz,)
        Moves a step, in [0, 1].
    places : float32 (n, 2)
        Of all rows.
    start, stop : int
        Rows to move.
    step : int
        Number of the step.
    pace : float
        Share of a full move.
    out : float32 (n, 2)
        New places of these rows.
    """
    n = places.shape[0]
    one, share = np.float32(1.0), np.float32(pace)
    for i in range(start, stop):
        x, y = places[i, 0], places[i, 1]
        state = _mixed((_mixed(i) + step) & 0xFFFFFFFF)
        for at in range(indptr[i], indptr[i + 1]):
            phase = _mixed(at & 0xFFFFFFFF) * 2.0**-32
            rate = np.float64(rates[at])
            if int(rate * (step + 1) + phase) == int(rate * step + phase):
                continue
            other = rows[at]
            dx, dy = x - places[other, 0], y - places[other, 1]
            pull = -_PULL / (one + _SPREAD * (dx * dx + dy * dy))
            x += share * _bounded(pull * dx)
            y += share * _bounded(pull * dy)
            for _ in range(_PUSHES):
                state = _mixed((state + 1) & 0xFFFFFFFF)
                other = (state * n) >> 32
                dx, dy = x - places[other, 0], y - places[other, 1]
                square = dx * dx + dy * dy
                push = _PUSH / ((_NEAR + square) * (one + _SPREAD * square))
                x += share * _bounded(push * dx)
                y += share * _bounded(push * dy)
        out[i, 0], out[i, 1] = x, y
