"""The narrow columns of the log as codes: project, type, collection, session, agent, role.

Each segment has its own small dictionary; here they share one per field, in order of first appearance.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index.rowcolumn import RowColumn
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot

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
        self._columns = {field: RowColumn(functools.partial(self._translate, field)) for field in FIELDS}

    def value(self, field: str, code: int) -> str | None:
        """Return the string of a code; None for `NO_VALUE`."""
        return None if code == NO_VALUE else self._values[field][code]

    def values(self, field: str) -> list[str]:
        """Return all strings met so far, by code."""
        return self._values[field]

    def code(self, field: str, value: str) -> int:
        """Return the code of a string, or -2 where no segment read so far has it."""
        return self._codes[field].get(value, -2)

    def _translate(self, field: str, _: Snapshot, segment: Segment) -> NDArray[np.int32]:
        """Return one segment's codes, int32 (rows,); for one thread at a time."""
        column = segment.column(field)
        codes, values = self._codes[field], self._values[field]
        table = np.full(len(column.dictionary) + 1, NO_VALUE, np.int32)
        for local, value in enumerate(column.dictionary.to_pylist()):
            code = codes.get(value)
            if code is None:
                code = codes[value] = len(values)
                values.append(value)
            table[local] = code
        indices = column.indices
        local_codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
        if indices.null_count:
            from lamina_engine.columns import validity

            local_codes = np.where(validity(indices), local_codes, len(table) - 1)
        return table[local_codes]

    def column(self, snapshot: Snapshot, field: str) -> NDArray[np.int32]:
        """Return int32 (n,) codes of all rows."""
        return self._columns[field].of(snapshot)

    def gather(self, snapshot: Snapshot, field: str, rows: Rows) -> NDArray[np.int32]:
        """Return int32 codes at some rows, in their order."""
        return self.column(snapshot, field)[rows]
