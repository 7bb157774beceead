"""Row state: the events of the log, replayed onto their rows.

Nothing is stored: replaying a hundred thousand events is one NumPy assignment, and the events up to a moment give the
state of that moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.clock import MISSING_US
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.stored_json import read_json

ACTIVE: Final = 0
SUPERSEDED: Final = 1
INVALIDATED: Final = 2
REMOVED: Final = 3
FORGOTTEN: Final = 4
ARCHIVED: Final = 5
STATUS_NAMES: Final = ("active", "superseded", "invalidated", "removed", "forgotten", "archived")

_STATUS_OF_KIND: Final = {
    "supersede": SUPERSEDED,
    "invalidate": INVALIDATED,
    "restore": ACTIVE,
    "remove": REMOVED,
    "forget": FORGOTTEN,
    "archive": ARCHIVED,
}
_PIN_OF_KIND: Final = {"pin": 1, "unpin": 0}
_SNOOZES: Final = ("snooze", "wake")
_SPARE: Final = 8
"""Room for an eighth more rows is left behind a column that grows. Nothing but zeros is ever in it."""


def extended(column: NDArray[np.uint8], n: int) -> NDArray[np.uint8]:
    """Return a read-only column of ``n`` rows: another one and zeros. Versions share memory."""
    room = column.base if isinstance(column.base, np.ndarray) else column
    if len(room) < n:
        room = np.zeros(n + n // _SPARE, np.uint8)
        room[: len(column)] = column
    out = room[:n]
    out.flags.writeable = False
    return out


class Spans(NamedTuple):
    """Times in which rows were active, by row and time; a row that was restored has several.

    Attributes
    ----------
    rows : int64 (m,)
    since : int64 (m,)
        us UTC of recorded time.
    gone : int64 (m,)
        us UTC, from when it is active no more; `MISSING_US` where it still is.
    """

    rows: NDArray[np.int64]
    since: NDArray[np.int64]
    gone: NDArray[np.int64]


class State:
    """Status and pin of every row of the chunks log at one moment.

    Attributes
    ----------
    status : uint8 (n,)
        `ACTIVE`, `SUPERSEDED`, `INVALIDATED`, `REMOVED`, `FORGOTTEN` or `ARCHIVED`.
    pinned : uint8 (n,)
        1 where the chunk is pinned.
    snoozed : mapping of int to int
        By row, until when the chunk is snoozed (us UTC); few are, so it is no column.
    invalidations : mapping of int to int
        By row that was ever invalidated, the row of the newest event that did so.
    forgotten : int
        Number of rows that were forgotten.
    all_active : bool
        True where no row is anything but active.
    any_pinned : bool
    """

    __slots__ = ("all_active", "any_pinned", "events", "forgotten", "invalidations", "pinned", "snoozed", "status")

    def __init__(
        self, snapshot: Snapshot, former: State | None = None, *, rows: int | None = None, events: int | None = None
    ) -> None:
        """Replay events onto rows.

        Parameters
        ----------
        snapshot : Snapshot
            The version to read.
        former : State, optional
            State of an earlier version of the same vault: only newer events are read.
        rows, events : int, optional
            Watermarks of the chunks and events logs; all of them unless given.
        """
        n = snapshot.rows("chunks") if rows is None else rows
        self.events = snapshot.rows("events") if events is None else events
        start = former.events if former is not None else 0
        self.status: NDArray[np.uint8]
        self.pinned: NDArray[np.uint8]
        self.forgotten: int
        self.all_active: bool
        self.any_pinned: bool
        self.snoozed: dict[int, int] = {}
        self.invalidations: dict[int, int] = {}
        if former is not None and self.events == former.events == snapshot.rows("events") and len(former.status) <= n:
            # only rows came, as after most writes: nothing is copied
            self.status, self.pinned = extended(former.status, n), extended(former.pinned, n)
            self.snoozed, self.invalidations = former.snoozed, former.invalidations
            self.forgotten, self.all_active = former.forgotten, former.all_active
            self.any_pinned = former.any_pinned
            return
        self.status = np.zeros(n, np.uint8)
        self.pinned = np.zeros(n, np.uint8)
        if former is not None:
            kept = min(n, len(former.status))
            self.status[:kept], self.pinned[:kept] = former.status[:kept], former.pinned[:kept]
            self.snoozed = dict(former.snoozed)
            self.invalidations = dict(former.invalidations)
        self._replay(snapshot, start, n)
        self._forget_since(snapshot, n)
        self.status.flags.writeable = self.pinned.flags.writeable = False
        self.forgotten = int(np.count_nonzero(self.status == FORGOTTEN))
        self.all_active, self.any_pinned = not self.status.any(), bool(self.pinned.any())

    def _replay(self, snapshot: Snapshot, start: int, n: int) -> None:
        for segment in snapshot.segments("events"):
            begin, end = max(start - segment.start, 0), min(self.events - segment.start, segment.rows)
            if begin >= end:
                continue
            kind = segment.column("kind")
            codes = kind.indices.to_numpy(zero_copy_only=False)[begin:end]
            rows = segment.numbers("row").astype(np.int64)[begin:end]
            names = kind.dictionary.to_pylist()
            for target, table in ((self.status, _STATUS_OF_KIND), (self.pinned, _PIN_OF_KIND)):
                to = np.array([table.get(name, -1) for name in names], np.int64)[codes]
                hit = (to >= 0) & (rows >= 0) & (rows < n)
                # the last of several events about one row wins: NumPy assigns in order
                target[rows[hit]] = to[hit].astype(np.uint8)
            marked = np.flatnonzero(np.array([name == "invalidate" for name in names], np.bool_)[codes] & (rows >= 0))
            self.invalidations.update(
                zip(rows[marked].tolist(), (segment.start + begin + marked).tolist(), strict=True)
            )
            spoken = np.array([name in _SNOOZES for name in names], np.bool_)[codes] & (rows >= 0) & (rows < n)
            if spoken.any():
                self._snooze(segment, begin + np.flatnonzero(spoken))

    def _snooze(self, segment: Segment, offsets: NDArray[np.int64]) -> None:
        facts = (segment.values(name, offsets) for name in ("kind", "row", "detail"))
        for kind, row, detail in zip(*facts, strict=True):
            if kind == "snooze" and detail:  # nothing is left of what is said about a forgotten one
                self.snoozed[row] = read_json(detail, dict[str, int]).get("until_us", 0)
            else:
                self.snoozed.pop(row, None)

    def _forget_since(self, snapshot: Snapshot, n: int) -> None:
        """Apply forgets after the watermark, too: no past moment has those rows any more."""
        for segment in snapshot.segments("events"):
            begin = max(self.events - segment.start, 0)
            kind = segment.column("kind") if begin < segment.rows else None
            if kind is None or "forget" not in (names := kind.dictionary.to_pylist()):
                continue
            rows = segment.numbers("row").astype(np.int64)[begin:]
            codes = kind.indices.to_numpy(zero_copy_only=False)[begin:]
            self.status[rows[(codes == names.index("forget")) & (rows >= 0) & (rows < n)]] = FORGOTTEN

    def asleep(self, now_us: int) -> NDArray[np.int64]:
        """Return the rows that are snoozed at a moment, ascending."""
        return np.array(sorted(row for row, until_us in self.snoozed.items() if now_us < until_us), np.int64)

    def spans(self, snapshot: Snapshot) -> Spans:
        """Return the spans in which rows were active; forgotten ones never were."""
        rows = np.flatnonzero(self.status != FORGOTTEN)
        recorded = snapshot.numbers("chunks", "recorded_at", np.arange(len(self.status)), MISSING_US)
        changed: dict[int, list[list[int]]] = {}
        for row, status, moment in self._changes(snapshot):
            own = changed.setdefault(row, [[int(recorded[row]), MISSING_US]])
            if status != ACTIVE and own[-1][1] == MISSING_US:
                own[-1][1] = moment
            elif status == ACTIVE and own[-1][1] != MISSING_US:
                own.append([moment, MISSING_US])
        same = rows[~np.isin(rows, list(changed))]
        found = [(row, *each) for row in rows[np.isin(rows, list(changed))].tolist() for each in changed[row]]
        still = np.array([same, recorded[same], np.full(same.size, MISSING_US)], np.int64)
        every = np.concatenate([still, np.array(found, np.int64).reshape(-1, 3).T], axis=1)
        return Spans(*every[:, np.lexsort((every[1], every[0]))])

    def _changes(self, snapshot: Snapshot) -> Iterator[tuple[int, int, int]]:
        """Yield the changes of status in order: row, status, moment (us UTC)."""
        for segment in snapshot.segments("events"):
            kind = segment.column("kind")
            end = min(self.events - segment.start, segment.rows)
            rows = segment.numbers("row").astype(np.int64)
            to = np.array([_STATUS_OF_KIND.get(name, -1) for name in kind.dictionary.to_pylist()], np.int64)
            codes = to[kind.indices.to_numpy(zero_copy_only=False)]
            hit = np.flatnonzero((codes >= 0) & (rows >= 0) & (rows < len(self.status)))
            hit = hit[hit < end]
            moments = segment.numbers("recorded_at").astype(np.int64)[hit]
            yield from zip(rows[hit].tolist(), codes[hit].tolist(), moments.tolist(), strict=True)

    def active(self) -> NDArray[np.bool_]:
        """Return bool (n,): True where the row is current and valid."""
        return np.equal(self.status, ACTIVE)
