"""A scan: every active chunk of a vault judged, and what is new about any of them written down."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina_engine.arguments import path_of
from lamina_engine.chunks.writing import add_events
from lamina_engine.errors import InvalidArgument, VaultLocked, VaultReadOnly
from lamina_engine.freshness.judging import Judge, Place
from lamina_engine.freshness.marks import REVIEW, Marks, marks
from lamina_engine.freshness.report import FreshnessItem, FreshnessReport, make_report
from lamina_engine.freshness.requests import MergedRequests
from lamina_engine.freshness.subjects import Subject, subjects
from lamina_engine.freshness.tiers import Settings, settings
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.state import ACTIVE
from lamina_engine.ingest.origins import Repositories
from lamina_engine.recall import mask, where

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

Verdict = tuple[str, str, int, bool, str | None]


def freshness(
    memory: Memory,
    *,
    repo: str | os.PathLike[str] | None = None,
    collection: str | None = None,
    tier: str | None = None,
    project: str | None = None,
    filter_: Mapping[str, Any] | None = None,
    git_check: bool = True,
) -> FreshnessReport:
    """Judge the active chunks of a vault; see ``Vault.freshness``.

    Raises
    ------
    InvalidArgument
        For a tier or filter that is not known.
    InvalidConfig
        For a variable of the environment that cannot be used.
    """
    if tier is not None and tier not in TIERS:
        raise InvalidArgument(f"tier={tier!r} is not known; allowed are {', '.join(TIERS)}")
    said = settings(memory.settings.given)
    now_us = memory.clock.now_us()
    if not said.enabled:
        return make_report((), now_us, enabled=False)
    view = memory.view()
    parts = [
        dict(filter_ or {}),
        {"collection": collection} if collection else {},
        {"project": project} if project else {},
    ]
    node = where.parse({"AND": [part for part in parts if part]}, memory.config.tz)
    rows = np.flatnonzero(mask.evaluate(node, view, np.equal(view.state.status, ACTIVE)))
    items, recorded, problems = scan(memory, view, rows, said, repo=repo, git_check=git_check)
    return make_report(items, now_us, tier=tier, recorded=recorded, problems=problems)


def scan(
    memory: Memory,
    view: View,
    rows: Rows,
    said: Settings,
    *,
    repo: str | os.PathLike[str] | None = None,
    git_check: bool = True,
) -> tuple[list[FreshnessItem], int, list[str]]:
    """Judge some rows, and write down what is new where the vault is open for writing.

    Returns
    -------
    items, recorded, problems
        Verdicts in the order of the rows, how many of them are new, and what kept repositories from being read.
    """
    spoken = marks(view)
    every = subjects(view, rows)
    judge = make_judge(memory, said, spoken, repo=repo, git_check=git_check)
    found = judge.judge(every)
    asked = _asked(view, found, judge, spoken) if git_check else {}
    if asked:
        judge.ask(asked)
        found = judge.judge(every)
    items = [item for _, item in found]
    recorded, problems = 0, list(judge.problems)
    if memory.store.mode == "w":
        try:
            recorded = record(memory, view, items, asked)
        except (VaultReadOnly, VaultLocked) as error:  # what was found is true all the same
            problems.append(f"what was found could not be written down: {error}")
    return items, recorded, list(dict.fromkeys(problems))


def make_judge(
    memory: Memory,
    said: Settings,
    spoken: Marks,
    *,
    repo: str | os.PathLike[str] | None = None,
    git_check: bool = True,
) -> Judge:
    """Return what judges chunks of a vault by its own half-lives and the thresholds given."""
    decay = memory.profiles.get(memory.config.profile).decay
    only = None if repo is None else Repositories().at(path_of(repo, "repo").resolve())
    return Judge(memory.clock.now_us(), said.thresholds, decay, spoken, git_check=git_check, repo=only)


def _asked(view: View, found: Sequence[tuple[Subject, FreshnessItem]], judge: Judge, spoken: Marks) -> dict[int, str]:
    """Return, by row, the merged request because of which somebody should look at a chunk."""
    requests = MergedRequests(view)
    if not requests.files:
        return {}
    asked: dict[int, str] = {}
    for subject, item in found:
        if subject.row in spoken.asked or not (subject.named or item.path):
            continue
        place = judge.place(subject)
        here = place if isinstance(place, Place) else None
        since_us = max(subject.since_us, spoken.cleared_us.get(subject.row, subject.since_us))
        why = requests.touching(subject, here, since_us, (here.path if here else None, item.path, subject.named))
        if why is not None:
            asked[subject.row] = why
    return asked


def record(memory: Memory, view: View, items: Sequence[FreshnessItem], asked: Mapping[int, str]) -> int:
    """Write down the verdicts that differ from the last ones, and what merged requests ask for; return how many."""
    known = _last(view, [item.row for item in items])
    new = [item for item in items if known.get(item.row) != _verdict(item)]
    if not (new or asked):
        return 0
    with memory.write() as (transaction, now):
        new = [item for item in new if now.state.status[item.row] == ACTIVE]
        columns = zip(*map(_verdict, new), strict=True) if new else ((), (), (), (), ())
        names = ("tier", "reason", "commits", "review", "path")
        values: dict[str, Any] = {name: list(column) for name, column in zip(names, columns, strict=True)}
        values |= {"chunk": [item.id for item in new], "row": [item.row for item in new]}
        transaction.append("freshness", values, transaction.stamps(len(new)))
        rows = [row for row in asked if now.state.status[row] == ACTIVE and not now.freshness.manual[row]]
        if rows:
            about = np.array(rows, np.int64)
            ids = now.snapshot.values("chunks", "id", about)
            add_events(transaction, REVIEW, ids, about, transaction.stamps(len(rows)), [asked[row] for row in rows])
    return len(new)


def _verdict(item: FreshnessItem) -> Verdict:
    commits = -1 if item.commits is None else item.commits
    return item.tier, item.reason_code, commits, item.found, item.path


def _last(view: View, rows: Iterable[int]) -> dict[int, Verdict]:
    """Return the last verdict that was written down for each of some rows."""
    snapshot = view.snapshot
    wanted = np.zeros(view.rows, np.bool_)
    wanted[list(rows)] = True
    known: dict[int, Verdict] = {}
    for segment in snapshot.segments("freshness"):
        about = segment.numbers("row").astype(np.int64)
        offsets = np.flatnonzero((about >= 0) & wanted[np.clip(about, 0, max(view.rows - 1, 0))]) if view.rows else ()
        names = ("tier", "reason", "commits", "review", "path")
        columns = [segment.values(name, np.asarray(offsets, np.int64)) for name in names]
        known.update(zip(about[offsets].tolist(), zip(*columns, strict=True), strict=True))
    return known
