"""Spanning tree of approximate neighbours, with further searches between components.

Lists are believed to hold all that lies within their last distance. A dense group whose rows list each other only knows
no more than that of what lies around it, and the first edge out of it that a list shows leads through noise: it would
hang together with that noise. So where a component cannot prove its edge, some of its rows look into more cells.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_engine.topics.approx.probing import Probed, nearest_cells
from lamina_kernels.hdbscan.approx.probing import list_queries
from lamina_kernels.hdbscan.forest import UNKNOWN, BestEdges, Forest, find_best_edges, single_rows, take_edges
from lamina_kernels.hdbscan.neighbors import TILE_COLUMNS, TILE_ROWS, Tiles, make_tiles
from lamina_kernels.hdbscan.packed import gather, score
from lamina_kernels.hdbscan.spanning_tree import keep_edges
from lamina_kernels.hdbscan.union_find import name_sets
from lamina_kernels.layouts import F64, I32, I64, Points, SpanningTree
from lamina_kernels.threads import ThreadTeam

_FEWEST: Final = 4
_MOST: Final = 64
"""Rows of a component that look for an edge out of it: as many as the budget allows."""

_LEAST: Final = 64
"""Rows of a component that is worth it; a smaller one believes its lists if they show any edge."""

_PROBES: Final = 64
_BUDGET: Final = 4
_FREE: Final = 1 << 18
"""Cells that each of them looks into at least, and how many of n rows, or how many in all, may be looked into in a round.
Few rows that look everywhere find lighter edges than many that look around them (decision 0010)."""

_TOGETHER: Final = 96
"""Rows that are searched by one thread: near ones, so that they look into the same cells."""


class _Sorted(NamedTuple):
    """Margins by row, and the place of each row."""

    margin: F64
    place: I64


def join_probed(points: Points, probed: Probed, team: ThreadTeam) -> SpanningTree:
    """Return an approximate minimum spanning tree over mutual reachability.

    Notes
    -----
    Borůvka's rounds as in `lamina_kernels.hdbscan.spanning_tree`. O(n K) a round, and O(√n d) for each row that looks farther.
    """
    neighbors = probed.neighbors
    n = points.factors.size
    forest = single_rows(np.maximum(neighbors.bound, neighbors.core))
    search = _EdgeSearch(points, probed)
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
            if team.tick is not None:
                team.tick(taken / (n - 1))
        else:
            share = taken / (n - 1)
            search.search_edges(forest, best, team.part(share, share))
    low, high = np.minimum(source, target), np.maximum(source, target)
    order = np.lexsort((high, low, weights))
    return SpanningTree(low[order], high[order], weights[order])


class _EdgeSearch:
    """Looks for edges that lists do not show."""

    def __init__(self, points: Points, probed: Probed) -> None:
        self._points, self._probed = points, probed
        n = points.factors.size
        margin, place = np.empty(n), np.empty(n, np.int64)
        margin[probed.cells.order] = probed.packed.margin
        place[probed.cells.order] = np.arange(n)
        self._rows = _Sorted(margin, place)

    def search_edges(self, forest: Forest, best: BestEdges, team: ThreadTeam) -> None:
        """Search lighter edges for some rows of each unproven component, then accept the best."""
        component = forest.component
        sizes = np.bincount(component, minlength=component.size)
        known = best.weight[component]
        open_ = (component != int(np.argmax(sizes))) & (forest.bound < known)
        asking = np.flatnonzero(open_ & ((sizes[component] >= _LEAST) | np.isinf(known)))
        count = self._probed.cells.starts.size - 1
        budget = max(_BUDGET * component.size, _FREE)
        most = budget // (np.unique(component[asking]).size * count + 1)
        rows = _sample_rows(asking, component, min(max(most, _FEWEST), _MOST))
        probes = max(_PROBES, budget // (rows.size + 1))
        forest.weight[rows], forest.target[rows] = np.inf, UNKNOWN
        self._look(rows, min(probes, count), forest, best, team)
        # all cells around a component may be its own
        lost = np.isinf(known[rows]) & np.isinf(_least(forest.weight[rows], component[rows]))
        if lost.any() and count > probes:
            self._look(rows[lost], count, forest, best, team)
        found = np.full(component.size, np.inf)
        np.minimum.at(found, component[rows], forest.weight[rows])
        believed = np.where(np.isinf(known), found[component], known)[open_]
        forest.bound[open_] = np.maximum(forest.bound[open_], believed)

    def _look(self, rows: I64, probes: int, forest: Forest, best: BestEdges, team: ThreadTeam) -> None:
        """Measure the lightest edge of each row out of its component into the cells nearest to it."""
        place, count = self._rows.place, self._probed.cells.starts.size - 1
        rows = rows[np.argsort(place[rows], kind="stable")]
        tiles = [make_tiles(self._probed.packed) for _ in range(team.threads)]

        def work(slot: int, start: int) -> None:
            some = rows[start : start + _TOGETHER]
            near = self._near(some, probes)
            bounds = np.zeros(count + 1, np.int64)
            np.cumsum(np.bincount(near.reshape(-1), minlength=count), out=bounds[1:])
            queries = np.empty(near.size, np.int32)
            list_queries(near, np.arange(some.size), bounds, queries)
            for cell in np.flatnonzero(np.diff(bounds)).tolist():
                asking = some[queries[bounds[cell] : bounds[cell + 1]]]
                for at in range(0, asking.size, TILE_ROWS):
                    team.check()
                    self._compare(asking[at : at + TILE_ROWS], cell, tiles[slot], forest, best)

        team.run(work, range(0, rows.size, _TOGETHER))

    def _near(self, rows: I64, probes: int) -> I32:
        """Return the cells nearest to each row, or all (m, probes)."""
        cells = self._probed.cells
        if probes == cells.starts.size - 1:
            return np.tile(np.arange(probes, dtype=np.int32), (rows.size, 1))
        return nearest_cells(self._points, self._probed.frame, rows, cells.centres, probes, ThreadTeam(1))

    def _compare(self, rows: I64, cell: int, tiles: Tiles, forest: Forest, best: BestEdges) -> None:
        """Compare rows with those of a cell."""
        points, packed, cells = self._points, self._probed.packed, self._probed.cells
        begin, end = int(cells.starts[cell]), int(cells.starts[cell + 1])
        words = gather(packed, self._rows.place[rows], tiles.block)
        out = tiles.scores[: words.size // (packed.groups + 2)]
        for column in range(begin - begin % packed.columns, end, TILE_COLUMNS):
            last = min(column + TILE_COLUMNS, end)
            score(packed, words, column, last, out)
            keep_edges(
                out, rows, cells.order[column:last], points.values, points.factors, points.size, self._rows.margin,
                packed.scale, forest.component, self._probed.neighbors.core, best.weight, forest.target, forest.weight,
            )  # fmt: skip


def _sample_rows(rows: I64, component: I64, most: int) -> I64:
    """Return at most so many of the rows of each component, at equal steps."""
    rows = rows[np.argsort(component[rows], kind="stable")]
    _, first, count = np.unique(component[rows], return_index=True, return_counts=True)
    number = np.arange(rows.size) - np.repeat(first, count)
    some: I64 = rows[number % np.repeat(-(-count // most), count) == 0]
    return some


def _least(weights: F64, names: I64) -> F64:
    """Return for each row the least weight among those of its name."""
    found = np.full(int(names.max(initial=-1)) + 1, np.inf)
    np.minimum.at(found, names, weights)
    return found[names]
