"""Clustering of a vault: in full, or continued with the chunks added and removed since."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from lamina_engine.arguments import flag_of
from lamina_engine.embed.chat import Budget, Chat, ChatSpec
from lamina_engine.errors import InvalidArgument, VaultReadOnly
from lamina_engine.executor import Executor, InlineExecutor
from lamina_engine.index.view import View
from lamina_engine.reports import Progress, ProgressListener, Report
from lamina_engine.topics.assignment import assign, check_threshold, measure_confidence
from lamina_engine.topics.description import FormerTopics, describe, group_members
from lamina_engine.topics.drift import (
    LEAST_AGREEMENT,
    MOST_CHANGED,
    SAMPLE,
    Drift,
    measure_agreement,
    measure_drift,
    rows_at,
    sample_rows,
    usable_rows,
)
from lamina_engine.topics.generation import (
    Detail,
    Members,
    TopicRow,
    chunk_ids,
    current_space,
    latest,
    read_members,
    read_topics,
    resize_topics,
    write,
)
from lamina_engine.topics.hdbscan import EXACT_ROWS
from lamina_engine.topics.naming import Names, name_topics, resolve_namer
from lamina_engine.topics.partition import Method, Partition, Selection, Settings, fill_labels, partition
from lamina_engine.topics.parts import partition_by_parts
from lamina_engine.topics.points import unit_rows
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


_BLOCK: Final = 65_536


@dataclass(frozen=True, slots=True)
class ClusterReport(Report):
    """Report of a clustering."""

    generation: int
    topics: int
    """Topics that chunks lie in."""
    parents: int
    """Wider topics above them."""
    chunks: int
    """Current chunks with a vector."""
    members: int
    noise: int
    """Chunks in no topic."""
    threshold: float
    """Angular distance, arccos(cosine)/π, that members and new chunks keep to."""
    incremental: bool
    """True where the topics of before were continued."""
    written: bool
    """False where nothing had changed: the generation is the former one."""
    added: int
    removed: int
    """Chunks that came and went since everything was last clustered."""
    kept: int
    """Topics and parents that continue one of before."""
    agreement: float
    """Adjusted Rand index with a clustering of a sample (1 where the sample would be everything)."""
    seconds: float
    approximate: bool = False
    """True where neighbours were searched for among likely ones, or topics joined from parts."""
    named: int = 0
    """Topics that a language model named in this run."""
    note: str | None = None
    """What its user should know, such as why topics were not named."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One clustering: its view, rows and settings."""

    view: View
    rows: I64
    settings: Settings
    threads: int | None
    executor: Executor
    progress: ProgressListener | None

    def vectors(self, rows: I64) -> F32:
        found = np.empty((rows.size, self.view.vectors.dim), np.float32)
        for start in range(0, rows.size, _BLOCK):  # a gather of many rows holds them twice
            part = slice(start, start + _BLOCK)
            found[part] = self.view.vectors.gather(rows[part])
        return unit_rows(found, found)

    def partition(self, rows: I64, threshold: float | None, *, sample: bool = False) -> Partition:
        """Return the topics of some rows; their vectors are read as often as is needed."""
        progress = self._of_sample if sample and self.progress is not None else self.progress
        return partition(
            lambda: self.vectors(rows), self.settings, threshold=threshold, threads=self.threads, progress=progress
        )

    def partition_all(self) -> Partition:
        """Return the topics of all rows, by parts where the settings say so."""
        if self.settings.method != "parts":
            return self.partition(self.rows, self.settings.threshold)
        return partition_by_parts(
            self.vectors(self.rows), self.settings, self.executor, threads=self.threads, progress=self.progress
        )  # fmt: skip

    @property
    def is_approximate(self) -> bool:
        """Tell whether the settings do not find the neighbours of each row exactly."""
        method = self.settings.method
        return method in ("approx", "parts") or (method == "auto" and self.rows.size > EXACT_ROWS)

    def report_step(self, stage: Literal["words", "agreement", "naming"], done: int, total: int) -> None:
        """Report a step, where there is a listener."""
        if self.progress is not None:
            self.progress(Progress(stage, done, total))

    def _of_sample(self, step: Progress) -> None:
        """Report a step of the sample's clustering: one stage for all of it."""
        self.report_step("agreement", step.done, step.total)

    def labels(self, vectors: F32, found: Partition) -> I64:
        return fill_labels(vectors, found) if self.settings.selection == "topics" else found.labels


