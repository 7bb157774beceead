"""Snapshots: one pinned version of the vault; every read of a call goes through one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.columns import Reader, numbers, split_rows
from lamina_engine.errors import VaultCorrupt
from lamina_engine.schema import vector_log
from lamina_engine.store.manifest import Manifest, SegmentRef, Space
from lamina_engine.store.segments import Segment

if TYPE_CHECKING:
    import pyarrow as pa

Rows = NDArray[np.int64]
_FEW = 8
"""Rows that are found one by one in less time than by a call of NumPy."""


class Snapshot:
    """One version of the log: manifest and mapped segments. Immutable, shared between threads."""

    __slots__ = ("_rows", "_segments", "_starts", "manifest", "name")

    def __init__(self, manifest: Manifest, segments: dict[str, tuple[Segment, ...]], name: str = "") -> None:
        self.manifest = manifest
        self.name = name
        self._segments = segments
        self._rows = {log: manifest.rows(log) for log in manifest.logs}
        self._starts: dict[str, NDArray[np.int64]] = {}

    def advance(self, manifest: Manifest, name: str, open_: Callable[[str, SegmentRef], Segment]) -> Snapshot:
        """Return a later version; shared segments are reused, ``open_`` opens the others."""
        opened: dict[str, tuple[Segment, ...]] = {}
        for log, refs in manifest.logs.items():
            if (
                log in self._segments and refs is self.manifest.logs[log]
            ):  # as a writer leaves the logs that it adds nothing to
                opened[log] = self._segments[log]
                continue
            known = {segment.ref.name: segment for segment in self.segments(log)}
            opened[log] = tuple(known.get(ref.name) or open_(log, ref) for ref in refs)
        return Snapshot(manifest, opened, name)

    @property
    def version(self) -> int:
        """Number of the version; grows with every commit."""
        return self.manifest.version

    @property
    def generation(self) -> int:
        """Grows where nothing derived from earlier versions is to be used: rows were forgotten."""
        return self.manifest.rewritten

    @property
    def missing(self) -> tuple[str, ...]:
        """Shards without which it is read, by name: none, unless a reader wished so."""
        return ()

    @property
    def space(self) -> Space | None:
        """The embedding space that recall uses; None in a vault without vectors."""
        return self.manifest.spaces.get(self.manifest.space)

    @property
    def vector_log(self) -> str:
        """Name of the log with the vectors of that space."""
        return vector_log(self.manifest.space)

    def rows(self, log: str) -> int:
        """Return the number of rows of a log."""
        return self._rows.get(log, 0)

    def segments(self, log: str) -> tuple[Segment, ...]:
        """Return a log's segments in row order."""
        return self._segments.get(log, ())

    def segments_from(self, log: str, row: int) -> tuple[Segment, ...]:
        """Return the segments of a log that hold rows from one on: the last ones."""
        segments = self.segments(log)
        first = len(segments)
        while first and segments[first - 1].ref.start + segments[first - 1].ref.rows > row:
            first -= 1
        return segments[first:]

    def vectors(self, segment: Segment) -> NDArray[np.float32]:
        """View a segment of that log as float32 (rows, d); d is the dimension of the space."""
        matrix, space = segment.vectors(), self.space
        if space is None or matrix.shape[1] != space.dim:
            raise VaultCorrupt(
                f"{segment.path} has vectors of {matrix.shape[1]} numbers where the space {self.manifest.space!r} has "
                f"{space.dim if space else 'none'}; `lamina verify` names what can be saved"
            )
        return matrix

    def watermark(self, log: str, as_of_us: int | None) -> int:
        """Return the number of rows of a log recorded by a moment, of all without one. O(log n)."""
        if as_of_us is None:
            return self.rows(log)
        rows = 0
        for segment in self.segments(log):
            if segment.ref.last_us <= as_of_us:
                rows = segment.start + segment.rows
                continue
            stamps = segment.numbers("recorded_at")
            return segment.start + int(np.searchsorted(stamps, as_of_us, side="right"))
        return rows

    def groups(self, log: str, rows: Rows) -> list[tuple[Segment, slice | Rows, Rows]]:
        """Split rows by segment, as (segment, positions in ``rows``, offsets in the segment)."""
        parts = self.segments(log)
        if not parts:
            return []
        return [(parts[number], places, offsets) for number, places, offsets in split_rows(rows, self._starts_of(log))]

    def parts(self, log: str, rows: Rows) -> Iterator[tuple[Segment, Rows]]:
        """Yield some rows of a log, ascending, by segment: for who reads all columns once."""
        for segment, _, offsets in self.groups(log, rows):
            yield segment, offsets

    def numbers(self, log: str, column: str, rows: Rows, missing: int = 0) -> NDArray[Any]:
        """Gather a primitive column at some rows, in their order; nulls become ``missing``."""
        if len(parts := self.segments(log)) == 1:
            return parts[0].numbers(column, missing)[rows - parts[0].start if parts[0].start else rows]
        out: NDArray[Any] | None = None
        for segment, positions, offsets in self.groups(log, rows):
            values = segment.numbers(column, missing)[offsets]
            if out is None:
                out = np.empty(len(rows), values.dtype)
            out[positions] = values
        return np.empty(0, np.int64) if out is None else out

    def require_intact(self, log: str, rows: Rows | None = None) -> None:
        """Raise `VaultCorrupt` where bytes of a log, or of some rows' segments, have changed.

        Asked before rows are copied: the copy would get a digest of its own, and nothing would ever notice. O(bytes), once.
        """
        parts = self.segments(log) if rows is None else [segment for segment, _, _ in self.groups(log, rows)]
        for segment in parts:
            segment.require_intact()

    def values(self, log: str, column: str, rows: Rows) -> list[Any]:
        """Return the Python values of any column at some rows, in their order."""
        owners, offsets = self._homes(log, rows)
        parts = self.segments(log)
        readers = {owner: parts[owner].reader(column) for owner in set(owners)}
        return [readers[owner](offset) for owner, offset in zip(owners, offsets, strict=True)]

    def take(self, log: str, column: str, rows: Rows) -> pa.Array:
        """Return any column at ascending rows, dictionaries decoded."""
        import pyarrow as pa

        parts = []
        for segment, _, offsets in self.groups(log, rows):
            part = segment.column(column).take(pa.array(offsets))
            parts.append(part.dictionary_decode() if pa.types.is_dictionary(part.type) else part)
        return pa.concat_arrays(parts)

    @property
    def holders(self) -> tuple[Snapshot, ...]:
        """The versions that hold the rows: this one, but in a sharded vault."""
        return (self,)

    def split(self, rows: Rows) -> list[tuple[Snapshot, Rows]]:
        """Return the versions that hold rows of the chunks log, with their rows there."""
        return [(self, rows)]

    def records(self, log: str, rows: Rows, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return whole rows as dicts, in the order given."""
        owners, offsets = self._homes(log, rows)
        parts = self.segments(log)
        readers: dict[int, list[tuple[str, Reader]]] = {}
        for owner in set(owners):
            part = parts[owner]
            readers[owner] = [(name, part.reader(name)) for name in names or part.batch.schema.names]
        return [
            {name: read(offset) for name, read in readers[owner]} for owner, offset in zip(owners, offsets, strict=True)
        ]

    def rows_with(self, log: str, column: str, names: Collection[str], start: int = 0) -> Rows:
        """Return the rows, from one on, whose category is one of some names, ascending.

        O(rows); of a segment without such a name only its names are read.
        """
        found = [np.empty(0, np.int64)]
        for segment in self.segments(log):
            if segment.start + segment.rows > start:
                values = segment.column(column)
                wanted = [code for code, name in enumerate(values.dictionary.to_pylist()) if name in names]
                if wanted:
                    found.append(np.flatnonzero(np.isin(numbers(values.indices, -1), wanted)) + segment.start)
        rows = np.concatenate(found)
        return rows[rows >= start]

    def _starts_of(self, log: str) -> NDArray[np.int64]:
        """Return the first row of each segment, int64."""
        found = self._starts.get(log)
        if found is None:
            found = self._starts[log] = np.array([s.start for s in self._segments[log]] or [0], np.int64)
        return found

    def _homes(self, log: str, rows: Rows) -> tuple[list[int], list[int]]:
        """Return the number of each row's segment, and the row's place in it."""
        if not len(rows):
            return [], []
        starts = self._starts_of(log)
        if len(rows) <= _FEW:
            # one by one: a call of NumPy that gives the interpreter's lock away may wait 5 ms for a thread to give it back
            firsts = starts.tolist()
            owners = [bisect_right(firsts, row) - 1 for row in rows.tolist()]
            return owners, [row - firsts[owner] for row, owner in zip(rows.tolist(), owners, strict=True)]
        found = np.searchsorted(starts, rows, side="right") - 1
        return found.tolist(), (rows - starts[found]).tolist()

    def column(
        self, log: str, name: str, *, start: int = 0, convert: Callable[[Segment], NDArray[Any]] | None = None
    ) -> NDArray[Any]:
        """Return a primitive column from row ``start`` on; a copy if there are several segments."""
        parts = []
        for segment in self.segments(log):
            if segment.start + segment.rows > start:
                values = convert(segment) if convert else segment.numbers(name)
                parts.append(values[max(0, start - segment.start) :])
        if not parts:
            return np.empty(0, np.int64)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
