"""Nearest neighbours of every row, with exact core distances and certified bounds.

One pass over all pairs, each pair once: tiles of estimated scores (`lamina_kernels.hdbscan.packed`), from which each row and
each column keeps its K best. The listed pairs are then measured in float64. A row that is not listed has a score of at
most the K-th estimate plus the margin, which bounds its distance from below; where the k-th measured distance is within
that bound, it is the core distance. Rows that fail this are searched again with exact distances at every hit.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.packed import Packed, aligned_words, gather, score
from lamina_kernels.layouts import F32, F64, I32, Neighbors, Points
from lamina_kernels.simd import LANES, STEP, beats, insert_sorted, lowest_bit, square_distance
from lamina_kernels.threads import ThreadTeam

TILE_ROWS: Final = 192
TILE_COLUMNS: Final = 384
"""A tile of float32 takes 288 KiB: with its rows it stays in the second cache. Both are multiples of 6 or 64."""

_LISTS: Final = 512
"""Lists that a thread works on at a time."""

SHRINK: Final = 1.0 - 1e-12
"""A bound loses this before it is believed: squares and roots of float64 round."""


class Tiles(NamedTuple):
    """Memory of one thread: rows of a tile, and its scores."""

    block: I32
    scores: F32


def make_tiles(packed: Packed) -> Tiles:
    """Return a thread's memory for tiles."""
    block = aligned_words(TILE_ROWS * (packed.groups + 2))
    return Tiles(block, aligned_words(TILE_ROWS * TILE_COLUMNS).view(np.float32).reshape(TILE_ROWS, TILE_COLUMNS))


def uncertain_share(points: Points, packed: Packed, k: int, listed: int, team: ThreadTeam) -> float:
    """Return the share of sampled rows whose core distance one pass leaves uncertain."""
    scores, rows = search(points.factors.size, packed, listed, team)
    found = measure_lists(points, packed, scores, rows, k, team)
    return float(np.mean(found.core > found.bound))


