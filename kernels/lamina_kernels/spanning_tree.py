"""Minimum spanning tree over mutual reachability, from neighbour lists and few further searches.

Borůvka's rounds (1926), made lazy: a component knows its best listed edge and, from the lists' bounds, how light an
edge that is not listed could be at least. Where the former is no heavier, it belongs to a minimum spanning tree (the
cut property) and is taken. Only when no component can prove its edge are rows searched, and only those whose bound is
below their component's best edge; never those of the largest component, since a tree needs one edge from each of the
others. A search of one row measures its exact best edge out of its component and so settles it for good.

Edges of one weight may be taken in any order and never close a circle unnoticed: the union would be one with itself.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64, Neighbors, Points, SpanningTree
from lamina_kernels.neighbors import TILE_COLUMNS, TILE_ROWS, _floor_of, make_tiles
from lamina_kernels.packed import Packed, gather, repack, score
from lamina_kernels.simd import LANES, beats, lowest_bit, square_distance
from lamina_kernels.threads import Crew
from lamina_kernels.union_find import join, name_sets

_UNKNOWN: Final = -1

_MANY: Final = 0.125
"""Share of all rows from which on a search sorts them first, so that pairs of queries are compared once."""


class _Forest(NamedTuple):
    """What is known about every row (n,): its set, and its best measured edge out of it."""

    parent: I64
    component: I64
    bound: F64  # no unmeasured edge of the row to another component is lighter
    target: I64  # of the lightest edge that a search measured, or −1
    weight: F64


class _Best(NamedTuple):
    """What is known about every component, in the place of its name (n,)."""

    weight: F64
    source: I64
    target: I64
    bound: F64


def spanning_tree(
    points: Points, packed: Packed, neighbors: Neighbors, crew: Crew, *, searched: int | None = None
) -> SpanningTree:
    """Return a minimum spanning tree over mutual reachability.

    Parameters
    ----------
    points, packed
        The rows.
    neighbors : Neighbors
        Theirs, certified.
    crew : Crew
    searched : int, optional
        For an approximate tree: the lists are believed to hold all that matters, and a component that they do not
        connect is connected by the best edge of so many of its rows.

    Returns
    -------
    SpanningTree
        Its weights are those of any minimum spanning tree, to the bit; which of several edges of one weight it
        holds may depend on the order of the rows.

    Notes
    -----
    O(n K) a round, O(n d) for each row that is searched: a few hundredths of all rows on text, more where distances
    are all alike.
    """
    n = points.factors.size
    forest = _Forest(
        np.arange(n),
        np.arange(n),
        np.maximum(neighbors.bound, neighbors.core),
        np.full(n, _UNKNOWN),
        np.full(n, np.inf),
    )
    if searched is not None:
        forest.bound.fill(np.inf)
    starts = np.zeros(n, np.int64)
    source, target, weights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    taken = 0
    while taken < n - 1:
        crew.check()
        best = _Best(np.full(n, np.inf), np.full(n, _UNKNOWN), np.full(n, _UNKNOWN), np.full(n, np.inf))
        best_edges(*forest, *neighbors, starts, *best)
        more = take_edges(*best, forest.parent, source[taken:], target[taken:], weights[taken:])
        taken += more
        if more:
            name_sets(forest.parent, forest.component)
        elif searched is None:
            _search(points, packed, neighbors.core, forest, best, crew)
        else:
            _connect(points, packed, neighbors.core, forest, best, searched, crew)
    order = np.lexsort((np.maximum(source, target), np.minimum(source, target), weights))
    low, high = np.minimum(source, target)[order], np.maximum(source, target)[order]
    return SpanningTree(low, high, weights[order])


def _search(points: Points, packed: Packed, core: F64, forest: _Forest, best: _Best, crew: Crew) -> None:
    """Measure the best edge of rows that stand in the way of a proof."""
    sizes = np.bincount(forest.component, minlength=core.size)
    open_rows = (forest.bound < best.weight[forest.component]) & (forest.component != int(np.argmax(sizes)))
    queries = np.flatnonzero(open_rows)
    queries = queries[np.argsort(forest.component[queries], kind="stable")]
    forest.weight[queries], forest.target[queries] = np.inf, _UNKNOWN
    if queries.size < _MANY * core.size:
        # rows of one component stand together, the one that may have the lightest edge first
        queries = queries[np.lexsort((forest.bound[queries], forest.component[queries]))]
        _search_few(points, packed, core, forest, best, queries, crew)
    else:
        _search_many(points, packed, core, forest, queries, np.flatnonzero(~open_rows), crew)
    forest.bound[queries] = np.maximum(forest.bound[queries], forest.weight[queries])


def _connect(
    points: Points, packed: Packed, core: F64, forest: _Forest, best: _Best, searched: int, crew: Crew
) -> None:
    """Measure the best edge of some rows of each component that knows none; the largest waits for the others."""
    sizes = np.bincount(forest.component, minlength=core.size)
    alone = np.isinf(best.weight[forest.component]) & (forest.component != int(np.argmax(sizes)))
    rows = np.flatnonzero(alone)
    rows = rows[np.argsort(forest.component[rows], kind="stable")]
    _, first, count = np.unique(forest.component[rows], return_index=True, return_counts=True)
    place = np.arange(rows.size) - np.repeat(first, count)
    step = np.repeat(-(-count // searched), count)
    queries = rows[place % step == 0]
    _search_few(points, packed, core, forest, best, queries, crew, prune=False)


def _search_few(
    points: Points, packed: Packed, core: F64, forest: _Forest, best: _Best, queries: I64, crew: Crew,
    *, prune: bool = True,
) -> None:  # fmt: skip
    """Compare each query with all rows; with ``prune`` leave out those that others' findings settle meanwhile."""
    n = core.size
    tiles = [make_tiles(packed) for _ in range(crew.threads)]
    order, floors = np.arange(n), np.full(n + TILE_COLUMNS, np.inf, np.float32)

    def work(slot: int, start: int) -> None:
        asked = queries[start : start + TILE_ROWS]
        if prune:
            asked = asked[forest.bound[asked] < best.weight[forest.component[asked]]]
        if asked.size == 0:
            return
        block = gather(packed, asked, tiles[slot].block)
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        for column in range(0, n, TILE_COLUMNS):
            crew.check()
            last = min(column + TILE_COLUMNS, n)
            score(packed, block, column, last, out)
            keep_edges(
                out, asked, -n, column, last, order, points.values, points.factors, points.size, packed.margin,
                packed.scale, forest.component, core, forest.target, forest.weight, floors,
            )  # fmt: skip
        np.minimum.at(best.weight, forest.component[asked], forest.weight[asked])

    crew.run(work, range(0, queries.size, TILE_ROWS))


