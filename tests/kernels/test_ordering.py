from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.ordering import is_clumped, steps, tree_order
from tests.kernels.test_neighbors import as_points
from tests.oracles.density import distances


@pytest.mark.parametrize("n", [1, 2, 17, 100])
def test_the_order_has_every_row_once_and_steps_are_distances(n: int) -> None:
    rows = np.random.default_rng(1).standard_normal((n, 8)).astype(np.float32)
    order = tree_order(as_points(rows))
    assert sorted(order.tolist()) == list(range(n))
    got = steps(as_points(rows), order)
    matrix = distances(rows.astype(np.float64))
    assert got.tolist() == [np.inf, *matrix[order[:-1], order[1:]].tolist()]


def test_groups_stand_together() -> None:
    rng = np.random.default_rng(2)
    group = rng.permutation(np.repeat(np.arange(10), 12))
    rows = (rng.standard_normal((10, 8))[group] + 1e-4 * rng.standard_normal((120, 8))).astype(np.float32)
    order = tree_order(as_points(rows))
    changes = np.count_nonzero(np.diff(group[order]))
    assert changes <= 12  # of 119 steps; nine at best
    assert is_clumped(as_points(rows), order, np.full(120, 0.01))
    assert not is_clumped(as_points(rows), order, np.full(120, 1e-6))


def test_equal_rows_end_the_splitting() -> None:
    order = tree_order(as_points(np.ones((200, 8), np.float32)))
    assert sorted(order.tolist()) == list(range(200))
