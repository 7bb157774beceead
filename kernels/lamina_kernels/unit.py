"""Unit-length rows, summed in float64 in order, so a row's bytes depend on itself alone."""

from __future__ import annotations

import math

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32


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