def _search_many(
    points: Points, packed: Packed, core: F64, forest: _Forest, queries: I64, others: I64, crew: Crew
) -> None:
    """Compare all queries with all rows, pairs of queries once: at most as dear as the pass that made the lists."""
    n = core.size
    order = np.concatenate([queries, others])
    sorted_rows = repack(packed, order)
    blocks = range(0, queries.size, TILE_ROWS)
    slots = range(min(crew.threads, len(blocks)))
    tiles = [make_tiles(packed) for _ in slots]
    weights = [np.full(n, np.inf) for _ in slots]
    targets = [np.full(n, _UNKNOWN) for _ in slots]
    floors = [np.full(n + TILE_COLUMNS, np.inf, np.float32) for _ in slots]
    for each in floors:
        each[: queries.size] = -np.inf
    component = forest.component[order]

    def work(slot: int, start: int) -> None:
        stop = min(start + TILE_ROWS, queries.size)
        block = gather(sorted_rows, np.arange(start, stop), tiles[slot].block)
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        for column in range(start, n, TILE_COLUMNS):
            crew.check()
            last = min(column + TILE_COLUMNS, n)
            if last <= queries.size and component[start] == component[last - 1]:
                continue  # queries stand by component: all of the tile is in one
            score(sorted_rows, block, column, last, out)
            keep_edges(
                out, queries[start:stop], start, column, last, order, points.values, points.factors, points.size,
                packed.margin, packed.scale, forest.component, core, targets[slot], weights[slot], floors[slot],
            )  # fmt: skip

    crew.run(work, blocks, costs=[n - start for start in blocks])
    for weight, target in zip(weights, targets, strict=True):
        lighter = weight < forest.weight
        forest.weight[lighter], forest.target[lighter] = weight[lighter], target[lighter]


def _best_examples() -> tuple[object, ...]:
    rows, numbers = np.zeros(1, np.int64), np.zeros(1)
    forest = rows, rows, numbers, rows, numbers
    lists = np.zeros((1, 1), np.int32), np.zeros((1, 1)), numbers, numbers
    return *forest, *lists, *(each.copy() for each in (rows, numbers, rows, rows, numbers))


@kernel(examples=[_best_examples])
def best_edges(
    parent: I64, component: I64, row_bound: F64, row_target: I64, row_weight: F64,
    rows: I32, distances: F64, list_bound: F64, core: F64,
    out_starts: I64, out_weight: F64, out_source: I64, out_target: I64, out_bound: F64,
) -> None:  # fmt: skip
    """Find the lightest known edge out of each component, and how light an unknown one may be.

    Parameters
    ----------
    parent, component, row_bound, row_target, row_weight
        What is known about each row (n,).
    rows, distances, list_bound, core
        The neighbour lists.
    out_starts : int64 (n,)
        Listed rows before this place are in the row's own component for good; moved on.
    out_weight, out_source, out_target, out_bound
        Written in the place of each component's name; they come in as infinity and −1.

    Notes
    -----
    O(n K), less as the components grow.
    """
    n, k = rows.shape
    for i in range(n):
        c = component[i]
        out_bound[c] = min(out_bound[c], row_bound[i])
        at = out_starts[i]
        while at < k and component[rows[i, at]] == c:
            at += 1
        out_starts[i] = at
        for p in range(at, k):
            if distances[i, p] >= out_weight[c]:
                break
            j = rows[i, p]
            if component[j] != c:
                weight = max(distances[i, p], core[i], core[j])
                if weight < out_weight[c]:
                    out_weight[c], out_source[c], out_target[c] = weight, i, j
        j = row_target[i]
        if j >= 0 and component[j] != c and row_weight[i] < out_weight[c]:
            out_weight[c], out_source[c], out_target[c] = row_weight[i], i, j


