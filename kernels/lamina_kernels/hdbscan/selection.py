"""Clusters selected from a condensed tree; labels, probabilities and outlier scores.

Excess of mass: Campello, Moulavi and Sander, "Density-based clustering based on hierarchical density estimates", 2013.
A threshold on distance: Malzer and Baum, "A hybrid approach to hierarchical density-based cluster selection", 2020.
Outlier scores (GLOSH): Campello, Moulavi, Zimek and Sander, "Hierarchical density estimates for data clustering,
visualization, and outlier detection", 2015. Edge cases follow the hdbscan package.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from lamina_kernels.hdbscan.hierarchy import descendants
from lamina_kernels.layouts import BOOL, F64, I64, CondensedTree

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
    """Choose, from the leaves up, what has more mass than the best choice below it."""
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
    """Drop what lies below something that is kept."""
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
