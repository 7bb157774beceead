"""Filters over narrow columns, as byte masks."""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import BOOL, I32, I64, U8, U16

_LEAST = -(2**31)
_GREATEST = 2**31 - 1


def rows_of(mask: BOOL | U8) -> I64:
    """Return the rows that are not 0 in a mask, ascending, as int64."""
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def mask_codes_window_numpy(codes: U16, wanted: U8, seconds: I32, lo: int, hi: int) -> U8:
    """Mark rows of wanted codes inside a window of time, as 1 in a uint8 (n,); the twin of `mask_codes_window`."""
    marks: BOOL = (wanted[codes] != 0) & (seconds >= lo) & (seconds < hi)
    return marks.view(np.uint8)


def _window_examples() -> tuple[object, ...]:
    return np.zeros(2, np.uint16), np.ones(1, np.uint8), np.zeros(2, np.int32), 0, 1, np.empty(2, np.uint8)


@kernel(examples=[_window_examples])
def mask_codes_window(codes: U16, wanted: U8, seconds: I32, lo: int, hi: int, out: U8) -> None:
    """Mark rows of wanted codes inside a window of time.

    Parameters
    ----------
    codes : uint16 (n,)
        A dictionary code for each row, such as its project or type; below t.
    wanted : uint8 (t,)
        Not 0 where a code is wanted.
    seconds : int32 (n,)
        An instant for each row, in whole seconds since an epoch of the caller's choice. A row without one may hold
        −2^31, which any greater ``lo`` leaves out.
    lo, hi : int
        The window, lo ≤ seconds < hi; may lie outside int32.
    out : uint8 (n,)
        Written: 1 or 0.

    Notes
    -----
    O(n). Wanted codes that form one run (a single code, all codes) become two comparisons, and the loop runs at
    the speed of memory; scattered codes cost a table look-up a row.
    """
    out[:] = 0
    if lo >= hi or lo > _GREATEST or hi <= _LEAST:
        return
    # bounds as int32, both inclusive, so that rows are compared at their own width
    earliest = np.int32(max(lo, _LEAST))
    latest = np.int32(min(hi - 1, _GREATEST))
    first = last = -1
    count = 0
    for code in range(wanted.size):
        if wanted[code] != 0:
            if first < 0:
                first = code
            last = code
            count += 1
    if count == 0:
        return
    if last - first + 1 == count:
        low, high = np.uint16(first), np.uint16(last)
        for i in range(codes.size):
            out[i] = (codes[i] >= low) & (codes[i] <= high) & (seconds[i] >= earliest) & (seconds[i] <= latest)
    else:
        # two loops: the look-up cannot be vectorised and would hold the window back
        for i in range(codes.size):
            out[i] = wanted[codes[i]]
        for i in range(codes.size):
            out[i] = (out[i] != 0) & (seconds[i] >= earliest) & (seconds[i] <= latest)
