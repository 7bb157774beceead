"""Partition by parts: regions of the space clustered by themselves, their topics joined.

For more rows than one machine clusters, and for several machines at once. The regions are those of k-means on a sample. Two
topics of different parts are one where each is nearer to the other's centroid than to any topic of its own part: a border
has cut it. Nearer pairs are joined first, and one topic holds at most one of each part. The centroids of what results are
clustered in turn: their clusters are the parents.

The result is approximate: a part is a smaller set, and what stands out in it need not stand out in the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from lamina_engine.executor import Executor
from lamina_engine.reports import Progress, ProgressListener
from lamina_engine.topics.assignment import assign_positions, calibrate, directions, nearest_centroid, sum_by_label
from lamina_engine.topics.hdbscan import cut, grow
from lamina_engine.topics.partition import (
    PERSISTENCE,
    TOO_LARGE,
    Layers,
    Partition,
    Settings,
    drop_distant,
    partition,
    persistence,
)
from lamina_kernels.layouts import BOOL, F32, F64, I64

PART_ROWS: Final = 50_000
"""Rows of a part, on average; one of twice as many is cut again."""
_SAMPLE: Final = 20_000
_ROUNDS: Final = 10


class PartTopics(NamedTuple):
    """Topics of one part.

    Attributes
    ----------
    labels : int64 (n,)
        Topic of each row; −1 for none.
    probabilities : float64 (n,)
    centroids : float32 (t, d)
    persistence : float64 (t,)
    threshold : float
        Angular distance from a centroid within which a row can lie in its topic.
    """

    labels: I64
    probabilities: F64
    centroids: F32
    persistence: F64
    threshold: float


class PartClusterer:
    """Clusters one part, here or in a worker."""

    def __init__(self, settings: Settings, threads: int | None) -> None:
        self._settings, self._threads = settings, threads

    def __call__(self, rows: F32) -> PartTopics:
        """Return the topics of unit rows."""
        found = partition(rows.copy, self._settings, threshold=self._settings.threshold, threads=self._threads)
        return PartTopics(
            found.labels, found.probabilities, found.centroids, found.layers.persistence[found.clusters], found.threshold
        )  # fmt: skip


def partition_by_parts(
    rows: F32,
    settings: Settings,
    executor: Executor,
    *,
    threads: int | None = None,
    progress: ProgressListener | None = None,
) -> Partition:
    """Return the partition of unit rows, by parts.

    Notes
    -----
    O(n² d / 2 parts) for the parts, O(t² d) for the t topics of all parts. The parts depend on the rows alone, so where they
    were clustered cannot be seen in the result.
    """
    parts = cut_parts(rows, np.arange(len(rows)))
    clusterer = PartClusterer(settings, 1 if executor.remote else threads)
    found: list[PartTopics] = []
    for topics in executor.map(clusterer, (rows[part] for part in parts)):
        found.append(topics)
        if progress is not None:
            progress(Progress("parts", len(found), len(parts)))
    groups = join_topics([each.centroids for each in found], [each.threshold for each in found])
    labels, probabilities = np.full(len(rows), -1), np.zeros(len(rows))
    first = 0
    for part, own in zip(parts, found, strict=True):
        names = groups[first : first + len(own.centroids)]
        labels[part], probabilities[part] = np.append(names, -1)[own.labels], own.probabilities
        first += len(own.centroids)
    steady = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(steady, groups, np.concatenate([np.empty(0), *(each.persistence for each in found)]))
    return _whole(rows, labels, probabilities, steady, settings)


def cut_parts(rows: F32, some: I64) -> list[I64]:
    """Return parts of some rows, each a region of the space, ascending; O(n · parts · d)."""
    number = -(-some.size // PART_ROWS)
    if number < 2:
        return [some] if some.size else []
    sample = rows[some[:: -(-some.size // _SAMPLE)]]
    centers = sample[np.linspace(0, len(sample) - 1, number).astype(np.int64)]
    for _ in range(_ROUNDS):
        owners, _ = nearest_centroid(sample, centers)
        centers = directions(sum_by_label(sample, owners, number))
    owners = assign_positions(rows, some, centers, np.inf).topics
    found: list[I64] = []
    for owner in range(-1, number):  # rows without a direction are in no topic, and may lie anywhere
        part = some[owners == owner]
        large = 2 * PART_ROWS < part.size < some.size
        found += cut_parts(rows, part) if large else [part] if part.size else []
    return found


def join_topics(centroids: Sequence[F32], thresholds: Sequence[float]) -> I64:
    """Return the group of each topic of all parts, numbered from 0 in their order.

    Parameters
    ----------
    centroids : sequence of float32 (t, d)
        Of the topics of each part.
    thresholds : sequence of float
        Of each part: angular distance from which on none of its topics is one with another.
    """
    firsts = np.cumsum([0, *(len(each) for each in centroids)])
    lonely = [_own_nearest(each, farthest) for each, farthest in zip(centroids, thresholds, strict=True)]
    near: list[tuple[float, int, int]] = []
    for a, left in enumerate(centroids):
        for b in range(a + 1, len(centroids)):
            near += [
                (distance, int(firsts[a]) + i, int(firsts[b]) + j)
                for distance, i, j in _mutual_pairs(left, centroids[b])
                if distance < min(lonely[a][i], lonely[b][j])
            ]
    part_of = np.repeat(np.arange(len(centroids)), np.diff(firsts))
    members = [{topic} for topic in range(int(firsts[-1]))]
    for _, i, j in sorted(near):
        one, other = members[i], members[j]
        if one is not other and not {int(part_of[t]) for t in one} & {int(part_of[t]) for t in other}:
            one |= other
            for topic in other:
                members[topic] = one
    leaders = [min(each) for each in members]
    return np.unique(leaders, return_inverse=True)[1].astype(np.int64)


def _own_nearest(centroids: F32, farthest: float) -> F64:
    """Return each topic's distance to the nearest other one of its part, at most ``farthest``."""
    if len(centroids) < 2:
        return np.full(len(centroids), farthest)
    return np.minimum(nearest_centroid(centroids, centroids, np.arange(len(centroids)))[1], farthest)


