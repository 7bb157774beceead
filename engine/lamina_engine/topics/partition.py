"""From vectors to topics: smoothing, tree, choice, centroids, threshold. Arrays in, arrays out; knows no vault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.topics.angles import directions, sums
from lamina_engine.topics.assignment import assign_some
from lamina_engine.topics.hdbscan import Report, Way, check_cut, grow
from lamina_engine.topics.layers import Layers, Selection, layers, select
from lamina_engine.topics.smoothing import smooth
from lamina_engine.topics.thresholds import calibrate
from lamina_kernels.hierarchy import condense
from lamina_kernels.layouts import F32, F64, I64
from lamina_kernels.selection import flatten

_BLOCK: Final = 8192
"""Rows looked at at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a clustering was asked for.

    Attributes
    ----------
    min_cluster_size : int
        Fewest chunks of a topic, ≥ 2.
    min_samples : int
        Other rows that make a place dense, ≥ 1.
    threshold : float or None
        Angular distance; None is calibrated.
    method : {"exact", "approx", "auto"}
    selection : {"topics", "eom", "leaf"}
    """

    min_cluster_size: int = 4
    min_samples: int = 4
    threshold: float | None = None
    method: Way = "auto"
    selection: Selection = "topics"

    def check(self) -> None:
        """Raise InvalidArgument where a setting is outside what is allowed."""
        check_cut(min_cluster_size=self.min_cluster_size, method="eom", epsilon=0.0, max_cluster_size=None)
        if isinstance(self.min_samples, bool) or not isinstance(self.min_samples, int) or self.min_samples < 1:
            raise InvalidArgument(f"min_samples={self.min_samples!r} must be a whole number from 1 up")
        for name, value, allowed in (
            ("method", self.method, get_args(Way)),
            ("selection", self.selection, get_args(Selection)),
        ):
            if value not in allowed:
                raise InvalidArgument(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")


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
    rows: F32,
    settings: Settings,
    *,
    threshold: float | None,
    threads: int | None = None,
    progress: Report | None = None,
) -> Partition:
    """Return the topics of unit rows.

    Parameters
    ----------
    rows : float32 (n, d)
        Unit rows, none zero.
    settings : Settings
        Its threshold is not looked at.
    threshold : float or None
        None is calibrated on what the tree finds.
    threads, progress
        As in `lamina_engine.topics.hdbscan.grow`.

    Raises
    ------
    InvalidArgument
        Settings or rows outside what is allowed.

    Notes
    -----
    What smoothing brought in keeps to the threshold: rows beyond it are left out again.
    """
    return partition_of(rows.copy, settings, threshold=threshold, threads=threads, progress=progress)


def partition_of(
    read: Callable[[], F32],
    settings: Settings,
    *,
    threshold: float | None,
    threads: int | None = None,
    progress: Report | None = None,
) -> Partition:
    """Return the topics of unit rows that are read when they are needed, so that one copy of them is held at a time.

    Parameters
    ----------
    read : callable
        Gives the rows, each time in an array of its own.
    settings, threshold, threads, progress
        As `partition` takes them.

    Raises
    ------
    InvalidArgument
        Settings or rows outside what is allowed.
    """
    settings.check()
    if threads is not None and (isinstance(threads, bool) or threads < 1):
        raise InvalidArgument(f"threads={threads!r} must be a whole number from 1 up, or None for all cores")
    rows = read()
    if len(rows) < settings.min_cluster_size:
        return _nothing(rows, threshold)
    is_smoothed = settings.selection == "topics"
    if is_smoothed:
        smooth(rows, method=settings.method, threads=threads, progress=progress)
    hierarchy = grow(rows, min_samples=settings.min_samples, method=settings.method, threads=threads, progress=progress)
    if is_smoothed:
        del rows
        rows = read()
    tree = condense(hierarchy.merge_tree, settings.min_cluster_size)
    chosen = select(tree, settings.selection)
    flat = flatten(tree, chosen, epsilon=0.0)
    found = layers(tree, chosen)
    centroids = directions(sums(rows, flat.labels, flat.clusters.size))
    limit = calibrate(rows, flat.labels) if threshold is None else threshold
    labels = flat.labels
    if is_smoothed and centroids.size:
        labels = np.where(_own_distance(rows, centroids, labels) < limit, labels, -1)
    clusters = np.searchsorted(found.clusters, flat.clusters)
    return Partition(labels, np.where(labels >= 0, flat.probabilities, 0.0), centroids, limit, clusters, found)


def filled(rows: F32, found: Partition) -> I64:
    """Return labels with noise given to the nearest topic within the threshold; plain selections leave it alone."""
    if found.labels.size == 0:
        return found.labels
    noise = np.flatnonzero(found.labels < 0)
    labels = found.labels.copy()
    labels[noise] = assign_some(rows, noise, found.centroids, found.threshold).topics
    return labels


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
