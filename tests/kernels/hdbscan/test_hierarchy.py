from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.hdbscan import hierarchy
from lamina_kernels.hdbscan.hierarchy import (
    Flat,
    choose,
    condense,
    densities,
    descendants,
    flatten,
    merge_tree,
    outlier_scores,
    stabilities,
)
from lamina_kernels.hdbscan.union_find import join
from lamina_kernels.layouts import F64, CondensedTree, SpanningTree
from tests.oracles import density as oracle

Case = tuple[int, list[float]]
cases = st.integers(2, 18).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), min_size=n * n, max_size=n * n)
    )
)


def matrix_of(case: Case) -> F64:
    n, numbers = case
    square = np.array(numbers).reshape(n, n)
    weights: F64 = np.minimum(square, square.T)
    return weights


def tree_of(weights: F64, order: list[int] | None = None) -> SpanningTree:
    """Kruskal over a full matrix; equal weights in the given order of rows."""
    n = len(weights)
    order = order or list(range(n))
    edges = sorted((weights[i, j], a, b) for a, i in enumerate(order) for b, j in enumerate(order) if i < j)
    parent, chosen = np.arange(n), []
    for weight, a, b in edges:
        i, j = order[a], order[b]
        if join(parent, i, j):
            chosen.append((min(i, j), max(i, j), weight))
    source, target, heights = zip(*chosen, strict=True)
    return SpanningTree(np.array(source), np.array(target), np.array(heights))


def as_clusters(tree: CondensedTree) -> dict[frozenset[int], tuple[float, dict[int, float]]]:
    """Clusters by their rows: birth, and where rows leave."""
    rows: list[set[int]] = [set() for _ in tree.parent]
    for row, cluster in enumerate(tree.row_cluster.tolist()):
        while cluster >= 0:
            rows[cluster].add(row)
            cluster = int(tree.parent[cluster])
    leaves: list[dict[int, float]] = [{} for _ in tree.parent]
    for row, (cluster, at) in enumerate(zip(tree.row_cluster.tolist(), tree.row_lambda.tolist(), strict=True)):
        leaves[cluster][row] = at
    assert tree.size.tolist() == [len(each) for each in rows]
    return {frozenset(r): (b, each) for r, b, each in zip(rows, tree.birth.tolist(), leaves, strict=True)}


def oracle_clusters(cluster: oracle.Cluster) -> dict[frozenset[int], tuple[float, dict[int, float]]]:
    found = {cluster.rows: (cluster.birth, cluster.leaves)}
    for child in cluster.children:
        found |= oracle_clusters(child)
    return found


@given(cases, st.integers(2, 5))
def test_the_condensed_tree_is_that_of_the_definition(case: Case, least: int) -> None:
    weights = matrix_of(case)
    got = condense(merge_tree(tree_of(weights)), least)
    ref = oracle.condensed(weights, frozenset(range(len(weights))), least)
    assert as_clusters(got) == oracle_clusters(ref)


@given(cases, st.randoms(use_true_random=False))
def test_which_spanning_tree_and_which_order_changes_nothing(case: Case, random: object) -> None:
    weights = matrix_of(case)
    order = list(range(len(weights)))
    random.shuffle(order)  # type: ignore[attr-defined]
    ref, got = (condense(merge_tree(tree_of(weights, each)), 2) for each in (None, order))
    assert as_clusters(got) == as_clusters(ref)


@given(cases)
def test_a_binary_tree_has_one_node_for_each_edge(case: Case) -> None:
    tree = tree_of(matrix_of(case))
    n = tree.weights.size + 1
    binary, joint = merge_tree(tree, "binary"), merge_tree(tree)
    assert binary.height.tolist() == tree.weights.tolist()
    assert np.bincount(binary.parent[:-1], minlength=2 * n - 1)[n:].tolist() == [2] * (n - 1)
    assert joint.height.size <= n - 1
    for each in (binary, joint):
        nodes = np.arange(each.parent.size - 1)
        assert (each.parent[:-1] > nodes).all()
        assert each.parent[-1] == -1
        assert each.size[-1] == n
        children = np.zeros(each.parent.size, np.int64)
        np.add.at(children, each.parent[:-1], each.size[:-1])
        assert children[n:].tolist() == each.size[n:].tolist()


def test_equal_heights_that_touch_are_one_node() -> None:
    line = SpanningTree(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1.0, 1.0, 2.0]))
    got = merge_tree(line)
    assert got.parent.tolist() == [4, 4, 4, 5, 5, -1]
    assert got.height.tolist() == [1.0, 2.0]
    apart = SpanningTree(np.array([0, 2, 1]), np.array([1, 3, 2]), np.array([1.0, 1.0, 2.0]))
    assert merge_tree(apart).parent.tolist() == [4, 4, 5, 5, 6, 6, -1]


@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_one(n: int) -> None:
    none = np.empty(0, np.int64)
    got = merge_tree(SpanningTree(none, none, np.empty(0)))
    assert got.parent.tolist() == [-1]
    assert condense(got, 2).row_cluster.tolist() == [0]


def test_zero_heights_are_denser_than_anything_and_finite() -> None:
    got = densities(np.array([0.0, 0.0, 0.5, 2.0]))
    assert got.tolist() == [2e6, 2e6, 2.0, 0.5]
    assert densities(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    assert np.isfinite(densities(np.array([0.0, 5e-324]))).all()


def test_descendants_belong_to_the_uppermost_choice() -> None:
    tree = CondensedTree(
        np.zeros(1, np.int64), np.zeros(1), np.array([-1, 0, 0, 1, 3]), np.zeros(5), np.ones(5, np.int64)
    )
    assert descendants(tree, np.array([False, True, False, True, False])).tolist() == [-1, 1, -1, 1, 1]
    assert descendants(tree, np.array([True, False, False, False, True])).tolist() == [0] * 5


@given(cases, st.booleans())
def test_the_plain_twins_make_the_same_tree(case: Case, joint: bool) -> None:
    edges = tree_of(matrix_of(case))
    n = case[0]
    made = []
    for merge in (hierarchy.merge_edges, hierarchy.merge_edges_plain):
        parent, height, size = np.full(2 * n - 1, -1), np.full(n - 1, -1.0), np.ones(2 * n - 1, np.int64)
        nodes = merge(edges.source, edges.target, edges.weights, joint, parent, height, size)
        made.append((nodes, parent[:nodes].tolist(), height[: nodes - n].tolist(), size[:nodes].tolist()))
    got, ref = made
    assert got == ref


def test_what_is_not_at_hand_is_not_loaded_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(np.random.default_rng(1).random((30, 30)).round(1))
    ref = condense(merge_tree(tree), 3)
    asked: list[object] = []

    def is_ready(kernel: object) -> bool:
        asked.append(kernel)
        return False

    monkeypatch.setattr(hierarchy, "is_ready", is_ready)
    got = condense(merge_tree(tree), 3)
    assert asked == [hierarchy.merge_edges, hierarchy.part_clusters]
    assert all(a.tolist() == b.tolist() for a, b in zip(got, ref, strict=True))


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
