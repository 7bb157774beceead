"""Thresholded assignment: a chunk belongs to the nearest topic within the threshold, or to none."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_engine.topics.angles import nearest_centroid
from lamina_kernels.layouts import F32, F64, I64

_BLOCK: Final = 8192


class Assigned(NamedTuple):
    """Topics of some rows.

    Attributes
    ----------
    topics : int64 (n,)
        Position of the topic; −1 for none.
    distances : float64 (n,)
        Angular distance to the nearest centroid, whether within the threshold or not; 1 where there is no topic.
    """

    topics: I64
    distances: F64


def assign(rows: F32, centroids: F32, threshold: float) -> Assigned:
    """Give each row to the nearest centroid that is strictly nearer than the threshold.

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows; one that is all zero belongs to nothing.
    centroids : float32 (t, d)
        Unit rows, in ascending order of their topics' ids: of equally near ones the first is taken.
    threshold : float
        Angular distance.

    Returns
    -------
    Assigned
    """
    if not len(centroids):
        return Assigned(np.full(len(rows), -1, np.int64), np.ones(len(rows)))
    nearest, distances = nearest_centroid(rows, centroids)
    return Assigned(np.where((distances < threshold) & rows.any(axis=1), nearest, -1), distances)


def assign_some(rows: F32, positions: I64, centroids: F32, threshold: float) -> Assigned:
    """Give some of the rows to centroids as `assign` does, without a copy of all of them at once.

    Parameters
    ----------
    rows : float32 (n, d)
    positions : int64 (m,)
        Which of them.
    centroids, threshold
        As `assign` takes them.

    Returns
    -------
    Assigned
        Of the m rows.
    """
    found = Assigned(np.empty(positions.size, np.int64), np.empty(positions.size))
    for start in range(0, positions.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        found.topics[part], found.distances[part] = assign(rows[positions[part]], centroids, threshold)
    return found


def confidence(distances: F64, threshold: float) -> F32:
    """Return the probability written for an assigned row: 1 at the centroid, falling to 0 at the threshold."""
    return np.clip(1.0 - distances / threshold, 0.0, 1.0).astype(np.float32)
