"""Row column: a log's column as one array over all segments.

Rows never change and only ever come after the last, so one array grows for all versions, and each version sees its
first rows. (What rewrites rows, forgetting, begins new tables.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot

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

    def _grow(self, snapshot: Snapshot, rows: int) -> None:
        parts = [
            self._read(snapshot, segment)[max(0, self._rows - segment.start) :]
            for segment in snapshot.segments(self._log)
            if segment.start + segment.rows > self._rows
        ]
        if not parts:
            return
        if self._rows == 0 and len(parts) == 1:
            self._publish(parts[0], rows)  # nothing to join: the file itself serves
            return
        if self._room is None or len(self._room) < rows:
            self._room = np.empty((rows + rows // _SPARE, *parts[0].shape[1:]), parts[0].dtype)
            if self._values is not None:
                self._room[: self._rows] = self._values[: self._rows]
        np.concatenate(parts, out=self._room[self._rows : rows])  # behind what any reader sees
        self._publish(self._room, rows)

    def _publish(self, values: NDArray[Any], rows: int) -> None:
        view = values.view()
        view.flags.writeable = False
        self._values = view  # before the number of rows: whoever sees that finds them
        self._rows = rows
