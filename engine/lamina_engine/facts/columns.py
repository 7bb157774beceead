"""Growing in-memory columns of the facts log, shared by all versions of a vault."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork, columns
from lamina_engine.clock import MISSING_US
from lamina_engine.facts.schema import MAX_TIME

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

I64 = NDArray[np.int64]
_REBUILT_AT: Final = 8_192
_SPARE: Final = 8
_EMPTY: Final = np.empty(0, np.int64)


class StringCodes:
    """Codes of a string column that all segments share, in order of first appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """Return the code of a string, -1 where no row read so far has it."""
        return self._codes.get(name, -1)

    def read(self, segment: Segment, column: str) -> NDArray[np.int32]:
        """Return the codes of a segment, int32 (rows,); -1 for null."""
        values = segment.column(column)
        table = np.full(len(values.dictionary) + 1, -1, np.int32)
        for local, name in enumerate(values.dictionary.to_pylist()):
            if name not in self._codes:
                self._codes[name] = len(self.names)
                self.names.append(name)
            table[local] = self._codes[name]
        codes: NDArray[np.int32] = table[columns.numbers(values.indices, -1)]
        return codes


class GrowableArray:
    """Array that grows by appending; views of it stay valid."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._room = np.empty(0, dtype)
        self.rows = 0

    def append(self, values: NDArray[Any]) -> None:
        """Add the values of the next rows."""
        stop = self.rows + len(values)
        if stop > len(self._room):
            room = np.empty(stop + stop // _SPARE, self._room.dtype)
            room[: self.rows] = self._room[: self.rows]
            self._room = room
        self._room[self.rows : stop] = values
        self.rows = stop

    @property
    def values(self) -> NDArray[Any]:
        """The values appended so far."""
        return self._room[: self.rows]


class _Groups(NamedTuple):
    keys: Sequence[int]
    rows: I64
    late: dict[int, list[int]]


class RowGroups:
    """Rows grouped by a number they carry: an entity, or the fact that they amend.

    Most lie in two sorted arrays, the last few thousand in lists by number; rows of one number ascend.
    """

    def __init__(self) -> None:
        self._groups = _Groups(_EMPTY.data, _EMPTY, {})
        self._waiting = 0

    def append(self, first: int, numbers: I64) -> None:
        """Add rows from ``first`` on, without those below 0. O(new rows), amortised sorting of all."""
        present = np.flatnonzero(numbers >= 0)
        if len(present) > _REBUILT_AT:
            self._rebuild(numbers[present], first + present)
            return
        late = self._groups.late
        for at in present.tolist():
            late.setdefault(int(numbers[at]), []).append(first + at)
        self._waiting += len(present)
        if self._waiting > max(_REBUILT_AT, len(self._groups.rows) // 4):
            self._rebuild(_EMPTY, _EMPTY)

    def _rebuild(self, keys: I64, rows: I64) -> None:
        old = self._groups
        late = [(key, row) for key, found in old.late.items() for row in found]
        keys = np.concatenate([np.asarray(old.keys, np.int64), np.array([key for key, _ in late], np.int64), keys])
        rows = np.concatenate([old.rows, np.array([row for _, row in late], np.int64), rows])
        order = np.lexsort((rows, keys))
        # replaced in one step: readers hold on to what they began with
        self._groups = _Groups(keys[order].data, rows[order], {})
        self._waiting = 0

    def of(self, number: int, below: int) -> I64:
        """Return the rows of a number below a watermark, ascending. O(log rows + rows returned)."""
        groups = self._groups
        begin = bisect_left(groups.keys, number)
        found = groups.rows[begin : bisect_right(groups.keys, number, begin)]
        late = groups.late.get(number)
        if late:
            found = np.concatenate([found, np.array(late, np.int64)])
        if len(found) and found[-1] >= below:
            found = found[: np.searchsorted(found, below)]
        return found

    def of_all(self, numbers: I64, below: int) -> I64:
        """Return the rows of several numbers below a watermark, in any order."""
        groups = self._groups
        keys = np.asarray(groups.keys, np.int64)
        begins = np.searchsorted(keys, numbers)
        counts = np.searchsorted(keys, numbers, "right") - begins
        ends = np.cumsum(counts)
        places = np.repeat(begins - ends + counts, counts) + np.arange(counts.sum())
        found: I64 = groups.rows[places]
        if groups.late:
            late = groups.late
            if len(late) < len(numbers):
                held = np.fromiter(late, np.int64, len(late))
                numbers = held[np.isin(held, numbers)]
            rows = [row for number in numbers.tolist() for row in late.get(number, ())]
            found = np.concatenate([found, np.array(rows, np.int64)])
        return found[found < below]


FACT, CLOSE, RETRACT, CONFIDENCE = "fact", "close", "retract", "confidence"


class FactColumns:
    """Columns of the facts log and its rows by entity, extended to the newest version read."""

    def __init__(self) -> None:
        self.subject, self.target, self.amends = (GrowableArray(np.int64) for _ in range(3))
        self.predicate, self.kind = GrowableArray(np.int32), GrowableArray(np.int8)
        self.valid_from, self.valid_to = GrowableArray(np.int64), GrowableArray(np.int64)
        self.confidence = GrowableArray(np.float32)
        self.predicates, self.kinds = StringCodes(), StringCodes()
        self.by_subject, self.by_target, self.by_fact = RowGroups(), RowGroups(), RowGroups()
        self.raised: NDArray[np.int64] = np.empty(0, np.int64)
        """Facts of which it was ever said that they are surer than they began, ascending."""
        self.surest = 0.0
        """The highest confidence that was ever said of any."""
        self._rows = 0
        self._lock = after_fork.make_rlock()

    def grow(self, snapshot: Snapshot) -> FactColumns:
        """Read the new rows of a version. O(new rows), amortised sorting of all."""
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
            limit = column.rows + np.arange(len(rows)) if name == "amends" else entities
            wrong = (rows < -1) | (rows >= limit)
            column.append(np.where(wrong, -1, rows) if wrong.any() else rows)
        self._note_confidence(segment.start + skip)

    def _note_confidence(self, first: int) -> None:
        confidence, amends = self.confidence.values, self.amends.values[first:]
        at = np.flatnonzero(amends >= 0)
        raised = amends[at][confidence[first + at] > confidence[amends[at]]]
        if len(raised):
            self.raised = np.union1d(self.raised, raised)
        self.surest = max(self.surest, float(confidence[first:].max(initial=0.0)))


def fact_columns(tables: Tables, snapshot: Snapshot) -> FactColumns:
    """Return the columns that go with a vault's tables, extended to a version."""
    return tables.cached("facts.columns", FactColumns).grow(snapshot)
