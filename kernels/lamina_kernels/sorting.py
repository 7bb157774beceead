"""Sorting inside kernels."""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I64


def _examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), 1


@kernel(examples=[_examples])
def sort_rows(out_rows: I64, size: int) -> None:
    """Sort the first numbers by Shell's method; Numba's own sort takes seconds to compile.

    Parameters
    ----------
    out_rows : int64 (n,)
        Sorted in place, as far as ``size``.
    size : int
        At most n.

    Notes
    -----
    About O(n^1.3), by Knuth's gaps.
    """
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            row = out_rows[i]
            j = i
            while j >= gap and out_rows[j - gap] > row:
                out_rows[j] = out_rows[j - gap]
                j -= gap
            out_rows[j] = row
        gap //= 3
