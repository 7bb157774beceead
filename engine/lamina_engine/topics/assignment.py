"""Thresholded assignment: the nearest topic within the threshold, or none.

Distances are angular: the angle between unit vectors as a share of half a turn. The threshold is calibrated on what the
tree has found in this space. 0.09, the value of the system that the episodic profile follows, was calibrated for another
model; in the bundled model's space hardly any text lies so near to its topic's centre (decision 0012).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_kernels.layouts import BOOL, F32, F64, I64

_PRODUCT_ROWS: Final = 2048

_MARGIN: Final = 1e-4
"""Twice what single-precision products of unit rows of some thousand numbers can be off by, and more."""


_GATHERED_ROWS: Final = 8192

SOURCE_SYSTEM: Final = 0.09

_GRID: Final[F64] = np.linspace(0.005, 0.6, 120, dtype=np.float64)
"""Thresholds tried: 0.005 to 0.6; a right angle is 0.5."""

_GIVEN_UP: Final = 0.005
"""F1 that is given up for a tighter threshold: its curve is flat at the top."""

_WITHIN: Final = 0.95
"""Where there is one topic, nothing can be mistaken: the threshold holds this share of it."""

_SAMPLE: Final = 20_000

_CURVE_ROWS: Final = 4096


def angular(rows: F32, centroids: F32) -> F64:
    """Return arccos(cos) / π of every row to every centroid.

    Notes
    -----
    Products are summed in float64, each over one row alone, so a distance does not depend on the batch.
    """
    out = np.empty((len(rows), len(centroids)))
    wide = centroids.astype(np.float64)
    for start in range(0, len(rows), _PRODUCT_ROWS):
        part = slice(start, start + _PRODUCT_ROWS)
        out[part] = np.einsum("nd,td->nt", rows[part].astype(np.float64), wide, optimize=False)
    return np.arccos(np.clip(out, -1.0, 1.0)) / np.pi


def nearest_centroid(rows: F32, centroids: F32, without: I64 | None = None) -> tuple[I64, F64]:
    """Return each row's nearest centroid, the first of equals, and its angular distance.

    Notes
    -----
    Single-precision products by BLAS find those that can be nearest; sums in float64, each over one row alone, decide.
    So the result does not depend on BLAS, its threads or the batch. O(n t d).
    """
    best, distances = np.zeros(len(rows), np.int64), np.ones(len(rows))
    for start in range(0, len(rows), _PRODUCT_ROWS):
        part = slice(start, start + _PRODUCT_ROWS)
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


def sum_by_label(rows: F32, labels: I64, count: int) -> F64:
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


class Assignment(NamedTuple):
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


def assign(rows: F32, centroids: F32, threshold: float) -> Assignment:
    """Give each row to the nearest centroid that is strictly nearer than the threshold."""
    if not len(centroids):
        return Assignment(np.full(len(rows), -1, np.int64), np.ones(len(rows)))
    nearest, distances = nearest_centroid(rows, centroids)
    return Assignment(np.where((distances < threshold) & rows.any(axis=1), nearest, -1), distances)


def assign_positions(rows: F32, positions: I64, centroids: F32, threshold: float) -> Assignment:
    """Assign some of the rows, as `assign` does, without a copy of all of them."""
    found = Assignment(np.empty(positions.size, np.int64), np.empty(positions.size))
    for start in range(0, positions.size, _GATHERED_ROWS):
        part = slice(start, start + _GATHERED_ROWS)
        found.topics[part], found.distances[part] = assign(rows[positions[part]], centroids, threshold)
    return found


def measure_confidence(distances: F64, threshold: float) -> F32:
    """Return the probability of an assigned row: 1 at the centroid, 0 at the threshold."""
    return np.clip(1.0 - distances / threshold, 0.0, 1.0).astype(np.float32)


class Curve(NamedTuple):
    """Share of members that find back to their own topic, by threshold.

    Attributes
    ----------
    thresholds, precision, recall, f1 : float64 (t,)
        Precision is 1 where nothing is assigned.
    """

    thresholds: F64
    precision: F64
    recall: F64
    f1: F64


def check_threshold(threshold: object) -> float | None:
    """Return a threshold as a number, None for ``"auto"``."""
    if threshold == "auto":
        return None
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, (int, float, np.floating))
        or not 0.0 < threshold <= 1.0
    ):
        raise InvalidArgument(
            f"threshold={threshold!r} must be 'auto' or an angular distance, arccos(cosine)/π, above 0 and up to 1 "
            f"({SOURCE_SYSTEM} is that of the episodic profile)"
        )
    return float(threshold)


def calibrate(rows: F32, labels: I64) -> float:
    """Return the threshold for a clustering: the least whose F1 is within 0.005 of the best.

    Notes
    -----
    Each member, left out of its own topic's centroid, is given to the nearest centroid within the threshold: its own is
    right, another wrong, none missed. At most 20,000 members, evenly spaced. O(members · topics · d).
    """
    count = int(labels.max(initial=-1)) + 1
    if not count:
        return 0.5
    distances, right = regain_labels(rows, labels, count)
    if count == 1:
        return float(min(0.5, np.quantile(distances, _WITHIN) + _GRID[0]))
    found = threshold_curve(distances, right)
    return float(found.thresholds[np.flatnonzero(found.f1 >= found.f1.max() - _GIVEN_UP)[0]])


def threshold_curve(distances: F64, right: BOOL, thresholds: F64 = _GRID) -> Curve:
    """Return precision, recall and F1 by threshold; see `regained`."""
    near = np.sort(distances)
    hits = np.sort(distances[right])
    assigned = np.searchsorted(near, thresholds, side="left")
    correct = np.searchsorted(hits, thresholds, side="left")
    precision = np.where(assigned > 0, correct / np.maximum(assigned, 1), 1.0)
    return Curve(
        thresholds, precision, correct / max(near.size, 1), 2.0 * correct / np.maximum(assigned + near.size, 1)
    )


def regain_labels(rows: F32, labels: I64, count: int) -> tuple[F64, BOOL]:
    """Return members' distances to the nearest centroid, and whether it is their own topic's.

    Each member is left out of its own topic's centroid; the only member of a topic finds nothing of its own.
    """
    totals = sum_by_label(rows, labels, count)
    centroids = directions(totals)
    members = np.flatnonzero(labels >= 0)
    members = members[:: -(-members.size // _SAMPLE)]
    nearest, right = np.empty(members.size), np.empty(members.size, np.bool_)
    for start in range(0, members.size, _CURVE_ROWS):
        some = members[start : start + _CURVE_ROWS]
        own = labels[some]
        _, to_other = nearest_centroid(rows[some], centroids, own)
        rest = directions(totals[own] - rows[some])
        cosine = np.einsum("nd,nd->n", rest, rows[some], dtype=np.float64)
        to_own = np.where(rest.any(axis=1), np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi, 1.0)
        nearest[start : start + some.size] = np.minimum(to_own, to_other)
        right[start : start + some.size] = to_own < to_other
    return nearest, right
