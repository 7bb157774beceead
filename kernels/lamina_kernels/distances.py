"""Dot products of vectors: fast ones find candidates, exact ones score them.

Unit rows are assumed wherever a dot product is called a cosine. The fast forms sum in float32 in whatever order the
machine likes; they choose candidates, and no score that a user sees comes from them. `exact_dots` is the score.

NumPy adds up a contiguous row of float64 pairwise [1]_: halves of the row are summed apart, down to blocks of at most
128, and a block of 8 or more is summed in eight interleaved parts. A product of two float32 is exact in float64, so the
order of the additions is all that decides the bits, and it is written down here once, as a plan for each dimension.

References
----------
.. [1] N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14 (1993); NumPy's choice of
   blocks is described with ``numpy.sum``.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I8, I16, I64, U8, Score

_BLOCK = 1024  # rows widened to float64 at a time: 2 MiB at 256 dimensions

# Sums of products may be reordered and fused: only so does LLVM vectorise them. NaN and infinities keep their
# meaning. Values differ from machine to machine in the last bits, which finding candidates can bear.
_REORDER = ("reassoc", "contract")


def exact_dots(matrix: F32, query: F32) -> F32:
    """Dot product of each row with the query, equal on every path and in every batch.

    Parameters
    ----------
    matrix : float32 (m, d)
    query : float32 (d,)

    Returns
    -------
    float32 (m,)

    Notes
    -----
    Products of two float32 are exact in float64; each row's products are summed in float64 by NumPy's pairwise sum
    over contiguous memory, whose order depends on d alone, and the sum is rounded to float32 once. A matrix product
    would be faster, but BLAS picks its order by the number of rows, the CPU and the thread count.  O(m d).
    """
    wide_query = query.astype(np.float64)
    out = np.empty(matrix.shape[0], np.float32)
    for start in range(0, matrix.shape[0], _BLOCK):
        products = np.multiply(matrix[start : start + _BLOCK], wide_query, order="C", dtype=np.float64)
        out[start : start + _BLOCK] = np.add.reduce(products, axis=1)
    return out


def angular_distance(cosine: NDArray[Score]) -> F64:
    """Angle between unit vectors as a share of a half turn.

    Parameters
    ----------
    cosine : float32 or float64 (n,)
        Clipped to [−1, 1] first: rounding may leave it a hair outside.

    Returns
    -------
    float64 (n,)
        arccos(cosine) / π, in [0, 1]; lower is nearer.
    """
    return np.arccos(np.clip(cosine.astype(np.float64), -1.0, 1.0)) / np.pi


def _row_examples() -> tuple[object, ...]:
    return np.zeros((2, 2), np.float32), np.zeros(2, np.float32), np.empty(2, np.float32)


def _gather_examples() -> tuple[object, ...]:
    matrix, query, _ = _row_examples()
    return matrix, np.arange(2), query, np.empty(2, np.float32)


@kernel(examples=[_row_examples], fastmath=_REORDER)
def row_dots(matrix: F32, query: F32, out: F32) -> None:
    """Dot product of each row with the query, to find candidates.

    Parameters
    ----------
    matrix : float32 (n, d)
    query : float32 (d,)
    out : float32 (n,)
        Written; the last bits depend on the machine.

    Notes
    -----
    O(n d), bound by reading the matrix once.
    """
    for i in range(matrix.shape[0]):
        total = np.float32(0.0)
        for j in range(query.size):
            total += matrix[i, j] * query[j]
        out[i] = total


@kernel(examples=[_gather_examples], fastmath=_REORDER)
def gather_dots(matrix: F32, rows: I64, query: F32, out: F32) -> None:
    """Dot product of chosen rows with the query, to find candidates without copying them.

    Parameters
    ----------
    matrix : float32 (n, d)
    rows : int64 (m,)
        Row numbers, 0 ≤ row < n, in any order; ascending reads memory best.
    query : float32 (d,)
    out : float32 (m,)
        Written; the last bits depend on the machine.

    Notes
    -----
    Four rows a step: four independent reads are under way at once, and the query is loaded once for them.  O(m d).
    """
    whole = rows.size - rows.size % 4
    for i in range(0, whole, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        total_a = total_b = total_c = total_d = np.float32(0.0)
        for j in range(query.size):
            x = query[j]
            total_a += matrix[a, j] * x
            total_b += matrix[b, j] * x
            total_c += matrix[c, j] * x
            total_d += matrix[d, j] * x
        out[i] = total_a
        out[i + 1] = total_b
        out[i + 2] = total_c
        out[i + 3] = total_d
    for i in range(whole, rows.size):
        total = np.float32(0.0)
        for j in range(query.size):
            total += matrix[rows[i], j] * query[j]
        out[i] = total


_RUN = 128  # the longest run that NumPy sums without halving it
_LANES = 8
_LINE = 16  # float32 in a line of the cache
_TOUCHED = 32  # rows asked of memory at once


@functools.cache
def pairwise_plan(d: int) -> I64:
    """Return the order in which NumPy adds up ``d`` numbers.

    Returns
    -------
    int64 (b, 3)
        For each block, left to right: its first number, one past its last, and how many times the two newest sums
        are added after it. Read-only.
    """
    plan: list[list[int]] = []

    def halve(start: int, stop: int) -> None:
        if stop - start <= _RUN:
            plan.append([start, stop, 0])
            return
        middle = start + (stop - start) // 2 // _LANES * _LANES
        halve(start, middle)
        halve(middle, stop)
        plan[-1][2] += 1

    halve(0, d)
    found = np.array(plan, np.int64)
    found.flags.writeable = False
    return found


def _exact_examples() -> tuple[object, ...]:
    matrix, query = np.zeros((2, 2), np.float32), np.zeros(2)
    return matrix, np.arange(2), query, pairwise_plan(2), np.empty(2, np.float32)


@kernel
def _block_sum(row: F32, query: F64, start: int, stop: int, lanes: F64) -> float:
    """Add up the products of one block in NumPy's order; ``lanes`` is room for the eight parts."""
    if stop - start < _LANES:
        total = -0.0
        for j in range(start, stop):
            total += np.float64(row[j]) * query[j]
        return total
    for lane in range(_LANES):
        lanes[lane] = np.float64(row[start + lane]) * query[start + lane]
    whole = stop - (stop - start) % _LANES
    for j in range(start + _LANES, whole, _LANES):
        # slices, so that LLVM takes the eight lanes together: half the time of eight variables
        part, weights = row[j : j + _LANES], query[j : j + _LANES]
        for lane in range(_LANES):
            lanes[lane] += np.float64(part[lane]) * weights[lane]
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    for j in range(whole, stop):
        total += np.float64(row[j]) * query[j]
    return float(total)


