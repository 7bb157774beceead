"""Minimum spanning tree over mutual reachability, from neighbour lists and few searches.

Borůvka's rounds (1926), made lazy: a component knows its best listed edge and, from the lists' bounds, how light an
edge that is not listed could be at least. Where the former is no heavier, it belongs to a minimum spanning tree (the
cut property) and is taken. Only when no component can prove its edge are rows searched, and only those whose bound is
below their component's best edge; never those of the largest component, since a tree needs one edge from each of the
others. Nor are they compared with all others: an edge that neither end lists is no lighter than either's bound, so only
rows with a bound below the component's best edge can be its other end. On text that is a tenth to a fifth of all rows.

Edges of one weight may be taken in any order and never close a circle unnoticed: the union would be one with itself.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.forest import (
    UNKNOWN,
    BestEdges,
    Forest,
    find_best_edges,
    near_order,
    single_rows,
    take_edges,
)
from lamina_kernels.hdbscan.neighbors import _score_floor
from lamina_kernels.hdbscan.packed import Packed
from lamina_kernels.hdbscan.survey import PairBounds
from lamina_kernels.hdbscan.tiles import Reach, ScoredTile, score_tiles
from lamina_kernels.hdbscan.union_find import join_equal, name_sets
from lamina_kernels.layouts import BOOL, F32, F64, I32, I64, Neighbors, Points, SpanningTree
from lamina_kernels.simd import LANES, beats, lowest_bit, square_distance
from lamina_kernels.threads import ThreadTeam

_MANY: Final = 1 / 8
"""Searches, as a share of all rows compared with all others, from which on a survey is taken: it costs as much as half of
the rows, and what has to be searched once has to be searched again. Text needs a hundredth."""


def spanning_tree(
    points: Points, packed: Packed, neighbors: Neighbors, team: ThreadTeam, survey: PairBounds | None = None
) -> SpanningTree:  # fmt: skip
    """Return a minimum spanning tree over mutual reachability.

    Parameters
    ----------
    points, packed
        The rows.
    neighbors : Neighbors
        Theirs, certified.
    team : ThreadTeam
    survey : Survey, optional
        Of the same; taken where many rows have to be searched.

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
    bound = np.maximum(neighbors.bound, neighbors.core)
    forest = single_rows(bound)
    search = _EdgeSearch(points, packed, neighbors, team, survey or PairBounds(points, packed, team))
    starts = np.zeros(n, np.int64)
    source, target, weights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    taken = 0
    while taken < n - 1:
        team.check()
        best = find_best_edges(forest, neighbors, starts)
        more = take_edges(*best, forest.parent, source[taken:], target[taken:], weights[taken:])
        taken += more
        if more:
            name_sets(forest.parent, forest.component)
        else:
            search.search_edges(forest, best)
    order = np.lexsort((np.maximum(source, target), np.minimum(source, target), weights))
    low, high = np.minimum(source, target)[order], np.maximum(source, target)[order]
    return SpanningTree(low, high, weights[order])


class _EdgeSearch:
    """Searches for the best edges of rows that block a proof."""

    def __init__(
        self, points: Points, packed: Packed, neighbors: Neighbors, team: ThreadTeam, survey: PairBounds
    ) -> None:
        self._points, self._packed, self._neighbors = points, packed, neighbors
        self._team, self._survey = team, survey
        self._searched = 0.0
        self._equal = np.arange(neighbors.core.size)
        join_equal(neighbors.rows, neighbors.distances, self._equal)
        name_sets(self._equal, self._equal)

    def search_edges(self, forest: Forest, best: BestEdges) -> None:
        """Measure the best edge of every row that may have a lighter one than its component knows."""
        outside = _outside_largest(forest)
        self._take_offers(forest, best, outside)
        unsettled = np.flatnonzero(outside & (forest.bound < best.weight[forest.component]))
        one = self._one_of_equals(forest, unsettled)
        rows = np.unique(one)
        # rows of one component stand together, the one that may have the lightest edge first
        component = forest.component[rows]
        rows = rows[np.lexsort((forest.bound[rows], component, best.weight[component]))]
        n, reach = forest.bound.size, Reach.from_bound(forest.bound)
        self._searched += int(reach.within(best.weight[forest.component[rows]]).sum()) / n
        if not self._survey.built and self._searched > _MANY * n:
            order = near_order(self._neighbors)
            order = order[np.argsort(forest.component[order], kind="stable")]
            self._survey.build(order, component=forest.component)

        def needs(some: I64) -> F64:
            most = best.weight[forest.component[some]]
            return np.where(forest.bound[some] < most, most, -np.inf)

        visit = self._visitor(forest, best)
        if self._survey.built:
            self._survey.scan_other_sets(rows, needs, visit, forest.component)
        else:
            score_tiles(self._packed, rows, needs, visit, self._team, reach)
        least = np.minimum(forest.weight[one], best.weight[forest.component[one]])
        forest.bound[unsettled] = np.maximum(forest.bound[unsettled], least)

    def _take_offers(self, forest: Forest, best: BestEdges, wanted: BOOL) -> None:
        """Drop edges inside components, and note edges that only the other end lists."""
        stale = (forest.target >= 0) & (forest.component[forest.target] == forest.component)
        forest.weight[stale], forest.target[stale] = np.inf, UNKNOWN
        lists = self._neighbors
        take_offers(
            lists.rows, lists.distances, lists.core, forest.component, wanted, best.weight, forest.target, forest.weight
        )  # fmt: skip
        np.minimum.at(best.weight, forest.component, forest.weight)

    def _one_of_equals(self, forest: Forest, rows: I64) -> I64:
        """Return for each row an equal one of its component: their edges weigh the same."""
        found = self._equal[rows]
        return np.where(forest.component[found] == forest.component[rows], found, rows)

    def _visitor(self, forest: Forest, best: BestEdges) -> Callable[[ScoredTile], None]:
        """Return the kernel that keeps the lightest edges of a tile."""
        points, core = self._points, self._neighbors.core

        def visit(seen: ScoredTile) -> None:
            keep_edges(
                seen.scores, seen.rows, seen.columns, points.values, points.factors, points.size, seen.margin,
                seen.scale, forest.component, core, best.weight, forest.target, forest.weight,
            )  # fmt: skip
            # in one call that holds the interpreter: no other thread's finding is lost
            np.minimum.at(best.weight, forest.component[seen.rows], forest.weight[seen.rows])

        return visit