def _take_examples() -> tuple[object, ...]:
    floats, ints = np.zeros(1), np.zeros(1, np.int64)
    return floats, ints, ints, floats, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)


@kernel(examples=[_take_examples])
def take_edges(
    weight: F64, source: I64, target: I64, bound: F64,
    out_parent: I64, out_source: I64, out_target: I64, out_weights: F64,
) -> int:  # fmt: skip
    """Take the edges that are proven: no heavier than any unknown edge of their component.

    Parameters
    ----------
    weight, source, target, bound
        The best edge of each component, in the place of its name.
    out_parent : int64 (n,)
        Sets of rows; united.
    out_source, out_target, out_weights
        Written from the beginning.

    Returns
    -------
    int
        Edges taken.
    """
    taken = 0
    for c in range(weight.size):
        if source[c] >= 0 and weight[c] <= bound[c] and join(out_parent, source[c], target[c]):
            out_source[taken], out_target[taken], out_weights[taken] = source[c], target[c], weight[c]
            taken += 1
    return taken


def _edges_examples() -> tuple[object, ...]:
    return (
        np.zeros((6, LANES), np.float32), np.zeros(1, np.int64), 0, 0, 2, np.arange(2), np.zeros(16, np.float32),
        np.ones(2), 8, np.zeros(2), 1.0, np.arange(2), np.zeros(2),
        np.zeros(2, np.int64), np.full(2, np.inf), np.full(2 + LANES, np.inf, np.float32),
    )  # fmt: skip


@kernel(examples=[_edges_examples])
def keep_edges(
    tile: F32, queries: I64, position: int, column: int, last: int, order: I64, values: F32, factors: F64, size: int,
    margin: F64, scale: float, component: I64, core: F64, out_target: I64, out_weight: F64, out_floors: F32,
) -> None:  # fmt: skip
    """Measure whatever of a tile may be a lighter edge out of a row's component, and keep the lightest.

    Parameters
    ----------
    tile : float32 (at least m, a multiple of 64)
    queries : int64 (m,)
        The tile's rows.
    position : int
        Place of the first query in ``order``; a pair counts where the column's place is the greater one.
    column, last : int
        The tile's columns, as places in ``order``.
    order : int64 (n,)
        Rows by their places.
    values, factors, size
        The points.
    margin : float64 (n,)
    scale : float
        Of the scores.
    component, core : int64 and float64 (n,)
    out_target, out_weight : int64 and float64 (n,)
        The lightest edge of each row so far; changed.
    out_floors : float32 (at least n + the tile's columns,)
        By place: scores at or below say nothing new of that column; infinite for columns nobody asks about. Raised.

    Notes
    -----
    O(d) a hit. A row whose core distance is no less than the lightest edge cannot be the end of a lighter one.
    """
    flat = tile.reshape(tile.size)
    width = tile.shape[1]
    for q in range(queries.size):
        i = queries[q]
        floor = _floor_of(out_weight[i], margin[i], scale)
        if out_weight[i] <= core[i]:
            floor = np.float32(np.inf)
        first = max(0, position + q + 1 - column)
        for at in range(first - first % LANES, last - column, LANES):
            mask = beats(flat, q * width + at, out_floors, column + at, floor)
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                if x < first or column + x >= last:
                    continue
                j = order[column + x]
                if component[j] == component[i]:
                    continue
                known = flat[q * width + x]
                mine = known > floor and core[j] < out_weight[i]
                theirs = known > out_floors[column + x] and core[i] < out_weight[j]
                if not (mine or theirs):
                    continue
                square = square_distance(values, i * size, factors[i], values, j * size, factors[j], size)
                weight = max(np.sqrt(square), core[i], core[j])
                if mine and weight < out_weight[i]:
                    out_target[i], out_weight[i] = j, weight
                    floor = _floor_of(weight, margin[i], scale)
                if theirs and weight < out_weight[j]:
                    out_target[j], out_weight[j] = i, weight
                    out_floors[column + x] = _floor_of(weight, margin[j], scale)
        if position >= 0:
            out_floors[position + q] = floor


def dense_prim(weights: F64) -> F64:
    """Weights of a minimum spanning tree of a full matrix, ascending: the plain way, for small n and for tests.

    Parameters
    ----------
    weights : float64 (n, n)
        Symmetric; n ≥ 1.

    Returns
    -------
    float64 (n − 1,)

    Notes
    -----
    Prim's algorithm on a dense matrix: O(n²) time and memory.
    """
    n = len(weights)
    lightest = weights[0].copy()
    inside = np.zeros(n, np.bool_)
    inside[0] = True
    taken = np.empty(n - 1)
    for step in range(n - 1):
        row = int(np.argmin(np.where(inside, np.inf, lightest)))
        taken[step] = lightest[row]
        inside[row] = True
        np.minimum(lightest, weights[row], out=lightest)
    return np.sort(taken)
