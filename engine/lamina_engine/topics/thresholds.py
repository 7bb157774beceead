"""The threshold of assignment, calibrated on what the tree has found in this space.

0.09, the value of the system that the episodic profile follows, was calibrated for another model; in the bundled
model's space hardly any text lies so near to its topic's centre (decision 0012).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.topics.angles import directions, nearest_centroid, sums
from lamina_kernels.layouts import BOOL, F32, F64, I64

SOURCE_SYSTEM: Final = 0.09

_GRID: Final[F64] = np.linspace(0.005, 0.6, 120, dtype=np.float64)
"""Thresholds tried: 0.005 to 0.6; a right angle is 0.5."""

_GIVEN_UP: Final = 0.005
"""F1 that is given up for a tighter threshold: its curve is flat at the top."""

_WITHIN: Final = 0.95
"""Where there is one topic, nothing can be mistaken: the threshold holds this share of it."""

_SAMPLE: Final = 20_000
_BLOCK: Final = 4096


class Curve(NamedTuple):
    """How well members find back to their own topic, by threshold.

    Attributes
    ----------
    thresholds, precision, recall, f1 : float64 (t,)
        Precision is 1 where nothing is assigned.
    """

    thresholds: F64
    precision: F64
    recall: F64
    f1: F64


def checked_threshold(threshold: object) -> float | None:
    """Return a threshold as a number, None for ``"auto"``.

    Raises
    ------
    InvalidArgument
        Anything else than ``"auto"`` or an angular distance in (0, 1].
    """
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

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows.
    labels : int64 (n,)
        −1 for rows outside all topics, which do not count.

    Returns
    -------
    float
        0.5, a right angle, where there is no topic.

    Notes
    -----
    Each member, left out of its own topic's centroid, is given to the nearest centroid within the threshold: its own is
    right, another wrong, none missed. At most 20,000 members, evenly spaced. O(members · topics · d).
    """
    count = int(labels.max(initial=-1)) + 1
    if not count:
        return 0.5
    distances, right = regained(rows, labels, count)
    if count == 1:
        return float(min(0.5, np.quantile(distances, _WITHIN) + _GRID[0]))
    found = curve(distances, right)
    return float(found.thresholds[np.flatnonzero(found.f1 >= found.f1.max() - _GIVEN_UP)[0]])


def curve(distances: F64, right: BOOL, thresholds: F64 = _GRID) -> Curve:
    """Return precision, recall and F1 by threshold; see `regained`."""
    near = np.sort(distances)
    hits = np.sort(distances[right])
    assigned = np.searchsorted(near, thresholds, side="left")
    correct = np.searchsorted(hits, thresholds, side="left")
    precision = np.where(assigned > 0, correct / np.maximum(assigned, 1), 1.0)
    return Curve(
        thresholds, precision, correct / max(near.size, 1), 2.0 * correct / np.maximum(assigned + near.size, 1)
    )


def regained(rows: F32, labels: I64, count: int) -> tuple[F64, BOOL]:
    """Return for members their distance to the nearest centroid, and whether that is their own topic's.

    Each member is left out of its own topic's centroid; the only member of a topic finds nothing of its own.
    """
    totals = sums(rows, labels, count)
    centroids = directions(totals)
    members = np.flatnonzero(labels >= 0)
    members = members[:: -(-members.size // _SAMPLE)]
    nearest, right = np.empty(members.size), np.empty(members.size, np.bool_)
    for start in range(0, members.size, _BLOCK):
        some = members[start : start + _BLOCK]
        own = labels[some]
        _, to_other = nearest_centroid(rows[some], centroids, own)
        rest = directions(totals[own] - rows[some])
        cosine = np.einsum("nd,nd->n", rest, rows[some], dtype=np.float64)
        to_own = np.where(rest.any(axis=1), np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi, 1.0)
        nearest[start : start + some.size] = np.minimum(to_own, to_other)
        right[start : start + some.size] = to_own < to_other
    return nearest, right