def search(n: int, packed: Packed, listed: int, team: ThreadTeam) -> tuple[F32, I32]:
    """Return the K best estimates of each row, best first, and their rows."""
    floors = np.full(n + TILE_COLUMNS, -np.inf, np.float32)
    blocks = range(0, n, TILE_ROWS)
    slots = range(min(team.threads, len(blocks)))
    scores = [np.full((n, listed), -np.inf, np.float32) for _ in slots]
    rows = [np.zeros((n, listed), np.int32) for _ in slots]
    tiles = [make_tiles(packed) for _ in slots]

    def work(slot: int, start: int) -> None:
        stop = min(start + TILE_ROWS, n)
        block = gather(packed, np.arange(start, stop), tiles[slot].block)
        for column in range(start, n, TILE_COLUMNS):
            team.check()
            last = min(column + TILE_COLUMNS, n)
            out = tiles[slot].scores[: block.size // (packed.groups + 2)]
            score(packed, block, column, last, out)
            keep_best(out, start, stop, column, column, last, rows[slot], scores[slot], floors)

    team.run(work, blocks, costs=[n - start for start in blocks])

    def join(_: int, start: int) -> None:
        part = slice(start, start + _LISTS)
        for other in slots[1:]:
            join_best(rows[other][part], scores[other][part], rows[0][part], scores[0][part])

    team.run(join, range(0, n, _LISTS) if len(slots) > 1 else ())
    return scores[0], rows[0]


def measure_lists(points: Points, packed: Packed, scores: F32, rows: I32, k: int, team: ThreadTeam) -> Neighbors:
    """Return sorted lists with exact distances, and the bounds that estimates prove."""
    n, listed = rows.shape
    distances = np.empty((n, listed))
    bound = list_bounds(scores[:, -1].astype(np.float64), packed) if listed < n - 1 else np.full(n, np.inf)

    def work(_: int, start: int) -> None:
        team.check()
        stop = min(start + _LISTS, n)
        measure_rows(points.values, points.factors, points.size, start, stop, rows, distances)

    team.run(work, range(0, n, _LISTS))
    return Neighbors(rows, distances, bound, distances[:, k - 1].copy())


def list_bounds(scores: F64, packed: Packed) -> F64:
    """Return, row by row, the least distance that estimated scores allow."""
    square = -2.0 * (scores + packed.margin)
    return np.sqrt(np.maximum(square, 0.0)) * (SHRINK / packed.scale)


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


@kernel
def _insert_nearest(rows: I32, distances: F64, i: int, row: int, distance: float) -> None:
    """Insert a row into a list sorted by distance, then row, in place of the last."""
    at = distances.shape[1] - 1
    while at > 0 and (distances[i, at - 1] > distance or (distances[i, at - 1] == distance and rows[i, at - 1] > row)):
        distances[i, at] = distances[i, at - 1]
        rows[i, at] = rows[i, at - 1]
        at -= 1
    distances[i, at] = distance
    rows[i, at] = row


def _best_examples() -> tuple[object, ...]:
    floors = np.full(2 + LANES, np.inf, np.float32)
    lists = np.zeros((2, 1), np.int32), np.zeros((2, 1), np.float32)
    return np.zeros((6, LANES), np.float32), 0, 2, 0, 0, 2, *lists, floors


@kernel(examples=[_best_examples])
def keep_best(
    tile: F32, start: int, stop: int, column: int, begin: int, last: int,
    out_rows: I32, out_scores: F32, out_floors: F32,
) -> None:  # fmt: skip
    """Keep the best of a tile's pairs, for its rows and for its columns.

    Parameters
    ----------
    tile : float32 (at least stop − start, a multiple of 64)
    start, stop : int
        Rows of the tile.
    column, begin, last : int
        Its first column, and the columns that count: ``begin`` to ``last``, and of these only those that are greater
        than the row, so that each pair is seen once.
    out_rows, out_scores : int32 and float32 (n, K)
        Lists of all rows, best first; changed.
    out_floors : float32 (at least n + the tile's columns,)
        A score at or below its row's floor is not among the K best; raised. Threads may share it: they only write
        what one of them has found to be a floor, so that a value which is overwritten by a lower one costs time only.

    Notes
    -----
    64 pairs at a time are compared with the lower of both floors; few pass.
    """
    flat = tile.reshape(tile.size)
    width, k = tile.shape[1], out_scores.shape[1]
    for i in range(start, stop):
        base = (i - start) * width
        first = max(begin, i + 1) - column
        for at in range(first - first % LANES, last - column, LANES):
            mask = beats(flat, base + at, out_floors, column + at, out_floors[i])
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                j = column + x
                if x < first or j >= last:
                    continue
                score = flat[base + x]
                if score > out_floors[i] and score > out_scores[i, k - 1]:
                    _insert(out_rows, out_scores, i, j, score)
                    out_floors[i] = max(out_floors[i], out_scores[i, k - 1])
                if score > out_floors[j] and score > out_scores[j, k - 1]:
                    _insert(out_rows, out_scores, j, i, score)
                    out_floors[j] = max(out_floors[j], out_scores[j, k - 1])


def _join_examples() -> tuple[object, ...]:
    return tuple(np.zeros((1, 1), kind) for kind in (np.int32, np.float32, np.int32, np.float32))


@kernel(examples=[_join_examples])
def join_best(rows: I32, scores: F32, out_rows: I32, out_scores: F32) -> None:
    """Keep the best of two lists of different rows.

    Parameters
    ----------
    rows, scores : int32 and float32 (n, K)
        Best first.
    out_rows, out_scores : int32 and float32 (n, K)
        Best first; changed.
    """
    n, k = rows.shape
    for i in range(n):
        for p in range(k):
            if scores[i, p] <= out_scores[i, k - 1]:
                break
            _insert(out_rows, out_scores, i, rows[i, p], scores[i, p])


def _measure_examples() -> tuple[object, ...]:
    return np.zeros(16, np.float32), np.ones(2), 8, 0, 2, np.zeros((2, 1), np.int32), np.empty((2, 1))


@kernel(examples=[_measure_examples])
def measure_rows(
    values: F32, factors: F64, size: int, start: int, stop: int, out_rows: I32, out_distances: F64
) -> None:
    """Measure listed pairs exactly and sort the lists by distance, then row.

    Parameters
    ----------
    values : float32 (n · d,)
    factors : float64 (n,)
    size : int
        d.
    start, stop : int
        Rows whose lists are measured.
    out_rows : int32 (n, K)
        Sorted.
    out_distances : float64 (n, K)
        Written.

    Notes
    -----
    O(K d) a row.
    """
    for i in range(start, stop):
        for p in range(out_rows.shape[1]):
            j = out_rows[i, p]
            distance = np.sqrt(square_distance(values, i * size, factors[i], values, j * size, factors[j], size))
            at = p
            while at > 0 and (
                out_distances[i, at - 1] > distance
                or (out_distances[i, at - 1] == distance and out_rows[i, at - 1] > j)
            ):
                out_distances[i, at] = out_distances[i, at - 1]
                out_rows[i, at] = out_rows[i, at - 1]
                at -= 1
            out_distances[i, at] = distance
            out_rows[i, at] = j


@kernel
def _score_floor(distance: float, margin: float, scale: float) -> np.float32:
    """Return a score that every row nearer than ``distance`` is estimated above."""
    if distance <= 0.0:
        return np.float32(np.inf)
    below = -0.5 * (distance * scale) * (distance * scale) - margin
    return np.float32(below - 1e-6 * abs(below) - 1e-30)
