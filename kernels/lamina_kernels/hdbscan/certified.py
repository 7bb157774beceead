"""Exact core distances: one pass over all pairs, then searches of uncertain rows.

Few such rows are compared with all others again; where they are many, a survey (`lamina_kernels.hdbscan.survey`) first
bounds which others can matter to them at all. Where rows lie in groups, they are first put into a better order: each row
beside the nearest of some leaders. A tree of splits cuts through groups, the more so the wider they are; comparing all
rows with a fortieth of them costs a twentieth of a pass and leaves groups whole. The order is a guess that saves time; no
result depends on it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.forest import near_order
from lamina_kernels.hdbscan.neighbors import (
    TILE_COLUMNS,
    TILE_ROWS,
    _insert_nearest,
    _score_floor,
    make_tiles,
    measure_lists,
    search,
    uncertain_share,
)
from lamina_kernels.hdbscan.ordering import is_clumped, is_grouped, steps, tree_order
from lamina_kernels.hdbscan.packed import Arithmetic, Packed, gather, pack, repack, score
from lamina_kernels.hdbscan.survey import PairBounds
from lamina_kernels.hdbscan.tiles import ScoredTile, score_tiles
from lamina_kernels.layouts import F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.simd import LANES, beats, lowest_bit, square_distance
from lamina_kernels.threads import ThreadTeam

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs


MANY: Final = 1 / 16
"""Share of all rows from which on a survey costs less than comparing each of them with all others."""

_LEAST: Final = 2048
"""Fewer rows are not worth a look at how they lie."""


_SHARE: Final = 40
"""One row of so many leads: groups of twice as many have leaders of their own as a rule."""

_LEADERS_LISTED: Final = 16

_LISTED: Final = {"float32": 16, "int16": 16, "int16-portable": 16, "int8": 32, "int8-portable": 32}
"""Neighbours listed of each row: the coarser the estimates, the more are needed for a proof."""

_SAMPLE: Final = 2048
_UNSURE: Final = 0.25
"""Where more than this share of a sample stays without proof under int8, int16 is used from the start."""


def list_length(arithmetic: Arithmetic, k: int, n: int) -> int:
    """Return how many neighbours to list, so that most rows have a proof of their k nearest."""
    return min(n - 1, max(_LISTED[arithmetic], k + 8))


def pack_for_proofs(points: Points, k: int, arithmetic: Arithmetic, team: ThreadTeam, *, centred: bool) -> Packed:
    """Return the packed rows; eight bits give way to sixteen where they prove too little."""
    n = points.factors.size
    packed = pack(points, arithmetic, centred=centred, team=team)
    if arithmetic.startswith("int8") and n > 4 * _SAMPLE:
        rows = np.linspace(0, n - 1, _SAMPLE).astype(np.int64)
        values = points.values.reshape(n, points.size)[rows]
        sample = Points(values.reshape(-1), points.factors[rows], points.size)
        quiet = ThreadTeam(team.threads)
        few = pack(sample, arithmetic, centred=centred)
        if uncertain_share(sample, few, k, list_length(arithmetic, k, _SAMPLE), quiet) > _UNSURE:
            arithmetic = "int16" if arithmetic == "int8" else "int16-portable"
            packed = pack(points, arithmetic, centred=centred, team=team)
    return packed


def nearest(
    points: Points, packed: Packed, k: int, listed: int, team: ThreadTeam, survey: PairBounds | None = None
) -> Neighbors:
    """Return the nearest rows of every row, and its exact core distance.

    Parameters
    ----------
    points : Points
        n ≥ 2.
    packed : Packed
        The same rows.
    k : int
        1 ≤ k < n.
    listed : int
        K, the length of the lists; k ≤ K < n.
    team : ThreadTeam
    survey : Survey, optional
        Of the same; taken where proofs fail for many rows.

    Returns
    -------
    Neighbors

    Notes
    -----
    O(n² d / 2) in the packed arithmetic, O(n K d) in float64, 16 n K bytes a thread.
    """
    survey = survey or PairBounds(points, packed, team)
    found = _first_look(points, packed, k, listed, team, survey)
    unsure = np.flatnonzero(found.core > found.bound)
    if not survey.built and unsure.size > MANY * found.core.size:
        survey.build(near_order(found))
    if unsure.size:
        _search_again(points, packed, found, unsure, k, team, survey)
    return found


def _first_look(points: Points, packed: Packed, k: int, listed: int, team: ThreadTeam, survey: PairBounds) -> Neighbors:
    """Return lists whose core distances may be uncertain; where rows lie in groups, by a survey."""
    n = points.factors.size
    if n >= _LEAST:
        order = tree_order(points, team)
        step = steps(points, order)
        if is_clumped(step, order, packed.blurred) or is_grouped(points, step, order, listed):
            found = survey.build(leader_order(points, packed, order, team), k, listed)
            if found is not None:
                return found
    return measure_lists(points, packed, *search(n, packed, listed, team), k, team)


def _search_again(
    points: Points, packed: Packed, found: Neighbors, unsure: I64, k: int, team: ThreadTeam, survey: PairBounds
) -> None:
    """Search uncertain rows, measuring every hit; their lists and bounds become exact."""
    n, listed = found.rows.shape

    def visit(seen: ScoredTile) -> None:
        rows, distances = found.rows[seen.rows], found.distances[seen.rows]
        keep_nearest(
            seen.scores, seen.rows, seen.columns, points.values, points.factors, points.size, seen.margin, seen.scale,
            rows, distances,
        )  # fmt: skip
        found.rows[seen.rows], found.distances[seen.rows] = rows, distances

    def needs(rows: I64) -> F64:
        furthest: F64 = found.distances[rows, -1]
        return furthest

    if survey.built:
        survey.scan_near(unsure, needs, visit)
    else:
        score_tiles(packed, unsure, needs, visit, team)
    found.bound[unsure] = found.distances[unsure, -1] if listed < n - 1 else np.inf
    found.core[unsure] = found.distances[unsure, k - 1]


def _nearest_examples() -> tuple[object, ...]:
    lists = np.ones((1, 1), np.int32), np.zeros((1, 1))
    return (
        np.zeros((6, LANES), np.float32), np.zeros(1, np.int64), np.arange(2), np.zeros(16, np.float32), np.ones(2), 8,
        np.zeros(2), 1.0, *lists,
    )  # fmt: skip


@kernel(examples=[_nearest_examples])
def keep_nearest(
    tile: F32, queries: I64, columns: I64, values: F32, factors: F64, size: int, margin: F64, scale: float,
    out_rows: I32, out_distances: F64,
) -> None:  # fmt: skip
    """Measure rows of a tile that may be nearer than the furthest listed; keep the nearest.

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
    out_rows, out_distances : int32 and float64 (m, K)
        Lists of the queries, nearest first; changed.

    Notes
    -----
    O(d) a hit. A row that is in the list already is passed over: its estimate says nothing about that.
    """
    flat = tile.reshape(tile.size)
    width, k = tile.shape[1], out_rows.shape[1]
    never = np.full(LANES, np.inf, np.float32)
    for q in range(queries.size):
        i = queries[q]
        floor = _score_floor(out_distances[q, k - 1], margin[i], scale)
        for at in range(0, columns.size, LANES):
            mask = beats(flat, q * width + at, never, 0, floor)
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                if x >= columns.size or columns[x] == i or flat[q * width + x] <= floor:
                    continue
                j = columns[x]
                distance = np.sqrt(square_distance(values, i * size, factors[i], values, j * size, factors[j], size))
                if distance < out_distances[q, k - 1] and not _is_listed(out_rows, out_distances, q, j, distance):
                    _insert_nearest(out_rows, out_distances, q, j, distance)
                    floor = _score_floor(out_distances[q, k - 1], margin[i], scale)


@kernel
def _is_listed(rows: I32, distances: F64, i: int, row: int, distance: float) -> bool:
    for p in range(rows.shape[1]):
        if distances[i, p] > distance:
            return False
        if rows[i, p] == row:
            return True
    return False


def leader_order(points: Points, packed: Packed, order: I64, team: ThreadTeam) -> I64:
    """Return the rows, each beside the nearest of some leaders.

    Parameters
    ----------
    points, packed
        The rows.
    order : int64 (n,)
        An order from which leaders are taken evenly, and in which the rows of each stand.
    team : ThreadTeam

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
    found = measure_lists(
        own, chosen, *search(leaders.size, chosen, min(_LEADERS_LISTED, leaders.size - 1), team), 1, team
    )
    place = np.empty(leaders.size, np.int64)
    place[near_order(found)] = np.arange(leaders.size)
    return order[np.argsort(place[_nearest_leaders(packed, chosen, order, leaders.size, team)], kind="stable")]


def _nearest_leaders(packed: Packed, leaders: Packed, rows: I64, count: int, team: ThreadTeam) -> I64:
    """Return the leader that scores best with each of some rows."""
    found = np.zeros(rows.size, np.int64)
    tiles = [make_tiles(packed) for _ in range(team.threads)]

    def work(slot: int, start: int) -> None:
        asked = rows[start : start + TILE_ROWS]
        block = gather(packed, asked, tiles[slot].block)
        out = tiles[slot].scores[: block.size // (packed.groups + 2)]
        best = np.full(asked.size, -np.inf, np.float32)
        for column in range(0, count, TILE_COLUMNS):
            team.check()
            last = min(column + TILE_COLUMNS, count)
            score(leaders, block, column, last, out)
            seen = out[: asked.size, : last - column]
            at = seen.argmax(1)
            top = seen[np.arange(asked.size), at]
            nearer = top > best
            best[nearer], found[start : start + TILE_ROWS][nearer] = top[nearer], column + at[nearer]

    team.run(work, range(0, rows.size, TILE_ROWS))
    return found
