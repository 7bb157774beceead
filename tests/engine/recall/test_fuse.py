from __future__ import annotations

import numpy as np

from lamina_engine.recall.fuse import rank_rows


def test_ranked_breaks_ties_by_the_newer_row_and_leaves_zeros_out() -> None:
    got = rank_rows(np.array([3, 1, 2, 0]), np.array([0.5, 0.5, 0.9, 0.0]), 10)
    assert (got.rows.tolist(), got.scores.tolist()) == ([2, 3, 1], [0.9, 0.5, 0.5])
    assert rank_rows(np.array([3, 1, 2]), np.array([0.5, 0.5, 0.9]), 2).rows.tolist() == [2, 3]
    assert rank_rows(np.empty(0, np.int64), np.empty(0), 2).rows.tolist() == []
