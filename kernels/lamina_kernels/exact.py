"""Exact dot products of chosen rows, compiled: the bits of `lamina_kernels.distances.exact_dots`, without its copies.

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

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I64

_BLOCK = 128  # the longest run that NumPy sums without halving it
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
        if stop - start <= _BLOCK:
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


def _examples() -> tuple[object, ...]:
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
    """Read one number of every cache line of some rows; the result keeps the compiler from leaving the reads out."""
    total = np.float32(0.0)
    for i in range(rows.size):
        for j in range(0, matrix.shape[1], _LINE):
            total += matrix[rows[i], j]
    return total


@kernel(examples=[_examples])
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
