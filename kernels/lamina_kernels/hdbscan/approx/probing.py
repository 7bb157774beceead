"""Approximate neighbour lists: probes of the nearest cells, then neighbours of neighbours.

A tile holds the estimated scores of some rows (queries) with a span of one cell (columns). Two kinds of lists come of
it: the rows that a query found in the cells it probed, and, for a row of the cell, the queries that came by. Of the
first kind only one thread at a time writes those of a query, of the second only one those of a cell, so that nothing has
to be locked; `join_lists` makes one list of both.

Widening is one round of Dong, Charikar and Li, "Efficient k-nearest neighbor graph construction", 2011: each row looks
at the rows that its neighbours list, and at those that list it (its *namers*) with theirs. Where both steps were known a
round ago, the pair has been looked at. Rows are called by their places in an order that keeps near ones together, so
that a thread reads mostly from its cache.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.neighbors import _insert_nearest
from lamina_kernels.layouts import BOOL, F32, F64, I8, I32, I64
from lamina_kernels.simd import LANES, STEP, beats, insert_sorted, lowest_bit, prefetch_line, square_distance

NONE: Final = -1
"""An entry of a list that nothing has filled."""


@kernel
def _insert(rows: I32, scores: F32, i: int, row: int, score: float) -> None:
    """Put a row into a list that is sorted best first, in place of the last."""
    k = scores.shape[1]
    if k % STEP == 0:
        insert_sorted(rows, scores, i * k, k, np.int32(row), np.float32(score))
        return
    at = k - 1
    while at > 0 and scores[i, at - 1] < score:
        scores[i, at] = scores[i, at - 1]
        rows[i, at] = rows[i, at - 1]
        at -= 1
    scores[i, at] = score
    rows[i, at] = row


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


_MOST_CODE: Final = 127
_LEAST: Final = 1e-30
"""Stands for the greatest number of a row of zeros."""
_SLACK: Final = 1.0 + 1e-5
_CERTAIN: Final = 1.0 - 1e-5
"""Sums of a thousand products in float32 are off by less, relatively; only what certainly lies beyond is left unmeasured."""
_LINE_BYTES: Final = 64
"""Of a cache."""


def _measure_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), 0, 2, np.array([[1], [0]], np.int32), np.empty((2, 1))


@kernel(examples=[_measure_examples])
def measure_places(
    values: F32, factors: F64, size: int, order: I64, start: int, stop: int, out_places: I32, out_distances: F64
) -> None:
    """Measure listed pairs exactly and sort the lists by distance, then place.

    Parameters
    ----------
    values, factors, size
        The points, row by row.
    order : int64 (n,)
        Row at each place.
    start, stop : int
        Places whose lists are measured.
    out_places : int32 (n, K)
        Sorted.
    out_distances : float64 (n, K)
        Written.

    Notes
    -----
    O(K d) a row.
    """
    for i in range(start, stop):
        x = order[i]
        for p in range(out_places.shape[1]):
            j = out_places[i, p]
            y = order[j]
            distance = np.sqrt(square_distance(values, x * size, factors[x], values, y * size, factors[y], size))
            at = p
            while at > 0 and (
                out_distances[i, at - 1] > distance
                or (out_distances[i, at - 1] == distance and out_places[i, at - 1] > j)
            ):
                out_distances[i, at] = out_distances[i, at - 1]
                out_places[i, at] = out_places[i, at - 1]
                at -= 1
            out_distances[i, at] = distance
            out_places[i, at] = j


def _namers_examples() -> tuple[object, ...]:
    lists, fresh = np.array([[1], [0]], np.int32), np.ones((2, 1), np.bool_)
    return lists, np.zeros((2, 1)), fresh, 0, 2, lists.copy(), np.zeros((2, 1), np.float32), fresh.copy()


@kernel(examples=[_namers_examples])
def list_namers(
    places: I32, distances: F64, fresh: BOOL, start: int, stop: int,
    out_namers: I32, out_distances: F32, out_fresh: BOOL,
) -> None:  # fmt: skip
    """Note for each place the nearest places that list it and that it does not list itself.

    Parameters
    ----------
    places, distances : int32 and float64 (n, K)
        Lists, nearest first.
    fresh : bool (n, K)
        What came into the lists in the last round.
    start, stop : int
        Lists that are read.
    out_namers, out_distances, out_fresh : int32, float32 and bool (n, R)
        Nearest first, of equal ones the first that came; they come in as −1, infinity and False. Changed.

    Notes
    -----
    O(K) a list, O(K²) where all list each other.
    """
    k, many = places.shape[1], out_namers.shape[1]
    for i in range(start, stop):
        for p in range(k):
            j, distance = places[i, p], np.float32(distances[i, p])
            if distance >= out_distances[j, many - 1] or (
                distances[i, p] <= distances[j, k - 1] and _holds(places, j, i)
            ):
                continue
            at = many - 1
            while at > 0 and out_distances[j, at - 1] > distance:
                out_distances[j, at] = out_distances[j, at - 1]
                out_namers[j, at] = out_namers[j, at - 1]
                out_fresh[j, at] = out_fresh[j, at - 1]
                at -= 1
            out_distances[j, at] = distance
            out_namers[j, at] = i
            out_fresh[j, at] = fresh[i, p]


def _code_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), 0, 2, np.empty(16, np.int8), np.empty((2, 3))


@kernel(examples=[_code_examples])
def code_places(
    values: F32, factors: F64, size: int, order: I64, start: int, stop: int, out_codes: I8, out_terms: F64
) -> None:
    """Round rows to bytes, place after place.

    Parameters
    ----------
    values, factors, size
        The points, row by row.
    order : int64 (n,)
        Row at each place.
    start, stop : int
        Places that are written.
    out_codes : int8 (n size,)
        Whole steps.
    out_terms : float64 (n, 3)
        A step, the squared length of what the codes stand for, and how far the row lies from it.

    Notes
    -----
    O(d) a row.
    """
    for i in range(start, stop):
        x = order[i]
        row, codes = values[x * size : x * size + size], out_codes[i * size : i * size + size]
        most = np.float32(0.0)
        for k in range(size):
            most = max(most, abs(row[k]))
        step = max(float(most), _LEAST) / _MOST_CODE
        square, off = 0.0, 0.0
        for k in range(size):
            code = np.rint(row[k] / step)
            codes[k] = int(code)
            square += code * code
            difference = row[k] - code * step
            off += difference * difference
        scale = step * factors[x]
        out_terms[i, 0] = scale
        out_terms[i, 1] = square * scale * scale
        out_terms[i, 2] = np.sqrt(off) * factors[x] * _SLACK


# whole numbers are summed in any order: up to 1,040 of them exactly, beyond nearly, and `_CERTAIN` leaves room
@kernel(fastmath=("reassoc", "contract"))
def _multiply_codes(codes: I8, i: int, j: int, size: int) -> np.float32:
    """Return the dot product of two coded rows."""
    a, b = codes[i * size : i * size + size], codes[j * size : j * size + size]
    total = np.float32(0.0)
    for k in range(size):
        total += np.float32(a[k]) * np.float32(b[k])
    return total


@kernel
def _prefetch_codes(memory: int, place: int, size: int) -> None:
    """Ask for the cache lines of a coded row, given where the first lies."""
    for line in range(0, size, _LINE_BYTES):
        prefetch_line(memory + place * size + line)


def _widen_examples() -> tuple[object, ...]:
    lists, fresh = np.array([[1], [0]], np.int32), np.ones((2, 1), np.bool_)
    return (
        np.zeros(16, np.float32), np.ones(2), 8, np.arange(2), 0, 2, np.zeros(16, np.int8), np.zeros((2, 3)), lists, fresh,
        lists, fresh, lists.copy(), np.zeros((2, 1)), fresh.copy(), np.zeros(2, np.int32),
    )  # fmt: skip


@kernel(examples=[_widen_examples])
def widen_lists(
    values: F32, factors: F64, size: int, order: I64, start: int, stop: int, codes: I8, terms: F64,
    places: I32, fresh: BOOL, namers: I32, fresh_namers: BOOL,
    out_places: I32, out_distances: F64, out_fresh: BOOL, out_seen: I32,
) -> None:  # fmt: skip
    """Measure the neighbours of each row's neighbours and namers; keep the nearest.

    Parameters
    ----------
    values, factors, size
        The points, row by row.
    order : int64 (n,)
        Row at each place.
    start, stop : int
        Places whose lists are widened.
    codes, terms : int8 (n size,) and float64 (n, 3)
        As `code_places` writes them.
    places, fresh : int32 and bool (n, K)
        Lists as they were, and what the last round brought.
    namers, fresh_namers : int32 and bool (n, R)
        As `list_namers` writes them.
    out_places, out_distances : int32 and float64 (n, K)
        Nearest first; changed from ``start`` to ``stop``.
    out_fresh : bool (n, K)
        Written from ``start`` to ``stop``: what was not in the list before.
    out_seen : int32 (n,)
        One thread's notes; zeros when a round begins.

    Notes
    -----
    O((K + R) K d) a row at most; each other row is looked at once. Its codes tell how near it can be, and lie in a quarter of
    the memory; those of one neighbour's list are asked for before the first is looked at, as they lie anywhere.
    """
    k, many = places.shape[1], namers.shape[1]
    memory, unseen = codes.ctypes.data, np.empty(k + 1, np.int32)
    for i in range(start, stop):
        x, mark = order[i], i + 1
        out_seen[i] = mark
        for p in range(k):
            out_seen[places[i, p]] = mark
        scale, square, off = 2.0 * terms[i, 0], terms[i, 1], terms[i, 2]
        limit = out_distances[i, k - 1] * _SLACK + off
        for p in range(k + many):
            u = places[i, p] if p < k else namers[i, p - k]
            if u == NONE:
                break
            is_new = fresh[i, p] if p < k else fresh_namers[i, p - k]
            count = 0
            for q in range(k + 1):
                # the last is the namer itself: what one of two rows has found is news to the other
                j = places[u, q] if q < k else u
                if out_seen[j] == mark or not (is_new or (q < k and fresh[u, q])):
                    continue
                out_seen[j] = mark
                unseen[count] = j
                count += 1
                _prefetch_codes(memory, int(j), size)
            for at in range(count):
                j = unseen[at]
                # two rows are no nearer than their codes, less what both lie beside these
                far = limit + terms[j, 2]
                squares = _CERTAIN * (square + terms[j, 1])
                if squares - scale * terms[j, 0] * _multiply_codes(codes, i, j, size) > far * far:
                    continue
                y = order[j]
                distance = np.sqrt(square_distance(values, x * size, factors[x], values, y * size, factors[y], size))
                if distance < out_distances[i, k - 1]:
                    _insert_nearest(out_places, out_distances, i, j, distance)
                    limit = out_distances[i, k - 1] * _SLACK + off
        for p in range(k):
            out_fresh[i, p] = not _holds(places, i, out_places[i, p])
