"""Transactions: buffered and rewritten rows, and the commit that makes them durable.

Commit: segments, the manifest that names them and the next CURRENT are written and flushed with their folders; then
CURRENT is swapped. Before the swap nothing of a transaction is visible, after it everything is durable.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import columns, schema
from lamina_engine.clock import Clock
from lamina_engine.errors import InvalidArgument, VaultLocked
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments, shape
from lamina_engine.store.files import TEMPORARY_SUFFIX, Files, PendingFile
from lamina_engine.store.manifest import Manifest, SegmentRef, ShardRef, Space
from lamina_engine.store.segments import SEGMENT_ROWS, Segment
from lamina_engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory


logger = logging.getLogger(__name__)

_CURRENT_ASIDE = re.compile(re.escape(manifests.CURRENT + TEMPORARY_SUFFIX))
_MEMORY_FACTOR = 4
"""So many times what it takes on disk, a small segment may take in memory."""


class Transaction:
    """Rows that one writer adds in one commit; made by `Store.transaction`."""

    def __init__(
        self, root: Path, files: Files, clock: Clock, snapshot: Snapshot, on_failure: Callable[[], None]
    ) -> None:
        self.snapshot = snapshot
        """The version it builds on."""
        self._root, self._files = root, files
        self._now_us = max(clock.now_us(), snapshot.manifest.last_us + 1)
        self._commit = snapshot.manifest.commits + 1
        self._pending: dict[str, list[pa.RecordBatch]] = {}
        self._rewrites = Rewrites(snapshot)
        self._spaces = dict(snapshot.manifest.spaces)
        self._space = snapshot.manifest.space
        self._indexes = dict(snapshot.manifest.indexes)
        self._shards, self._sharded_by = snapshot.manifest.shards, snapshot.manifest.sharded_by
        self._dropped: list[str] = []
        self._touched = False
        self._names_shards = False
        self._token = snapshot.manifest.token
        self._whole = snapshot.manifest.whole
        self._built_on = snapshot.manifest.built_on
        self._unlinked = snapshot.manifest.unlinked
        self._kept_rows: dict[str, int] | None = None
        self._process = os.getpid()
        self._fresh: dict[tuple[str, str], pa.RecordBatch] = {}
        """Small segments just written, by log and name."""
        self._on_failure = on_failure
        self._on_flush: list[Callable[[], None]] = []
        self.successor: Snapshot | None = None
        """The version that `commit` made, opened; None where it made none."""

    def stamps(self, n: int) -> NDArray[np.int64]:
        """Return the next ``n`` values of recorded_at: 1 µs apart, never before an older row."""
        stamps = np.arange(self._now_us, self._now_us + n, dtype=np.int64)
        self._now_us += n
        return stamps

    def same_stamps(self, n: int) -> NDArray[np.int64]:
        """Return ``n`` times the recorded_at that the next row of another log gets.

        For links: how many of them are made between two chunks depends on batches, and no date of a chunk may.
        """
        return np.full(n, self._now_us, np.int64)

    def rows(self, log: str) -> int:
        """Return the number of rows of a log, pending ones included."""
        pending: int = sum(batch.num_rows for batch in self._pending.get(log, ()))
        return self.snapshot.rows(log) + pending

    def append(self, log: str, values: dict[str, Any], stamps: NDArray[np.int64]) -> int:
        """Buffer rows for a log and return the row number of the first.

        ``values`` holds every column but recorded_at: Python lists, NumPy or Arrow arrays of one length.
        """
        first = self.rows(log)
        if len(stamps):
            space = self._spaces.get(log.partition(".")[2])
            layout = schema.log_schema(log, space.dim if space else None)
            batch = segments.record_batch(log, layout, values, stamps)
            self._pending.setdefault(log, []).append(batch)
        return first

    def replace(self, segment: Segment, make: Callable[[], pa.RecordBatch]) -> None:
        """Rewrite a segment's rows with other values; their numbers and recorded_at stay.

        ``make`` gives the rows when the segment is written, so that one rewritten segment is in memory at a time.
        The old file is deleted after the commit (by the next writer if that is interrupted), and with it every older
        manifest. Readers of older versions keep what they have mapped.
        """
        self._rewrites.replace(segment, make)

    def merge(self, log: str) -> int:
        """Join neighbouring segments of a log that fit into one; return the number saved."""
        return self._rewrites.join(log)

    def on_flush(self, act: Callable[[], None]) -> None:
        """Run a function while `commit` waits for the disk; if it fails, nothing is committed."""
        self._on_flush.append(act)

    def set_space(self, name: str, space: Space, *, default: bool) -> None:
        """Declare an embedding space; ``default`` makes it the one that recall uses."""
        self._spaces[name] = space
        if default:
            self._space = name
        self._touched = True

    def use_space(self, name: str) -> None:
        """Make a declared space the one that recall uses; the empty name makes it none."""
        self._space = name
        self._touched = True

    def drop_space(self, name: str) -> None:
        """Withdraw a space that recall does not use, and remove its vectors."""
        if name == self._space:
            raise ValueError(f"space {name!r} is in use")
        self._spaces.pop(name, None)
        self._dropped.append(name)
        self._touched = True

    def set_shards(self, shards: list[ShardRef], by: str) -> None:
        """Name the shards that hold the chunks, and what is kept together in one."""
        self._shards, self._sharded_by = shards, by
        self._names_shards = self._touched = True
        self._token = os.urandom(8).hex()

    def set_whole(self, vault: str) -> None:
        """Note that this is a shard, and of which vault."""
        self._whole = vault
        self._touched = True

    def set_built_on(self, commits: int) -> None:
        """Note the root's last commit, on which this write to a shard builds."""
        self._built_on = commits

    def set_unlinked(self, waiting: dict[str, int]) -> None:
        """Note what waits for links; see `lamina_engine.store.unlinked`."""
        self._unlinked = waiting
        self._touched = True

    def advance(self, now_us: int) -> None:
        """Set the next moment to that of the transaction of which this is a part."""
        self._now_us = max(now_us, self.snapshot.manifest.last_us + 1)

    def truncate(self, rows: Mapping[str, int]) -> None:
        """Take back all but the first rows of each log; indexes are made anew."""
        self._kept_rows = dict(rows)
        self._indexes.clear()
        self._touched = True

    def set_index(self, name: str, record: dict[str, Any] | None) -> None:
        """Record a generation of a derived index; None withdraws it."""
        if record is None:
            self._indexes.pop(name, None)
        else:
            self._indexes[name] = record
        self._touched = True

    def commit(self) -> Manifest:
        """Make all appended rows durable and current; return the newest manifest.

        Raises VaultLocked if this is no longer the writer, and OSError if the disk refuses. The vault is then unchanged; only
        if the very last flush fails, of the folder that holds CURRENT, the new version may be visible already.
        """
        rewritten = self._rewrites.logs
        if not self._pending and not self._touched and not rewritten:
            return self.snapshot.manifest
        self._check_alone()
        logs = dict(self.snapshot.manifest.logs)
        replaced: list[str] = []
        written = list(dict.fromkeys([*self._pending, *rewritten]))
        pending: list[PendingFile] = []
        self._fresh.clear()
        try:
            for log in written:
                logs[log], gone = self._write_log(log, self._pending.get(log, []), logs.get(log, []), pending)
                replaced += gone
        except BaseException:
            self._files.close(pending)
            self._files.discard_pending(pending)
            raise
        for log in map(schema.vector_log, self._dropped):
            replaced += [segments.segment_path(self._root, log, ref.name) for ref in logs.pop(log, [])]
        if self._kept_rows is not None:
            for log in logs:
                logs[log], gone = self._cut_log(log, logs[log], self._kept_rows.get(log, 0), pending)
                replaced += gone
                written.append(log)
        old = self.snapshot.manifest
        kept = (self._spaces, self._space) == (old.spaces, old.space) and not self._names_shards
        kept = kept and self._unlinked == old.unlinked
        indexes_alone = not written and not self._dropped and kept
        new = msgspec.structs.replace(
            old, version=old.version + 1, logs={log: refs for log, refs in logs.items() if refs},
            last_us=max(old.last_us, self._now_us - 1),
            spaces=dict(self._spaces), space=self._space, indexes=dict(self._indexes),
            rewritten=old.version + 1
            if self._rewrites.changes_rows or self._kept_rows is not None
            else old.rewritten,
            commits=old.commits if indexes_alone else old.commits + 1,
            shards=self._shards, sharded_by=self._sharded_by, whole=self._whole,
            token=self._token, built_on=self._built_on, unlinked=self._unlinked,
        )  # fmt: skip
        folders = [segments.log_folder(self._root, log) for log in written]
        name = manifests.publish(self._files, self._root, new, pending, folders, self._run_on_flush)
        with contextlib.suppress(OSError):  # it is committed: whoever reads next opens it
            self.successor = self.snapshot.advance(new, name, self._segment)
        self._sweep(replaced, new, in_background=not rewritten and not self._dropped)
        self._pending.clear()
        self._rewrites = Rewrites(self.snapshot)
        self._touched = False
        return new

    def _run_on_flush(self) -> None:
        while self._on_flush:
            self._on_flush.pop(0)()

    def _segment(self, log: str, ref: SegmentRef) -> Segment:
        return segments.Segment(self._root, log, ref, self._fresh.get((log, ref.name)))

    def _check_alone(self) -> None:
        """Refuse to commit over a version that this transaction does not build on."""
        if os.getpid() != self._process:
            raise VaultLocked(
                f"process {self._process} began this transaction; a forked child cannot commit it; open the vault again in the child"
            )
        if manifests.read_current(self._root) != self.snapshot.name:
            raise VaultLocked(
                f"another version of {self._root} was committed within this transaction; nothing was written, try again"
            )

    def _write_log(
        self, log: str, batches: list[pa.RecordBatch], refs: list[SegmentRef], pending: list[PendingFile]
    ) -> tuple[list[SegmentRef], list[str]]:
        """Write a log's new and rewritten segments; return its segments and the files they replace.

        Pending rows absorb small trailing segments.
        """
        if not refs:
            where = segments.log_folder(self._root, log)
            self._files.make_folder(where)
            self._files.flush_folder(where.parent)  # an interrupted first commit may have left the folder unflushed
        parts = self.snapshot.segments(log)
        keep = self._merge_start(log, refs, sum(batch.num_rows for batch in batches)) if batches else len(refs)
        new: list[SegmentRef] = []
        if not self._rewrites.has(log):  # as in every small write
            new += refs[:keep]
        for group in self._rewrites.groups(log, keep) if self._rewrites.has(log) else ():
            first = refs[group[0]]
            if len(group) > 1:
                new += self._write_rows(
                    log, first.start, _cut_to_segments([self._rows_of(parts[i]) for i in group]), pending
                )
            elif (changed := self._rewrites.batch_of(parts[group[0]])) is not None:
                new += self._write_rows(log, first.start, [changed], pending)
                del changed  # before the next is made
            else:
                new.append(first)
        if batches:
            start = refs[keep].start if keep < len(refs) else self.snapshot.rows(log)
            merged = [self._rows_of(segment) for segment in parts[keep:]]
            new += self._write_rows(log, start, _cut_to_segments([*merged, *_sort_by_stamp(batches)]), pending)
        named = {ref.name for ref in new}
        return new, [segments.segment_path(self._root, log, ref.name) for ref in refs if ref.name not in named]

    def _write_rows(
        self, log: str, start: int, parts: Iterable[pa.RecordBatch], pending: list[PendingFile]
    ) -> Iterator[SegmentRef]:
        for part in parts:
            ref, file = segments.write_segment(self._files, self._root, log, start, part, self._commit)
            pending.append(file)
            # a slice of something large would keep all of that in memory
            if ref.size <= segments.KEPT_BYTES and part.get_total_buffer_size() <= _MEMORY_FACTOR * segments.KEPT_BYTES:
                self._fresh[log, ref.name] = part
            yield ref
            start += part.num_rows

    def _cut_log(
        self, log: str, refs: list[SegmentRef], rows: int, pending: list[PendingFile]
    ) -> tuple[list[SegmentRef], list[str]]:
        """Return the segments of a log's first rows, and the files they replace."""
        kept: list[SegmentRef] = []
        gone: list[str] = []
        for ref, segment in zip(refs, self.snapshot.segments(log), strict=True):
            if ref.start + ref.rows <= rows:
                kept.append(ref)
                continue
            gone.append(segments.segment_path(self._root, log, ref.name))
            if ref.start < rows:
                part = _cut_to_segments([segment.batch.slice(0, rows - ref.start)])
                kept += self._write_rows(log, ref.start, part, pending)
        return kept, gone

    def _rows_of(self, segment: Segment) -> pa.RecordBatch:
        changed = self._rewrites.batch_of(segment)
        return segment.batch if changed is None else changed

    def _merge_start(self, log: str, refs: list[SegmentRef], rows: int) -> int:
        """Return the first segment to merge; a damaged one is never given a new digest."""
        keep = segments.merge_start(refs, rows)
        for position in range(len(refs) - 1, keep - 1, -1):
            segment = self.snapshot.segments(log)[position]
            if not segment.in_memory and not segment.is_intact():
                logger.warning("%s is damaged and is not merged; `lamina verify` names what can be saved", segment.path)
                return position + 1
        return keep

    def _sweep(self, replaced: list[str], new: Manifest, *, in_background: bool) -> None:
        """Delete files that no version needs, on a thread where ``in_background``."""
        # where rows have changed, no older version is of use: what it names is gone
        stale = max(new.version - manifests.KEPT_MANIFESTS, new.rewritten)
        due = not in_background or new.version % manifests.KEPT_MANIFESTS == 0  # a small write looks for none
        folder = f"{self._root}{os.sep}{manifests.MANIFESTS}"
        with contextlib.suppress(OSError):
            found = os.listdir(folder) if due else []  # noqa: PTH208
            old = [name for name in found if manifests.is_manifest_name(name) and manifests.version_of(name) < stale]
            replaced += [f"{folder}{os.sep}{name}" for name in old]
        if replaced:
            (self._files.delete_in_background if in_background else self._files.delete)(replaced, self._on_failure)


