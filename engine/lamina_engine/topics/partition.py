"""Partition of vectors into topics: smoothing, tree, selection, centroids, threshold.

Smoothing: short texts of one dialogue lie nearly as far from each other as from anything else, so plain density finds one
dense spot and calls the rest noise. Two steps over the exact graph of nearest neighbours gather what belongs together.

Selection: excess of mass prefers few large clusters where texts grow denser everywhere at once, as in dialogue. So a
cluster of more than half of everything gives way to its parts where those hold at least half of it. Above the topics,
those clusters are kept as parents that hold together over a range of density.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, cast, get_args

import numpy as np

from lamina_engine.arguments import whole_of
from lamina_engine.reports import ProgressListener, ticker
from lamina_engine.topics.approx.probing import probe
from lamina_engine.topics.assignment import assign_positions, calibrate, directions, sum_by_label
from lamina_engine.topics.hdbscan import EXACT_ROWS, Way, check_choice, check_cut, grow
from lamina_engine.topics.points import as_points, unit_rows
from lamina_kernels.hdbscan.certified import nearest
from lamina_kernels.hdbscan.hierarchy import choose, condense, descendants, flatten, peaks, stabilities
from lamina_kernels.hdbscan.packed import Arithmetic, fastest, pack
from lamina_kernels.layouts import BOOL, F32, F64, I32, I64, CondensedTree
from lamina_kernels.threads import ThreadTeam

NEIGHBORS: Final = 15
"""Neighbours that draw a row; see decision 0012. Fewer in small sets: half the root of their size."""

STEPS: Final = 2

_BLOCK: Final = 8192
"""Rows moved at once, and made unit rows at once."""

_COLUMNS: Final = 32
"""Columns moved at once. A step takes no copy of the rows but of so many of their columns; the neighbours of a block of
rows take 30 MiB."""

_SPARE: Final = 12
"""Neighbours listed beyond those wanted, so that estimates can prove the list."""


TOO_LARGE: Final = 0.5

_COVERED: Final = 0.5

PERSISTENCE: Final = 0.05
"""A parent holds together while the density rises by at least this share of where it parts."""

_NEARLY_ALL: Final = 0.8


def smooth(
    rows: F32, *, method: Way = "auto", threads: int | None = None, progress: ProgressListener | None = None
) -> None:
    """Move unit rows towards their neighbours, in place.

    Notes
    -----
    x ← unit(x + Σ wᵢ xᵢ / Σ wᵢ), wᵢ the cosine of neighbour i in the original space (negative ones count 0), repeated.
    O(n² d / 2) for the neighbours, O(n k d) for a step. Memory besides the rows: what finding neighbours takes, then
    12 k n bytes for k neighbours and an eighth of the rows.
    """
    count = smoothing_neighbors(len(rows))
    if not count:
        return
    near, weights = _neighbors(rows, count, method, threads, progress)
    for _ in range(STEPS):
        _step(rows, near, weights)


def smoothing_neighbors(n: int) -> int:
    """Return the number of neighbours that draw a row of n."""
    return min(NEIGHBORS, max(1, int(math.sqrt(n) / 2)), max(n - 1, 0))


def _neighbors(
    vectors: F32, count: int, method: Way, threads: int | None, progress: ProgressListener | None
) -> tuple[I32, F64]:
    """Return the rows of the nearest neighbours, and their weights, each (n, count)."""
    n = len(vectors)
    points = as_points(vectors, "cosine")
    team = ThreadTeam(threads or os.cpu_count() or 1, ticker(progress, "smoothing"))
    # so many neighbours lie too close to each other for the margins of eight bits
    arithmetic = cast("Arithmetic", fastest().replace("int8", "int16"))
    if method == "approx" or (method == "auto" and n > EXACT_ROWS):
        found = probe(points, arithmetic, count, min(n - 1, count + 1), team, centred=False).neighbors
    else:
        # where the count-th distance is certain, so are the rows before it: nothing unlisted is nearer
        packed = pack(points, arithmetic, centred=False)
        found = nearest(points, packed, count, min(n - 1, count + _SPARE), team)
    chords = found.distances[:, :count]
    return found.rows[:, :count].copy(), np.maximum(1.0 - chords * chords / 2.0, 0.0)


def _step(rows: F32, near: I32, weights: F64) -> None:
    whole = np.maximum(weights.sum(axis=1), 1e-12)
    for first in range(0, rows.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        before = np.ascontiguousarray(rows[:, columns])
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            drawn = np.einsum("nk,nkd->nd", weights[part] / whole[part, None], before[near[part]], optimize=False)
            rows[part, columns] += drawn
    unit_rows(rows, rows)


Selection = Literal["topics", "eom", "leaf"]
Method = Literal["exact", "approx", "auto", "parts"]
METHODS: Final[tuple[str, ...]] = get_args(Method)


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


def select_clusters(tree: CondensedTree, selection: Selection) -> BOOL:
    """Return which clusters are the topics that rows lie in."""
    if selection == "topics":
        return _split_giants(tree)
    return choose(tree, selection, epsilon=0.0, max_cluster_size=None, allow_single_cluster=False)


def _split_giants(tree: CondensedTree) -> BOOL:
    """Select clusters by excess of mass, but split one that holds over half of all rows."""
    mass = stabilities(tree)
    parent, size, best = tree.parent.tolist(), tree.size.tolist(), mass.tolist()
    below: list[list[float]] = [[] for _ in parent]
    held = [0] * len(parent)
    kept = np.zeros(len(parent), np.bool_)
    for c in range(len(parent) - 1, -1, -1):
        mass_below = sum(sorted(below[c]))  # in one order, whatever the numbering
        parted = size[c] > TOO_LARGE * size[0] and held[c] >= _COVERED * size[c]
        if c == 0 or parted or mass_below > best[c]:
            best[c] = mass_below
        else:
            kept[c], held[c] = True, size[c]
        if c:
            below[parent[c]].append(best[c])
            held[parent[c]] += held[c]
    uppermost: BOOL = descendants(tree, kept) == np.arange(kept.size)
    return kept & uppermost


def make_layers(tree: CondensedTree, chosen: BOOL) -> Layers:
    """Return the chosen clusters and the parents above them."""
    steady = persistence(tree)
    count = chosen.astype(np.int64)
    for c in range(chosen.size - 1, 0, -1):
        count[tree.parent[c]] += count[c]
    above = (count >= 2) & ~chosen & (steady >= PERSISTENCE) & (tree.size <= TOO_LARGE * tree.size[:1].sum())
    above[:1] = False
    clusters = np.flatnonzero(_distinct_clusters(tree, above, chosen))
    place = np.full(chosen.size, -1)
    place[clusters] = np.arange(clusters.size)
    parents = np.full(clusters.size, -1)
    for position, c in enumerate(clusters.tolist()):
        at = int(tree.parent[c])
        while at > 0 and place[at] < 0:
            at = int(tree.parent[at])
        parents[position] = place[at] if at > 0 else -1
    return Layers(clusters, parents, chosen[clusters], steady[clusters])


def _distinct_clusters(tree: CondensedTree, above: BOOL, chosen: BOOL) -> BOOL:
    """Return the topics and those parents of which no single part is nearly all."""
    kept = chosen | above
    largest = np.zeros(chosen.size, np.int64)
    for c in range(chosen.size - 1, 0, -1):
        kept[c] &= chosen[c] or largest[c] <= _NEARLY_ALL * tree.size[c]
        below = tree.size[c] if kept[c] else largest[c]
        largest[tree.parent[c]] = max(largest[tree.parent[c]], below)
    return kept


def persistence(tree: CondensedTree) -> F64:
    """Return each cluster's relative rise in density before it splits or ends, in [0, 1]."""
    last = peaks(tree)
    parts = np.zeros(last.size)
    np.maximum.at(parts, tree.parent[1:], tree.birth[1:])
    end = np.where(parts > 0.0, parts, last)
    return np.where(end > 0.0, 1.0 - tree.birth / np.where(end > 0.0, end, 1.0), 0.0)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a clustering.

    Attributes
    ----------
    min_cluster_size : int
        Fewest chunks of a topic, ≥ 2.
    min_samples : int
        Other rows that make a place dense, ≥ 1.
    threshold : float or None
        Angular distance; None is calibrated.
    method : {"exact", "approx", "auto", "parts"}
        ``parts`` clusters regions of the space by themselves and joins their topics.
    selection : {"topics", "eom", "leaf"}
    """

    min_cluster_size: int = 4
    min_samples: int = 4
    threshold: float | None = None
    method: Method = "auto"
    selection: Selection = "topics"

    @property
    def search(self) -> Way:
        """Search for neighbours within what is clustered at once."""
        return "auto" if self.method == "parts" else self.method

    def check(self) -> None:
        """Raise InvalidArgument where a setting is outside what is allowed."""
        check_cut(min_cluster_size=self.min_cluster_size, method="eom", epsilon=0.0, max_cluster_size=None)
        whole_of(self.min_samples, "min_samples")
        check_choice("method", self.method, METHODS)
        check_choice("selection", self.selection, get_args(Selection))


@dataclass(frozen=True, slots=True)
class Partition:
    """Topics of some rows, noise not yet given to any.

    Attributes
    ----------
    labels : int64 (n,)
        Position in `clusters` of the topic each row lies in by the tree; −1 for none.
    probabilities : float64 (n,)
    centroids : float32 (t, d)
        Unit rows; of the rows that lie in each topic by the tree.
    threshold : float
    clusters : int64 (t,)
        Position of each topic in `layers`.
    layers : Layers
    """

    labels: I64
    probabilities: F64
    centroids: F32
    threshold: float
    clusters: I64
    layers: Layers


def partition(
    read: Callable[[], F32],
    settings: Settings,
    *,
    threshold: float | None,
    threads: int | None = None,
    progress: ProgressListener | None = None,
) -> Partition:
    """Return the partition of unit rows that are read on demand: one copy at a time.

    Smoothing changes that copy. What smoothing brought in keeps to the threshold: rows beyond it are left out again.
    """
    settings.check()
    if threads is not None:
        whole_of(threads, "threads", instead=", or None for all cores")
    rows = read()
    if len(rows) < settings.min_cluster_size:
        return _nothing(rows, threshold)
    is_smoothed = settings.selection == "topics"
    if is_smoothed:
        smooth(rows, method=settings.search, threads=threads, progress=progress)
    hierarchy = grow(rows, min_samples=settings.min_samples, method=settings.search, threads=threads, progress=progress)
    if is_smoothed:
        del rows
        rows = read()
    tree = condense(hierarchy.merge_tree, settings.min_cluster_size)
    chosen = select_clusters(tree, settings.selection)
    flat = flatten(tree, chosen, epsilon=0.0)
    found = make_layers(tree, chosen)
    centroids = directions(sum_by_label(rows, flat.labels, flat.clusters.size))
    limit = calibrate(rows, flat.labels) if threshold is None else threshold
    labels = flat.labels
    if is_smoothed:
        labels = drop_distant(rows, centroids, labels, limit)
    clusters = np.searchsorted(found.clusters, flat.clusters)
    return Partition(labels, np.where(labels >= 0, flat.probabilities, 0.0), centroids, limit, clusters, found)


def fill_labels(rows: F32, found: Partition) -> I64:
    """Return labels with noise assigned to the nearest topic within the threshold."""
    if found.labels.size == 0:
        return found.labels
    noise = np.flatnonzero(found.labels < 0)
    labels = found.labels.copy()
    labels[noise] = assign_positions(rows, noise, found.centroids, found.threshold).topics
    return labels


def drop_distant(rows: F32, centroids: F32, labels: I64, threshold: float) -> I64:
    """Return labels, -1 where a row lies beyond the threshold from its topic's centroid."""
    if not centroids.size:
        return labels
    return np.where(_own_distance(rows, centroids, labels) < threshold, labels, -1)


def _own_distance(rows: F32, centroids: F32, labels: I64) -> F64:
    """Return the angular distance of each row to the centroid of its topic; infinite for noise."""
    out = np.full(labels.size, np.inf)
    for start in range(0, labels.size, _BLOCK):
        some = start + np.flatnonzero(labels[start : start + _BLOCK] >= 0)
        cosine = np.einsum("nd,nd->n", rows[some], centroids[labels[some]], dtype=np.float64)
        out[some] = np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi
    return out


def _nothing(rows: F32, threshold: float | None) -> Partition:
    none, empty = np.empty(0, np.int64), np.empty(0)
    return Partition(
        np.full(len(rows), -1), np.zeros(len(rows)), np.empty((0, rows.shape[1]), np.float32),
        0.5 if threshold is None else threshold, none, Layers(none, none, np.empty(0, np.bool_), empty),
    )  # fmt: skip
