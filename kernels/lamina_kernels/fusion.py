"""Reciprocal rank fusion: several ranked lists into one score a row.

A lane that ranks a row r-th (from 1) gives it weight / (k + r). Some hundred rows meet here, so NumPy is all of it.

References
----------
.. [1] G. Cormack, C. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
   methods", SIGIR 2009; k = 60 is the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina_kernels.layouts import I64, RowScores

RANK_CONSTANT = 60


def reciprocal_rank_fusion(
    lanes: Sequence[I64], weights: Sequence[float], *, rank_constant: float = RANK_CONSTANT
) -> RowScores:
    """Fuse ranked lists.

    Parameters
    ----------
    lanes : sequence of int64 (n_i,)
        Rows of each lane, best first. A row that stands twice in a lane counts at its better rank.
    weights : sequence of float
        One a lane.
    rank_constant : float
        The k of the formula; larger flattens the ranks.

    Returns
    -------
    RowScores
        Distinct rows ascending, with float64 scores.

    Notes
    -----
    A row's parts are added in the order of the lanes, so equal input gives equal bits.  O(N log N) for N ranks.
    """
    if not lanes:
        return RowScores(np.empty(0, np.int64), np.empty(0))
    rows = np.unique(np.concatenate(lanes))
    scores = np.zeros(rows.size)
    for lane, weight in zip(lanes, weights, strict=True):
        part = np.zeros(rows.size)
        ranks = np.arange(1, lane.size + 1)
        # backwards: of equal positions NumPy keeps the last assignment, here the better rank
        part[np.searchsorted(rows, lane[::-1])] = weight / (rank_constant + ranks[::-1])
        scores += part
    return RowScores(rows, scores)
