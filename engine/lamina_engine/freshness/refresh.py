"""Refreshing: chosen chunks are brought level with their source, and what cannot be is handed to whoever can decide.

Nothing is deleted. A chunk whose text changed in its file is superseded, one that still stands there is confirmed, one
whose file is gone is proposed for invalidation, and a memory in someone's own words becomes a work item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.chunks.lifecycle import confirm
from lamina_engine.chunks.reading import chunks_at, find_row
from lamina_engine.errors import InvalidArgument
from lamina_engine.freshness import report
from lamina_engine.freshness.judging import Judge, Place
from lamina_engine.freshness.marks import marks
from lamina_engine.freshness.report import FreshnessItem
from lamina_engine.freshness.rereading import CHANGED, LOST, SAME, Reread, Rereader, current_rows
from lamina_engine.freshness.scan import make_judge, scan
from lamina_engine.freshness.subjects import Subject, subjects
from lamina_engine.freshness.tiers import settings
from lamina_engine.freshness.workitems import WorkItem, is_slice, work_item
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.state import ACTIVE
from lamina_engine.ingest.origins import Origins, origin_of_row, read_file
from lamina_engine.recall import mask, where

if TYPE_CHECKING:
    from lamina_engine.chunks.reading import Chunk
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

PROPOSED: Final = "proposed"
WORK: Final = "work"
SKIPPED: Final = "skipped"
ACTIONS: Final = (SAME, CHANGED, LOST, PROPOSED, WORK, SKIPPED)
"""What becomes of a chunk: confirmed as it is, superseded, out of its file, proposed for invalidation, to be decided, left."""


@dataclass(frozen=True, slots=True)
class RefreshItem:
    """One chosen chunk."""

    id: str
    source: str | None
    action: str
    """One of `ACTIONS`."""
    reason: str
    tier: str
    """Before the refresh."""
    text: str
    new_text: str | None = None
    """Where it is superseded."""


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What was refreshed, or would be.

    Attributes
    ----------
    items : tuple of RefreshItem
        The chosen chunks, in the order in which they were written.
    work : tuple of WorkItem
        What somebody has to decide.
    counts : dict of str to int
        By action.
    added : int
        Chunks that their files have now and had not before.
    """

    items: tuple[RefreshItem, ...]
    work: tuple[WorkItem, ...]
    counts: dict[str, int]
    added: int
    dry_run: bool
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``lamina refresh --json`` prints."""
        return asdict(self)


def refresh(
    memory: Memory,
    *,
    ids: str | Sequence[str] | None = None,
    filter_: Mapping[str, Any] | None = None,
    tier: str | None = None,
    collection: str | None = None,
    project: str | None = None,
    needs_review: bool | None = None,
    dry_run: bool = True,
) -> RefreshReport:
    """Bring chosen chunks level with their sources; see ``Vault.refresh``.

    Raises
    ------
    InvalidArgument
        When nothing is chosen, or for a tier or filter that is not known.
    ChunkNotFound, AmbiguousId, InvalidConfig, VaultReadOnly, VaultLocked, OSError
    """
    wanted = None if ids is None else ids_of(ids, alone=True)
    chosen = _chosen(filter_, tier, collection, project, needs_review)
    if wanted is None and not chosen:
        raise InvalidArgument("refresh needs ids or a filter (where, tier, collection, project, needs_review)")
    if not isinstance(dry_run, bool):
        raise InvalidArgument(f"dry_run={dry_run!r} must be True (only tell) or False (refresh)")
    if not dry_run:
        with memory.write():  # says why not, before anything is read
            pass
    rows = _rows(memory, wanted, chosen)
    run = _Refresh(memory, rows)
    if not dry_run:
        run.write()
    return run.report(dry_run=dry_run)


def reviewed(memory: Memory, identity: str, reason: str = "") -> Chunk:
    """Note that a chunk was looked at and is right: its review is done, and commits count from now on.

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
    """
    view = memory.view()
    row = find_row(view, identity)
    return confirm(memory, row, origin_of_row(memory, view, row), memory.redact(reason) if reason else None)


def _chosen(
    filter_: Mapping[str, Any] | None,
    tier: str | None,
    collection: str | None,
    project: str | None,
    needs_review: bool | None,
) -> list[dict[str, Any]]:
    if tier is not None and tier not in TIERS:
        raise InvalidArgument(f"tier={tier!r} is not known; allowed are {', '.join(TIERS)}")
    given = {"freshness": tier, "collection": collection, "project": project, "needs_review": needs_review}
    parts = [{name: value} for name, value in given.items() if value is not None]
    return [*parts, dict(filter_)] if filter_ else list(parts)


def _rows(memory: Memory, ids: Sequence[str] | None, chosen: Sequence[Mapping[str, Any]]) -> Rows:
    """Return the rows of the chosen active chunks, ascending; what is asked of tiers is asked of a new scan."""
    node = where.parse({"AND": list(chosen)}, memory.config.tz)
    view = memory.view()
    active = np.equal(view.state.status, ACTIVE)
    if ids is not None:
        named = np.zeros(view.rows, np.bool_)
        named[[find_row(view, identity) for identity in ids]] = True
        active &= named
    if where.fields_of(node) & {"freshness", "needs_review"} and memory.store.mode == "w":
        scan(memory, view, np.flatnonzero(active), settings(memory.settings.given))
        view = memory.view()
        active = active & np.equal(view.state.status[: len(active)], ACTIVE)
        active = np.concatenate([active, np.zeros(view.rows - len(active), np.bool_)])
    return np.flatnonzero(mask.evaluate(node, view, active))


class _Refresh:
    """One call: what becomes of each chosen chunk."""

    def __init__(self, memory: Memory, rows: Rows) -> None:
        self._memory = memory
        view = memory.view()
        self._chunks = {chunk.row: chunk for chunk in chunks_at(view, rows)}
        self._rereader = Rereader(memory, view)
        self._judge: Judge = make_judge(memory, settings(memory.settings.given), marks(view))
        self._rereads: dict[str, Reread | str] = {}
        self._confirmed: list[tuple[int, Path]] = []
        self._work: list[WorkItem] = []
        self._items = [self._decide(subject, item) for subject, item in self._judge.judge(subjects(view, rows))]

    def report(self, *, dry_run: bool) -> RefreshReport:
        """Return what was decided."""
        counts = Counter(item.action for item in self._items)
        problems = [*self._judge.problems, *(f"{p.source}: {p.message}" for p in self._rereader.problems)]
        return RefreshReport(
            items=tuple(self._items),
            work=tuple(self._work),
            counts={action: counts[action] for action in ACTIONS},
            added=sum(each.added for each in self._rereads.values() if isinstance(each, Reread)),
            dry_run=dry_run,
            problems=tuple(dict.fromkeys(problems)),
        )

    def write(self) -> None:
        """Make it so: write what was read again, clear what was asked, and judge all of it anew."""
        memory = self._memory
        rereads = [each for each in self._rereads.values() if isinstance(each, Reread)]
        self._rereader.write(rereads)
        origins = Origins(memory)
        for row, file in self._confirmed:
            confirm(memory, row, origins.of_file(file), "its words stand in its file")
        view = memory.view()
        done = [item.id for item in self._items if item.action in (SAME, CHANGED)]
        for row in current_rows(view, done).tolist():
            if view.freshness.manual[row]:
                confirm(memory, row, None, "its source was read again")
        view = memory.view()
        files = [name for each in rereads for name in each.fates]
        touched = current_rows(view, [*files, *done])
        touched = np.unique(touched[view.state.status[touched] == ACTIVE])
        scan(memory, view, touched, settings(memory.settings.given))

    def _decide(self, subject: Subject, item: FreshnessItem) -> RefreshItem:
        place = self._judge.place(subject)
        if item.reason_code == report.DELETED:
            return self._made(subject, item, PROPOSED, f"{item.reason}; invalidate it if it is no longer true")
        if subject.ingested:
            return self._reread(subject, item, place)
        if not isinstance(place, Place):
            return self._made(subject, item, SKIPPED, item.reason)
        return self._own_words(subject, item, place)

    def _reread(self, subject: Subject, item: FreshnessItem, place: object) -> RefreshItem:
        source = self._rereader.home[subject.id]
        file = Path(source.path)
        if isinstance(place, Place) and item.path is not None:
            file = place.repository.root / item.path
        moved = file.as_posix() != source.path
        if moved and self._rereader.is_known(file):
            return self._made(subject, item, PROPOSED, f"its file is now {item.path}, which is a source of its own")
        if not file.exists():
            return self._made(
                subject, item, PROPOSED, f"{source.source} is gone; invalidate it if it is no longer true"
            )
        if source.path not in self._rereads:
            self._rereads[source.path] = self._rereader.read(source, file)
        found = self._rereads[source.path]
        if isinstance(found, str):
            return self._made(subject, item, SKIPPED, found)
        fate, text = found.fates.get(subject.id, (SAME, None))
        reason = {SAME: "its text still stands there", CHANGED: "its text changed", LOST: "its text is gone"}[fate]
        return self._made(subject, item, fate, reason, text)

    def _own_words(self, subject: Subject, item: FreshnessItem, place: Place) -> RefreshItem:
        chunk = self._chunks[subject.row]
        file = place.repository.root / (item.path or place.path)
        data = read_file(file)
        if data is not None and is_slice(chunk.text, data):
            self._confirmed.append((subject.row, file))
            return self._made(subject, item, SAME, "its words stand in its file")
        if not item.needs_review:
            return self._made(subject, item, SAME, item.reason)
        self._work.append(work_item(self._memory, chunk, item, place, subject.blob, place.path))
        return self._made(subject, item, WORK, item.reason)

    def _made(
        self, subject: Subject, item: FreshnessItem, action: str, reason: str, new_text: str | None = None
    ) -> RefreshItem:
        text = self._chunks[subject.row].text
        return RefreshItem(subject.id, subject.source, action, reason, item.tier, text, new_text)