def _outside_largest(forest: Forest) -> BOOL:
    """Return the mask of rows outside the largest component."""
    sizes = np.bincount(forest.component, minlength=forest.component.size)
    outside: BOOL = forest.component != int(np.argmax(sizes))
    return outside


def _offer_examples() -> tuple[object, ...]:
    return (
        np.array([[1], [0]], np.int32), np.ones((2, 1)), np.ones(2), np.arange(2), np.ones(2, np.bool_),
        np.full(2, np.inf), np.full(2, -1), np.full(2, np.inf),
    )  # fmt: skip


@kernel(examples=[_offer_examples])
def take_offers(
    rows: I32, distances: F64, core: F64, component: I64, wanted: BOOL, most: F64, out_target: I64, out_weight: F64
) -> None:
    """Note for each row the lightest edge out of its component that another row lists.

    Parameters
    ----------
    rows, distances, core
        The neighbour lists.
    component : int64 (n,)
    wanted : bool (n,)
        Rows that matter.
    most : float64 (n,)
        Edges at least so heavy are of no interest to the component of that name.
    out_target, out_weight : int64 and float64 (n,)
        The lightest edge of each row so far; changed.

    Notes
    -----
    O(n K).
    """
    n, k = rows.shape
    for j in range(n):
        for p in range(k):
            i = rows[j, p]
            if wanted[i] and component[i] != component[j]:
                weight = max(distances[j, p], core[i], core[j])
                if weight < out_weight[i] and weight < most[component[i]]:
                    out_target[i], out_weight[i] = j, weight


def _edges_examples() -> tuple[object, ...]:
    return (
        np.zeros((6, LANES), np.float32), np.zeros(1, np.int64), np.arange(2), np.zeros(16, np.float32),
        np.ones(2), 8, np.zeros(2), 1.0, np.arange(2), np.zeros(2), np.full(2, np.inf),
        np.zeros(2, np.int64), np.full(2, np.inf),
    )  # fmt: skip


@kernel(examples=[_edges_examples])
def keep_edges(
    tile: F32, queries: I64, columns: I64, values: F32, factors: F64, size: int, margin: F64, scale: float,
    component: I64, core: F64, most: F64, out_target: I64, out_weight: F64,
) -> None:  # fmt: skip
    """Measure candidate edges out of each row's component in a tile; keep the lightest.

    Parameters
    ----------
    tile : float32 (at least m, a multiple of 64)
    queries : int64 (m,)
        The tile's rows.
    columns : int64 (c,)
        The rows that its columns are; −1 for none, whose scores are −inf.
    values, factors, size
        The points.
    margin : float64 (n,)
    scale : float
        Of the scores.
    component, core : int64 and float64 (n,)
    most : float64 (n,)
        Edges at least so heavy are of no interest to the component of that name.
    out_target, out_weight : int64 and float64 (n,)
        The lightest edge of each row so far; changed.

    Notes
    -----
    O(d) a hit. A row whose core distance is no less than the lightest edge cannot be the end of a lighter one.
    """
    flat = tile.reshape(tile.size)
    width = tile.shape[1]
    never = np.full(LANES, np.inf, np.float32)
    for q in range(queries.size):
        i = queries[q]
        least = min(out_weight[i], most[component[i]])
        if least <= core[i]:
            continue
        floor = _score_floor(least, margin[i], scale)
        for at in range(0, columns.size, LANES):
            mask = beats(flat, q * width + at, never, 0, floor)
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                if x >= columns.size or flat[q * width + x] <= floor:
                    continue
                j = columns[x]
                if component[j] == component[i] or core[j] >= least:
                    continue
                square = square_distance(values, i * size, factors[i], values, j * size, factors[j], size)
                weight = max(np.sqrt(square), core[i], core[j])
                if weight < least:
                    out_target[i], out_weight[i], least = j, weight, weight
                    floor = _score_floor(weight, margin[i], scale)
