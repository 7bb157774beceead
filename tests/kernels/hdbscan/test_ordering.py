from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan import ordering
from lamina_kernels.hdbscan.ordering import is_clumped, is_grouped, steps, tree_order
from lamina_kernels.threads import ThreadTeam
from tests.kernels.hdbscan.test_neighbors import as_points
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
    step = steps(as_points(rows), order)
    assert is_clumped(step, order, np.full(120, 0.01))
    assert not is_clumped(step, order, np.full(120, 1e-6))
    assert is_grouped(as_points(rows), step, order, 8)
    assert not is_grouped(as_points(rows), step, order, 40)


def test_noise_and_few_rows_are_no_groups() -> None:
    rows = np.random.default_rng(3).standard_normal((300, 8)).astype(np.float32)
    for n in (1, 2, 300):
        order = tree_order(as_points(rows[:n]))
        assert not is_grouped(as_points(rows[:n]), steps(as_points(rows[:n]), order), order, 8)


def test_the_number_of_threads_changes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "_PIECE", 4)
    points = as_points(np.random.default_rng(4).standard_normal((150, 8)).astype(np.float32))
    ref = tree_order(points)
    assert tree_order(points, ThreadTeam(2)).tolist() == tree_order(points, ThreadTeam(3)).tolist() == ref.tolist()


def test_equal_rows_end_the_splitting() -> None:
    order = tree_order(as_points(np.ones((200, 8), np.float32)))
    assert sorted(order.tolist()) == list(range(200))
