"""Freshness of rows: last scans and review requests, replayed from two logs.

A scan never takes back what a person asked for: what a scan found and what was asked by hand are kept apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index.state import extended
from lamina_engine.store.snapshot import Snapshot

TIERS: Final = ("fresh", "aging", "stale", "expired", "unknown")
"""From current to outdated; ``unknown`` where nothing could be found out."""
_CODE_OF_TIER: Final = {tier: i + 1 for i, tier in enumerate(TIERS)}
_MANUAL_OF_KIND: Final = {"review": 1, "reviewed": 0}


class Freshness:
    """Last scanned tier and review flag of every row, at one moment.

    Attributes
    ----------
    tier : uint8 (n,)
        1 + the tier's place in `TIERS`; 0 where no scan has seen the row.
    found : uint8 (n,)
        1 where the last scan found that somebody should look at it.
    manual : uint8 (n,)
        1 where a person, or a merged request, asked for that.
    """

    __slots__ = ("events", "found", "manual", "scans", "tier")

    def __init__(
        self, snapshot: Snapshot, former: Freshness | None = None, *, rows: int, events: int, scans: int
    ) -> None:
        """Replay scans and reviews onto rows.

        Parameters
        ----------
        snapshot : Snapshot
            The version to read.
        former : Freshness, optional
            That of an earlier version of the same vault: only what is newer is read.
        rows, events, scans : int
            Watermarks of the chunks, events and freshness logs.
        """
        self.events, self.scans = events, scans
        self.tier: NDArray[np.uint8]
        self.found: NDArray[np.uint8]
        self.manual: NDArray[np.uint8]
        if former is not None and (former.events, former.scans) == (events, scans) and len(former.tier) <= rows:
            self.tier, self.found, self.manual = (extended(column, rows) for column in former._columns())
            return
        self.tier, self.found, self.manual = (np.zeros(rows, np.uint8) for _ in range(3))
        if former is not None:
            kept = min(rows, len(former.tier))
            for mine, theirs in zip(self._columns(), former._columns(), strict=True):
                mine[:kept] = theirs[:kept]
        self._replay_scans(snapshot, former.scans if former is not None else 0)
        self._replay_events(snapshot, former.events if former is not None else 0)
        for column in self._columns():
            column.flags.writeable = False

    @property
    def review(self) -> NDArray[np.bool_]:
        """Bool (n,): True where a scan or a person says that somebody should look."""
        return np.asarray((self.found | self.manual) > 0)

    def review_of(self, rows: NDArray[np.int64]) -> list[bool]:
        """Return `review` of some rows."""
        if not (self.scans or self.events):
            return [False] * len(rows)
        found: list[bool] = ((self.found[rows] | self.manual[rows]) > 0).tolist()
        return found

    def tiers_of(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Return the last scanned tier of some rows; None where no scan has seen one."""
        if not self.scans:
            return [None] * len(rows)
        return [TIERS[code - 1] if code else None for code in self.tier[rows].tolist()]

    def _columns(self) -> tuple[NDArray[np.uint8], ...]:
        return self.tier, self.found, self.manual

    def _replay_scans(self, snapshot: Snapshot, start: int) -> None:
        n = len(self.tier)
        for segment in snapshot.segments("freshness"):
            begin, end = max(start - segment.start, 0), min(self.scans - segment.start, segment.rows)
            if begin >= end:
                continue
            tiers = segment.column("tier")
            table = np.array([_CODE_OF_TIER.get(name, 0) for name in tiers.dictionary.to_pylist()], np.uint8)
            codes = table[tiers.indices.to_numpy(zero_copy_only=False)[begin:end]]
            review = segment.column("review").to_numpy(zero_copy_only=False)[begin:end]
            rows = segment.numbers("row").astype(np.int64)[begin:end]
            hit = (rows >= 0) & (rows < n)
            # the last of several scans of one row wins: NumPy assigns in order
            self.tier[rows[hit]] = codes[hit]
            self.found[rows[hit]] = review[hit].astype(np.uint8)

    def _replay_events(self, snapshot: Snapshot, start: int) -> None:
        n = len(self.tier)
        for segment in snapshot.segments("events"):
            begin, end = max(start - segment.start, 0), min(self.events - segment.start, segment.rows)
            if begin >= end:
                continue
            kind = segment.column("kind")
            to = np.array([_MANUAL_OF_KIND.get(name, -1) for name in kind.dictionary.to_pylist()], np.int64)
            asked = to[kind.indices.to_numpy(zero_copy_only=False)[begin:end]]
            rows = segment.numbers("row").astype(np.int64)[begin:end]
            hit = (asked >= 0) & (rows >= 0) & (rows < n)
            self.manual[rows[hit]] = asked[hit].astype(np.uint8)
