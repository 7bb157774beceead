"""The narrow columns of the log as codes: project, type, collection, session, agent.

Each segment has its own small dictionary; here they share one per field, in order of first appearance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot

FIELDS = ("project", "type", "collection", "session", "agent")
NO_VALUE = -1


def facet(field: str, value: str) -> str:
    """Return the exact term under which an index knows that a field has a value."""
    return f"{field}={value}"


class CategoryTable:
    """Codes of the category fields, shared by all versions of a vault in one process.

    Codes of a segment are translated when first asked for; segments are immutable, so this is done once.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {field: [] for field in FIELDS}
        self._codes: dict[str, dict[str, int]] = {field: {} for field in FIELDS}
        self._segments: dict[tuple[str, str], NDArray[np.int32]] = {}
        self._lock = threading.Lock()

    def value(self, field: str, code: int) -> str | None:
        """Return the string of a code; None for `NO_VALUE`."""
        return None if code == NO_VALUE else self._values[field][code]

    def values(self, field: str) -> list[str]:
        """Return all strings met so far, by code."""
        return self._values[field]

    def code(self, field: str, value: str) -> int:
        """Return the code of a string, or -2 where no segment read so far has it."""
        return self._codes[field].get(value, -2)

    def segment(self, segment: Segment, field: str) -> NDArray[np.int32]:
        """Return int32 (rows,) codes of one segment; `NO_VALUE` for null."""
        key = (segment.ref.name, field)
        found = self._segments.get(key)
        if found is None:
            with self._lock:
                found = self._segments.get(key)
                if found is None:
                    found = self._segments[key] = self._translate(segment, field)
        return found

    def _translate(self, segment: Segment, field: str) -> NDArray[np.int32]:
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
        parts = [self.segment(s, field) for s in snapshot.segments("chunks")]
        if not parts:
            return np.empty(0, np.int32)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def gather(self, snapshot: Snapshot, field: str, rows: Rows) -> NDArray[np.int32]:
        """Return int32 codes at some rows, in their order."""
        out = np.empty(len(rows), np.int32)
        for segment, positions, offsets in snapshot.groups("chunks", rows):
            out[positions] = self.segment(segment, field)[offsets]
        return out

    def forget_segments(self, keep: Iterable[str]) -> None:
        """Drop codes of segments that no open version has."""
        names = set(keep)
        with self._lock:
            self._segments = {key: codes for key, codes in self._segments.items() if key[0] in names}
