"""Nearest neighbours of every row, with exact core distances and certified bounds.

One pass over all pairs, each pair once: tiles of estimated scores (`lamina_kernels.hdbscan.packed`), from which each row and
each column keeps its K best. The listed pairs are then measured in float64. A row that is not listed has a score of at
most the K-th estimate plus the margin, which bounds its distance from below; where the k-th measured distance is within
that bound, it is the core distance. Rows that fail this are searched again with exact distances at every hit.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.packed import Packed, aligned_words, gather, score
from lamina_kernels.layouts import F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.simd import LANES, beats, lowest_bit, square_distance
from lamina_kernels.sorting import sort_rows
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
    found = measure_lists(points, packed, *search(points.factors.size, packed, listed, team), k, team)
    return float(np.mean(found.core > found.bound))


class BestLists(NamedTuple):
    """The best pairs of each row so far, in no order.

    Attributes
    ----------
    keys : int64 (n, 2 K)
        A score and the row it is with, as one number; the better the greater.
    counts : int32 (n,)
        How many of them count; the rest is room, so that a list is thinned out once for about K pairs.
    """

    keys: I64
    counts: I32

    @classmethod
    def empty(cls, n: int, listed: int) -> BestLists:
        """Return lists of ``listed`` pairs without any."""
        return cls(np.empty((n, 2 * listed), np.int64), np.zeros(n, np.int32))

    def part(self, rows: slice) -> BestLists:
        """Return the lists of some rows."""
        return BestLists(self.keys[rows], self.counts[rows])


def join_lists(lists: Sequence[BestLists], team: ThreadTeam) -> tuple[F32, I32]:
    """Return each row's K-th best score in any of some lists, and the K best rows (n, K)."""
    n, width = lists[0].keys.shape
    worst, rows = np.full(n, -np.inf, np.float32), np.zeros((n, width // 2), np.int32)

    def join(_: int, start: int) -> None:
        part = slice(start, start + _LISTS)
        for other in lists[1:]:
            join_best(*other.part(part), *lists[0].part(part))
        take_best(*lists[0].part(part), rows[part], worst[part])

    team.run(join, range(0, n, _LISTS))
    return worst, rows


def search(n: int, packed: Packed, listed: int, team: ThreadTeam) -> tuple[F32, I32]:
    """Return each row's K-th best estimate, and the K best rows (n, K)."""
    floors = np.full(n + TILE_COLUMNS, -np.inf, np.float32)
    blocks = range(0, n, TILE_ROWS)
    slots = range(min(team.threads, len(blocks)))
    lists = [BestLists.empty(n, listed) for _ in slots]
    tiles = [make_tiles(packed) for _ in slots]

    def work(slot: int, start: int) -> None:
        stop = min(start + TILE_ROWS, n)
        block = gather(packed, np.arange(start, stop), tiles[slot].block)
        for column in range(start, n, TILE_COLUMNS):
            team.check()
            last = min(column + TILE_COLUMNS, n)
            out = tiles[slot].scores[: block.size // (packed.groups + 2)]
            score(packed, block, column, last, out)
            keep_best(out, start, stop, column, column, last, *lists[slot], floors)

    team.run(work, blocks, costs=[n - start for start in blocks])
    return join_lists(lists, team)


def measure_lists(points: Points, packed: Packed, worst: F32, rows: I32, k: int, team: ThreadTeam) -> Neighbors:
    """Return sorted lists with exact distances, and the bounds that their worst estimates prove."""
    n, listed = rows.shape
    distances = np.empty((n, listed))
    bound = list_bounds(worst.astype(np.float64), packed) if listed < n - 1 else np.full(n, np.inf)

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
def _insert_nearest(rows: I32, distances: F64, i: int, row: int, distance: float) -> None:
    """Insert a row into a list sorted by distance, then row, in place of the last."""
    at = distances.shape[1] - 1
    while at > 0 and (distances[i, at - 1] > distance or (distances[i, at - 1] == distance and rows[i, at - 1] > row)):
        distances[i, at] = distances[i, at - 1]
        rows[i, at] = rows[i, at - 1]
        at -= 1
    distances[i, at] = distance
    rows[i, at] = row


@kernel
def _key_of(score: float, row: int) -> int:
    """Return a pair as one number, in the order of scores."""
    # bits of floats are in the order of the floats, but for a sign
    bits = np.int64(np.float32(score).view(np.int32))
    bits ^= (bits >> 32) & 0x7FFFFFFF
    return int((bits << 32) | row)


@kernel
def _score_of(key: int) -> np.float32:
    bits = np.int64(key) >> 32
    bits ^= (bits >> 32) & 0x7FFFFFFF
    return np.int32(bits).view(np.float32)


@kernel
def _put(keys: I64, counts: I32, i: int, key: int) -> bool:
    """Add a key to a list; return whether the list is full now."""
    at = counts[i]
    keys[i, at] = key
    counts[i] = at + 1
    return bool(at + 1 == keys.shape[1])  # who asks thins it out: in here that would not be compiled into the loop


@kernel
def _thin_out(keys: I64, counts: I32, i: int, least: int, most: int) -> np.float32:
    """Keep the best, ``least`` to ``most``; return a score that ``least`` of them reach."""
    size = counts[i]
    low = high = keys[i, 0]
    for p in range(size):
        low, high = min(low, keys[i, p]), max(high, keys[i, p])
    low -= 1
    while True:  # enough lie above low, too few above high
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        above = 0
        for p in range(size):
            above += keys[i, p] > middle
        if above < least:
            high = middle
            continue
        low = middle
        if above <= most:
            break
    count = 0
    for p in range(size):  # without a jump that depends on a key
        key = keys[i, p]
        keys[i, count] = key
        count += key > low
    counts[i] = count
    return _score_of(low)


def _best_examples() -> tuple[object, ...]:
    floors = np.full(2 + LANES, np.inf, np.float32)
    return np.zeros((6, LANES), np.float32), 0, 2, 0, 0, 2, *BestLists.empty(2, 1), floors


@kernel(examples=[_best_examples])
def keep_best(
    tile: F32, start: int, stop: int, column: int, begin: int, last: int,
    out_keys: I64, out_counts: I32, out_floors: F32,
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
    out_keys, out_counts
        The fields of `BestLists` of all rows; changed.
    out_floors : float32 (at least n + the tile's columns,)
        A score at or below its row's floor is not among the K best; raised. Threads may share it: they only write
        what one of them has found to be a floor, so that a value which is overwritten by a lower one costs time only.

    Notes
    -----
    64 pairs at a time are compared with the lower of both floors; few pass. A list is thinned out when it has 2 K pairs,
    which takes a third of what putting each pair in its place does.
    """
    flat = tile.reshape(tile.size)
    width, k = tile.shape[1], out_keys.shape[1] // 2
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
                if score > out_floors[i] and _put(out_keys, out_counts, i, _key_of(score, j)):
                    out_floors[i] = max(out_floors[i], _thin_out(out_keys, out_counts, i, k, k + k // 4))
                if score > out_floors[j] and _put(out_keys, out_counts, j, _key_of(score, i)):
                    out_floors[j] = max(out_floors[j], _thin_out(out_keys, out_counts, j, k, k + k // 4))


def _join_examples() -> tuple[object, ...]:
    return *BestLists.empty(1, 1), *BestLists.empty(1, 1)


@kernel(examples=[_join_examples])
def join_best(keys: I64, counts: I32, out_keys: I64, out_counts: I32) -> None:
    """Add the pairs of some lists to other lists of the same rows.

    Parameters
    ----------
    keys, counts
        The fields of `BestLists`.
    out_keys, out_counts
        Those of others as long; changed.
    """
    k = keys.shape[1] // 2
    for i in range(counts.size):
        for p in range(counts[i]):
            if _put(out_keys, out_counts, i, keys[i, p]):
                _thin_out(out_keys, out_counts, i, k, k + k // 4)


def _take_examples() -> tuple[object, ...]:
    return *BestLists.empty(1, 1), np.zeros((1, 1), np.int32), np.zeros(1, np.float32)


@kernel(examples=[_take_examples])
def take_best(out_keys: I64, out_counts: I32, out_rows: I32, out_worst: F32) -> None:
    """Write the rows of the K best pairs of lists, best first, and the worst score.

    Parameters
    ----------
    out_keys, out_counts
        The fields of `BestLists`; thinned out to K and sorted.
    out_rows : int32 (n, K)
        Written, as far as there are pairs.
    out_worst : float32 (n,)
        Written for lists with K pairs.
    """
    k = out_rows.shape[1]
    for i in range(out_counts.size):
        if out_counts[i] > k:
            _thin_out(out_keys, out_counts, i, k, k)
        count = out_counts[i]
        sort_rows(out_keys[i], count)
        for p in range(count):  # in an order much like that of distances, in which they are sorted next
            out_rows[i, p] = out_keys[i, count - 1 - p] & 0x7FFFFFFF
        if 0 < count == k:  # a survey may list none
            out_worst[i] = _score_of(out_keys[i, 0])


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
