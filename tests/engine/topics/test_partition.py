from __future__ import annotations

import numpy as np

from lamina_engine.topics.partition import make_layers, persistence, select_clusters
from lamina_kernels.layouts import CondensedTree


def tree(parents: list[int], births: list[float], sizes: list[int], last: float = 10.0) -> CondensedTree:
    """A condensed tree whose rows all lie in the lowest clusters and leave them at ``last``."""
    parent = np.array(parents)
    lowest = [c for c in range(parent.size) if c not in parents]
    rows = [c for c in lowest for _ in range(sizes[c])]
    return CondensedTree(np.array(rows), np.full(len(rows), last), parent, np.array(births, float), np.array(sizes))


def test_what_holds_more_than_half_gives_way_to_its_parts() -> None:
    # 1 holds 80 of 100 rows and, by mass, more than 3 and 4; both of these are whole conversations
    found = tree([-1, 0, 0, 1, 1], [0.0, 1.0, 1.0, 9.0, 9.0], [100, 80, 20, 40, 40])
    assert np.flatnonzero(select_clusters(found, "eom")).tolist() == [1, 2]
    assert np.flatnonzero(select_clusters(found, "topics")).tolist() == [2, 3, 4]
    assert np.flatnonzero(select_clusters(found, "leaf")).tolist() == [2, 3, 4]


def test_a_large_topic_stays_where_its_parts_are_crumbs() -> None:
    found = CondensedTree(
        np.array([1] * 70 + [2] * 20 + [3] * 5 + [4] * 5), np.full(100, 8.0), np.array([-1, 0, 0, 1, 1]),
        np.array([0.0, 1.0, 1.0, 7.9, 7.9]), np.array([100, 80, 20, 5, 5]),
    )  # fmt: skip
    assert np.flatnonzero(select_clusters(found, "topics")).tolist() == [1, 2]


def test_parents_hold_together_and_no_part_is_nearly_all_of_them() -> None:
    parents = [-1, 0, 0, 1, 1, 3, 3]
    steady = tree(parents, [0, 1, 1, 2, 2, 4, 4], [100, 48, 52, 30, 18, 15, 15])
    found = make_layers(steady, np.array([False, False, True, False, True, True, True]))
    assert found.clusters.tolist() == [1, 2, 3, 4, 5, 6]
    assert found.parents.tolist() == [-1, -1, 0, 0, 2, 2]
    assert found.lowest.tolist() == [False, True, False, True, True, True]
    brief = tree(parents, [0, 1, 1, 2, 2, 2.05, 2.05], [100, 48, 52, 30, 18, 15, 15])
    assert make_layers(brief, np.array([False, False, True, False, True, True, True])).clusters.tolist() == [
        1,
        2,
        4,
        5,
        6,
    ]
    alike = tree(parents, [0, 1, 1, 2, 2, 4, 4], [100, 48, 52, 44, 4, 22, 22])
    assert make_layers(alike, np.array([False, False, True, False, True, True, True])).clusters.tolist() == [
        2,
        3,
        4,
        5,
        6,
    ]


def test_persistence_is_a_share() -> None:
    got = persistence(tree([-1, 0, 0, 1, 1], [0.0, 1.0, 1.0, 9.0, 9.0], [100, 80, 20, 40, 40]))
    np.testing.assert_allclose(got, [1.0, 1 - 1 / 9, 0.9, 0.1, 0.1])


def test_a_tree_without_clusters() -> None:
    nothing = CondensedTree(np.zeros(3, np.int64), np.ones(3), np.array([-1]), np.zeros(1), np.array([3]))
    assert not select_clusters(nothing, "topics").any()
    assert make_layers(nothing, np.array([False])).clusters.size == 0
