"""Sorting inside kernels."""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I64

_FEW: Final = 64
"""So many numbers are sorted by insertion: sooner than the digits of one byte are counted and the counts added up."""
_DIGITS: Final = 256
_TOP_SHIFT: Final = 56
_SIGN: Final = 128


def _examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), 1


def _order_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), np.zeros(1, np.int64)


@kernel(examples=[_order_examples])
def order_keys(keys: I64, out_order: I64) -> None:
    """Order positions so that their keys ascend; those of equal keys stay as they are.

    Parameters
    ----------
    keys : int64 (n,)
    out_order : int64 (m,)
        Positions in ``keys``, read and written.

    Notes
    -----
    O(m) for each byte in which any two keys differ, the lowest first. It branches on no comparison: of 300 numbers a sort
    that compares guesses wrong a thousand times. Numba's own sort takes seconds to compile.
    """
    size = out_order.size
    differing = np.int64(0)
    for i in range(1, size):
        differing |= keys[out_order[i]] ^ keys[out_order[0]]
    source, target, places = out_order, np.empty(size, np.int64), np.empty(_DIGITS, np.int64)
    passes = 0
    for shift in range(0, _TOP_SHIFT + 1, 8):
        if (differing >> shift) & (_DIGITS - 1) == 0:
            continue
        flip = _SIGN if shift == _TOP_SHIFT else 0  # the negative ones come first
        places[:] = 0
        for i in range(size):
            places[((keys[source[i]] >> shift) & (_DIGITS - 1)) ^ flip] += 1
        before = 0
        for digit in range(_DIGITS):
            count = places[digit]
            places[digit] = before
            before += count
        for i in range(size):
            digit = ((keys[source[i]] >> shift) & (_DIGITS - 1)) ^ flip
            target[places[digit]] = source[i]
            places[digit] += 1
        source, target = target, source
        passes += 1
    if passes & 1:
        for i in range(size):
            out_order[i] = source[i]


@kernel(examples=[_examples])
def sort_rows(out_rows: I64, size: int) -> None:
    """Sort the first numbers, few by insertion and many by `order_keys`.

    Parameters
    ----------
    out_rows : int64 (n,)
        Sorted in place, as far as ``size``.
    size : int
        At most n.

    Notes
    -----
    O(n) for each byte in which any two differ.
    """
    if size <= _FEW:
        for i in range(1, size):
            row = out_rows[i]
            j = i
            while j > 0 and out_rows[j - 1] > row:
                out_rows[j] = out_rows[j - 1]
                j -= 1
            out_rows[j] = row
        return
    order, sorted_ = np.arange(size), np.empty(size, np.int64)
    order_keys(out_rows[:size], order)
    for i in range(size):
        sorted_[i] = out_rows[order[i]]
    out_rows[:size] = sorted_
