"""Approximate neighbours of very many rows: cells by k-means, and all pairs within near cells.

Rows are sorted by cell; a cell is then a stretch of the packed rows, and two cells are compared with the tiles of the
exact search. Each cell is compared with its nearest ones, and then the neighbours of neighbours are looked at. What is
measured is exact; what neither finds is not seen, so a core distance may come out too large.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from lamina_kernels.layouts import F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.neighbors import TILE_COLUMNS, TILE_ROWS, join_best, keep_best, make_tiles, measured, widen_lists
from lamina_kernels.packed import Packed, gather, repack, score
from lamina_kernels.threads import Crew

_ROWS_PER_CELL: Final = 1.0
"""Cells are √n times this many rows large: training, assignment and search then all grow as n^1.5."""

_NEAR: Final = 96
"""Cells that each cell is compared with, itself included."""

_WIDENED: Final = 2
"""Times that the neighbours of neighbours are looked at."""

_MOST_LISTS: Final = 1 << 29
"""Bytes of lists: each thread has its own, so beyond two million rows fewer threads search."""

_TRAINED_ON: Final = 64
"""Rows of the training sample for each cell."""


def cell_neighbors(points: Points, packed: Packed, k: int, listed: int, crew: Crew) -> Neighbors:
    """Return approximate neighbours.

    Parameters
    ----------
    points, packed
        The rows.
    k : int
        1 ≤ k ≤ listed.
    listed : int
        Length of the lists, < n.
    crew : Crew

    Returns
    -------
    Neighbors
        Distances are exact, lists and core distances approximate; the bound is infinite, as if nothing were missing.
    """
    centres, cell = _cells(points, listed, crew)
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(len(centres) + 1))
    pairs = _near_pairs(centres)
    scores, places = _search(packed, order, starts, pairs, listed, crew)
    rows = np.empty_like(places)
    rows[order] = order[places]
    found = measured(points, packed, scores, rows, k, crew)
    for _ in range(_WIDENED):
        _widen(points, found, crew)
    return found._replace(bound=np.full(order.size, np.inf), core=found.distances[:, k - 1].copy())


def _widen(points: Points, found: Neighbors, crew: Crew) -> None:
    """Look at the neighbours of neighbours."""
    n, before = points.factors.size, found.rows.copy()

    def work(_: int, start: int) -> None:
        crew.check()
        stop = min(start + 1024, n)
        widen_lists(points.values, points.factors, points.size, start, stop, before, found.rows, found.distances)

    crew.run(work, range(0, n, 1024))


def _cells(points: Points, listed: int, crew: Crew) -> tuple[F32, I64]:
    """Return centres of cells and the cell of each row; every cell has rows."""
    import faiss

    n = points.factors.size
    count = max(1, min(int(math.sqrt(n) / _ROWS_PER_CELL), n // (4 * listed)))
    values = points.values.reshape(n, points.size)
    sample = np.unique(np.linspace(0, n - 1, min(n, count * _TRAINED_ON)).astype(np.int64))
    kmeans = faiss.Kmeans(
        points.size, count, niter=8, seed=1, max_points_per_centroid=_TRAINED_ON, min_points_per_centroid=1, gpu=False
    )
    kmeans.train(_scaled(values[sample], points.factors[sample]))
    index = faiss.IndexFlatL2(points.size)
    centres: F32 = np.asarray(kmeans.centroids, np.float32)
    index.add(centres)
    cell = np.empty(n, np.int64)
    for start in range(0, n, 8192):
        crew.check()
        part = slice(start, start + 8192)
        cell[part] = index.search(_scaled(values[part], points.factors[part]), 1)[1][:, 0]
        if crew.tick is not None:
            crew.tick(0.0)
    held = np.flatnonzero(np.bincount(cell, minlength=count))
    names = np.full(count, -1)
    names[held] = np.arange(held.size)
    return centres[held], names[cell]


def _scaled(values: F32, factors: F64) -> F32:
    return (values * factors[:, None]).astype(np.float32)


def _near_pairs(centres: F32) -> list[I64]:
    """Return for each cell the cells from it on that it is compared with: near to it, or it near to them."""
    count = len(centres)
    near = min(_NEAR, count)
    squares = np.einsum("ij,ij->i", centres, centres)
    wanted = np.zeros((count, count), np.bool_)
    for start in range(0, count, 1024):
        part = slice(start, start + 1024)
        distance = squares - 2.0 * (centres[part] @ centres.T)
        closest = np.argpartition(distance, near - 1, axis=1)[:, :near]
        np.put_along_axis(wanted[part], closest, True, axis=1)
    wanted |= wanted.T
    np.fill_diagonal(wanted, True)
    return [a + np.flatnonzero(wanted[a, a:]) for a in range(count)]


def _search(packed: Packed, order: I64, starts: I64, pairs: list[I64], listed: int, crew: Crew) -> tuple[F32, I32]:
    """Return the best estimates of each row by its original number, and places of their rows in ``order`` by place."""
    n = order.size
    by_cell = repack(packed, order)
    most = max(1, _MOST_LISTS // (8 * n * listed))
    crew = crew if crew.threads <= most else Crew(most, crew.tick)
    slots = range(min(crew.threads, len(pairs)))
    tiles = [make_tiles(packed) for _ in slots]
    scores = [np.full((n, listed), -np.inf, np.float32) for _ in slots]
    places = [np.zeros((n, listed), np.int32) for _ in slots]
    floors = np.full(n + 2 * TILE_COLUMNS, -np.inf, np.float32)

    def work(slot: int, cell: int) -> None:
        for start in range(int(starts[cell]), int(starts[cell + 1]), TILE_ROWS):
            stop = min(start + TILE_ROWS, int(starts[cell + 1]))
            block = gather(by_cell, np.arange(start, stop), tiles[slot].block)
            out = tiles[slot].scores[: block.size // (packed.groups + 2)]
            for other in pairs[cell].tolist():
                begin, end = int(starts[other]), int(starts[other + 1])
                for column in range(begin - begin % packed.columns, end, TILE_COLUMNS):
                    crew.check()
                    last = min(column + TILE_COLUMNS, end)
                    if last <= start:
                        continue
                    score(by_cell, block, column, last, out)
                    keep_best(
                        out, start, stop, column, max(begin, column), last, places[slot], scores[slot], floors
                    )  # fmt: skip

    sizes = np.diff(starts)
    costs = [float(sizes[a] * sizes[others].sum()) for a, others in enumerate(pairs)]
    crew.run(work, range(len(pairs)), costs)
    for slot in slots[1:]:
        join_best(places[slot], scores[slot], places[0], scores[0])
    by_row = np.empty_like(scores[0])
    by_row[order] = scores[0]
    return by_row, places[0]
