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
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I64, Score
from lamina_kernels.simd import SUMS, lane_sum, number_at, prefetch_line
from lamina_kernels.sorting import sort_rows

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
_LINE_BYTES = 64  # of a cache
_AHEAD = 6  # rows that are on their way from memory while one is added up
_DEEPEST = 64  # no halving of an int64 is deeper
_FLOAT_BYTES = 4


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
        middle = start + (stop - start) // 2 // SUMS * SUMS
        halve(start, middle)
        halve(middle, stop)
        plan[-1][2] += 1

    halve(0, d)
    found = np.array(plan, np.int64)
    found.flags.writeable = False
    return found


class Located(NamedTuple):
    """Rows of several arrays, as one matrix in row order, for kernels.

    Attributes
    ----------
    addresses : int64 (s,)
        Where each array begins, float32 (n_i, d), C-contiguous. Whoever passes it holds the arrays.
    starts : int64 (s + 1,)
        First row of each, and how many rows there are.
    """

    addresses: I64
    starts: I64

    @classmethod
    def of(cls, arrays: Sequence[F32]) -> Located:
        """Return the rows of some arrays."""
        addresses = np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)
        starts = np.cumsum([0, *(len(array) for array in arrays)], dtype=np.int64)
        addresses.flags.writeable = starts.flags.writeable = False
        return cls(addresses, starts)


_EXAMPLE: Final = np.zeros((2, 2), np.float32)  # held, as its address is passed


def _exact_examples() -> tuple[object, ...]:
    return *Located.of([_EXAMPLE]), np.arange(2), np.zeros(2), pairwise_plan(2), np.empty(2, np.float32)


@kernel
def _address_of(addresses: I64, starts: I64, row: int, d: int) -> int:
    """Return where a row lies in memory."""
    low, high = 0, addresses.size - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if starts[middle] <= row:
            low = middle
        else:
            high = middle - 1
    return int(addresses[low] + (row - starts[low]) * d * _FLOAT_BYTES)


@kernel
def _prefetch_row(addresses: I64, starts: I64, row: int, d: int) -> None:
    """Ask for all cache lines of a row, while others are added up."""
    place = _address_of(addresses, starts, row, d)
    for at in range(0, d * _FLOAT_BYTES, _LINE_BYTES):
        prefetch_line(place + at)


@kernel
def _exact_dot(row: int, query: F64, plan: I64, sums: F64) -> float:
    """Add up a row's products in NumPy's order; ``sums`` is room for blocks."""
    depth = 0
    for block in range(plan.shape[0]):
        # in a function of its own, which LLVM does not put here, a block took twice as long
        start, stop = plan[block, 0], plan[block, 1]
        whole = stop - (stop - start) % SUMS
        total = lane_sum(row, query, start, whole) if whole > start else -0.0
        for j in range(whole, stop):
            total += np.float64(number_at(row, j)) * query[j]
        sums[depth] = total
        depth += 1
        for _ in range(plan[block, 2]):
            depth -= 1
            sums[depth - 1] += sums[depth]
    return float(sums[0])