def _sort_by_stamp(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return pending rows by recorded_at: calls may append event kinds out of order."""
    if len(batches) == 1 and batches[0].num_rows == 1:
        return batches
    stamps = np.concatenate([columns.numbers(batch.column("recorded_at")) for batch in batches])
    if (stamps[1:] >= stamps[:-1]).all():
        return batches
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    ordered: list[pa.RecordBatch] = table.take(pa.array(np.argsort(stamps, kind="stable"))).to_batches()
    return ordered


def _cut_to_segments(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches and cut them into pieces of at most `SEGMENT_ROWS` rows."""
    if len(batches) == 1 and batches[0].num_rows <= segments.SEGMENT_ROWS:
        yield batches[0].replace_schema_metadata(None)
        return
    plain = [batch.replace_schema_metadata(None) for batch in batches]
    table = pa.Table.from_batches(plain).unify_dictionaries()
    for start in range(0, table.num_rows, segments.SEGMENT_ROWS):
        # one piece, but for columns with more than 2 GiB of text, which Arrow keeps apart
        yield from table.slice(start, segments.SEGMENT_ROWS).combine_chunks().to_batches()


def remove_orphans(root: Path, files: Files, snapshot: Snapshot) -> int:
    """Delete files that no version names; return their number. Only under the writer lock."""
    removed = 0
    for path in _orphans(root, snapshot):
        with contextlib.suppress(OSError):
            files.remove(path)
            removed += 1
    return removed


def _orphans(root: Path, snapshot: Snapshot) -> Iterator[Path]:
    for folder in shape.own_folders(root / segments.LOG, manifests.LOG_NAME):
        named = {ref.name for ref in snapshot.manifest.logs.get(folder.name, ())}
        yield from (path for path in shape.own_files(folder, shape.SEGMENT_NAME) if path.name not in named)
    for path in shape.own_files(root / manifests.MANIFESTS, shape.MANIFEST_NAME):
        if path.name.endswith(TEMPORARY_SUFFIX):
            yield path
            continue
        version = manifests.version_of(path.name)
        useless = version >= snapshot.version or version < snapshot.manifest.rewritten
        if useless and path.name != snapshot.name:
            yield path
    yield from shape.own_files(root, _CURRENT_ASIDE)


_REWRITE_KEY = b"rewritten"
"""Key in a segment's file: rewritten rows get other bytes, so another name, and no cache mixes them up."""


class Rewrites:
    """Segments of one version to be rewritten."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._makers: dict[tuple[str, str], Callable[[], pa.RecordBatch]] = {}
        self._joined: dict[str, list[list[int]]] = {}

    @property
    def logs(self) -> list[str]:
        """Logs with segments to rewrite, in order of appearance."""
        return list(dict.fromkeys([*(log for log, _ in self._makers), *self._joined]))

    def has(self, log: str) -> bool:
        """Return True if segments of a log are rewritten or joined."""
        return log in self._joined or any(each == log for each, _ in self._makers)

    @property
    def changes_rows(self) -> bool:
        """True if rows are replaced, not only joined."""
        return bool(self._makers)

    def replace(self, segment: Segment, make: Callable[[], pa.RecordBatch]) -> None:
        """Plan new values for a segment's rows; number, columns and recorded_at must match."""
        self._makers[segment.log, segment.ref.name] = make

    def batch_of(self, segment: Segment) -> pa.RecordBatch | None:
        """Return a segment's new rows, made each time; None if it is unchanged."""
        make = self._makers.get((segment.log, segment.ref.name))
        if make is None:
            return None
        batch = make()
        same = batch.num_rows == segment.rows and batch.schema.equals(segment.batch.schema)
        if not same or not batch.column("recorded_at").equals(segment.column("recorded_at")):
            raise InvalidArgument(
                f"{segment.path.name} of {segment.log} has {segment.rows} rows; it is replaced only by as many, "
                "of the same columns, recorded at the same instants"
            )
        return batch.replace_schema_metadata({_REWRITE_KEY: str(self._snapshot.version + 1)})

    def join(self, log: str) -> int:
        """Plan to join a log's neighbouring segments that fit into one; return the number saved."""
        groups = mergeable_runs(self._snapshot.segments(log))
        if groups:
            self._joined[log] = groups
        return sum(len(group) - 1 for group in groups)

    def groups(self, log: str, stop: int) -> list[list[int]]:
        """Return the first ``stop`` segments of a log, those that become one together."""
        joined = [group for group in self._joined.get(log, ()) if group[-1] < stop]
        inside = {position for group in joined for position in group}
        return sorted(joined + [[position] for position in range(stop) if position not in inside])


def mergeable_runs(parts: Iterable[Segment]) -> list[list[int]]:
    """Return runs of two or more neighbours with at most `SEGMENT_ROWS` rows in all.

    Greedy, so a second pass finds none. A damaged segment is left alone: its damage would get a new digest.
    """
    runs: list[list[int]] = [[]]
    rows = 0
    for position, segment in enumerate(parts):
        if rows + segment.rows > SEGMENT_ROWS:
            runs.append([])
            rows = 0
        if segment.rows < SEGMENT_ROWS and not segment.is_intact():
            logger.warning("%s is damaged and is not joined; `lamina verify` names what can be saved", segment.path)
            runs.append([])
            rows = 0
            continue
        runs[-1].append(position)
        rows += segment.rows
    return [run for run in runs if len(run) > 1]


P = TypeVar("P")
"""Plan: rows to append, and what each does to the rows that are there."""
C = TypeVar("C")
"""Counts of added, updated and unchanged rows."""


class LogWriter(ABC, Generic[P, C]):
    """Batch writer of one log; checks that need no vault belong in the constructor."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @abstractmethod
    def plan(self, view: View) -> P:
        """Compare the batch with the newest version; nothing has been appended if this raises."""

    @abstractmethod
    def append(self, transaction: Transaction, view: View, plan: P) -> C:
        """Append the rows of a plan."""

    def sync_index(self, counts: C) -> None:
        """Sync the indexes of the log, after the commit."""

    def append_to(self, transaction: Transaction, view: View) -> C:
        """Plan and append within a transaction of the caller, who also syncs."""
        return self.append(transaction, view, self.plan(view))

    def write(self) -> C:
        """Write the batch durably, all or nothing."""
        with self.memory.write() as (transaction, view):
            counts = self.append_to(transaction, view)
        self.sync_index(counts)
        return counts
