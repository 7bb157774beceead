"""Approximate neighbours: probes of nearest k-means cells, then neighbours of neighbours.

Distances of listed rows are exact; a row that neither look finds is not seen, so a core distance may come out too large.
Rows choose cells for themselves: a quarter of the pairs that all rows of a cell together would have to look at finds as
many neighbours (decision 0010).

Cells come from Lloyd's algorithm on a sample ("Least squares quantization in PCM", 1982), started from rows at equal
steps. Scores are sums of whole numbers, means are summed in the order of rows: neither threads nor a library's way of
summing change a cell.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels.hdbscan.approx.probing import (
    NONE,
    code_places,
    join_lists,
    keep_both,
    keep_cells,
    list_namers,
    list_queries,
    measure_places,
    widen_lists,
)
from lamina_kernels.hdbscan.neighbors import TILE_COLUMNS, TILE_ROWS, make_tiles
from lamina_kernels.hdbscan.ordering import tree_order
from lamina_kernels.hdbscan.packed import Arithmetic, Frame, Packed, gather, make_frame, pack_others, pack_some, score
from lamina_kernels.layouts import BOOL, F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.threads import ThreadTeam

_CELLS: Final = 2.0
"""Cells in roots of n: training, the choice of cells and the search then all grow as n^1.5."""

_TRAINED_ON: Final = 16
_ROUNDS: Final = 4
"""Rows of the training sample for each cell, and how often centres move. Twice of both: no better neighbours."""

_ROWS: Final = 8 * TILE_ROWS
"""Rows whose cells are chosen at once."""


class Cells(NamedTuple):
    """Rows sorted by cell; a row's position in that order is its place.

    Attributes
    ----------
    centres : Packed
        Near ones stand near each other.
    order : int64 (n,)
        Row at each place.
    starts : int64 (cells + 1,)
        First place of each cell; some may be empty.
    """

    centres: Packed
    order: I64
    starts: I64


def make_cells(points: Points, frame: Frame, least: int, team: ThreadTeam) -> F32:
    """Return the centres of cells (c, d) with at least ``least`` rows on average."""
    n = points.factors.size
    count = max(1, min(int(_CELLS * math.sqrt(n)), n // least))
    sample = np.unique(np.linspace(0, n - 1, min(n, count * _TRAINED_ON)).astype(np.int64))
    first = sample[np.linspace(0, sample.size - 1, count).astype(np.int64)]
    centres = _scale_rows(points, first)
    for step in range(_ROUNDS):
        part = team.part(step / _ROUNDS, (step + 1) / _ROUNDS)
        nearest = nearest_cells(points, frame, sample, pack_others(frame, centres), 1, part)[:, 0]
        by_cell = np.argsort(nearest, kind="stable")
        held, begin = np.unique(nearest[by_cell], return_index=True)
        for cell, rows in zip(held.tolist(), np.split(sample[by_cell], begin[1:]), strict=True):
            centres[cell] = _scale_rows(points, rows).mean(axis=0)
    return centres[tree_order(Points(centres.reshape(-1), np.ones(count), points.size))]


def nearest_cells(points: Points, frame: Frame, rows: I64, centres: Packed, probes: int, team: ThreadTeam) -> I32:
    """Return the cells nearest to some rows (m, probes), the nearest first."""
    found, scores = np.zeros((rows.size, probes), np.int32), np.full((rows.size, probes), -np.inf, np.float32)
    tiles = [make_tiles(centres) for _ in range(team.threads)]
    count = centres.margin.size

    def work(slot: int, begin: int) -> None:
        some = pack_some(frame, points, rows[begin : begin + _ROWS])
        for first in range(0, some.margin.size, TILE_ROWS):
            last = min(first + TILE_ROWS, some.margin.size)
            block = gather(some, np.arange(first, last), tiles[slot].block)
            out = tiles[slot].scores[: block.size // (some.groups + 2)]
            part = slice(begin + first, begin + last)
            for column in range(0, count, TILE_COLUMNS):
                team.check()
                stop = min(column + TILE_COLUMNS, count)
                score(centres, block, column, stop, out)
                keep_cells(out, last - first, column, stop, found[part], scores[part])

    team.run(work, range(0, rows.size, _ROWS))
    return found


def _scale_rows(points: Points, rows: I64) -> F32:
    found: F32 = (points.values.reshape(-1, points.size)[rows] * points.factors[rows, None]).astype(np.float32)
    return found


_PROBES: Final = 12
"""Cells that each row looks into, its own included. Half of what it finds, it finds because the other looked."""

_WIDENED: Final = 2
_NAMERS: Final = 8
"""Times that neighbours of neighbours are looked at, and how many of the rows that name a row are among those asked."""

_GROUPS: Final = 16
"""Groups of cells and of rows: threads work on pairs of groups that share none, so many at once at most."""

_BLOCK: Final = 2048


class Probed(NamedTuple):
    """Neighbours, with the cells and lists of their search.

    Attributes
    ----------
    neighbors : Neighbors
        Of all rows. Distances are exact, lists and core distances approximate; the bound is the last listed distance,
        as if nothing were missing.
    cells : Cells
    packed : Packed
        The rows, by place.
    frame : Frame
    """

    neighbors: Neighbors
    cells: Cells
    packed: Packed
    frame: Frame


class _Lists(NamedTuple):
    """Lists of each place (n, K): found rows and rows that probed it."""

    found: I32
    scores: F32
    callers: I32
    caller_scores: F32


def probe(points: Points, arithmetic: Arithmetic, k: int, listed: int, team: ThreadTeam, *, centred: bool) -> Probed:
    """Return approximate neighbours.

    Notes
    -----
    O(n^1.5 d) in the packed arithmetic and O(n K² d) in float32. Memory: the packed rows (2 d bytes each with int16),
    and 16 K bytes a row.
    """
    frame = make_frame(points, arithmetic, centred=centred)
    centres = pack_others(frame, make_cells(points, frame, 4 * listed, team.part(0.0, 0.1)))
    cells, queries, bounds = _look_up(points, frame, centres, team.part(0.1, 0.25))
    packed = pack_some(frame, points, cells.order, team.part(0.25, 0.28))
    places = _search(packed, cells.starts, queries, bounds, listed, team.part(0.28, 0.65))
    del queries
    distances = _measure(points, cells.order, places, team.part(0.65, 0.7))
    _widen(points, cells.order, places, distances, team.part(0.7, 1.0))
    rows, by_row = np.empty_like(places), np.empty_like(distances)
    for start in range(0, cells.order.size, _BLOCK):
        part = cells.order[start : start + _BLOCK]
        rows[part] = cells.order[places[start : start + _BLOCK]]
        by_row[part] = distances[start : start + _BLOCK]
    return Probed(Neighbors(rows, by_row, by_row[:, -1].copy(), by_row[:, k - 1].copy()), cells, packed, frame)


def _look_up(points: Points, frame: Frame, centres: Packed, team: ThreadTeam) -> tuple[Cells, I32, I64]:
    """Sort rows by cell; return also the places that probe each cell, with their bounds."""
    n, count = points.factors.size, centres.margin.size
    nearest = nearest_cells(points, frame, np.arange(n), centres, min(_PROBES, count), team)
    order = np.argsort(nearest[:, 0], kind="stable")
    starts = np.searchsorted(nearest[order, 0], np.arange(count + 1))
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(nearest.reshape(-1), minlength=count), out=bounds[1:])
    queries = np.empty(nearest.size, np.int32)
    list_queries(nearest, order, bounds, queries)
    return Cells(centres, order, starts), queries, bounds


def _search(packed: Packed, starts: I64, queries: I32, bounds: I64, listed: int, team: ThreadTeam) -> I32:
    """Return the places of the best estimates of each place (n, K), in no order."""
    n, count = packed.margin.size, starts.size - 1
    places = [np.full((n, listed), NONE, np.int32) for _ in range(2)]
    scores = [np.full((n, listed), -np.inf, np.float32) for _ in range(2)]
    lists = _Lists(places[0], scores[0], places[1], scores[1])
    del places, scores
    floors = np.full(n + 2 * TILE_COLUMNS, -np.inf, np.float32)
    tiles = [make_tiles(packed) for _ in range(team.threads)]
    edges = np.linspace(0, n, _GROUPS + 1).astype(np.int64)
    first = np.searchsorted(starts[:-1], edges)
    first[-1] = count

    def work(slot: int, pair: tuple[int, int]) -> None:
        for cell in range(int(first[pair[0]]), int(first[pair[0] + 1])):
            asking = queries[bounds[cell] : bounds[cell + 1]]
            begin, end = np.searchsorted(asking, edges[pair[1] : pair[1] + 2]).tolist()
            for at in range(begin, end, TILE_ROWS):
                some = asking[at : min(at + TILE_ROWS, end)]
                block = gather(packed, some.astype(np.int64), tiles[slot].block)
                look(block, some, int(starts[cell]), int(starts[cell + 1]), slot)

    def look(block: I32, some: I32, begin: int, end: int, slot: int) -> None:
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        for column in range(begin - begin % packed.columns, end, TILE_COLUMNS):
            team.check()
            last = min(column + TILE_COLUMNS, end)
            score(packed, block, column, last, out)
            keep_both(out, some, column, max(begin, column), last, *lists, floors)

    for turn in range(_GROUPS):  # no two pairs of a turn have a group in common
        pairs = [(group, (group + turn) % _GROUPS) for group in range(_GROUPS)]
        team.part(turn / _GROUPS, (turn + 1) / _GROUPS).run(work, pairs)

    def join(_: int, start: int) -> None:
        join_lists(start, min(start + _BLOCK, n), lists.callers, lists.caller_scores, lists.found, lists.scores)

    team.part(1.0, 1.0).run(join, range(0, n, _BLOCK))
    return lists.found


def _measure(points: Points, order: I64, places: I32, team: ThreadTeam) -> F64:
    """Return the distances of listed places, and sort the lists by them."""
    n = order.size
    distances = np.empty(places.shape)

    def work(_: int, start: int) -> None:
        team.check()
        stop = min(start + _BLOCK, n)
        measure_places(points.values, points.factors, points.size, order, start, stop, places, distances)

    team.run(work, range(0, n, _BLOCK))
    return distances


def _widen(points: Points, order: I64, places: I32, distances: F64, team: ThreadTeam) -> None:
    """Look at the neighbours of neighbours and of namers."""
    n, fresh = order.size, np.ones(places.shape, np.bool_)
    coded = np.empty(n * points.size, np.int8), np.empty((n, 3))

    def code(_: int, start: int) -> None:
        code_places(points.values, points.factors, points.size, order, start, min(start + _BLOCK, n), *coded)

    team.part(0.0, 0.0).run(code, range(0, n, _BLOCK))
    for turn in range(_WIDENED):
        part = team.part(turn / _WIDENED, (turn + 1) / _WIDENED)
        namers = _namers(places, distances, fresh, part)
        before = places.copy(), fresh.copy()
        seen = [np.zeros(n, np.int32) for _ in range(team.threads)]

        def work(
            slot: int, start: int, before: tuple[I32, BOOL] = before, namers: tuple[I32, BOOL] = namers,
            seen: list[I32] = seen, part: ThreadTeam = part,
        ) -> None:  # fmt: skip
            part.check()
            widen_lists(
                points.values, points.factors, points.size, order, start, min(start + _BLOCK, n), *coded,
                *before, *namers, places, distances, fresh, seen[slot],
            )  # fmt: skip

        part.run(work, range(0, n, _BLOCK))


def _namers(places: I32, distances: F64, fresh: BOOL, team: ThreadTeam) -> tuple[I32, BOOL]:
    """Return the rows that name each place, and which of them are new."""
    shape = len(places), _NAMERS
    namers, far, news = np.full(shape, NONE, np.int32), np.full(shape, np.inf, np.float32), np.zeros(shape, np.bool_)
    for start in range(0, len(places), 16 * _BLOCK):
        list_namers(places, distances, fresh, start, min(start + 16 * _BLOCK, len(places)), namers, far, news)
        team.check()
        if team.tick is not None:
            team.tick(0.0)
    return namers, news
