"""Access counts: number and time of each chunk's recalls, as recorded in the log."""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_engine.store.snapshot import Snapshot
from lamina_engine.stored_json import read_json

ACCESS: Final = "access"
_NEVER_US: Final = -(2**63)


class Accesses:
    """Accesses of every row, at one moment.

    Parameters
    ----------
    snapshot : Snapshot
        The version to read.
    former : Accesses, optional
        Those of an earlier version of the same vault: only newer events are read.
    events : int
        Watermark of the events log.
    """

    __slots__ = ("_known", "events")

    def __init__(self, snapshot: Snapshot, former: Accesses | None = None, *, events: int) -> None:
        self.events = events
        self._known: dict[int, tuple[int, int]] = {}
        if former is not None:
            self._known = former._known if former.events == events else dict(former._known)
        start = 0 if former is None else former.events
        for segment in snapshot.segments("events"):
            begin, end = max(start - segment.start, 0), min(events - segment.start, segment.rows)
            kind = segment.column("kind") if begin < end else None
            if kind is None or ACCESS not in (names := kind.dictionary.to_pylist()):
                continue
            codes = kind.indices.to_numpy(zero_copy_only=False)[begin:end]
            offsets = begin + np.flatnonzero(codes == names.index(ACCESS))
            for row, detail in zip(segment.values("row", offsets), segment.values("detail", offsets), strict=True):
                self._add(row, detail)

    def _add(self, row: int, detail: str | None) -> None:
        if not detail:  # forgotten
            self._known.pop(row, None)
            return
        found = read_json(detail, dict[str, int])
        count, last_us = self._known.get(row, (0, _NEVER_US))
        self._known[row] = count + found.get("count", 0), max(last_us, found.get("last_us", _NEVER_US))

    def __bool__(self) -> bool:
        return bool(self._known)

    def count(self, row: int) -> int:
        """Return how often a row was recalled."""
        return self._known.get(row, (0, _NEVER_US))[0]

    def last_us(self, row: int) -> int:
        """Return when a row was last recalled, us UTC; far in the past for never."""
        return self._known.get(row, (0, _NEVER_US))[1]
