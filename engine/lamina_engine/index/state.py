"""Row state: the events of the log, replayed onto their rows.

Nothing is stored: replaying a hundred thousand events is one NumPy assignment, and the events up to a moment give the
state of that moment.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot

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
    """

    __slots__ = ("events", "invalidations", "pinned", "snoozed", "status")

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
        self.status = np.zeros(n, np.uint8)
        self.pinned = np.zeros(n, np.uint8)
        self.snoozed: dict[int, int] = {}
        self.invalidations: dict[int, int] = {}
        if former is not None:
            kept = min(n, len(former.status))
            self.status[:kept], self.pinned[:kept] = former.status[:kept], former.pinned[:kept]
            self.snoozed = dict(former.snoozed)
            self.invalidations = dict(former.invalidations)
        self._replay(snapshot, start, n)
        self._forget_since(snapshot, n)
        self.status.flags.writeable = self.pinned.flags.writeable = False

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
                self.snoozed[row] = int(msgspec.json.decode(detail)["until_us"])
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

    def active(self) -> NDArray[np.bool_]:
        """Return bool (n,): True where the row is current and valid."""
        return np.equal(self.status, ACTIVE)
