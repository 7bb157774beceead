"""Cells of very many rows by k-means, and the cells nearest to each row.

Lloyd's algorithm on a sample ("Least squares quantization in PCM", 1982), begun with rows at equal steps. Scores come from
sums of whole numbers, means from rows in their order: neither threads nor a library's way of summing change a cell.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels.hdbscan.approx.probing import keep_cells
from lamina_kernels.hdbscan.neighbors import TILE_COLUMNS, TILE_ROWS, make_tiles
from lamina_kernels.hdbscan.ordering import tree_order
from lamina_kernels.hdbscan.packed import Frame, Packed, gather, pack_others, pack_some, score
from lamina_kernels.layouts import F32, I32, I64, Points
from lamina_kernels.threads import ThreadTeam

_CELLS: Final = 2.0
"""Cells in roots of n: training, the choice of cells and the search then all grow as n^1.5."""

_TRAINED_ON: Final = 16
_ROUNDS: Final = 4
"""Rows of the training sample for each cell, and how often centres move. Twice of both: no better neighbours."""

_ROWS: Final = 8 * TILE_ROWS
"""Rows whose cells are chosen at once."""


class Cells(NamedTuple):
    """Rows sorted by cell; where a row stands in that order is its place.

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
