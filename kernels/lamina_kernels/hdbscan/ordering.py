"""Order of rows that keeps near ones adjacent: a tree of two-way splits.

Each set of rows is split between two of them that lie far apart, by which one a row is nearer to, until few are left
(random projection trees: Dasgupta and Freund, 2008). The order is a guess that saves time; no result depends on it.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I64, Points
from lamina_kernels.simd import square_distance
from lamina_kernels.threads import ThreadTeam

_LEAF: Final = 16

_PIECE: Final = 512
"""Rows that are not worth another thread."""

_BLURRED: Final = 1 / 4
_GROUPED: Final = 1 / 8
"""Shares of all rows."""

_SHORT: Final = 0.6
"""Share of the median distance of rows that stand far apart in the order: in text hardly a run of steps is so short."""

_SAMPLE: Final = 512

# Only the order of rows hangs on these sums, and no result on that.
_REORDER: Final = ("reassoc", "contract")


def tree_order(points: Points, team: ThreadTeam | None = None) -> I64:
    """Return the rows in an order that keeps near ones together; O(n d log n)."""
    n = points.factors.size
    order, spare, along = np.arange(n), np.empty(n, np.int64), np.empty(n, np.float32)
    team = ThreadTeam(team.threads if team else 1)
    pieces = [(0, n)]
    while team.threads > 1 and len(pieces) < 8 * team.threads and n // len(pieces) > _PIECE:
        cuts = [0] * len(pieces)

        def halve(_: int, piece: int, pieces: list[tuple[int, int]] = pieces, cuts: list[int] = cuts) -> None:
            start, stop = pieces[piece]
            cuts[piece] = stop
            if stop - start > _LEAF:
                cuts[piece] = split_once(
                    points.values, points.factors, points.size, start, stop, order, spare, along
                )  # fmt: skip

        team.run(halve, range(len(pieces)))
        pieces = [part for (a, b), c in zip(pieces, cuts, strict=True) for part in ((a, c), (c, b))]

    def split(_: int, piece: tuple[int, int]) -> None:
        split_rows(points.values, points.factors, points.size, *piece, order, spare, along)

    team.run(split, pieces)
    return order


def steps(points: Points, order: I64) -> F64:
    """Return the distance of each row in order to the one before it; infinite for the first."""
    found = np.full(order.size, np.inf)
    measure_steps(points.values, points.factors, points.size, order, found)
    return found


def is_clumped(step: F64, order: I64, blurred: F64) -> bool:
    """Return True if over a quarter of the rows nearly equal the previous one."""
    return bool(np.mean(step < blurred[order]) > _BLURRED)


def is_grouped(points: Points, step: F64, order: I64, listed: int) -> bool:
    """Return whether over an eighth of the rows lie in groups longer than a list.

    Such groups are runs of the order whose steps are short beside the distance of rows that stand far apart in it.
    """
    half = order.size // 2
    if half == 0:
        return False
    places = np.linspace(0, half - 1, min(half, _SAMPLE)).astype(np.int64)
    apart = steps(points, np.column_stack([order[places], order[places + half]]).reshape(-1))[1::2]
    sizes = np.bincount(np.cumsum(step > _SHORT * np.median(apart)))
    return bool(sizes[sizes > listed].sum() > _GROUPED * order.size)


def _split_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, 0, 2, np.arange(2), np.empty(2, np.int64), np.empty(2, np.float32)


@kernel(fastmath=_REORDER)
def _dot(values: F32, i: int, line: F32) -> np.float32:
    total = np.float32(0.0)
    row = values[i : i + line.size]
    for k in range(line.size):
        total += row[k] * line[k]
    return total


@kernel
def _furthest(values: F32, factors: F64, size: int, order: I64, start: int, stop: int, place: int) -> int:
    """Return the place of the row furthest from that of a place, among 16 places."""
    i, found, furthest = order[place], place, -1.0
    step = max((stop - start) // 16, 1)
    for p in range(start, stop, step):
        j = order[p]
        square = square_distance(values, i * size, factors[i], values, j * size, factors[j], size)
        if square > furthest:
            found, furthest = p, square
    return found


@kernel(examples=[_split_examples])
def split_once(
    values: F32, factors: F64, size: int, start: int, stop: int, out_order: I64, out_spare: I64, out_along: F32
) -> int:
    """Split rows in two between two of them that lie far apart.

    Parameters
    ----------
    values, factors, size
        The points.
    start, stop : int
        Places of the rows; at least two.
    out_order : int64 (n,)
        All rows; rearranged from ``start`` to ``stop``.
    out_spare : int64 (n,)
        Written.
    out_along : float32 (n,)
        Written: where rows lie between the two.

    Returns
    -------
    int
        Where the second part begins.

    Notes
    -----
    A split that would leave less than a sixteenth on one side is made in the middle of the order instead.
    """
    line = np.empty(size, np.float32)
    b = _furthest(values, factors, size, out_order, start, stop, start)
    a = _furthest(values, factors, size, out_order, start, stop, b)
    i, j = out_order[a], out_order[b]
    for k in range(size):
        line[k] = values[j * size + k] * factors[j] - values[i * size + k] * factors[i]
    for p in range(start, stop):
        row = out_order[p]
        out_along[p] = _dot(values, row * size, line) * np.float32(factors[row])
    middle = np.float32(0.5) * (out_along[a] + out_along[b])
    low, high = start, stop
    for p in range(start, stop):
        if out_along[p] < middle:
            out_spare[low] = out_order[p]
            low += 1
        else:
            high -= 1
            out_spare[high] = out_order[p]
    for p in range(start, stop):
        out_order[p] = out_spare[p]
    least = (stop - start) // 16
    if low - start < least or stop - low < least:
        low = (start + stop) // 2
    return low


@kernel(examples=[_split_examples])
def split_rows(
    values: F32, factors: F64, size: int, start: int, stop: int, out_order: I64, out_spare: I64, out_along: F32
) -> None:
    """Split rows in two again and again, and write them in the order of the leaves.

    Parameters
    ----------
    values, factors, size, start, stop, out_order, out_spare, out_along
        As `split_once` takes them.

    Notes
    -----
    O(n d log n).
    """
    starts, stops = [start], [stop]
    while len(starts):
        first, last = starts.pop(), stops.pop()
        if last - first <= _LEAF:
            continue
        middle = split_once(values, factors, size, first, last, out_order, out_spare, out_along)
        starts.append(first)
        stops.append(middle)
        starts.append(middle)
        stops.append(last)


def _steps_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), np.empty(2)


@kernel(examples=[_steps_examples])
def measure_steps(values: F32, factors: F64, size: int, order: I64, out: F64) -> None:
    """Measure the distance of each row in order to the one before it.

    Parameters
    ----------
    values, factors, size
        The points.
    order : int64 (n,)
    out : float64 (n,)
        Written but for the first.
    """
    for p in range(1, order.size):
        i, j = order[p], order[p - 1]
        out[p] = np.sqrt(square_distance(values, i * size, factors[i], values, j * size, factors[j], size))
