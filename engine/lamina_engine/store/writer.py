"""Writing: one transaction at a time, under an operating-system lock that dies with its process.

Commit: segments are written aside, flushed, renamed, and their folders flushed; then the manifest the same way; then
CURRENT is swapped. Before the swap nothing of a transaction can be seen, after it everything is durable.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import schema
from lamina_engine.clock import Clock
from lamina_engine.errors import VaultLocked, VaultReadOnly
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.files import TEMPORARY_SUFFIX, Files
from lamina_engine.store.manifest import Manifest, SegmentRef, Space

if TYPE_CHECKING:
    from lamina_engine.store.snapshot import Snapshot

LOCK = "writer.lock"
LOCK_TIMEOUT_S = 10.0


@contextlib.contextmanager
def write_lock(root: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the vault's writer lock.

    Raises
    ------
    VaultLocked
        When another writer still holds it after ``timeout_s`` seconds.
    VaultReadOnly
        When the folder cannot be written.
    """
    from filelock import FileLock, Timeout  # 20 ms that readers need not pay

    if not os.access(root, os.W_OK):
        raise VaultReadOnly(f"{root} cannot be written by this user; open it with mode='r', or change its permissions")
    lock = FileLock(root / LOCK)
    try:
        lock.acquire(timeout=timeout_s)
    except Timeout as error:
        raise VaultLocked(
            f"another process has been writing to {root} for more than {timeout_s:g} s; wait for it, or give a longer lock_timeout"
        ) from error
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise VaultReadOnly(f"{root / LOCK} cannot be opened for writing ({error.strerror}); open the vault with mode='r'") from error
        raise
    try:
        yield
    finally:
        lock.release()


class Transaction:
    """What one writer adds in one commit. Made by `lamina_engine.store.store.Store.transaction`.

    Rows are buffered; `commit` makes them durable and visible at once, or leaves the vault as it was.
    """

    def __init__(self, root: Path, files: Files, clock: Clock, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        """The version it builds on."""
        self._root, self._files = root, files
        self._now_us = max(clock.now_us(), snapshot.manifest.last_us + 1)
        self._pending: dict[str, list[pa.RecordBatch]] = {}
        self._spaces = dict(snapshot.manifest.spaces)
        self._space = snapshot.manifest.space
        self._indexes = dict(snapshot.manifest.indexes)
        self._touched = False

    def stamps(self, n: int) -> NDArray[np.int64]:
        """Return the next ``n`` values of recorded_at: one microsecond apart, never before the clock or a former row."""
        stamps = np.arange(self._now_us, self._now_us + n, dtype=np.int64)
        self._now_us += n
        return stamps

    @property
    def last_stamp(self) -> int:
        """The newest stamp handed out, or the newest of the vault."""
        return self._now_us - 1

    def rows(self, log: str) -> int:
        """Return how many rows a log will have, those pending included."""
        return self.snapshot.rows(log) + sum(batch.num_rows for batch in self._pending.get(log, ()))

    def append(self, log: str, columns: dict[str, Any], stamps: NDArray[np.int64]) -> int:
        """Buffer rows for a log.

        Parameters
        ----------
        log : str
            Name of the log.
        columns : dict
            Every column but recorded_at: Python lists, NumPy arrays or Arrow arrays of one length.
        stamps : int64 (n,)
            From `stamps`.

        Returns
        -------
        int
            Row number of the first of them.
        """
        first = self.rows(log)
        if len(stamps):
            space = self._spaces.get(log.partition(".")[2])
            layout = schema.log_schema(log, space.dim if space else None)
            arrays = [pa.array(stamps) if f.name == "recorded_at" else _array(columns[f.name], f.type) for f in layout]
            self._pending.setdefault(log, []).append(pa.RecordBatch.from_arrays(arrays, schema=layout))
        return first

    def set_space(self, name: str, space: Space, *, default: bool) -> None:
        """Declare an embedding space; ``default`` makes it the one that recall uses."""
        self._spaces[name] = space
        if default:
            self._space = name
        self._touched = True

    def set_index(self, name: str, record: dict[str, Any] | None) -> None:
        """Record a generation of a derived index, or withdraw it with None."""
        if record is None:
            self._indexes.pop(name, None)
        else:
            self._indexes[name] = record
        self._touched = True

    def commit(self) -> Manifest:
        """Make everything appended durable and current; return the new manifest (the old one when nothing was added).

        Raises
        ------
        OSError
            When the disk refuses; the vault is as it was before the transaction.
        """
        if not self._pending and not self._touched:
            return self.snapshot.manifest
        logs = dict(self.snapshot.manifest.logs)
        replaced: list[Path] = []
        for log, batches in self._pending.items():
            logs[log], gone = self._write_log(log, batches, logs.get(log, []))
            replaced += gone
        old = self.snapshot.manifest
        new = msgspec.structs.replace(
            old, version=old.version + 1, last_us=max(old.last_us, self._now_us - 1), logs=logs,
            spaces=self._spaces, space=self._space, indexes=self._indexes,
        )  # fmt: skip
        manifests.publish(self._files, self._root, new)
        self._pending.clear()
        self._sweep(replaced, new)
        return new

    def _write_log(self, log: str, batches: list[pa.RecordBatch], refs: list[SegmentRef]) -> tuple[list[SegmentRef], list[Path]]:
        """Write a log's pending rows, taking in trailing small segments; return all its segments and what they replace."""
        where = segments.folder(self._root, log)
        self._files.make_folder(where)
        keep = segments.merge_start(refs, sum(batch.num_rows for batch in batches))
        merged = [s.batch for s in self.snapshot.segments(log)[keep:]]
        start = refs[keep].start if keep < len(refs) else self.snapshot.rows(log)
        kept = list(refs[:keep])
        for part in _cut([*merged, *batches]):
            kept.append(segments.write(self._files, self._root, log, start, part))
            start += part.num_rows
        self._files.flush_folder(where)
        return kept, [where / ref.name for ref in refs[keep:]]

    def _sweep(self, replaced: list[Path], new: Manifest) -> None:
        """Remove what no version needs any more. A failure here costs disk, never data."""
        with contextlib.suppress(OSError):
            for path in replaced:
                self._files.remove(path)
            stale = f"{max(0, new.version - manifests.KEPT_MANIFESTS):010d}"
            for path in (self._root / manifests.MANIFESTS).iterdir():
                if path.name < stale:
                    self._files.remove(path)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    return pa.array(values, kind)


def _cut(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches and cut them into pieces of at most `SEGMENT_ROWS` rows."""
    table = pa.Table.from_batches(batches).unify_dictionaries()
    for start in range(0, table.num_rows, segments.SEGMENT_ROWS):
        piece = table.slice(start, segments.SEGMENT_ROWS).combine_chunks()
        yield piece.to_batches()[0]


def remove_orphans(root: Path, files: Files, manifest: Manifest) -> int:
    """Remove files of the log that no version names: what an interrupted commit left. Only under the writer lock."""
    removed = 0
    for folder in (root / segments.LOG).iterdir() if (root / segments.LOG).is_dir() else ():
        named = {ref.name for ref in manifest.logs.get(folder.name, [])}
        for path in folder.iterdir():
            if path.name not in named:
                files.remove(path)
                removed += 1
    for folder in (root, root / manifests.MANIFESTS):
        for path in folder.glob("*" + TEMPORARY_SUFFIX):
            files.remove(path)
            removed += 1
    return removed
