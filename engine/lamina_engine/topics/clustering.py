"""Clusters a vault: everything anew, or what came and went since."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from lamina_engine.errors import InvalidArgument, VaultReadOnly
from lamina_engine.index.view import View
from lamina_engine.topics.assignment import assign, confidence
from lamina_engine.topics.describing import Before, describe, former
from lamina_engine.topics.generation import (
    Detail,
    Members,
    TopicRow,
    chunk_ids,
    latest,
    read_members,
    read_topics,
    write,
)
from lamina_engine.topics.hdbscan import Report, Way
from lamina_engine.topics.incremental import (
    LEAST_AGREEMENT,
    MOST_CHANGED,
    SAMPLE,
    Drift,
    agreement,
    drift,
    rows_then,
    sampled,
    usable_rows,
)
from lamina_engine.topics.layers import Selection
from lamina_engine.topics.partition import Partition, Settings, filled, partition
from lamina_engine.topics.report import ClusterReport
from lamina_engine.topics.sizes import resized
from lamina_engine.topics.smoothing import unit_rows
from lamina_engine.topics.thresholds import checked_threshold
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


@dataclass(frozen=True, slots=True)
class _Run:
    """One clustering: what it reads, and how."""

    view: View
    rows: I64
    settings: Settings
    threads: int | None
    progress: Report | None

    def vectors(self, rows: I64) -> F32:
        return unit_rows(self.view.vectors.gather(rows))

    def partition(self, vectors: F32, threshold: float | None) -> Partition:
        return partition(vectors, self.settings, threshold=threshold, threads=self.threads, progress=self.progress)

    def labels(self, vectors: F32, found: Partition) -> I64:
        return filled(vectors, found) if self.settings.selection == "topics" else found.labels


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be written."""

    detail: Detail
    topics: list[TopicRow]
    members: Members
    changed: Drift
    kept: int


def cluster(
    memory: Memory,
    *,
    min_cluster_size: int = 4,
    min_samples: int | None = None,
    threshold: float | Literal["auto"] = "auto",
    method: Way = "auto",
    selection: Selection = "topics",
    full: bool = False,
    threads: int | None = None,
    progress: Report | None = None,
) -> ClusterReport:
    """Cluster the current chunks and put the new generation of topics in force.

    Parameters
    ----------
    memory : Memory
    min_cluster_size : int
        Fewest chunks of a topic, ≥ 2.
    min_samples : int, optional
        Other chunks that make a place dense; ``min_cluster_size`` unless given.
    threshold : float or "auto"
        Angular distance, arccos(cosine)/π, that members keep to; ``"auto"`` is calibrated on the vault's vectors.
    method : {"exact", "approx", "auto"}
    selection : {"topics", "eom", "leaf"}
        ``topics`` smooths, parts and takes in noise within the threshold; the others are plain HDBSCAN.
    full : bool
        Cluster everything even where the former topics could be continued.
    threads : int, optional
        All cores unless given. The result is the same.
    progress : callable, optional
        Gets steps with stage, done and total; what it raises ends the run and leaves the vault as it was.

    Returns
    -------
    ClusterReport

    Raises
    ------
    InvalidArgument
        A setting outside what is allowed, or a vault without vectors.
    VaultReadOnly, VaultLocked, OSError

    Notes
    -----
    Where settings and model are those of before, at most 30 % of the chunks came or went, and a clustering of a sample
    agrees, the former topics are continued: O(new chunks · topics · d). Nothing is locked until the result is written.
    """
    started = time.perf_counter()
    given = checked_threshold(threshold)
    samples = min_cluster_size if min_samples is None else min_samples
    settings = Settings(min_cluster_size, samples, given, method, selection)
    settings.check()
    view = memory.view()
    if memory.store.mode == "r":  # said before the work, not after it
        raise VaultReadOnly(f"{memory.root} is open for reading; open it with mode='w' to cluster")
    if view.snapshot.space is None:
        raise InvalidArgument(
            f"{memory.root} has no vectors, and topics need them; give it a model with `lamina reindex --embedder NAME`"
        )
    run = _Run(view, usable_rows(view), settings, threads, progress)
    before = latest(view.snapshot)
    draft = None
    if before is not None and not full and _is_same(before, run):
        then = rows_then(view, before.rows, before.events)
        if before.clustered == run.rows.size and np.array_equal(then, run.rows):
            return _unchanged(run, before, started)
        draft = _continued(run, before, then)
    incremental = draft is not None
    if draft is None:
        draft = _anew(run, before)
    detail = write(memory, draft.detail, draft.topics, draft.members)
    return _report(run, detail, draft, incremental, started)


def _is_same(before: Detail, run: _Run) -> bool:
    """Tell whether a generation was made with these settings, in the space in use."""
    wanted = run.settings
    same_threshold = before.auto if wanted.threshold is None else before.threshold == wanted.threshold
    return same_threshold and (
        (before.min_cluster_size, before.min_samples, before.method, before.selection, before.space)
        == (wanted.min_cluster_size, wanted.min_samples, wanted.method, wanted.selection, space_of(run.view))
    )  # fmt: skip


def space_of(view: View) -> str:
    """Return the name and the model of the space in use; empty where there is none."""
    space = view.snapshot.space
    return f"{view.snapshot.manifest.space}:{space.identity}" if space else ""


