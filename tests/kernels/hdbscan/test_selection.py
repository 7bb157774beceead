from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.hdbscan.hierarchy import condense, merge_tree
from lamina_kernels.hdbscan.selection import Flat, choose, flatten, outlier_scores, stabilities
from lamina_kernels.layouts import F64, CondensedTree
from tests.kernels.hdbscan.test_hierarchy import Case, cases, matrix_of, tree_of
from tests.oracles import density as oracle

# cluster 0 (ten rows) parts at λ = 1 into 1 (six rows, all until λ = 5) and 2 (four rows), which parts at λ = 4
# into 3 and 4 (two rows each, until λ = 8)
TREE = CondensedTree(
    row_cluster=np.array([1, 1, 1, 1, 1, 1, 3, 3, 4, 4]),
    row_lambda=np.array([2.0, 5.0, 5.0, 5.0, 5.0, 5.0, 8.0, 8.0, 8.0, 6.0]),
    parent=np.array([-1, 0, 0, 2, 2]),
    birth=np.array([0.0, 1.0, 1.0, 4.0, 4.0]),
    size=np.array([10, 6, 4, 2, 2]),
)


def cut(
    tree: CondensedTree, method: str = "eom", *, epsilon: float = 0.0, most: int | None = None, single: bool = False
) -> Flat:
    chosen = choose(tree, method, epsilon=epsilon, max_cluster_size=most, allow_single_cluster=single)  # type: ignore[arg-type]
    return flatten(tree, chosen, epsilon=epsilon)


def test_stability_by_hand() -> None:
    assert stabilities(TREE).tolist() == [10.0, 1.0 + 5 * 4.0, 4 * 3.0, 2 * 4.0, 4.0 + 2.0]


def test_choices_by_hand() -> None:
    assert cut(TREE).clusters.tolist() == [1, 3, 4] or cut(TREE).clusters.tolist() == [1, 2]
    assert cut(TREE).labels.tolist() == [0] * 6 + [1, 1, 2, 2]  # 8 + 6 > 12
    assert cut(TREE, "leaf").labels.tolist() == [0] * 6 + [1, 1, 2, 2]
    assert cut(TREE, epsilon=0.5).labels.tolist() == [0] * 6 + [1] * 4  # 3 and 4 part at 1/4, 2 at 1
    assert cut(TREE, epsilon=9.0).labels.tolist() == [0] * 6 + [1] * 4
    assert cut(TREE, most=5).labels.tolist() == [-1] * 6 + [0, 0, 1, 1]
    assert cut(TREE, single=True).labels.tolist() == [0] * 6 + [1, 1, 2, 2]


def test_probabilities_and_outlier_scores_by_hand() -> None:
    assert cut(TREE).probabilities.tolist() == [0.4, 1, 1, 1, 1, 1, 1, 1, 1, 0.75]
    assert outlier_scores(TREE).tolist() == [0.6, 0, 0, 0, 0, 0, 0, 0, 0, 0.25]


def test_one_cluster_of_all_rows() -> None:
    tree = CondensedTree(
        np.zeros(5, np.int64), np.array([1.0, 4.0, 4.0, 4.0, 2.0]), np.array([-1]), np.zeros(1), np.array([5])
    )
    assert cut(tree).labels.tolist() == [-1] * 5
    assert cut(tree, single=True).labels.tolist() == [-1, 0, 0, 0, -1]
    assert cut(tree, single=True, epsilon=0.5).labels.tolist() == [-1, 0, 0, 0, 0]
    assert cut(tree, "leaf", single=True).labels.tolist() == [-1, 0, 0, 0, -1]
    assert cut(tree, "leaf").labels.tolist() == [-1] * 5


@given(cases, st.integers(2, 5))
def test_excess_of_mass_is_that_of_the_definition(case: Case, least: int) -> None:
    weights = matrix_of(case)
    tree = condense(merge_tree(tree_of(weights)), least)
    whole = oracle.condensed(weights, frozenset(range(len(weights))), least)
    total, chosen = oracle.excess_of_mass(whole)
    got = cut(tree)
    assert stabilities(tree)[got.clusters].sum() == pytest.approx(total)
    assert oracle.partition(got.labels) == {each.rows for each in chosen}


@given(cases, st.integers(2, 4), st.sampled_from(["eom", "leaf"]), st.booleans(), st.sampled_from([0.0, 0.8, 2.5]))
def test_what_always_holds(case: Case, least: int, method: str, single: bool, epsilon: float) -> None:
    tree = condense(merge_tree(tree_of(matrix_of(case))), least)
    got = cut(tree, method, epsilon=epsilon, single=single)
    sizes = np.bincount(got.labels[got.labels >= 0]).tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == got.clusters.size
    assert ((got.probabilities > 0) == (got.labels >= 0)).all()
    assert got.probabilities.max() <= 1.0
    if not (single and got.clusters.size == 1):
        assert all(size >= least for size in sizes)
        for label in range(len(sizes)):  # a cluster is firm somewhere
            assert got.probabilities[got.labels == label].max() == 1.0
    scores: F64 = outlier_scores(tree)
    assert ((scores >= 0.0) & (scores < 1.0)).all()
