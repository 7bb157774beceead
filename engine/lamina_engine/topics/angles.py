"""The one distance of topics: the angle between unit vectors, as a share of half a turn; and centroids."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_kernels.layouts import F32, F64, I64

_BLOCK: Final = 2048

_MARGIN: Final = 1e-4
"""Twice what single-precision products of unit rows of some thousand numbers can be off by, and more."""


def angular(rows: F32, centroids: F32) -> F64:
    """Return arccos(cos) / π of every row to every centroid.

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows.
    centroids : float32 (t, d)
        Unit rows.

    Returns
    -------
    float64 (n, t)
        In [0, 1]; 0.5 is a right angle.

    Notes
    -----
    Products are summed in float64, each over one row alone, so a distance does not depend on the batch.
    """
    out = np.empty((len(rows), len(centroids)))
    wide = centroids.astype(np.float64)
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = np.einsum("nd,td->nt", rows[part].astype(np.float64), wide, optimize=False)
    return np.arccos(np.clip(out, -1.0, 1.0)) / np.pi


def nearest_centroid(rows: F32, centroids: F32, without: I64 | None = None) -> tuple[I64, F64]:
    """Return the nearest centroid of every row, the first of equally near ones, and its angular distance.

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows.
    centroids : float32 (t, d)
        Unit rows, t ≥ 1.
    without : int64 (n,), optional
        A centroid that each row leaves out; where there is no other, the distance is 1.

    Notes
    -----
    Single-precision products by BLAS find those that can be nearest; sums in float64, each over one row alone, decide.
    So the result does not depend on BLAS, its threads or the batch. O(n t d).
    """
    best, distances = np.zeros(len(rows), np.int64), np.ones(len(rows))
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        near = rows[part] @ centroids.T
        if without is not None:
            near[np.arange(len(near)), without[part]] = -np.inf
        row, centroid = np.nonzero(near >= np.maximum(near.max(axis=1), -2.0)[:, None] - _MARGIN)
        cosine = np.einsum("md,md->m", rows[part][row], centroids[centroid], dtype=np.float64)
        order = np.lexsort((centroid, -cosine, row))
        first = order[np.r_[True, row[order][1:] != row[order][:-1]]] if order.size else order
        best[start + row[first]] = centroid[first]
        distances[start + row[first]] = np.arccos(np.clip(cosine[first], -1.0, 1.0)) / np.pi
    return best, distances


def sums(rows: F32, labels: I64, count: int) -> F64:
    """Return float64 (count, d): the sum of the rows of each label; −1 is none."""
    out = np.zeros((count, rows.shape[1]))
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(count + 1))
    for label in range(count):
        out[label] = rows[order[bounds[label] : bounds[label + 1]]].sum(axis=0, dtype=np.float64)
    return out


def directions(totals: NDArray[np.float64]) -> F32:
    """Return float32 unit rows; where a sum has no direction (opposite rows), zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", totals, totals))
    lengths[lengths < 1e-12] = np.inf
    unit: F32 = (totals / lengths[:, None]).astype(np.float32)
    return unit
