"""Tiles of scores between some rows and all others within reach.

A search names rows, and a callback looks at tiles of scores. Where it is known of every other row how near anything
unknown can be to it, those that are too far from everything to matter are left out: they stand last in an order by
that bound, so that a tile looks at the beginning of the order alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels.hdbscan.neighbors import TILE_COLUMNS, TILE_ROWS, make_tiles
from lamina_kernels.hdbscan.packed import Packed, gather, repack, score
from lamina_kernels.layouts import F32, F64, I64
from lamina_kernels.threads import ThreadTeam

_FEWEST_ROWS: Final = 24
"""Rows of the smallest tile: below that, fetching the columns costs more than a thread without work."""

_MOVED: Final = 128
"""Pairs whose scores cost as much as putting one row into another place."""


class ScoredTile(NamedTuple):
    """A tile of scores, with the rows, columns and margins that interpret it."""

    scores: F32
    rows: I64
    columns: I64  # −1 where there is none
    margin: F64  # (n,)
    scale: float


class Reach(NamedTuple):
    """Rows by how near they can be to anything.

    Attributes
    ----------
    order : int64 (n,)
    least : float64 (n,)
        Ascending: the row at each place matters to nobody who needs less than this.
    """

    order: I64
    least: F64

    @classmethod
    def from_bound(cls, bound: F64) -> Reach:
        """Return the rows in order of a bound."""
        order = np.argsort(bound, kind="stable")
        return cls(order, bound[order])

    def within(self, need: float | F64) -> I64:
        """Return how many rows matter to each of some needs."""
        return np.asarray(np.searchsorted(self.least, need))


def score_tiles(
    packed: Packed, rows: I64, needs: Callable[[I64], F64], visit: Callable[[ScoredTile], None], team: ThreadTeam,
    reach: Reach | None = None,
) -> None:  # fmt: skip
    """Score some rows with every row, or with every row within reach.

    Parameters
    ----------
    packed : Packed
    rows : int64 (m,)
        Those with similar needs side by side.
    needs : callable
        Below which distance another row matters to each of some rows; −inf where nothing does. Asked when a tile
        begins, so it may fall meanwhile.
    visit : callable
        Called on several threads, each with rows of its own.
    team : ThreadTeam
    reach : Reach, optional
        What need not be shown.
    """
    source, n = packed, packed.margin.size
    columns = np.arange(n)
    if reach is not None:
        counts = reach.within(needs(rows))
        furthest = int(counts.max(initial=0))
        if n * rows.size - int(counts.sum()) > _MOVED * furthest:
            columns = reach.order[:furthest]
            packed = repack(packed, columns)
        else:
            reach = None
    height = _height(rows.size, team.threads)
    tiles = [make_tiles(packed) for _ in range(team.threads)]

    def work(slot: int, start: int) -> None:
        asked = rows[start : start + height]
        need = needs(asked)
        asked, need = asked[need > -np.inf], need[need > -np.inf]
        if asked.size == 0:
            return
        stop = n if reach is None else int(reach.within(need.max()))
        block = gather(source, asked, tiles[slot].block)
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        for column in range(0, stop, TILE_COLUMNS):
            team.check()
            last = min(column + TILE_COLUMNS, stop)
            score(packed, block, column, last, out)
            visit(ScoredTile(out, asked, columns[column:last], packed.margin, packed.scale))

    team.run(work, range(0, rows.size, height))


def _height(count: int, threads: int) -> int:
    """Return how many rows a tile has: few enough that all threads have several."""
    return min(TILE_ROWS, max(_FEWEST_ROWS, -(-count // (4 * threads))))
