"""Similarity of vectors: fast dot products that find candidates, and exact ones that score them.

Unit rows are assumed wherever a dot product is called a cosine. The fast forms sum in float32 in whatever order the
machine likes; they choose candidates, and no score that a user sees comes from them. `exact_dots` is the score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I64, Score

_BLOCK = 1024  # rows widened to float64 at a time: 2 MiB at 256 dimensions

# Sums of products may be reordered and fused: only so does LLVM vectorise them. NaN and infinities keep their
# meaning. Values differ from machine to machine in the last bits, which finding candidates can bear.
_REORDER = ("reassoc", "contract")


def exact_dots(matrix: F32, query: F32) -> F32:
    """Dot product of each row with the query: the value that scores, equal on every path and in every batch.

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
