"""Columns of all rows: one array over all segments, and the narrow columns as codes.

Rows never change and only ever come after the last, so one array grows for all versions, and each version sees its
first rows. (What rewrites rows, forgetting, begins new tables.) Each segment has its own small dictionary of categories;
here they share one per field, in order of first appearance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot

_NO_NUMBERS = np.empty(0)
_KEPT = 64
"""Tables of numbers that are kept, three for each profile in use."""
_SPARE = 8
"""Room for an eighth more rows is left where a column is copied to grow."""


class RowColumn:
    """One column, grown as versions are read. Safe to share between threads.

    Parameters
    ----------
    read : callable
        Gives the values of all rows of a segment, (rows,) or (rows, d).
    log : str
        The log whose column it is.
    """

    def __init__(self, read: Callable[[Snapshot, Segment], NDArray[Any]], log: str = "chunks") -> None:
        self._read = read
        self._log = log
        self._values: NDArray[Any] | None = None
        self._room: NDArray[Any] | None = None
        self._rows = 0
        self._lock = after_fork.make_lock()

    def of(self, snapshot: Snapshot) -> NDArray[Any]:
        """Return the column for a version, (rows,) or (rows, d), read-only. O(rows that are new)."""
        rows = snapshot.rows(self._log)
        if self._rows < rows:
            with self._lock:
                self._grow(snapshot, rows)
        values = self._values
        return np.empty(0, np.int64) if values is None else values[:rows]

    def append(self, first: int, values: Callable[[], list[Any]]) -> None:
        """Add rows at hand, where just those before them are known and there is room."""
        with self._lock:
            if self._rows == first and self._room is not None and self._values is not None:
                added = values()
                if first + len(added) <= len(self._room):
                    self._room[first : first + len(added)] = added
                    self._rows = first + len(added)

    def _grow(self, snapshot: Snapshot, rows: int) -> None:
        parts = [
            self._read(snapshot, segment)[max(0, self._rows - segment.start) :]
            for segment in snapshot.segments_from(self._log, self._rows)
        ]
        if not parts:
            return
        if self._rows == 0 and len(parts) == 1 and parts[0].flags.c_contiguous:
            self._publish(parts[0], rows)  # nothing to join: the file itself serves
            return
        if self._room is None or len(self._room) < rows:
            self._room = np.empty((rows + rows // _SPARE, *parts[0].shape[1:]), parts[0].dtype)
            if self._values is not None:
                self._room[: self._rows] = self._values[: self._rows]
        if len(parts) == 1:  # as after each small write
            self._room[self._rows : rows] = parts[0]  # behind what any reader sees
        else:
            np.concatenate(parts, out=self._room[self._rows : rows])
        self._publish(self._room, rows)

    def _publish(self, values: NDArray[Any], rows: int) -> None:
        view = values.view()
        view.flags.writeable = False
        self._values = view  # before the number of rows: whoever sees that finds them
        self._rows = rows


FIELDS = ("project", "type", "collection", "session", "agent", "role")
NO_VALUE = -1


def facet(field: str, value: str) -> str:
    """Return the exact term under which an index knows that a field has a value."""
    return f"{field}={value}"


class CategoryTable:
    """Codes of the category fields, shared by all versions of a vault in one process.

    Codes of a row are translated when a version that has it is first asked for; rows do not change, so this is done once.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {field: [] for field in FIELDS}
        self._codes: dict[str, dict[str, int]] = {field: {} for field in FIELDS}
        self._without: dict[str, int] = {}
        """Rows up to which a field has no value; -1 once it has one."""
        self._none = np.empty(0, np.int32)
        self._columns = {field: RowColumn(functools.partial(self._translate, field)) for field in FIELDS}
        self._numbers: dict[tuple[str, int], tuple[Mapping[str, float], float, NDArray[np.float64]]] = {}

    def value(self, field: str, code: int) -> str | None:
        """Return the string of a code; None for `NO_VALUE`."""
        return None if code == NO_VALUE else self._values[field][code]

    def values(self, field: str) -> list[str]:
        """Return all strings met so far, by code."""
        return self._values[field]

    def numbers(self, field: str, known: Mapping[str, float], default: float) -> NDArray[np.float64]:
        """Return the number of each code, float64 (codes + 1,); the last is for no value.

        ``known`` is part of a profile: it does not change, and what was made of it is kept.
        """
        values = self._values[field]
        made_of, other, found = self._numbers.get((field, id(known)), (None, 0.0, _NO_NUMBERS))
        if made_of is not known or other is not default or len(found) <= len(values):
            if len(self._numbers) >= _KEPT:
                self._numbers.clear()
            found = np.array([*(known.get(value, default) for value in values), default])
            self._numbers[field, id(known)] = known, default, found
        return found

    def code(self, field: str, value: str) -> int:
        """Return the code of a string, or -2 where no segment read so far has it."""
        return self._codes[field].get(value, -2)

    def _translate(self, field: str, _: Snapshot, segment: Segment) -> NDArray[np.int32]:
        """Return one segment's codes, int32 (rows,); for one thread at a time."""
        column = segment.column(field)
        codes, values = self._codes[field], self._values[field]
        names = column.dictionary.to_pylist()
        local = [codes.get(value, NO_VALUE) for value in names]
        for place, value in enumerate(names):
            if local[place] == NO_VALUE:
                if value not in codes:
                    codes[value] = len(values)
                    values.append(value)
                local[place] = codes[value]
        indices = column.indices
        if len(local) == 1 and not indices.null_count:
            return np.broadcast_to(np.int32(local[0]), len(indices))
        table = np.array([*local, NO_VALUE], np.int32)
        if indices.null_count == len(indices):  # as a rule of session, agent and role
            return np.broadcast_to(np.int32(NO_VALUE), len(indices))
        local_codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
        if not indices.null_count and (table[:-1] == np.arange(len(table) - 1)).all():
            return local_codes
        if indices.null_count:
            from lamina_engine.columns import validity

            local_codes = np.where(validity(indices), local_codes, len(table) - 1)
        return table[local_codes]

    def append(self, first: int, values: Mapping[str, Any]) -> None:
        """Add rows at hand, given by column; see `RowColumn.append`."""
        for field in FIELDS:
            names = values[field]
            checked = self._without.get(field, 0)
            if checked < 0:
                self._columns[field].append(first, functools.partial(self._codes_of, field, names))
            elif checked == first and names.count(None) == len(names):
                self._without[field] = first + len(names)

    def _codes_of(self, field: str, names: list[str | None]) -> list[int]:
        codes, values = self._codes[field], self._values[field]
        for name in names:
            if name is not None and name not in codes:
                codes[name] = len(values)
                values.append(name)
        return [NO_VALUE if name is None else codes[name] for name in names]

    def column(self, snapshot: Snapshot, field: str) -> NDArray[np.int32]:
        """Return int32 (n,) codes of all rows."""
        if self._lacks_values(snapshot, field):
            return self._nothing(snapshot.rows("chunks"))
        return self._columns[field].of(snapshot)

    def has_values(self, snapshot: Snapshot, field: str) -> bool:
        """Return True if any row of a version has a value in a field."""
        return not self._lacks_values(snapshot, field)

    def _lacks_values(self, snapshot: Snapshot, field: str) -> bool:
        """Return True if no row of a version has a value in a field, as is usual for some."""
        checked, rows = self._without.get(field, 0), snapshot.rows("chunks")
        if checked < 0 or checked >= rows:
            return checked >= 0
        indices = [segment.column(field).indices for segment in snapshot.segments_from("chunks", checked)]
        lacks = all(each.null_count == len(each) for each in indices)
        self._without[field] = rows if lacks else -1
        return lacks

    def _nothing(self, rows: int) -> NDArray[np.int32]:
        """Return a read-only column of `NO_VALUE`, one for all fields."""
        column = self._none
        if len(column) < rows:
            column = np.full(rows + rows // _SPARE, NO_VALUE, np.int32)
            column.flags.writeable = False
            self._none = column
        return column[:rows]

    def gather(self, snapshot: Snapshot, field: str, rows: Rows) -> NDArray[np.int32]:
        """Return int32 codes at some rows, in their order."""
        return self.column(snapshot, field)[rows]
