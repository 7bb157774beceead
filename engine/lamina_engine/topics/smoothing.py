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

from lamina_engine.topics.hdbscan import EXACT_ROWS, Progress, Report, Way
from lamina_engine.topics.points import as_points
from lamina_engine.topics.probing import probe
from lamina_kernels.certified import nearest
from lamina_kernels.layouts import F32, F64, I32
from lamina_kernels.packed import Arithmetic, fastest, pack
from lamina_kernels.threads import Crew

NEIGHBORS: Final = 15
"""Neighbours that draw a row; see decision 0012. Fewer in small sets: half the root of their size."""

STEPS: Final = 2

_BLOCK: Final = 8192
"""Rows moved at once, and made unit rows at once."""

_COLUMNS: Final = 32
"""Columns moved at once. A step takes no copy of the rows but of so many of their columns; the neighbours of a block of
rows take 30 MiB."""

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
    O(n² d / 2) for the neighbours, O(n k d) for a step. See `smooth` for memory.
    """
    found = unit_rows(vectors)
    smooth(found, method=method, threads=threads, progress=progress)
    return found


def smooth(rows: F32, *, method: Way = "auto", threads: int | None = None, progress: Report | None = None) -> None:
    """Move unit rows towards their neighbours, in place.

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows, in C order.
    method, threads, progress
        See `smoothed`.

    Notes
    -----
    Memory besides the rows: what finding neighbours takes, then 12 k n bytes for k neighbours and an eighth of the rows.
    """
    count = drawn_by(len(rows))
    if not count:
        return
    near, weights = _neighbors(rows, count, method, threads, progress)
    for _ in range(STEPS):
        _step(rows, near, weights)


def drawn_by(n: int) -> int:
    """Return how many neighbours draw a row of n: `NEIGHBORS`, at most half the root of n, fewer than n."""
    return min(NEIGHBORS, max(1, int(math.sqrt(n) / 2)), max(n - 1, 0))


def unit_rows(vectors: NDArray[np.floating], out: F32 | None = None) -> F32:
    """Return float32 (n, d) rows of length 1; zero rows stay zero. ``out`` may be the vectors themselves."""
    out = np.empty(vectors.shape, np.float32) if out is None else out
    for start in range(0, len(vectors), _BLOCK):
        part = vectors[start : start + _BLOCK]
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64, casting="same_kind"))
        lengths[lengths == 0.0] = 1.0
        out[start : start + _BLOCK] = part / lengths[:, None]
    return out


def _neighbors(vectors: F32, count: int, method: Way, threads: int | None, progress: Report | None) -> tuple[I32, F64]:
    """Return the rows of the nearest neighbours, and their weights, each (n, count)."""
    n = len(vectors)
    points = as_points(vectors, "cosine")
    tick = None if progress is None else lambda share: progress(Progress("smoothing", int(100 * share)))
    crew = Crew(threads or os.cpu_count() or 1, tick)
    # so many neighbours lie too close to each other for the margins of eight bits
    arithmetic = cast("Arithmetic", fastest().replace("int8", "int16"))
    if method == "approx" or (method == "auto" and n > EXACT_ROWS):
        found = probe(points, arithmetic, count, min(n - 1, count + 1), crew, centred=False).neighbors
    else:
        # where the count-th distance is certain, so are the rows before it: nothing unlisted is nearer
        packed = pack(points, arithmetic, centred=False)
        found = nearest(points, packed, count, min(n - 1, count + _SPARE), crew)
    chords = found.distances[:, :count]
    return found.rows[:, :count].copy(), np.maximum(1.0 - chords * chords / 2.0, 0.0)


def _step(rows: F32, near: I32, weights: F64) -> None:
    whole = np.maximum(weights.sum(axis=1), 1e-12)
    for first in range(0, rows.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        before = np.ascontiguousarray(rows[:, columns])
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            drawn = np.einsum("nk,nkd->nd", weights[part] / whole[part, None], before[near[part]], optimize=False)
            rows[part, columns] += drawn
    unit_rows(rows, rows)
