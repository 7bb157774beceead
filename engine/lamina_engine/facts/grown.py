"""Arrays that grow with a log: columns, categories as numbers, and rows by a number that they carry.

One of each serves all versions of a vault: rows come after the last one, and a version sees those below its watermark.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import columns

if TYPE_CHECKING:
    from lamina_engine.store.segments import Segment

I64 = NDArray[np.int64]
_REBUILT_AT: Final = 8_192
_SPARE: Final = 8
_EMPTY: Final = np.empty(0, np.int64)


class Codes:
    """Strings of a category column as numbers that all segments share, in order of first appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """Return the number of a string, -1 where no row read so far has it."""
        return self._codes.get(name, -1)

    def read(self, segment: Segment, column: str) -> NDArray[np.int32]:
        """Return int32 (rows,): the numbers of a segment; -1 for null."""
        values = segment.column(column)
        table = np.full(len(values.dictionary) + 1, -1, np.int32)
        for local, name in enumerate(values.dictionary.to_pylist()):
            if name not in self._codes:
                self._codes[name] = len(self.names)
                self.names.append(name)
            table[local] = self._codes[name]
        codes: NDArray[np.int32] = table[columns.numbers(values.indices, -1)]
        return codes


class Grown:
    """A column that grows by appending; what was read of it stays valid."""

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
        """The column so far."""
        return self._room[: self.rows]


class _Groups(NamedTuple):
    keys: Sequence[int]
    rows: I64
    late: dict[int, list[int]]


class Grouped:
    """Rows by a number that they carry: an entity, or the fact that they amend. Rows of one number ascend.

    Most lie in two sorted arrays, the last few thousand in lists by number.
    """

    def __init__(self) -> None:
        self._groups = _Groups(_EMPTY.data, _EMPTY, {})
        self._waiting = 0

    def append(self, first: int, numbers: I64) -> None:
        """Add rows from ``first`` on; those below 0 belong to nothing. O(new rows), and a share of sorting them all."""
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
        """Return the rows of a number that lie below a watermark, ascending. O(log rows + rows found)."""
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
        """Return the rows of several numbers that lie below a watermark, in any order. O(numbers log rows + rows found)."""
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
