"""Topics chosen from a condensed tree, and the wider topics above them.

Excess of mass prefers few large clusters where texts grow denser everywhere at once, as in dialogue: two for three
conversations. So a cluster of more than half of everything gives way to its parts where those hold at least half of
it. Above the topics, those clusters are kept as parents that hold together over a range of density.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from lamina_kernels.hierarchy import descendants
from lamina_kernels.layouts import BOOL, F64, I64, CondensedTree
from lamina_kernels.selection import choose, peaks, stabilities

Selection = Literal["topics", "eom", "leaf"]

_TOO_LARGE: Final = 0.5
_COVERED: Final = 0.5
PERSISTENCE: Final = 0.05
"""A parent holds together while the density rises by at least this share of where it parts."""
_NEARLY_ALL: Final = 0.8


class Layers(NamedTuple):
    """Topics of a condensed tree, parents before their children.

    Attributes
    ----------
    clusters : int64 (t,)
        Clusters of the condensed tree, ascending.
    parents : int64 (t,)
        Position of the topic each lies in; −1 at the top.
    lowest : bool (t,)
        Where a topic has rows of its own; the others are parents.
    persistence : float64 (t,)
        1 − (density at which it comes about) / (density at which it parts or ends), in [0, 1].
    """

    clusters: I64
    parents: I64
    lowest: BOOL
    persistence: F64


def select(tree: CondensedTree, selection: Selection) -> BOOL:
    """Return which clusters are the topics that rows lie in.

    Parameters
    ----------
    tree : CondensedTree
    selection : {"topics", "eom", "leaf"}
        ``eom`` and ``leaf`` are plain HDBSCAN; see the module for ``topics``.

    Returns
    -------
    bool (c,)
        None lies below another.
    """
    if selection == "topics":
        return _parted(tree)
    return choose(tree, selection, epsilon=0.0, max_cluster_size=None, allow_single_cluster=False)


def _parted(tree: CondensedTree) -> BOOL:
    """Choose by excess of mass, but part what holds more than half of everything."""
    mass = stabilities(tree)
    parent, size, best = tree.parent.tolist(), tree.size.tolist(), mass.tolist()
    below: list[list[float]] = [[] for _ in parent]
    held = [0] * len(parent)
    kept = np.zeros(len(parent), np.bool_)
    for c in range(len(parent) - 1, -1, -1):
        mass_below = sum(sorted(below[c]))  # in one order, whatever the numbering
        parted = size[c] > _TOO_LARGE * size[0] and held[c] >= _COVERED * size[c]
        if c == 0 or parted or mass_below > best[c]:
            best[c] = mass_below
        else:
            kept[c], held[c] = True, size[c]
        if c:
            below[parent[c]].append(best[c])
            held[parent[c]] += held[c]
    uppermost: BOOL = descendants(tree, kept) == np.arange(kept.size)
    return kept & uppermost


def layers(tree: CondensedTree, chosen: BOOL) -> Layers:
    """Return the chosen clusters and the parents above them.

    Parameters
    ----------
    tree : CondensedTree
    chosen : bool (c,)
        See `select`.

    Returns
    -------
    Layers
    """
    steady = persistence(tree)
    count = chosen.astype(np.int64)
    for c in range(chosen.size - 1, 0, -1):
        count[tree.parent[c]] += count[c]
    above = (count >= 2) & ~chosen & (steady >= PERSISTENCE) & (tree.size <= _TOO_LARGE * tree.size[:1].sum())
    above[:1] = False
    clusters = np.flatnonzero(_telling(tree, above, chosen))
    place = np.full(chosen.size, -1)
    place[clusters] = np.arange(clusters.size)
    parents = np.full(clusters.size, -1)
    for position, c in enumerate(clusters.tolist()):
        at = int(tree.parent[c])
        while at > 0 and place[at] < 0:
            at = int(tree.parent[at])
        parents[position] = place[at] if at > 0 else -1
    return Layers(clusters, parents, chosen[clusters], steady[clusters])


def _telling(tree: CondensedTree, above: BOOL, chosen: BOOL) -> BOOL:
    """Return the topics and those parents of which no single part is nearly all."""
    kept = chosen | above
    largest = np.zeros(chosen.size, np.int64)
    for c in range(chosen.size - 1, 0, -1):
        kept[c] &= chosen[c] or largest[c] <= _NEARLY_ALL * tree.size[c]
        below = tree.size[c] if kept[c] else largest[c]
        largest[tree.parent[c]] = max(largest[tree.parent[c]], below)
    return kept


def persistence(tree: CondensedTree) -> F64:
    """Return float64 (c,) in [0, 1]: how far the density rises, as a share, before each cluster parts or ends."""
    last = peaks(tree)
    parts = np.zeros(last.size)
    np.maximum.at(parts, tree.parent[1:], tree.birth[1:])
    end = np.where(parts > 0.0, parts, last)
    return np.where(end > 0.0, 1.0 - tree.birth / np.where(end > 0.0, end, 1.0), 0.0)