@kernel
def _touch(matrix: F32, rows: I64) -> np.float32:
    """Prefetch rows by reading each cache line; the sum keeps the compiler from dropping it."""
    total = np.float32(0.0)
    for i in range(rows.size):
        for j in range(0, matrix.shape[1], _LINE):
            total += matrix[rows[i], j]
    return total


@kernel(examples=[_exact_examples])
def gather_exact_dots(matrix: F32, rows: I64, query: F64, plan: I64, out: F32) -> None:
    """Exact dot product of chosen rows with the query.

    Parameters
    ----------
    matrix : float32 (n, d)
    rows : int64 (m,)
        Row numbers, 0 ≤ row < n, in any order; ascending reads memory best.
    query : float64 (d,)
        The float32 query, widened.
    plan : int64 (b, 3)
        `pairwise_plan` of d.
    out : float32 (m,)
        Written; bit-equal to `lamina_kernels.distances.exact_dots` of the same rows.

    Notes
    -----
    O(m d); no copy of the rows is made.
    """
    sums, lanes = np.empty(64), np.empty(_LANES)  # no halving of an int64 is deeper than 64
    for i in range(rows.size):
        if i % _TOUCHED == 0:
            # reads that wait for nothing are under way side by side; the sums wait for one row after the other
            out[i] = _touch(matrix, rows[i : i + _TOUCHED])
        row = matrix[rows[i]]
        depth = 0
        for block in range(plan.shape[0]):
            sums[depth] = _block_sum(row, query, plan[block, 0], plan[block, 1], lanes)
            depth += 1
            for _ in range(plan[block, 2]):
                depth -= 1
                sums[depth - 1] += sums[depth]
        out[i] = sums[0]


_STEPS = 2048  # of the scale on which the k-th largest product is found
LEVELS = 127  # of a coarse row, on either side of 0


def _coarse_examples() -> tuple[object, ...]:
    return np.zeros((2, 2), np.float32), np.empty((2, 2), np.int8), np.empty(2, np.float32), np.empty(2, np.float32)


def _bounded_examples() -> tuple[object, ...]:
    ones, live = np.ones(2, np.float32), np.ones(2, np.uint8)
    codes = np.ones((2, 2), np.int8), ones, ones, np.ones(2, np.int16)
    return *codes, 1.0, 1.0, 0.0, live, 1, np.empty(2, np.float32), np.empty(2, np.int64)


