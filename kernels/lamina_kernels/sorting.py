"""Sorting inside kernels."""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I64

_FEW: Final = 64
"""So many numbers are sorted by insertion: sooner than the digits of one byte are counted and the counts added up."""
_FEW_SPREAD: Final = 16
_MOST_SPREAD: Final = 1_024
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
        _sum_before(places)
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
    """Sort the first numbers, few by insertion and many by `sort_digits`.

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
        _insert(out_rows[:size])
    else:
        sort_digits(out_rows[:size], 0)


def _digit_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), 0


@kernel(examples=[_digit_examples])
def sort_digits(out_keys: I64, low: int) -> None:
    """Sort numbers by their bits from ``low`` on; equal ones stay in their order.

    Parameters
    ----------
    out_keys : int64 (n,)
        Sorted in place.
    low : int
        A multiple of 8.

    Notes
    -----
    O(n) for each byte from ``low`` on in which any two differ, and room for n. NumPy's sort takes four times as long for
    the postings of a segment where the processor is slow to store what AVX-512 compresses, and as long elsewhere.
    """
    n = out_keys.size
    differing = np.int64(0)
    for i in range(1, n):
        differing |= out_keys[i] ^ out_keys[0]
    source, target, places = out_keys, np.empty(n, np.int64), np.empty(_DIGITS, np.int64)
    passes = 0
    for shift in range(low, _TOP_SHIFT + 1, 8):
        if (differing >> shift) & (_DIGITS - 1) == 0:
            continue
        flip = _SIGN if shift == _TOP_SHIFT else 0  # the negative ones come first
        places[:] = 0
        for i in range(n):
            places[((source[i] >> shift) & (_DIGITS - 1)) ^ flip] += 1
        _sum_before(places)
        for i in range(n):
            digit = ((source[i] >> shift) & (_DIGITS - 1)) ^ flip
            target[places[digit]] = source[i]
            places[digit] += 1
        source, target = target, source
        passes += 1
    if passes & 1:
        for i in range(n):
            out_keys[i] = source[i]


def _spread_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), 0, np.zeros(1, np.int64)


@kernel(examples=[_spread_examples])
def sort_spread(out_keys: I64, shift: int, out_room: I64) -> None:
    """Sort numbers whose highest byte that differs is spread as evenly as a hash.

    Parameters
    ----------
    out_keys : int64 (n,)
        Sorted in place.
    shift : int
        Of the lowest bit of that byte.
    out_room : int64 (m,)
        At least n.

    Notes
    -----
    O(n): that byte puts each near its place, and insertion does the rest. At most 1,024 are sorted so, as numbers chosen to
    agree in that byte would take the square of their count.
    """
    n = out_keys.size
    if n > _MOST_SPREAD:
        sort_digits(out_keys, 0)
        return
    if n > _FEW_SPREAD:
        places = np.zeros(_DIGITS, np.int64)
        for i in range(n):
            places[(out_keys[i] >> shift) & (_DIGITS - 1)] += 1
            out_room[i] = out_keys[i]
        _sum_before(places)
        for i in range(n):
            digit = (out_room[i] >> shift) & (_DIGITS - 1)
            out_keys[places[digit]] = out_room[i]
            places[digit] += 1
    _insert(out_keys)


@kernel
def _sum_before(out_counts: I64) -> None:
    """Turn counts into the sum of those before each."""
    before = 0
    for digit in range(out_counts.size):
        count = out_counts[digit]
        out_counts[digit] = before
        before += count


@kernel
def _insert(out_keys: I64) -> None:
    """Sort numbers by insertion."""
    for i in range(1, out_keys.size):
        key = out_keys[i]
        j = i
        while j > 0 and out_keys[j - 1] > key:
            out_keys[j] = out_keys[j - 1]
            j -= 1
        out_keys[j] = key
