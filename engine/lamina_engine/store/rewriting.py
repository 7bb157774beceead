"""What a transaction writes anew of the rows that are there: changed in place, or small neighbours joined."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pyarrow as pa

from lamina_engine.errors import InvalidArgument
from lamina_engine.store.segments import SEGMENT_ROWS, Segment
from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

_MARK = b"rewritten"
"""Key in a segment's file: equal rows written anew get other bytes, so another name, and no cache takes one for the other."""


class Rewrites:
    """Segments of one version that are to be written anew.

    Parameters
    ----------
    snapshot : Snapshot
        The version.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._batches: dict[tuple[str, str], pa.RecordBatch] = {}
        self._joined: dict[str, list[list[int]]] = {}

    @property
    def logs(self) -> list[str]:
        """Logs with segments to write anew, in order of appearance."""
        return list(dict.fromkeys([*(log for log, _ in self._batches), *self._joined]))

    @property
    def changes_rows(self) -> bool:
        """True where rows were replaced, and not only joined."""
        return bool(self._batches)

    def replace(self, segment: Segment, batch: pa.RecordBatch) -> None:
        """Note other values for the rows of a segment.

        Raises
        ------
        InvalidArgument
            When there are not as many rows, of the same columns, recorded at the same instants.
        """
        same = batch.num_rows == segment.rows and batch.schema.equals(segment.batch.schema)
        if not same or not batch.column("recorded_at").equals(segment.column("recorded_at")):
            raise InvalidArgument(
                f"{segment.path.name} of {segment.log} has {segment.rows} rows; it is replaced only by as many, "
                "of the same columns, recorded at the same instants"
            )
        mark = {_MARK: str(self._snapshot.version + 1)}
        self._batches[segment.log, segment.ref.name] = batch.replace_schema_metadata(mark)

    def join(self, log: str) -> int:
        """Note that neighbours of a log are to become one segment wherever they fit; return how many will vanish."""
        groups = joinable(self._snapshot.segments(log))
        if groups:
            self._joined[log] = groups
        return sum(len(group) - 1 for group in groups)

    def batch_of(self, segment: Segment) -> pa.RecordBatch | None:
        """Return the new rows of a segment; None where it stays."""
        return self._batches.get((segment.log, segment.ref.name))

    def groups(self, log: str, stop: int) -> list[list[int]]:
        """Return the first ``stop`` segments of a log, those that become one together."""
        joined = [group for group in self._joined.get(log, ()) if group[-1] < stop]
        inside = {position for group in joined for position in group}
        return sorted(joined + [[position] for position in range(stop) if position not in inside])


def joinable(parts: Iterable[Segment]) -> list[list[int]]:
    """Return runs of two or more neighbours with at most `SEGMENT_ROWS` rows together; greedy, so doing it twice is once.

    A damaged segment is left alone: its damage would get a fresh digest.
    """
    runs: list[list[int]] = [[]]
    rows = 0
    for position, segment in enumerate(parts):
        if rows + segment.rows > SEGMENT_ROWS:
            runs.append([])
            rows = 0
        if segment.rows < SEGMENT_ROWS and not segment.intact():
            logger.warning("%s is damaged and is not joined; `lamina verify` names what can be saved", segment.path)
            runs.append([])
            rows = 0
            continue
        runs[-1].append(position)
        rows += segment.rows
    return [run for run in runs if len(run) > 1]
