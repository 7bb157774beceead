from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan import dense
from lamina_kernels.hdbscan.dense import dense_tree
from tests.kernels.hdbscan.test_neighbors import as_points, sets
from tests.kernels.hdbscan.test_spanning_tree import kinds
from tests.oracles.density import core_distances, distances, mutual_reachability, prim


@pytest.mark.parametrize("name", [*sets(1), *kinds(1)])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (40, 3), (70, 12)])
def test_cores_and_weights_are_those_of_the_full_matrix_to_the_bit(name: str, n: int, k: int) -> None:
    rows = (sets(n) | kinds(n))[name]
    matrix = distances(rows.astype(np.float64))
    ref = core_distances(matrix, k)
    weights = mutual_reachability(matrix, ref)
    core, tree = dense_tree(as_points(rows), k)
    assert core.tolist() == ref.tolist()
    assert tree.weights.tolist() == prim(weights).tolist()
    assert tree.weights.tolist() == weights[tree.source, tree.target].tolist()
    assert (tree.source < tree.target).all()


def test_rows_far_from_the_origin_and_one_far_from_all_are_measured_all_the_same() -> None:
    rows = (1e3 + 1e-3 * np.random.default_rng(1).standard_normal((60, 8))).astype(np.float32)
    rows[7] = 1e6
    matrix = distances(rows.astype(np.float64))
    ref = core_distances(matrix, 4)
    core, tree = dense_tree(as_points(rows), 4)
    assert core.tolist() == ref.tolist()
    assert tree.weights.tolist() == prim(mutual_reachability(matrix, ref)).tolist()


def test_no_slack_loses_no_edge_that_has_a_rival_of_the_same_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slack is there for rounding; on whole numbers there is none, and ties are kept without it."""
    rows = np.random.default_rng(2).integers(0, 3, (50, 8)).astype(np.float32)
    matrix = distances(rows.astype(np.float64))
    ref = prim(mutual_reachability(matrix, core_distances(matrix, 3)))
    estimates = dense._estimates
    monkeypatch.setattr(dense, "_estimates", lambda points: (np.rint(estimates(points)[0]), 0.0))
    assert dense_tree(as_points(rows), 3)[1].weights.tolist() == ref.tolist()
