"""Exact core distances: one pass over all pairs, and another look at the rows for which that proves nothing.

Few such rows are compared with all others again; where they are many, a survey (`lamina_kernels.survey`) first says
which others can matter to them at all.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.forest import near_order
from lamina_kernels.layouts import F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.leaders import leader_order
from lamina_kernels.neighbors import _floor_of, _insert_nearest, measured, search
from lamina_kernels.ordering import is_clumped, is_grouped, steps, tree_order
from lamina_kernels.packed import Packed
from lamina_kernels.showing import Seen, show_all
from lamina_kernels.simd import LANES, beats, lowest_bit, square_distance
from lamina_kernels.survey import Survey
from lamina_kernels.threads import Crew

MANY: Final = 1 / 16
"""Share of all rows from which on a survey costs less than comparing each of them with all others."""

_LEAST: Final = 2048
"""Fewer rows are not worth a look at how they lie."""


def nearest(points: Points, packed: Packed, k: int, listed: int, crew: Crew, survey: Survey | None = None) -> Neighbors:
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
    crew : Crew
    survey : Survey, optional
        Of the same; taken where proofs fail for many rows.

    Returns
    -------
    Neighbors

    Notes
    -----
    O(n² d / 2) in the packed arithmetic, O(n K d) in float64, 8 n K bytes a thread.
    """
    survey = survey or Survey(points, packed, crew)
    found = _first_look(points, packed, k, listed, crew, survey)
    unsure = np.flatnonzero(found.core > found.bound)
    if not survey.taken and unsure.size > MANY * found.core.size:
        survey.take(near_order(found))
    if unsure.size:
        _search_again(points, packed, found, unsure, k, crew, survey)
    return found


def _first_look(points: Points, packed: Packed, k: int, listed: int, crew: Crew, survey: Survey) -> Neighbors:
    """Return lists whose core distances may be uncertain; where rows lie in groups, by a survey."""
    n = points.factors.size
    if n >= _LEAST:
        order = tree_order(points, crew)
        step = steps(points, order)
        if is_clumped(step, order, packed.blurred) or is_grouped(points, step, order, listed):
            found = survey.take(leader_order(points, packed, order, crew), k, listed)
            if found is not None:
                return found
    scores, rows = search(n, packed, listed, crew)
    return measured(points, packed, scores, rows, k, crew)


def _search_again(
    points: Points, packed: Packed, found: Neighbors, unsure: I64, k: int, crew: Crew, survey: Survey
) -> None:
    """Search the rows that are not certified, measuring every hit; their lists and bounds become exact."""
    n, listed = found.rows.shape

    def look(seen: Seen) -> None:
        rows, distances = found.rows[seen.rows], found.distances[seen.rows]
        keep_nearest(
            seen.scores, seen.rows, seen.columns, points.values, points.factors, points.size, seen.margin, seen.scale,
            rows, distances,
        )  # fmt: skip
        found.rows[seen.rows], found.distances[seen.rows] = rows, distances

    def needs(rows: I64) -> F64:
        furthest: F64 = found.distances[rows, -1]
        return furthest

    if survey.taken:
        survey.near(unsure, needs, look)
    else:
        show_all(packed, unsure, needs, look, crew)
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
    """Measure whatever of a tile may be nearer than the furthest listed, and keep the nearest.

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
        floor = _floor_of(out_distances[q, k - 1], margin[i], scale)
        for at in range(0, columns.size, LANES):
            mask = beats(flat, q * width + at, never, 0, floor)
            while mask != np.uint64(0):
                x = at + lowest_bit(mask)
                mask &= mask - np.uint64(1)
                if x >= columns.size or columns[x] == i or flat[q * width + x] <= floor:
                    continue
                j = columns[x]
                distance = np.sqrt(square_distance(values, i * size, factors[i], values, j * size, factors[j], size))
                if distance < out_distances[q, k - 1] and not _listed(out_rows, out_distances, q, j, distance):
                    _insert_nearest(out_rows, out_distances, q, j, distance)
                    floor = _floor_of(out_distances[q, k - 1], margin[i], scale)


@kernel
def _listed(rows: I32, distances: F64, i: int, row: int, distance: float) -> bool:
    for p in range(rows.shape[1]):
        if distances[i, p] > distance:
            return False
        if rows[i, p] == row:
            return True
    return False