@dataclass(frozen=True, slots=True)
class _Draft:
    """A generation before it is written."""

    detail: Detail
    topics: list[TopicRow]
    members: Members
    changed: Drift
    kept: int
    named: int = 0
    note: str | None = None


def cluster(
    memory: Memory,
    *,
    min_cluster_size: int = 4,
    min_samples: int | None = None,
    threshold: float | Literal["auto"] = "auto",
    method: Method = "auto",
    selection: Selection = "topics",
    full: bool = False,
    names: Names = "auto",
    namer: ChatSpec = None,
    budget: Budget | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: ProgressListener | None = None,
) -> ClusterReport:
    """Cluster the current chunks and put the new generation of topics in force.

    Notes
    -----
    Where settings and model are those of before, at most 30 % of the chunks came or went, and a clustering of a sample
    agrees, the former topics are continued: O(new chunks · topics · d). Nothing is locked until the result is written.
    """
    started = time.perf_counter()
    given = check_threshold(threshold)
    samples = min_cluster_size if min_samples is None else min_samples
    settings = Settings(_plain(min_cluster_size), _plain(samples), given, method, selection)
    settings.check()
    if executor is not None and executor.remote and method != "parts":
        raise InvalidArgument(f"workers and clusters take parts, and method={method!r} has none; give method='parts'")
    full = flag_of(full, "full")
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidArgument(f"budget={budget!r} must be a Budget, such as Budget(tokens=20_000), or None")
    chat = resolve_namer(names, namer)
    view = memory.view()
    if memory.store.mode == "r":  # said before the work, not after it
        raise VaultReadOnly(f"{memory.root} is open for reading; open it with mode='w' to cluster")
    if view.snapshot.space is None:
        if not view.rows and memory.embedder.dim:  # new, and nothing wrong with it
            return ClusterReport(0, 0, 0, 0, 0, 0, 0.5 if given is None else given, False, False, 0, 0, 0, 1.0, 0.0)
        raise InvalidArgument(
            f"{memory.root} has no vectors, and topics need them; give it a model with `lamina reindex --embedder NAME`"
        )
    run = _Run(view, usable_rows(view), settings, threads, executor or InlineExecutor(), progress)
    before = latest(view.snapshot)
    draft = None
    if before is not None and not full and _is_same(before, run):
        then = rows_at(view, before.rows, before.events)
        if before.clustered == run.rows.size and np.array_equal(then, run.rows):
            return _unchanged_report(memory, run, before, chat, budget, started)
        draft = _continue_topics(run, before, then)
    incremental = draft is not None
    if draft is None:
        draft = _cluster_all(run, before)
    draft = _with_names(memory, run, draft, before, chat, budget)
    detail = write(memory, draft.detail, draft.topics, draft.members)
    return _report(run, detail, draft, incremental, started)


