"""What all versions of a vault share of its facts in one process: their narrow columns, and their rows by entity.

Made when facts are first asked for; a vault that nobody asks for facts pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.clock import MISSING_US
from lamina_engine.facts.grown import Codes, Grouped, Grown
from lamina_engine.facts.shapes import MAX_TIME

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

FACT, CLOSE, RETRACT, CONFIDENCE = "fact", "close", "retract", "confidence"


class FactTables:
    """Columns and rows by entity of the facts log, grown to the newest version asked for."""

    def __init__(self) -> None:
        self.subject, self.target, self.amends = Grown(np.int64), Grown(np.int64), Grown(np.int64)
        self.predicate, self.kind = Grown(np.int32), Grown(np.int8)
        self.valid_from, self.valid_to = Grown(np.int64), Grown(np.int64)
        self.confidence = Grown(np.float32)
        self.predicates, self.kinds = Codes(), Codes()
        self.by_subject, self.by_target, self.by_fact = Grouped(), Grouped(), Grouped()
        self.raised: NDArray[np.int64] = np.empty(0, np.int64)
        """Facts of which it was ever said that they are surer than they began, ascending."""
        self.surest = 0.0
        """The highest confidence that was ever said of any."""
        self._rows = 0
        self._lock = after_fork.make_rlock()

    def grow(self, snapshot: Snapshot) -> FactTables:
        """Take in the rows of a version that are new. O(new rows), and a share of sorting them all."""
        if self._rows < snapshot.rows("facts"):
            with self._lock:
                first = self._rows
                for segment in snapshot.segments("facts"):
                    if segment.start + segment.rows > self.subject.rows:
                        self._take(segment, self.subject.rows - segment.start, snapshot.rows("entities"))
                new = slice(first, self.subject.rows)
                self.by_subject.append(first, self.subject.values[new])
                self.by_target.append(first, self.target.values[new])
                self.by_fact.append(first, self.amends.values[new])
                self._rows = self.subject.rows  # last: it tells other threads what is there
        return self

    def _take(self, segment: Segment, skip: int, entities: int) -> None:
        self.predicate.append(self.predicates.read(segment, "predicate")[skip:])
        self.kind.append(self.kinds.read(segment, "kind")[skip:])
        self.valid_from.append(segment.numbers("valid_from", MISSING_US)[skip:])
        self.valid_to.append(segment.numbers("valid_to", MAX_TIME)[skip:])
        self.confidence.append(segment.numbers("confidence")[skip:])
        for name, column in (("target", self.target), ("amends", self.amends), ("subject", self.subject)):
            rows = segment.numbers(name)[skip:].astype(np.int64, copy=False)
            # no Lamina names a row that is not there; one in a log that was tampered with is passed over
            limit = column.rows if name == "amends" else entities
            wrong = (
                (rows < -1) | (rows >= limit)
                if name != "amends"
                else (rows < -1) | (rows >= limit + np.arange(len(rows)))
            )
            column.append(np.where(wrong, -1, rows) if wrong.any() else rows)
        self._note_confidence(segment.start + skip)

    def _note_confidence(self, first: int) -> None:
        confidence, amends = self.confidence.values, self.amends.values[first:]
        at = np.flatnonzero(amends >= 0)
        raised = amends[at][confidence[first + at] > confidence[amends[at]]]
        if len(raised):
            self.raised = np.union1d(self.raised, raised)
        self.surest = max(self.surest, float(confidence[first:].max(initial=0.0)))


def fact_tables(tables: Tables, snapshot: Snapshot) -> FactTables:
    """Return the columns that go with a vault's tables, extended to a version."""
    return tables.cached("facts.columns", FactTables).grow(snapshot)
