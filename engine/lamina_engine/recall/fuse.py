"""Lane results: rows ranked by one retrieval method."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Rows = NDArray[np.int64]


class Lane(Struct, frozen=True):
    """Rows of one lane, best first, with the lane's own scores."""

    rows: Rows
    scores: F64


EMPTY = Lane(np.empty(0, np.int64), np.empty(0, np.float64))


def rank_rows(rows: Rows, scores: F64, limit: int) -> Lane:
    """Return at most ``limit`` rows with a score above 0, best first; ties to the newer row."""
    least = 0.0
    if len(scores) > 2 * limit:  # sort only what can be among the best
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    keep = scores >= least if least > 0.0 else scores > 0.0
    rows, scores = rows[keep], scores[keep]
    order = np.lexsort((-rows, -scores))[:limit]
    return Lane(rows[order], scores[order])