def _plain(value: Any) -> Any:
    """Return a NumPy number as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.integer) else value


def _is_same(before: Detail, run: _Run) -> bool:
    """Return True if a generation was made with these settings, in the space in use."""
    wanted = run.settings
    same_threshold = before.auto if wanted.threshold is None else before.threshold == wanted.threshold
    return same_threshold and (
        (before.min_cluster_size, before.min_samples, before.method, before.selection, before.space)
        == (wanted.min_cluster_size, wanted.min_samples, wanted.method, wanted.selection, current_space(run.view))
    )  # fmt: skip


def _continue_topics(run: _Run, before: Detail, then: I64) -> _Draft | None:
    """Return the former topics, continued; None where everything must be clustered again."""
    view = run.view
    changed = measure_drift(run.rows, rows_at(view, before.full_rows, before.full_events), before.full_clustered)
    if changed.share > MOST_CHANGED:
        return None
    topics = read_topics(view.snapshot, before.generation)
    members = read_members(view.snapshot, before.generation)
    members = members.select(np.flatnonzero(np.isin(members.rows, run.rows)))
    fresh = np.setdiff1d(run.rows, then, assume_unique=True)
    members = members.join(assign_new(view, topics, fresh, before.threshold))
    if _agreement_now(run, before, members) < LEAST_AGREEMENT * before.agreement:
        return None
    detail = msgspec.structs.replace(
        before, rows=view.rows, events=view.state.events, clustered=run.rows.size
    )  # fmt: skip
    return _Draft(detail, resize_topics(topics, members.topics), members, changed, len(topics))


def assign_new(view: View, topics: list[TopicRow], rows: I64, threshold: float) -> Members:
    """Return the rows within the threshold of a centroid, as members of the nearest topic."""
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
        rows[inside], measure_confidence(near.distances[inside], threshold), ["exemplar"] * inside.size,
    )  # fmt: skip


def _agreement_now(run: _Run, before: Detail, members: Members) -> float:
    """Return how well continued topics agree with a clustering of the sample."""
    names = {name: label for label, name in enumerate(sorted(set(members.topics)))}
    labels = np.full(run.rows.size, -1)
    labels[np.searchsorted(run.rows, members.rows)] = [names[topic] for topic in members.topics]
    chosen = np.flatnonzero(sample_rows(run.rows, before.sample))
    rows = run.rows[chosen]
    found = run.partition(rows, before.threshold, sample=True)
    return measure_agreement(labels[chosen], run.labels(run.vectors(rows), found))


def _cluster_all(run: _Run, before: Detail | None) -> _Draft:
    """Return topics made of everything."""
    view, settings = run.view, run.settings
    found = run.partition_all()
    vectors = run.vectors(run.rows)
    old, changed = FormerTopics({}, {}), Drift(run.rows, 0, run.rows.size)
    if before is not None:
        old = group_members(
            read_topics(view.snapshot, before.generation), read_members(view.snapshot, before.generation)
        )
        changed = measure_drift(run.rows, rows_at(view, before.full_rows, before.full_events), before.full_clustered)
    share, alike = _baseline(run, vectors, found)
    generation = before.generation + 1 if before is not None else 1
    described = describe(
        view, run.rows, vectors, found, old, generation=generation, plain=settings.selection != "topics",
        progress=partial(run.report_step, "words"),
    )  # fmt: skip
    detail = Detail(
        generation, settings.min_cluster_size, settings.min_samples, settings.method, settings.selection,
        found.threshold, settings.threshold is None, current_space(view), view.rows, view.state.events, run.rows.size,
        0, view.rows, view.state.events, run.rows.size, alike, share,
    )  # fmt: skip
    return _Draft(detail, described.topics, described.members, changed, described.kept)


def _baseline(run: _Run, vectors: F32, found: Partition) -> tuple[float, float]:
    """Return the sample's share, and how well a clustering of it agrees with that of everything."""
    if run.rows.size <= SAMPLE:
        return 1.0, 1.0
    share = SAMPLE / run.rows.size
    chosen = np.flatnonzero(sample_rows(run.rows, share))
    again = run.partition(run.rows[chosen], found.threshold, sample=True)
    alike = measure_agreement(run.labels(vectors, found)[chosen], run.labels(vectors[chosen], again))
    return share, alike


def _with_names(
    memory: Memory, run: _Run, draft: _Draft, before: Detail | None, chat: Chat | None, budget: Budget | None
) -> _Draft:
    """Let a model name unnamed topics; continued topics keep their names."""
    ids = {topic.topic for topic in draft.topics}
    known = tuple(name for name in (before.named if before is not None else ()) if name in ids)
    if chat is None:
        return replace(draft, detail=msgspec.structs.replace(draft.detail, named=known))
    progress = partial(run.report_step, "naming")
    found = name_topics(run.view, draft.topics, known, chat, budget=budget, clean=memory.redact, progress=progress)
    detail = msgspec.structs.replace(draft.detail, named=found.named)
    return replace(draft, detail=detail, topics=found.topics, named=found.fresh, note=found.note)


def _unchanged_report(
    memory: Memory, run: _Run, before: Detail, chat: Chat | None, budget: Budget | None, started: float
) -> ClusterReport:
    """Report the previous topics, and name those that no model has named."""
    topics = read_topics(run.view.snapshot, before.generation)
    members = read_members(run.view.snapshot, before.generation)
    changed = measure_drift(run.rows, rows_at(run.view, before.full_rows, before.full_events), before.full_clustered)
    draft = _with_names(memory, run, _Draft(before, topics, members, changed, len(topics)), before, chat, budget)
    if draft.named:
        return _report(run, write(memory, draft.detail, draft.topics, members), draft, True, started)
    return replace(_report(run, before, draft, True, started), written=False)


def _report(run: _Run, detail: Detail, draft: _Draft, incremental: bool, started: float) -> ClusterReport:
    above = {topic.parent for topic in draft.topics} - {None}
    inside = draft.members.rows.size
    return ClusterReport(
        detail.generation, len(draft.topics) - len(above), len(above), run.rows.size, inside, run.rows.size - inside,
        detail.threshold, incremental, True, draft.changed.added.size, draft.changed.removed, draft.kept,
        detail.agreement, round(time.perf_counter() - started, 3), run.is_approximate, draft.named, draft.note,
    )  # fmt: skip
