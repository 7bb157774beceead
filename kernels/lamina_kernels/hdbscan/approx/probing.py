"""Neighbours by probing: each row scores the rows of its nearest cells, in both directions.

A tile holds the estimated scores of some rows (queries) with a span of one cell (columns). Two kinds of lists come of
it: what a row found in the cells it probed, and, for a row of the cell, who came by. Of the first kind only one thread
at a time writes those of a query, of the second only one those of a cell, so that nothing has to be locked; `join_lists`
makes one list of both.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.neighbors import _insert
from lamina_kernels.hdbscan.simd import LANES, beats, lowest_bit
from lamina_kernels.layouts import F32, I32, I64

NONE: Final = -1
"""An entry of a list that nothing has filled."""


def _cells_examples() -> tuple[object, ...]:
    return np.zeros((6, LANES), np.float32), 1, 0, 1, np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32)


@kernel(examples=[_cells_examples])
def keep_cells(tile: F32, count: int, column: int, last: int, out_cells: I32, out_scores: F32) -> None:
    """Keep the best columns of each row of a tile.

    Parameters
    ----------
    tile : float32 (at least count, a multiple of 64)
    count : int
        Rows of the tile.
    column, last : int
        What its first column is called, and where the columns that count end.
    out_cells, out_scores : int32 and float32 (count, P)
        Best first, equal scores by lower column; changed.

    Notes
    -----
    64 columns at a time are compared with the last of a row's list; few pass.
    """
    flat = tile.reshape(tile.size)
    never = np.full(LANES, np.inf, np.float32)
    width, most = tile.shape[1], out_scores.shape[1]
    for i in range(count):
        for at in range(0, last - column, LANES):
            mask = beats(flat, i * width + at, never, 0, out_scores[i, most - 1])
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                score = flat[i * width + x]
                if x < last - column and score > out_scores[i, most - 1]:
                    _insert(out_cells, out_scores, i, column + x, score)


def _both_examples() -> tuple[object, ...]:
    found = np.zeros((2, 1), np.int32), np.zeros((2, 1), np.float32)
    return (
        np.zeros((6, LANES), np.float32), np.zeros(1, np.int32), 0, 0, 2, *found, found[0].copy(), found[1].copy(),
        np.full(2 + LANES, np.inf, np.float32),
    )  # fmt: skip


@kernel(examples=[_both_examples])
def keep_both(
    tile: F32, queries: I32, column: int, begin: int, last: int,
    out_found: I32, out_scores: F32, out_callers: I32, out_caller_scores: F32, out_floors: F32,
) -> None:  # fmt: skip
    """Keep the best of a tile's pairs, for the rows that probe and for those that are probed.

    Parameters
    ----------
    tile : float32 (at least m, a multiple of 64)
    queries : int32 (m,)
        Places of the tile's rows.
    column, begin, last : int
        Place of its first column, and the span of the cell that counts.
    out_found, out_scores : int32 and float32 (n, K)
        What each row found in cells that it probed, best first; changed for the queries.
    out_callers, out_caller_scores : int32 and float32 (n, K)
        Which rows of other cells came by at each row, best first; changed for the columns.
    out_floors : float32 (at least n + the tile's columns,)
        What is no better cannot be one of the K best callers of a row in the end, or is beaten by K rows that it found
        itself; raised. Threads may share it: a value that is overwritten by a lower one costs time only.

    Notes
    -----
    64 pairs at a time are compared with the lower of both floors; few pass.
    """
    flat = tile.reshape(tile.size)
    width, k = tile.shape[1], out_scores.shape[1]
    for q in range(queries.size):
        i = queries[q]
        inside = begin <= i < last
        for at in range(0, last - column, LANES):
            mask = beats(flat, q * width + at, out_floors, column + at, out_scores[i, k - 1])
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                j = column + x
                if j < begin or j >= last or j == i:
                    continue
                score = flat[q * width + x]
                if score > out_scores[i, k - 1]:
                    _insert(out_found, out_scores, i, j, score)
                    out_floors[i] = max(out_floors[i], out_scores[i, k - 1])
                # rows of one span probe each other: both are queries
                if not inside and score > out_floors[j] and score > out_caller_scores[j, k - 1]:
                    _insert(out_callers, out_caller_scores, j, i, score)
                    out_floors[j] = max(out_floors[j], out_caller_scores[j, k - 1])


def _join_examples() -> tuple[object, ...]:
    lists = np.zeros((2, 1), np.int32), np.zeros((2, 1), np.float32)
    return 0, 2, *lists, lists[0].copy(), lists[1].copy()


@kernel(examples=[_join_examples])
def join_lists(start: int, stop: int, callers: I32, caller_scores: F32, out_found: I32, out_scores: F32) -> None:
    """Merge two lists that may name the same row; places left empty get the next rows.

    Parameters
    ----------
    start, stop : int
        Places whose lists are joined.
    callers, caller_scores : int32 and float32 (n, K)
        Best first; −1 and −∞ after the last.
    out_found, out_scores : int32 and float32 (n, K)
        Likewise; K < n. Changed.
    """
    n, k = callers.shape
    for i in range(start, stop):
        for p in range(k):
            if caller_scores[i, p] <= out_scores[i, k - 1]:
                break
            if not _holds(out_found, i, callers[i, p]):
                _insert(out_found, out_scores, i, callers[i, p], caller_scores[i, p])
        following = i
        for p in range(k):
            if out_found[i, p] == NONE:
                following = (following + 1) % n
                while following == i or _holds(out_found, i, following):
                    following = (following + 1) % n
                out_found[i, p] = following


@kernel
def _holds(rows: I32, i: int, row: int) -> bool:
    held = False
    for p in range(rows.shape[1]):
        held |= rows[i, p] == row
    return held


def _callers_examples() -> tuple[object, ...]:
    return np.zeros((2, 1), np.int32), np.array([0, 1]), np.array([0, 2]), np.empty(2, np.int32)


@kernel(examples=[_callers_examples])
def list_queries(cells: I32, order: I64, starts: I64, out_queries: I32) -> None:
    """Write for each cell the places of the rows that probe it, ascending.

    Parameters
    ----------
    cells : int32 (n, P)
        Cells that each row probes.
    order : int64 (n,)
        Row at each place.
    starts : int64 (cells + 1,)
        Where the places of each cell begin; how often each is probed, summed up.
    out_queries : int32 (n · P,)
        Written.
    """
    at = starts.copy()
    for place in range(order.size):
        for p in range(cells.shape[1]):
            cell = cells[order[place], p]
            out_queries[at[cell]] = place
            at[cell] += 1
