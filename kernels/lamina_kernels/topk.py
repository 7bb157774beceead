"""Exact top-k of scores: higher is better, equal scores by lower row, NaN never.

NumPy partitions; the kernel scans once, in blocks that are skipped when nothing in them beats the k-th best so far,
and keeps the best in a heap. The skip test is a vectorised comparison, so a scan runs near the speed of memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import BOOL, I64, U8, Score, TopK

_BLOCK = 256  # scores tested together; small enough that one hit costs little, large enough to vectorise


def top_k(scores: NDArray[Score], k: int, mask: BOOL | U8 | None = None) -> TopK[Score]:
    """Return the k best rows, best first.

    Parameters
    ----------
    scores : float32 or float64 (n,)
        NaN is never returned; −inf may be.
    k : int
        ≥ 0; fewer come back when fewer rows qualify.
    mask : bool or uint8 (n,), optional
        Rows that are 0 here do not count.

    Returns
    -------
    TopK
        Rows int64 and their scores; ties by lower row.

    Notes
    -----
    O(n + k log k): one partition finds the k-th score, then everything above it is taken and ties at it are filled
    by lowest row, so the cut is exact.
    """
    eligible = ~np.isnan(scores)
    if mask is not None:
        eligible &= mask.astype(np.bool_)
    rows = np.flatnonzero(eligible)
    if k < rows.size:
        rows = rows[_at_least_kth(scores[rows], k)]
    order = np.lexsort((rows, -scores[rows]))
    return TopK(rows[order], scores[rows[order]])


def _at_least_kth(scores: NDArray[Score], k: int) -> I64:
    """Return positions of the k best of NaN-free scores (k < n), ascending."""
    if k == 0:
        return np.empty(0, np.int64)
    threshold = np.partition(scores, scores.size - k)[scores.size - k]
    above = np.flatnonzero(scores > threshold)
    ties = np.flatnonzero(scores == threshold)[: k - above.size]
    return np.sort(np.concatenate([above, ties]))


def _single_examples() -> tuple[object, ...]:
    return np.zeros(2, np.float32), np.ones(2, np.uint8), np.empty(1, np.int64), np.empty(1, np.float32)


def _double_examples() -> tuple[object, ...]:
    return np.zeros(2), np.ones(2, np.uint8), np.empty(1, np.int64), np.empty(1)


@kernel
def _sink(rows: I64, scores: NDArray[Score], start: int, size: int) -> None:
    """Restore the heap below ``start``; the worst entry (low score, high row) is at 0."""
    row, score = rows[start], scores[start]
    i = start
    child = 2 * i + 1
    while child < size:
        other = child + 1
        if other < size and (
            scores[other] < scores[child] or (scores[other] == scores[child] and rows[other] > rows[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and rows[child] < row):
            break
        rows[i], scores[i] = rows[child], scores[child]
        i = child
        child = 2 * i + 1
    rows[i], scores[i] = row, score


@kernel(examples=[_single_examples, _double_examples])
def top_k_scan(scores: NDArray[Score], mask: U8, out_rows: I64, out_scores: NDArray[Score]) -> int:
    """Write the k best rows, best first, with k the length of the outputs.

    Parameters
    ----------
    scores : float32 or float64 (n,)
        NaN is never returned; −inf may be.
    mask : uint8 (n,) or (0,)
        Rows that are 0 here do not count; empty means all rows count.
    out_rows : int64 (k,)
        Written; ties by lower row.
    out_scores : as scores (k,)
        Written.

    Returns
    -------
    int
        How many were written: less than k when fewer rows qualify.

    Notes
    -----
    One pass; O(n) on unsorted scores, O(n log k) when they ascend. Rows come in ascending order, so a score that
    equals the k-th best never displaces it, and one strict comparison decides.
    """
    n, k = scores.size, out_rows.size
    masked = mask.size > 0
    found = i = 0
    while i < n and found < k:
        if scores[i] == scores[i] and (not masked or mask[i] != 0):
            out_rows[found] = i
            out_scores[found] = scores[i]
            found += 1
        i += 1
    for j in range(found // 2 - 1, -1, -1):
        _sink(out_rows, out_scores, j, found)
    while i < n and k > 0:
        # slices: LLVM vectorises a loop from 0 over a slice, and not one whose index might be negative
        part = scores[i : i + _BLOCK]
        threshold = out_scores[0]
        beats = False
        if masked:
            allowed = mask[i : i + _BLOCK]
            for j in range(part.size):
                beats |= (part[j] > threshold) & (allowed[j] != 0)
        else:
            for j in range(part.size):
                beats |= part[j] > threshold
        if beats:
            for j in range(part.size):
                if part[j] > out_scores[0] and (not masked or mask[i + j] != 0):
                    out_rows[0] = i + j
                    out_scores[0] = part[j]
                    _sink(out_rows, out_scores, 0, k)
        i += part.size
    for j in range(found - 1, 0, -1):
        out_rows[0], out_rows[j] = out_rows[j], out_rows[0]
        out_scores[0], out_scores[j] = out_scores[j], out_scores[0]
        _sink(out_rows, out_scores, 0, j)
    return found
