"""Dendrogram and condensed tree of a spanning tree, and the clusters selected from it.

Edges of equal weight are merged at once: a node of the dendrogram may have many children. Many edges do share a weight,
namely one row's core distance, and a binary tree over them depends on the order in which a sort happens to leave them;
the joint one depends on the distances alone, not on the order of the rows nor on which spanning tree was found.
``ties="binary"`` gives the usual tree, to compare with other implementations.

Excess of mass: Campello, Moulavi and Sander, "Density-based clustering based on hierarchical density estimates", 2013.
A threshold on distance: Malzer and Baum, "A hybrid approach to hierarchical density-based cluster selection", 2020.
Outlier scores (GLOSH): Campello, Moulavi, Zimek and Sander, "Hierarchical density estimates for data clustering,
visualization, and outlier detection", 2015. Edge cases follow the hdbscan package.
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

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


Method = Literal["eom", "leaf"]


class Flat(NamedTuple):
    """A flat clustering.

    Attributes
    ----------
    labels : int64 (n,)
        −1 is noise; 0 is the largest cluster, of equally large ones the densest. The order of rows decides only between
        clusters that no distance tells apart.
    probabilities : float64 (n,)
        How firmly each row belongs to its cluster, in [0, 1]; 0 for noise.
    clusters : int64 (labels,)
        Each label's cluster in the condensed tree.
    """

    labels: I64
    probabilities: F64
    clusters: I64


def stabilities(tree: CondensedTree) -> F64:
    """Return each cluster's excess of mass: Σ (λ − birth) over its rows.

    Notes
    -----
    Rows that leave a cluster at one λ are counted and weighed once, in ascending λ: the sum does not depend on the
    order of rows.  O(n log n).
    """
    cluster = np.concatenate([tree.row_cluster, tree.parent[1:]])
    density = np.concatenate([tree.row_lambda, tree.birth[1:]])
    count = np.concatenate([np.ones(tree.row_cluster.size, np.int64), tree.size[1:]])
    order = np.lexsort((density, cluster))
    cluster, density, count = cluster[order], density[order], count[order]
    first = np.flatnonzero(np.r_[True, (cluster[1:] != cluster[:-1]) | (density[1:] != density[:-1])])
    held = np.add.reduceat(count, first)
    mass = np.zeros(tree.parent.size)
    np.add.at(mass, cluster[first], held * (density[first] - tree.birth[cluster[first]]))
    return mass


def choose(
    tree: CondensedTree, method: Method, *, epsilon: float, max_cluster_size: int | None, allow_single_cluster: bool
) -> BOOL:
    """Return which clusters are chosen: none of them lies below another.

    Parameters
    ----------
    tree : CondensedTree
    method : {"eom", "leaf"}
    epsilon : float
        Clusters that part at a smaller distance are taken together; 0 for none.
    max_cluster_size : int or None
        Larger clusters are not chosen by excess of mass.
    allow_single_cluster : bool
        Whether the cluster of all rows may be chosen.

    Returns
    -------
    bool (c,)
    """
    count = tree.parent.size
    has_children = np.zeros(count, np.bool_)
    has_children[tree.parent[1:]] = True
    if method == "leaf":
        chosen = ~has_children
        chosen[0] &= allow_single_cluster
    else:
        chosen = _by_mass(tree, max_cluster_size, allow_single_cluster=allow_single_cluster)
    if epsilon > 0.0 and not chosen[0]:
        chosen = _coarser(tree, chosen, epsilon, allow_single_cluster=allow_single_cluster)
    return chosen


def _by_mass(tree: CondensedTree, max_cluster_size: int | None, *, allow_single_cluster: bool) -> BOOL:
    """Select clusters by excess of mass, from the leaves up."""
    mass = stabilities(tree)
    parent, size = tree.parent.tolist(), tree.size.tolist()
    best = mass.tolist()
    below: list[list[float]] = [[] for _ in parent]
    kept = np.zeros(len(parent), np.bool_)
    for c in range(len(parent) - 1, -1, -1):
        sum_below = sum(sorted(below[c]))  # in one order, whatever the numbering
        too_large = max_cluster_size is not None and size[c] > max_cluster_size
        if (c == 0 and not allow_single_cluster) or too_large or sum_below > best[c]:
            best[c] = sum_below
        else:
            kept[c] = True
        if c:
            below[parent[c]].append(best[c])
    return _uppermost(tree, kept)


def _uppermost(tree: CondensedTree, kept: BOOL) -> BOOL:
    """Drop the descendants of selected clusters."""
    uppermost: BOOL = descendants(tree, kept) == np.arange(kept.size)
    return kept & uppermost


def _coarser(tree: CondensedTree, chosen: BOOL, epsilon: float, *, allow_single_cluster: bool) -> BOOL:
    """Replace clusters that part below a distance by the ancestor that parts above it."""
    kept = np.zeros(chosen.size, np.bool_)
    for c in np.flatnonzero(chosen).tolist():
        at = c
        while at and 1.0 / tree.birth[at] < epsilon:
            above = int(tree.parent[at])
            if above == 0 and not allow_single_cluster:
                break
            at = above
        kept[at] = True
    return _uppermost(tree, kept)


def flatten(tree: CondensedTree, chosen: BOOL, *, epsilon: float) -> Flat:
    """Label rows by the chosen cluster they lie in.

    Parameters
    ----------
    tree : CondensedTree
    chosen : bool (c,)
    epsilon : float
        As given to `choose`: where cluster 0 is chosen, rows that leave it at a greater distance are noise.

    Returns
    -------
    Flat

    Notes
    -----
    Cluster 0 holds every row; those that leave it before its densest moment (or beyond ``epsilon``) are noise.
    """
    owner = descendants(tree, chosen)[tree.row_cluster]
    peak = peaks(tree)
    if chosen[0]:
        least = 1.0 / epsilon if epsilon > 0.0 else peak[0]
        owner = np.where(tree.row_lambda < least, -1, owner)
    clusters = np.flatnonzero(np.bincount(owner[owner >= 0], minlength=chosen.size))
    rows = np.flatnonzero(owner >= 0)
    lowest = np.full(chosen.size, owner.size)
    np.minimum.at(lowest, owner[rows], rows)
    held = np.bincount(owner[rows], minlength=chosen.size)
    keys = (lowest, -stabilities(tree), -tree.birth, -peak, -held)  # the last is the first to decide
    clusters = clusters[np.lexsort([key[clusters] for key in keys])]
    label = np.full(chosen.size + 1, -1)
    label[clusters] = np.arange(clusters.size)
    top = np.append(peak, 1.0)[owner]
    share = np.minimum(tree.row_lambda, top) / np.where(top > 0.0, top, 1.0)
    return Flat(label[owner], np.where(owner >= 0, share, 0.0), clusters)


def peaks(tree: CondensedTree) -> F64:
    """Return the greatest λ at which each cluster still loses a row or a cluster."""
    peak = np.zeros(tree.parent.size)
    np.maximum.at(peak, tree.row_cluster, tree.row_lambda)
    np.maximum.at(peak, tree.parent[1:], tree.birth[1:])
    return peak


def outlier_scores(tree: CondensedTree) -> F64:
    """Return each row's GLOSH outlier score: how far its density is below its cluster's peak.

    Returns
    -------
    float64 (n,)
        1 − λ / λ_max in [0, 1); higher is more of an outlier. λ_max is the greatest below the row's last cluster.
    """
    densest = peaks(tree)
    for c in range(tree.parent.size - 1, 0, -1):
        densest[tree.parent[c]] = max(densest[tree.parent[c]], densest[c])
    top = densest[tree.row_cluster]
    return np.where(top > 0.0, 1.0 - tree.row_lambda / np.where(top > 0.0, top, 1.0), 0.0)
