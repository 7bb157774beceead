"""Approximate neighbour lists, widened by the neighbours of neighbours.

One round of Dong, Charikar and Li, "Efficient k-nearest neighbor graph construction", 2011: each row looks at the rows
that its neighbours list, and at those that list it (its *namers*) with theirs. Where both steps were known a round ago,
the pair has been looked at. Rows are called by their places in an order that keeps near ones together, so that what a
thread reads is mostly at hand.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.neighbors import _insert_nearest
from lamina_kernels.hdbscan.simd import square_distance
from lamina_kernels.layouts import BOOL, F32, F64, I32, I64

NONE: Final = -1
"""An entry of a list of namers that nothing has filled."""

_SLACK: Final = 1.0 + 1e-4
"""Sums of a thousand squares in float32 are off by less, relatively; only what lies beyond is left unmeasured."""

# Sums in any order: an estimate only says what need not be measured.
_REORDER: Final = ("reassoc", "contract")


def _measure_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), 0, 2, np.array([[1], [0]], np.int32), np.empty((2, 1))


@kernel(examples=[_measure_examples])
def measure_places(
    values: F32, factors: F64, size: int, order: I64, start: int, stop: int, out_places: I32, out_distances: F64
) -> None:
    """Measure listed pairs exactly and sort the lists by distance, then place.

    Parameters
    ----------
    values, factors, size
        The points, row by row.
    order : int64 (n,)
        Row at each place.
    start, stop : int
        Places whose lists are measured.
    out_places : int32 (n, K)
        Sorted.
    out_distances : float64 (n, K)
        Written.

    Notes
    -----
    O(K d) a row.
    """
    for i in range(start, stop):
        x = order[i]
        for p in range(out_places.shape[1]):
            j = out_places[i, p]
            y = order[j]
            distance = np.sqrt(square_distance(values, x * size, factors[x], values, y * size, factors[y], size))
            at = p
            while at > 0 and (
                out_distances[i, at - 1] > distance
                or (out_distances[i, at - 1] == distance and out_places[i, at - 1] > j)
            ):
                out_distances[i, at] = out_distances[i, at - 1]
                out_places[i, at] = out_places[i, at - 1]
                at -= 1
            out_distances[i, at] = distance
            out_places[i, at] = j


def _namers_examples() -> tuple[object, ...]:
    lists, fresh = np.array([[1], [0]], np.int32), np.ones((2, 1), np.bool_)
    return lists, np.zeros((2, 1)), fresh, 0, 2, lists.copy(), np.zeros((2, 1), np.float32), fresh.copy()


@kernel(examples=[_namers_examples])
def list_namers(
    places: I32, distances: F64, fresh: BOOL, start: int, stop: int,
    out_namers: I32, out_distances: F32, out_fresh: BOOL,
) -> None:  # fmt: skip
    """Note for each place the nearest places that list it and that it does not list itself.

    Parameters
    ----------
    places, distances : int32 and float64 (n, K)
        Lists, nearest first.
    fresh : bool (n, K)
        What came into the lists in the last round.
    start, stop : int
        Lists that are read.
    out_namers, out_distances, out_fresh : int32, float32 and bool (n, R)
        Nearest first, of equal ones the first that came; they come in as −1, infinity and False. Changed.

    Notes
    -----
    O(K) a list, O(K²) where all list each other.
    """
    k, many = places.shape[1], out_namers.shape[1]
    for i in range(start, stop):
        for p in range(k):
            j, distance = places[i, p], np.float32(distances[i, p])
            if distance >= out_distances[j, many - 1] or (
                distances[i, p] <= distances[j, k - 1] and _holds(places, j, i)
            ):
                continue
            at = many - 1
            while at > 0 and out_distances[j, at - 1] > distance:
                out_distances[j, at] = out_distances[j, at - 1]
                out_namers[j, at] = out_namers[j, at - 1]
                out_fresh[j, at] = out_fresh[j, at - 1]
                at -= 1
            out_distances[j, at] = distance
            out_namers[j, at] = i
            out_fresh[j, at] = fresh[i, p]


@kernel
def _holds(places: I32, i: int, place: int) -> bool:
    held = False
    for p in range(places.shape[1]):
        held |= places[i, p] == place
    return held


@kernel(fastmath=_REORDER)
def _estimate(values: F32, i: int, scale_i: np.float32, j: int, scale_j: np.float32, size: int) -> np.float32:
    """Return the square of a distance, nearly."""
    a, b = values[i : i + size], values[j : j + size]
    total = np.float32(0.0)
    for k in range(size):
        difference = a[k] * scale_i - b[k] * scale_j
        total += difference * difference
    return total


def _widen_examples() -> tuple[object, ...]:
    lists, fresh = np.array([[1], [0]], np.int32), np.ones((2, 1), np.bool_)
    return (
        np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), 0, 2, lists, fresh, lists, fresh,
        lists.copy(), np.zeros((2, 1)), fresh.copy(), np.zeros(2, np.int32),
    )  # fmt: skip


@kernel(examples=[_widen_examples])
def widen_lists(
    values: F32, factors: F64, size: int, order: I64, start: int, stop: int,
    places: I32, fresh: BOOL, namers: I32, fresh_namers: BOOL,
    out_places: I32, out_distances: F64, out_fresh: BOOL, out_seen: I32,
) -> None:  # fmt: skip
    """Measure the neighbours of each row's neighbours and namers; keep the nearest.

    Parameters
    ----------
    values, factors, size
        The points, row by row.
    order : int64 (n,)
        Row at each place.
    start, stop : int
        Places whose lists are widened.
    places, fresh : int32 and bool (n, K)
        Lists as they were, and what the last round brought.
    namers, fresh_namers : int32 and bool (n, R)
        As `list_namers` writes them.
    out_places, out_distances : int32 and float64 (n, K)
        Nearest first; changed from ``start`` to ``stop``.
    out_fresh : bool (n, K)
        Written from ``start`` to ``stop``: what was not in the list before.
    out_seen : int32 (n,)
        One thread's notes; zeros when a round begins.

    Notes
    -----
    O((K + R) K d) a row at most; each other row is looked at once.
    """
    k, many = places.shape[1], namers.shape[1]
    for i in range(start, stop):
        x, mark = order[i], i + 1
        out_seen[i] = mark
        for p in range(k):
            out_seen[places[i, p]] = mark
        limit = np.float32(out_distances[i, k - 1] * out_distances[i, k - 1] * _SLACK)
        for p in range(k + many):
            u = places[i, p] if p < k else namers[i, p - k]
            if u == NONE:
                break
            is_new = fresh[i, p] if p < k else fresh_namers[i, p - k]
            for q in range(k + 1):
                # the last is the namer itself: what one of two rows has found is news to the other
                j = places[u, q] if q < k else u
                if out_seen[j] == mark or not (is_new or (q < k and fresh[u, q])):
                    continue
                out_seen[j] = mark
                y = order[j]
                scales = np.float32(factors[x]), np.float32(factors[y])
                if _estimate(values, x * size, scales[0], y * size, scales[1], size) > limit:
                    continue
                distance = np.sqrt(square_distance(values, x * size, factors[x], values, y * size, factors[y], size))
                if distance < out_distances[i, k - 1]:
                    _insert_nearest(out_places, out_distances, i, j, distance)
                    limit = np.float32(out_distances[i, k - 1] * out_distances[i, k - 1] * _SLACK)
        for p in range(k):
            out_fresh[i, p] = not _holds(places, i, out_places[i, p])