def _mutual_pairs(left: F32, right: F32) -> Iterator[tuple[float, int, int]]:
    """Yield the pairs of topics of two parts of which each is the other's nearest."""
    if not len(left) or not len(right):
        return
    there, distances = nearest_centroid(left, right)
    back, _ = nearest_centroid(right, left)
    for i in np.flatnonzero(back[there] == np.arange(len(left))).tolist():
        yield float(distances[i]), i, int(there[i])


def _whole(rows: F32, labels: I64, probabilities: F64, steady: F64, settings: Settings) -> Partition:
    """Return the partition of joined topics: centroids, threshold, parents over all rows."""
    count = steady.size
    centroids = directions(sum_by_label(rows, labels, count))
    limit = calibrate(rows, labels) if settings.threshold is None else settings.threshold
    if settings.selection == "topics":
        labels = drop_distant(rows, centroids, labels, limit)
    parents, firm = _parents(centroids)
    above = len(firm)
    layers = Layers(
        np.arange(above + count), np.concatenate([np.full(above, -1), parents]),
        np.arange(above + count) >= above, np.concatenate([firm, steady]),
    )  # fmt: skip
    return Partition(
        labels, np.where(labels >= 0, probabilities, 0.0), centroids, limit, np.arange(above, above + count), layers
    )


def _parents(centroids: F32) -> tuple[I64, F64]:
    """Return the parent of each topic, −1 for none, and the persistence of each parent."""
    count = len(centroids)
    if count < 2:
        return np.full(count, -1), np.empty(0)
    found = cut(grow(centroids, min_samples=1), min_cluster_size=2)
    firm = persistence(found.condensed_tree)[found.clusters]
    sizes = np.bincount(found.labels[found.labels >= 0], minlength=found.clusters.size)
    good: BOOL = (firm >= PERSISTENCE) & (sizes <= TOO_LARGE * count)
    place = np.append(np.where(good, np.cumsum(good) - 1, -1), -1)
    return place[found.labels].astype(np.int64), firm[good]