@kernel(examples=[_coarse_examples])
def coarse_rows(matrix: F32, out_codes: I8, out_scales: F32, out_errors: F32) -> None:
    """Write rows with a byte for each number.

    Parameters
    ----------
    matrix : float32 (n, d)
    out_codes : int8 (n, d)
        Written: each row is about its scale times these.
    out_scales : float32 (n,)
        Written.
    out_errors : float32 (n,)
        Written: how far the row may be from that; rounded up.
    """
    for i in range(matrix.shape[0]):
        largest = np.float32(0.0)
        for j in range(matrix.shape[1]):
            largest = max(largest, abs(matrix[i, j]))
        scale, squares = np.float32(largest / LEVELS), 0.0
        for j in range(matrix.shape[1]):
            level = math.floor(matrix[i, j] / scale + 0.5) if scale > 0.0 else 0.0
            level = min(max(level, -LEVELS), LEVELS)
            rest = np.float64(matrix[i, j]) - np.float64(scale) * level
            squares += rest * rest
            out_codes[i, j] = np.int8(level)
        out_scales[i] = scale
        out_errors[i] = math.sqrt(squares) * 1.000001


@kernel(examples=[_bounded_examples])
def bounded_nearest(
    codes: I8,
    scales: F32,
    errors: F32,
    levels: I16,
    unit: float,
    length: float,
    slack: float,
    live: U8,
    k: int,
    out_least: F32,
    out_rows: I64,
) -> int:
    """Find the rows that may be among the k nearest, by bounds of their products.

    Parameters
    ----------
    codes, scales, errors : int8 (n, d), float32 (n,), float32 (n,)
        As `coarse_rows` gives them.
    levels : int16 (d,)
        The query is about ``unit`` times these; no product of a row with them exceeds int32.
    unit : float
    length : float
        Of the query.
    slack : float
        What a product may be off beside the error of the row.
    live : uint8 (n,) or (0,)
        Rows that are 0 here are left out; empty means that none is.
    k : int
        ≥ 1.
    out_least : float32 (n,)
        Written: room for the least product of each row.
    out_rows : int64 (n,)
        Written: the rows, ascending.

    Returns
    -------
    int
        How many rows; -1 where fewer than k are surely above 0, as a row without a vector is not.

    Notes
    -----
    O(n d); a quarter of the memory of `row_dots` is read.
    """
    # apart from what is made of them: in one loop LLVM does not vectorise the products, which takes twice as long
    totals = np.empty(codes.shape[0], np.int32)
    for i in range(codes.shape[0]):
        total = np.int32(0)
        for j in range(levels.size):
            total = np.int32(total + np.int32(codes[i, j]) * np.int32(levels[j]))
        totals[i] = total
    counts = np.zeros(_STEPS + 1, np.int64)
    for i in range(totals.size):
        least = np.float64(scales[i]) * unit * totals[i] - errors[i] * length - slack
        if live.size and live[i] == 0:
            least = -np.inf
        out_least[i] = least
        if least > 0.0:
            counts[min(int(least * _STEPS), _STEPS)] += 1
    found, step = counts[_STEPS], _STEPS
    while found < k and step > 0:
        step -= 1
        found += counts[step]
    floor = step / _STEPS
    if not floor > 0.0:
        return -1
    found = 0
    for i in range(out_least.size):
        if out_least[i] + 2.0 * (errors[i] * length + slack) >= floor:
            out_rows[found] = i
            found += 1
    return found


def unit_rows_numpy(rows: F32) -> F32:
    """Return rows at unit length; the twin of `unit_rows`, for finite numbers."""
    wide = rows.astype(np.float64)
    # cumsum adds one by one, where sum would add pairwise; the kernel adds one by one
    length = np.sqrt(np.cumsum(wide * wide, axis=1)[:, -1:]) if rows.shape[1] else np.zeros((len(rows), 1))
    return np.divide(wide, length, out=np.zeros_like(wide), where=length > 0).astype(np.float32)


def _unit_examples() -> tuple[object, ...]:
    return np.ones((1, 2), np.float32), np.empty((1, 2), np.float32)


@kernel(examples=[_unit_examples])
def unit_rows(rows: F32, out: F32) -> int:
    """Scale rows to unit length; a row of zeros stays zero.

    Parameters
    ----------
    rows : float32 (n, d)
    out : float32 (n, d)
        Written.

    Returns
    -------
    int
        The first row that holds NaN or infinity, −1 where there is none; rows from there on are not written.

    Notes
    -----
    O(n d). Squares of float32 are exact in float64.
    """
    n, d = rows.shape
    for i in range(n):
        squares = 0.0
        for j in range(d):
            value = np.float64(rows[i, j])
            squares += value * value
        if not math.isfinite(squares):
            return i
        length = math.sqrt(squares)
        for j in range(d):
            out[i, j] = np.float64(rows[i, j]) / length if length > 0.0 else 0.0
    return -1