@kernel(examples=[_exact_examples])
def gather_exact_dots(addresses: I64, starts: I64, rows: I64, query: F64, plan: I64, out: F32) -> None:
    """Exact dot product of chosen rows with the query.

    Parameters
    ----------
    addresses, starts
        The fields of `Located`.
    rows : int64 (m,)
        Row numbers, 0 ≤ row < n, in any order; ascending reads memory best. Nothing checks them.
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
    sums = np.empty(_DEEPEST)
    for i in range(-_AHEAD, rows.size):
        if i + _AHEAD < rows.size:
            _prefetch_row(addresses, starts, rows[i + _AHEAD], query.size)
        if i < 0:
            continue
        out[i] = _exact_dot(_address_of(addresses, starts, rows[i], query.size), query, plan, sums)


def _fill_examples() -> tuple[object, ...]:
    return *_exact_examples()[:-1], np.full(2, np.nan)


@kernel(examples=[_fill_examples])
def fill_exact_dots(addresses: I64, starts: I64, rows: I64, query: F64, plan: I64, out: F64) -> None:
    """Exact dot products where none is known.

    Parameters
    ----------
    addresses, starts, rows, query, plan
        As for `gather_exact_dots`.
    out : float64 (m,)
        Read and written: each NaN becomes what `gather_exact_dots` gives.

    Notes
    -----
    O(m + u d) for u unknown ones.
    """
    sums, unknown = np.empty(_DEEPEST), np.empty(rows.size, np.int64)
    count = 0
    for i in range(rows.size):
        if math.isnan(out[i]):
            unknown[count] = i
            count += 1
    for i in range(-_AHEAD, count):
        if i + _AHEAD < count:
            _prefetch_row(addresses, starts, rows[int(unknown[i + _AHEAD])], query.size)
        if i < 0:
            continue
        at = int(unknown[i])
        out[at] = np.float32(_exact_dot(_address_of(addresses, starts, rows[at], query.size), query, plan, sums))


def _proposal_examples() -> tuple[object, ...]:
    addresses, starts, rows, query, plan, _ = _exact_examples()
    promises, out = np.ones(2, np.float32), (np.empty(1, np.int64), np.empty(1, np.float32))
    return addresses, starts, rows, promises, 1, 2, 2, query, plan, 1, *out


@kernel(examples=[_proposal_examples])
def best_proposals(
    addresses: I64,
    starts: I64,
    rows: I64,
    promises: F32,
    fetch: int,
    covered: int,
    stop: int,
    query: F64,
    plan: I64,
    k: int,
    out_rows: I64,
    out_scores: F32,
) -> int:
    """Select the best of an index's proposals and of the rows behind it, by exact products.

    Parameters
    ----------
    addresses, starts
        The fields of `Located`.
    rows : int64 (m,)
        Proposed rows, the most promising first.
    promises : float32 (m,)
        Descending.
    fetch : int
        Proposals to score, 1 to m; those that promise as much as the last of them are scored, too.
    covered, stop : int
        Rows of the index; those from ``covered`` to before ``stop`` are scored one and all.
    query, plan
        As for `gather_exact_dots`.
    k : int
        > 0.
    out_rows : int64 (k,)
        Written: the best, by product, then the higher row.
    out_scores : float32 (k,)
        Written: their products.

    Returns
    -------
    int
        How many there are; -1 where that takes more: every proposal promises as much as the last, so that others may, or a
        product is 0, as that of a row without a vector.

    Notes
    -----
    O((m + stop − covered) d).
    """
    end = fetch
    while end < rows.size and promises[end] == promises[fetch - 1]:
        end += 1
    if end == rows.size and rows.size < covered:
        return -1
    sums, keys = np.empty(_DEEPEST), np.empty(end + stop - covered, np.int64)
    for i in range(-_AHEAD, keys.size):
        ahead = i + _AHEAD
        if ahead < keys.size:
            _prefetch_row(addresses, starts, rows[ahead] if ahead < end else covered + ahead - end, query.size)
        if i < 0:
            continue
        row = rows[i] if i < end else covered + i - end
        score = np.float32(_exact_dot(_address_of(addresses, starts, row, query.size), query, plan, sums))
        if score == 0.0:
            return -1
        # bits of a float are in the order of floats, but for the sign: one number to sort by, the best is the least
        bits = np.int64(np.float32(score).view(np.int32))
        bits ^= (bits >> 32) & 0x7FFFFFFF
        keys[i] = ~((bits << 32) | row)
    sort_rows(keys, keys.size)
    found = min(k, keys.size)
    for i in range(found):
        key = ~keys[i]
        bits = key >> 32
        bits ^= (bits >> 32) & 0x7FFFFFFF
        out_rows[i] = key & 0xFFFFFFFF
        out_scores[i] = np.int32(bits).view(np.float32)
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
