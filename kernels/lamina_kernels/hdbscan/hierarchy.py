"""Dendrogram and condensed tree of a spanning tree (Campello, Moulavi and Sander, 2013).

Edges of equal weight are merged at once: a node of the dendrogram may have many children. Many edges do share a weight,
namely one row's core distance, and a binary tree over them depends on the order in which a sort happens to leave them;
the joint one depends on the distances alone, not on the order of the rows nor on which spanning tree was found.
``ties="binary"`` gives the usual tree, to compare with other implementations.

What is chosen from the condensed tree stands in `lamina_kernels.hdbscan.selection`.
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from lamina_kernels._jit import Kernel, is_ready, kernel
from lamina_kernels.hdbscan.dense import MOST_ROWS
from lamina_kernels.hdbscan.union_find import find
from lamina_kernels.layouts import BOOL, F64, I64, CondensedTree, MergeTree, SpanningTree

_DENSEST = 1e6
"""λ of rows at distance 0, as a multiple of the greatest finite λ: they win over everything, and sums stay finite."""


_LEAST = 1e-290
"""Heights below this count as this, so that 1/height and its multiple stay finite."""


def merge_tree(tree: SpanningTree, ties: Literal["joint", "binary"] = "joint") -> MergeTree:
    """Return the single-linkage dendrogram of a spanning tree.

    Parameters
    ----------
    tree : SpanningTree
        Ascending weights.
    ties : {"joint", "binary"}
        Whether equal weights that touch make one node.

    Returns
    -------
    MergeTree

    Notes
    -----
    O(n log n) at worst.
    """
    n = tree.weights.size + 1
    parent, size = np.full(2 * n - 1, -1), np.ones(2 * n - 1, np.int64)
    height = np.empty(n - 1)
    merge = merge_edges if _is_worth_it(merge_edges, n) else merge_edges_plain
    nodes = merge(tree.source, tree.target, tree.weights, ties == "joint", parent, height, size)
    return MergeTree(parent[:nodes].copy(), height[: nodes - n].copy(), size[:nodes].copy())


def condense(tree: MergeTree, min_cluster_size: int) -> CondensedTree:
    """Return the condensed tree: clusters of at least ``min_cluster_size`` rows.

    Parameters
    ----------
    tree : MergeTree
    min_cluster_size : int
        ≥ 2.

    Returns
    -------
    CondensedTree

    Notes
    -----
    O(n), one sweep from the root down.
    """
    nodes = tree.parent.size
    n = nodes - tree.height.size
    if n == 0:
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return CondensedTree(none, nothing, none, nothing, none)
    density = densities(tree.height)
    cluster, fallen = np.zeros(nodes, np.int64), np.full(nodes, -1.0)
    parent, birth, size = np.full(n, -1), np.zeros(n), np.zeros(n, np.int64)
    large = np.zeros(nodes, np.int64)
    part = part_clusters if _is_worth_it(part_clusters, n) else part_clusters.py_func
    count = part(
        tree.parent, tree.size, density, min_cluster_size, large, cluster, fallen, parent, birth, size
    )  # fmt: skip
    return CondensedTree(
        cluster[:n].copy(), fallen[:n].copy(), parent[:count].copy(), birth[:count].copy(), size[:count].copy()
    )


def _is_worth_it(kernel: Kernel[..., object], n: int) -> bool:
    """Return whether to call a kernel: it is ready, or n repays loading it."""
    return n > MOST_ROWS or is_ready(kernel)


def densities(height: F64) -> F64:
    """Return λ = 1/height; heights of 0 get a finite λ above all others (1 if all are 0)."""
    positive = height > 0.0
    density = np.where(positive, 1.0 / np.maximum(height, _LEAST), 1.0)
    if positive.any():
        density[~positive] = density[positive].max() * _DENSEST
    return density


def _merge_examples() -> tuple[object, ...]:
    edges = np.zeros(1, np.int64), np.ones(1, np.int64), np.ones(1)
    return *edges, True, np.full(3, -1), np.empty(1), np.ones(3, np.int64)


@kernel(examples=[_merge_examples])
def merge_edges(
    source: I64, target: I64, weights: F64, joint: bool, out_parent: I64, out_height: F64, out_size: I64
) -> int:
    """Merge the ends of edges, lightest first.

    Parameters
    ----------
    source, target : int64 (n − 1,)
    weights : float64 (n − 1,)
        Ascending.
    joint : bool
        Whether edges of equal weight that touch make one node.
    out_parent : int64 (2 n − 1,)
        −1; written.
    out_height : float64 (n − 1,)
        Written.
    out_size : int64 (2 n − 1,)
        1; written.

    Returns
    -------
    int
        Nodes, rows included.
    """
    m = weights.size
    n = m + 1
    sets = np.arange(n)
    node = np.arange(n)  # of each set, by its name
    made = np.full(n, -1)  # node of this height, by name
    left, right = np.empty(m, np.int64), np.empty(m, np.int64)
    count, first = n, 0
    while first < m:
        last = first + 1
        while joint and last < m and weights[last] == weights[first]:
            last += 1
        for e in range(first, last):
            left[e], right[e] = find(sets, source[e]), find(sets, target[e])
        for e in range(first, last):
            a, b = find(sets, left[e]), find(sets, right[e])
            sets[max(a, b)] = min(a, b)
        for e in range(first, last):
            root = find(sets, left[e])
            if made[root] < 0:
                made[root] = count
                out_height[count - n] = weights[first]
                out_size[count] = 0
                count += 1
            for name in (left[e], right[e]):
                if out_parent[node[name]] < 0 and node[name] != made[root]:
                    out_parent[node[name]] = made[root]
                    out_size[made[root]] += out_size[node[name]]
        for e in range(first, last):
            root = find(sets, left[e])
            if made[root] >= 0:
                node[root] = made[root]
                made[root] = -1
        first = last
    return count


def merge_edges_plain(
    source: I64, target: I64, weights: F64, joint: bool, out_parent: I64, out_height: F64, out_size: I64
) -> int:
    """Merge the ends of edges, lightest first; see `merge_edges`."""
    n = weights.size + 1
    sets, parent, size = list(range(n)), out_parent.tolist(), out_size.tolist()
    node = list(range(n))
    height: list[float] = []

    def name(i: int) -> int:
        while sets[i] != i:
            sets[i] = i = sets[sets[i]]
        return i

    edges = zip(weights.tolist(), source.tolist(), target.tolist(), strict=True)
    for weight, group in itertools.groupby(edges, lambda edge: edge[0]) if joint else ((e[0], (e,)) for e in edges):
        ends = [(name(i), name(j)) for _, i, j in group]
        for i, j in ends:
            a, b = name(i), name(j)
            sets[max(a, b)] = min(a, b)
        made: dict[int, int] = {}
        for i, j in ends:
            root = name(i)
            if root not in made:
                made[root] = n + len(height)
                height.append(weight)
                size[made[root]] = 0
            for below in (node[i], node[j]):
                if parent[below] < 0 and below != made[root]:
                    parent[below] = made[root]
                    size[made[root]] += size[below]
        for root, new in made.items():
            node[root] = new
    out_parent[:], out_size[:], out_height[: len(height)] = parent, size, height
    return n + len(height)


def _part_examples() -> tuple[object, ...]:
    tree = np.array([2, 2, -1]), np.array([1, 1, 2]), np.ones(1)
    each = np.zeros(3, np.int64)
    return *tree, 2, each, each.copy(), np.full(3, -1.0), np.full(2, -1), np.zeros(2), np.zeros(2, np.int64)


@kernel(examples=[_part_examples])
def part_clusters(
    parent: I64, size: I64, density: F64, min_cluster_size: int,
    out_large: I64, out_cluster: I64, out_fallen: F64, out_parent: I64, out_birth: F64, out_size: I64,
) -> int:  # fmt: skip
    """Sweep a dendrogram from the root down and number its clusters.

    Parameters
    ----------
    parent, size : int64 (nodes,)
    density : float64 (nodes − n,)
        λ of each inner node.
    min_cluster_size : int
    out_large : int64 (nodes,)
        Zeros; written: large children of each node.
    out_cluster : int64 (nodes,)
        Zeros; written: the cluster of each node.
    out_fallen : float64 (nodes,)
        −1; written: λ at which a node left its cluster, −1 where it did not.
    out_parent, out_birth, out_size : (n,)
        −1, zeros, zeros; written for each cluster.

    Returns
    -------
    int
        Clusters, the one of all rows included.
    """
    nodes = parent.size
    n = nodes - density.size
    for x in range(nodes - 1):
        if size[x] >= min_cluster_size:
            out_large[parent[x]] += 1
    out_size[0] = size[nodes - 1]
    count = 1
    for x in range(nodes - 2, -1, -1):
        above = parent[x]
        cluster = out_cluster[above]
        out_cluster[x] = cluster
        if out_fallen[above] >= 0.0:
            out_fallen[x] = out_fallen[above]
        elif size[x] < min_cluster_size:
            out_fallen[x] = density[above - n]
        elif out_large[above] > 1:
            out_cluster[x] = count
            out_parent[count], out_birth[count], out_size[count] = cluster, density[above - n], size[x]
            count += 1
    return count


def descendants(tree: CondensedTree, chosen: BOOL) -> I64:
    """Return for each cluster the chosen one it is or lies below (the uppermost), or −1."""
    found = np.where(chosen, np.arange(chosen.size), -1)
    for c in range(1, chosen.size):
        above = found[tree.parent[c]]
        if above >= 0:
            found[c] = above
    return found
