"""A better order for rows in groups: each row beside the one of some leaders that is nearest to it.

A tree of splits cuts through groups, the more so the wider they are. Comparing all rows with a fortieth of them costs a
twentieth of a pass and leaves groups whole. The order is a guess that saves time; no result depends on it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels.forest import near_order
from lamina_kernels.layouts import I64, Points
from lamina_kernels.neighbors import TILE_COLUMNS, TILE_ROWS, make_tiles, measured, search
from lamina_kernels.packed import Packed, gather, repack, score
from lamina_kernels.threads import Crew

_SHARE: Final = 40
"""One row of so many leads: groups of twice as many have leaders of their own as a rule."""

_LISTED: Final = 16


def leader_order(points: Points, packed: Packed, order: I64, crew: Crew) -> I64:
    """Return the rows by their nearest leaders, leaders that are near to each other together.

    Parameters
    ----------
    points, packed
        The rows.
    order : int64 (n,)
        An order from which leaders are taken evenly, and in which the rows of each stand.
    crew : Crew

    Returns
    -------
    int64 (n,)

    Notes
    -----
    O(n² d / 40) in the packed arithmetic.
    """
    leaders = order[::_SHARE].copy()
    if leaders.size < 2:
        return order
    values = points.values.reshape(-1, points.size)[leaders]
    own = Points(values.reshape(-1), points.factors[leaders], points.size)
    chosen = repack(packed, leaders)._replace(margin=packed.margin[leaders])
    found = measured(own, chosen, *search(leaders.size, chosen, min(_LISTED, leaders.size - 1), crew), 1, crew)
    place = np.empty(leaders.size, np.int64)
    place[near_order(found)] = np.arange(leaders.size)
    return order[np.argsort(place[_nearest(packed, chosen, order, leaders.size, crew)], kind="stable")]


def _nearest(packed: Packed, leaders: Packed, rows: I64, count: int, crew: Crew) -> I64:
    """Return the leader that scores best with each of some rows."""
    found = np.zeros(rows.size, np.int64)
    tiles = [make_tiles(packed) for _ in range(crew.threads)]

    def work(slot: int, start: int) -> None:
        asked = rows[start : start + TILE_ROWS]
        block = gather(packed, asked, tiles[slot].block)
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        best = np.full(asked.size, -np.inf, np.float32)
        for column in range(0, count, TILE_COLUMNS):
            crew.check()
            last = min(column + TILE_COLUMNS, count)
            score(leaders, block, column, last, out)
            seen = out[: asked.size, : last - column]
            at = seen.argmax(1)
            top = seen[np.arange(asked.size), at]
            nearer = top > best
            best[nearer], found[start : start + TILE_ROWS][nearer] = top[nearer], column + at[nearer]

    crew.run(work, range(0, rows.size, TILE_ROWS))
    return found
