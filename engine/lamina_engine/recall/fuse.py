"""Lanes into one candidate set, and the spread of a hit's score to the chunk before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lane:
    """What one lane found: rows best first, with the lane's own scores."""

    rows: Rows
    scores: F64


EMPTY = Lane(np.empty(0, np.int64), np.empty(0, np.float64))


def union(a: Rows, b: Rows) -> Rows:
    """Return the distinct rows of both, ascending."""
    rows = np.concatenate([a, b])
    rows.sort()
    keep = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=keep[1:])
    return rows[keep]


def ranked(rows: Rows, scores: F64, limit: int) -> Lane:
    """Return rows by score, equal scores by higher row (the newer one) first, at most ``limit``; zero scores left out."""
    keep = scores > 0.0
    rows, scores = rows[keep], scores[keep]
    if len(scores) > 2 * limit:  # sort only what can be among the best
        near = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
        rows, scores = rows[near], scores[near]
    order = np.lexsort((-rows, -scores))[:limit]
    return Lane(rows[order], scores[order])


def spread(lane: Lane, previous: Rows, share: float) -> tuple[Rows, F64]:
    """Return what each preceding chunk receives: ``share`` of the score of every hit that follows it.

    Parameters
    ----------
    lane : Lane
        Hits.
    previous : int64 (n,)
        Row of the chunk before each hit, -1 for none.
    share : float
        Part of a hit's score that is passed on.

    Returns
    -------
    (rows, scores)
        Distinct rows ascending, and the sum each receives (added in the order of the hits).
    """
    has = previous >= 0
    rows, inverse = np.unique(previous[has], return_inverse=True)
    received = np.zeros(len(rows))
    np.add.at(received, inverse, share * lane.scores[has])
    return rows, received
