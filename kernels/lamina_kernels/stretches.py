"""Stretches of rows in an order: where they are cut, and the best score of any two of them."""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import BOOL, F32, I64


def _note_examples() -> tuple[object, ...]:
    return np.zeros((6, 64), np.float32), 0, 2, 0, 2, np.zeros(2, np.int64), np.zeros((1, 1), np.float32)


@kernel(examples=[_note_examples])
def note_best(tile: F32, start: int, stop: int, column: int, last: int, stretch: I64, out: F32) -> None:
    """Note the best score of any two stretches of a tile.

    Parameters
    ----------
    tile : float32 (at least stop − start, at least last − column)
    start, stop : int
        Places of its rows.
    column, last : int
        Places of its columns.
    stretch : int64 (places,)
    out : float32 (stretches, stretches)
        Raised.
    """
    width = tile.shape[1]
    best = np.empty(width, np.float32)
    p = start
    while p < stop:
        a = stretch[p]
        best[:] = tile[p - start]
        p += 1
        while p < stop and stretch[p] == a:
            row = tile[p - start]
            for x in range(width):
                best[x] = max(best[x], row[x])
            p += 1
        for x in range(last - column):
            b = stretch[column + x]
            if best[x] > out[a, b]:
                out[a, b] = best[x]


def _cut_examples() -> tuple[object, ...]:
    return np.ones(2, np.bool_), np.ones(2, np.bool_), 16, np.zeros(2, np.int64)


@kernel(examples=[_cut_examples])
def cut_stretches(edge: BOOL, apart: BOOL, width: int, out_stretch: I64) -> None:
    """Number stretches of rows in order.

    Parameters
    ----------
    edge : bool (n,)
        Where a group begins; true for the first row.
    apart : bool (n,)
        Where a stretch has to begin.
    width : int
        Most rows of a stretch. Groups of at least half as many have stretches of their own, of equal lengths; smaller
        ones share them.
    out_stretch : int64 (n,)
        Written, ascending from 0.
    """
    n = edge.size
    number, held, start = -1, width, 0
    while start < n:
        stop = start + 1
        while stop < n and not edge[stop]:
            stop += 1
        size = stop - start
        if 2 * size >= width:
            parts = (size + width - 1) // width
            for i in range(size):
                out_stretch[start + i] = number + 1 + i * parts // size
            number += parts
            held = width
        else:
            if apart[start] or held + size > width:
                number += 1
                held = 0
            out_stretch[start:stop] = number
            held += size
        start = stop