def _continued(run: _Run, before: Detail, then: I64) -> _Draft | None:
    """Return the former topics with what came and without what went; None where that no longer holds."""
    view = run.view
    changed = drift(run.rows, rows_then(view, before.full_rows, before.full_events), before.full_clustered)
    if changed.share > MOST_CHANGED:
        return None
    topics = read_topics(view.snapshot, before.generation)
    members = read_members(view.snapshot, before.generation)
    members = members.select(np.flatnonzero(np.isin(members.rows, run.rows)))
    fresh = np.setdiff1d(run.rows, then, assume_unique=True)
    members = members.join(newly_assigned(view, topics, fresh, before.threshold))
    if _agreement_now(run, before, members) < LEAST_AGREEMENT * before.agreement:
        return None
    detail = msgspec.structs.replace(
        before, rows=view.rows, events=view.state.events, clustered=run.rows.size
    )  # fmt: skip
    return _Draft(detail, resized(topics, members.topics), members, changed, len(topics))


def newly_assigned(view: View, topics: list[TopicRow], rows: I64, threshold: float) -> Members:
    """Return the rows that lie within the threshold of a topic's centroid, as members of the nearest.

    Parameters
    ----------
    topics : list of TopicRow
        In ascending order of their ids.
    rows : int64 (n,)
        Rows with a vector.
    """
    above = {topic.parent for topic in topics}
    lowest = [topic for topic in topics if topic.topic not in above]
    if not lowest or not rows.size:
        return Members([], [], np.empty(0, np.int64), np.empty(0, np.float32), [])
    near = assign(
        unit_rows(view.vectors.gather(rows)), np.stack([topic.centroid for topic in lowest]), threshold
    )  # fmt: skip
    inside = np.flatnonzero(near.topics >= 0)
    return Members(
        [lowest[i].topic for i in near.topics[inside].tolist()], chunk_ids(view.snapshot, rows[inside]),
        rows[inside], confidence(near.distances[inside], threshold), ["exemplar"] * inside.size,
    )  # fmt: skip


def _agreement_now(run: _Run, before: Detail, members: Members) -> float:
    """Return how well continued topics agree with a clustering of the sample."""
    names = {name: label for label, name in enumerate(sorted(set(members.topics)))}
    labels = np.full(run.rows.size, -1)
    labels[np.searchsorted(run.rows, members.rows)] = [names[topic] for topic in members.topics]
    chosen = np.flatnonzero(sampled(run.rows, before.sample))
    vectors = run.vectors(run.rows[chosen])
    return agreement(labels[chosen], run.labels(vectors, run.partition(vectors, before.threshold)))


def _anew(run: _Run, before: Detail | None) -> _Draft:
    """Return topics made of everything."""
    view, settings = run.view, run.settings
    vectors = run.vectors(run.rows)
    found = run.partition(vectors, settings.threshold)
    old, changed = Before({}, {}), Drift(run.rows, 0, run.rows.size)
    if before is not None:
        old = former(read_topics(view.snapshot, before.generation), read_members(view.snapshot, before.generation))
        changed = drift(run.rows, rows_then(view, before.full_rows, before.full_events), before.full_clustered)
    share, alike = _baseline(run, vectors, found)
    generation = before.generation + 1 if before is not None else 1
    described = describe(
        view, run.rows, vectors, found, old, generation=generation, plain=settings.selection != "topics"
    )
    detail = Detail(
        generation, settings.min_cluster_size, settings.min_samples, settings.method, settings.selection,
        found.threshold, settings.threshold is None, space_of(view), view.rows, view.state.events, run.rows.size,
        0, view.rows, view.state.events, run.rows.size, alike, share,
    )  # fmt: skip
    return _Draft(detail, described.topics, described.members, changed, described.kept)


def _baseline(run: _Run, vectors: F32, found: Partition) -> tuple[float, float]:
    """Return the sample's share, and how well a clustering of it agrees with that of everything."""
    if run.rows.size <= SAMPLE:
        return 1.0, 1.0
    share = SAMPLE / run.rows.size
    chosen = np.flatnonzero(sampled(run.rows, share))
    part = vectors[chosen]
    alike = agreement(run.labels(vectors, found)[chosen], run.labels(part, run.partition(part, found.threshold)))
    return share, alike


def _unchanged(run: _Run, before: Detail, started: float) -> ClusterReport:
    topics = read_topics(run.view.snapshot, before.generation)
    members = read_members(run.view.snapshot, before.generation)
    changed = drift(run.rows, rows_then(run.view, before.full_rows, before.full_events), before.full_clustered)
    report = _report(run, before, _Draft(before, topics, members, changed, len(topics)), True, started)
    return replace(report, written=False)


def _report(run: _Run, detail: Detail, draft: _Draft, incremental: bool, started: float) -> ClusterReport:
    above = {topic.parent for topic in draft.topics} - {None}
    inside = draft.members.rows.size
    return ClusterReport(
        detail.generation, len(draft.topics) - len(above), len(above), run.rows.size, inside, run.rows.size - inside,
        detail.threshold, incremental, True, draft.changed.added.size, draft.changed.removed, draft.kept,
        detail.agreement, round(time.perf_counter() - started, 3),
    )  # fmt: skip
