"""Neighbour smoothing: each row moves towards its nearest neighbours before the tree is grown.

Short texts of one dialogue lie nearly as far from each other as from anything else, so plain density finds one dense
spot and calls the rest noise. Two steps over the exact graph of nearest neighbours gather what belongs together.
"""

from __future__ import annotations

import math
import os
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from lamina_engine.topics.cells import cell_neighbors
from lamina_engine.topics.hdbscan import EXACT_ROWS, Progress, Report, Way
from lamina_engine.topics.points import as_points
from lamina_kernels.layouts import F32, F64, I64
from lamina_kernels.neighbors import nearest
from lamina_kernels.packed import Arithmetic, fastest, pack
from lamina_kernels.threads import Crew

NEIGHBORS: Final = 15
"""Neighbours that draw a row; see decision 0012. Fewer in small sets: half the root of their size."""

STEPS: Final = 2

_BLOCK: Final = 1024
"""Rows moved at once: 15 neighbours of 256 numbers in float64 take 30 MiB."""

_SPARE: Final = 12
"""Neighbours listed beyond those wanted, so that estimates can prove the list."""


def smoothed(vectors: F32, *, method: Way = "auto", threads: int | None = None, progress: Report | None = None) -> F32:
    """Return rows moved towards their neighbours.

    Parameters
    ----------
    vectors : float32 (n, d)
        No row is zero.
    method : {"exact", "approx", "auto"}
        How neighbours are found; ``auto`` is exact up to `lamina_engine.topics.hdbscan.EXACT_ROWS` rows.
    threads : int, optional
        All cores unless given; the result is the same.
    progress : callable, optional
        As in `lamina_engine.topics.hdbscan.grow`.

    Returns
    -------
    float32 (n, d)
        Unit rows.

    Raises
    ------
    InvalidArgument
        See `lamina_engine.topics.points.as_points`.

    Notes
    -----
    x ← unit(x + Σ wᵢ xᵢ / Σ wᵢ), wᵢ the cosine of neighbour i in the original space (negative ones count 0), repeated.
    O(n² d / 2) for the neighbours, O(n k d) for a step; two copies of the vectors.
    """
    count = drawn_by(len(vectors))
    if not count:
        return unit_rows(vectors)
    rows, weights = _neighbors(vectors, count, method, threads, progress)
    at = unit_rows(vectors)
    for _ in range(STEPS):
        at = _step(at, rows, weights)
    return at


def drawn_by(n: int) -> int:
    """Return how many neighbours draw a row of n: `NEIGHBORS`, at most half the root of n, fewer than n."""
    return min(NEIGHBORS, max(1, int(math.sqrt(n) / 2)), max(n - 1, 0))


def unit_rows(vectors: NDArray[np.floating]) -> F32:
    """Return float32 (n, d) rows of length 1; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64, casting="same_kind"))
    lengths[lengths == 0.0] = 1.0
    unit: F32 = (vectors / lengths[:, None]).astype(np.float32)
    return unit


def _neighbors(vectors: F32, count: int, method: Way, threads: int | None, progress: Report | None) -> tuple[I64, F64]:
    """Return the rows of the nearest neighbours, and their weights, each (n, count)."""
    n = len(vectors)
    points = as_points(vectors, "cosine")
    tick = None if progress is None else lambda share: progress(Progress("neighbours", int(100 * share)))
    crew = Crew(threads or os.cpu_count() or 1, tick)
    # so many neighbours lie too close to each other for the margins of eight bits
    packed = pack(points, cast("Arithmetic", fastest().replace("int8", "int16")), centred=False)
    listed = min(n - 1, count + _SPARE)
    if method == "approx" or (method == "auto" and n > EXACT_ROWS):
        found = cell_neighbors(points, packed, count, listed, crew)
    else:
        # where the count-th distance is certain, so are the rows before it: nothing unlisted is nearer
        found = nearest(points, packed, count, listed, crew)
    chords = found.distances[:, :count]
    return found.rows[:, :count].astype(np.int64), np.maximum(1.0 - chords * chords / 2.0, 0.0)


def _step(at: F32, rows: I64, weights: F64) -> F32:
    out = np.empty_like(at)
    whole = np.maximum(weights.sum(axis=1), 1e-12)
    for start in range(0, len(at), _BLOCK):
        part = slice(start, start + _BLOCK)
        near = at[rows[part]].astype(np.float64)
        drawn = np.einsum("nk,nkd->nd", weights[part] / whole[part, None], near, optimize=False)
        out[part] = unit_rows(at[part] + drawn)
    return out
