"""Transaction of a sharded vault: rows go to shards, and one commit of the root shows them.

The root names how many rows of each shard's logs are seen. So shards commit first, one after another, and then the root: that is
the one commit. A writer that dies before it leaves rows that the next one takes back (`UnionStore.repair`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import schema
from lamina_engine.errors import InvalidArgument, VaultLocked
from lamina_engine.shards.layout import hashed_shard, shard_ref
from lamina_engine.shards.union import ROW_COLUMNS, UnionSnapshot
from lamina_engine.store.manifest import ShardRef, Space
from lamina_engine.store.segments import Segment, record_batch
from lamina_engine.store.transaction import Transaction

if TYPE_CHECKING:
    from lamina_engine.shards.store import UnionStore

ROOT = -1
_OF_CHUNKS = ("events", "origins", "freshness")
"""Logs whose rows lie with the chunk that they name by its row."""

_Part = tuple[str, pa.RecordBatch]


class UnionTransaction(Transaction):
    """Rows that one writer adds in one commit, to the root and to shards."""

    snapshot: UnionSnapshot

    def __init__(self, store: UnionStore, snapshot: UnionSnapshot, timeout_s: float) -> None:
        super().__init__(store.root, store.files, store.clock, snapshot, lambda: None)
        self._store, self._timeout_s = store, timeout_s
        count = len(snapshot.shards)
        self._parts: dict[int, list[_Part]] = {number: [] for number in range(ROOT, count)}
        self._replaced: dict[int, list[tuple[Segment, Callable[[], pa.RecordBatch]]]] = {
            n: [] for n in range(ROOT, count)
        }
        self._added: dict[str, int] = {}
        self._homes: list[tuple[int, int]] = []
        """Shard and row there of each new chunk."""
        self._next = [int(seen) for seen in snapshot.chunk_counts]
        self._home_of_id: dict[str, int] = {}
        self._home_of_project: dict[str, int] = {}
        self._acts: list[Callable[[Transaction], None]] = []
        """What is done in the root and in every shard."""

    def rows(self, log: str) -> int:
        """Return the number of rows of a log, pending ones included."""
        return self.snapshot.rows(log) + self._added.get(log, 0)

    def append(self, log: str, values: dict[str, Any], stamps: NDArray[np.int64]) -> int:
        """Buffer rows for a log, each for its shard, and return the row number of the first."""
        first = self.rows(log)
        if not len(stamps):
            return first
        space = self._spaces.get(log.partition(".")[2])
        batch = record_batch(log, schema.log_schema(log, space.dim if space else None), values, stamps)
        homes = self._homes_of(log, batch, first)
        self._added[log] = self._added.get(log, 0) + len(stamps)
        for number in np.unique(homes).tolist():
            part = batch.take(pa.array(np.flatnonzero(homes == number)))
            self._parts[number].append((log, part if number == ROOT else self._localized(log, part)))
        return first

    def replace(self, segment: Segment, make: Callable[[], pa.RecordBatch]) -> None:
        """Rewrite a segment's rows, of the root or of one shard."""
        for number, each in enumerate(self.snapshot.of, ROOT):
            if any(segment is own for own in each.segments(segment.log)):
                self._replaced[number].append((segment, make))
                return
        raise InvalidArgument(f"{segment.path.name} of {segment.log} is no segment of this version")

    def merge(self, log: str) -> int:
        """Join neighbouring segments of a log, in the root and in every shard."""
        self._acts.append(lambda own: _merge(own, log))
        self._touched = True
        return 0

    def set_space(self, name: str, space: Space, *, default: bool) -> None:
        """Declare an embedding space, in every shard."""
        super().set_space(name, space, default=default)
        self._acts.append(lambda own: own.set_space(name, space, default=default))

    # ------------------------------------------------------------------ homes

    def _homes_of(self, log: str, batch: pa.RecordBatch, first: int) -> NDArray[np.int64]:
        """Return the shard of each row, or `ROOT`."""
        if log == "chunks":
            return self._chunk_homes(batch)
        if log.startswith("vectors."):
            return np.array([self._home(row)[0] for row in range(first, first + batch.num_rows)], np.int64)
        if log in _OF_CHUNKS:
            rows = batch.column("row").to_pylist()
            return np.array([ROOT if row < 0 else self._home(row)[0] for row in rows], np.int64)
        if log == "sources":
            return np.array([self._home_of_source(ids) for ids in batch.column("chunks").to_pylist()], np.int64)
        return np.full(batch.num_rows, ROOT, np.int64)

    def _home(self, row: int) -> tuple[int, int]:
        """Return the shard of a chunk's row, and its row there."""
        known = self.snapshot.rows("chunks")
        if row >= known:
            return self._homes[row - known]
        homes = self.snapshot.homes
        return int(homes.homes[row]), int(homes.rows[row])

    def _chunk_homes(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Choose the shard of new chunks: of the one before, of former versions, else by key."""
        names = [str(name) for name in batch.column("id").to_pylist()]
        columns = [batch.column(name).to_pylist() for name in ("previous", "source", "project")]
        older = self._store.view_of(self.snapshot).rows_of_ids(names).tolist()
        found = []
        for name, row, previous, source, project in zip(names, older, *columns, strict=True):
            if previous >= 0:  # whose words it is found by
                home = self._home(previous)[0]
            elif name in self._home_of_id:
                home = self._home_of_id[name]
            elif row >= 0:
                home = self._home(row)[0]
            else:
                home = self._home_by_key(name, source, project)
            self._home_of_id[name] = home
            self._homes.append((home, self._next[home]))
            self._next[home] += 1
            found.append(home)
        return np.array(found, np.int64)

    def _home_by_key(self, name: str, source: str | None, project: str | None) -> int:
        if self._store.sharded_by == "project" and project:
            if project not in self._home_of_project:
                view = self._store.view_of(self.snapshot)
                codes = view.categories.column(view.snapshot, "project")
                rows = np.flatnonzero(codes == view.categories.code("project", project))
                fewest = self._next.index(min(self._next))
                self._home_of_project[project] = self._home(int(rows[0]))[0] if len(rows) else fewest
            return self._home_of_project[project]
        return hashed_shard(f"source {source}" if source else f"id {name}", len(self._next))

    def _home_of_source(self, ids: list[str]) -> int:
        if not ids:
            return ROOT
        if ids[0] in self._home_of_id:
            return self._home_of_id[ids[0]]
        row = int(self._store.view_of(self.snapshot).rows_of_ids(ids[:1])[0])
        return ROOT if row < 0 else self._home(row)[0]

    def _localized(self, log: str, part: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the shard's own row numbers."""
        name = ROW_COLUMNS.get(log)
        if name is None:
            return part
        at = part.schema.get_field_index(name)
        rows = [-1 if row < 0 else self._home(row)[1] for row in part.column(at).to_pylist()]
        return part.set_column(at, part.schema.field(at), pa.array(rows, pa.int64()))

    # ------------------------------------------------------------------ commit

    def commit(self) -> Any:
        """Commit to the shards that get something, then to the root, which shows it."""
        root_only = not any(self._parts.values()) and not any(self._replaced.values()) and not self._touched
        if root_only:
            return self.snapshot.manifest
        self._run_on_flush()
        if any(self._replaced.values()):
            # first the root: who finds chunks forgotten in one shard finds no link or fact of them, and who is no longer
            # the writer has erased nothing
            with self._store.root_transaction(self._timeout_s) as own:
                self._rewrite(own, ROOT)
                own.set_shards(self.snapshot.root.manifest.shards, self._store.sharded_by)
                own.advance(self.snapshot.root.manifest.last_us + 1)
        refs = list(self.snapshot.manifest.shards)
        for number in range(len(refs)):
            if self._parts[number] or self._replaced[number] or self._acts:
                refs[number] = self._commit_shard(number)
        with self._store.root_transaction(self._timeout_s) as own:
            self._fill(own, ROOT)
            own.set_shards(refs, self._store.sharded_by)
        return self._store.snapshot().manifest

    def _commit_shard(self, number: int) -> ShardRef:
        shard = self._store.shards[number]
        with shard.store.exclusive(self._timeout_s), shard.store.transaction(self._timeout_s) as own:
            if own.snapshot.manifest.commits != self.snapshot.of[number + 1].manifest.commits:
                raise VaultLocked(
                    f"shard {number:02d} of {self._store.root} was written to by itself within this transaction; "
                    "nothing was written: try again"
                )
            self._rewrite(own, number)
            self._fill(own, number)
            own.set_built_on(self.snapshot.root.manifest.commits)
        return shard_ref(shard.store.snapshot().manifest)

    def _rewrite(self, own: Transaction, number: int) -> None:
        for segment, make in self._replaced[number]:
            own.replace(segment, make)
        if self._replaced[number]:
            for name in own.snapshot.manifest.indexes:
                own.set_index(name, None)

    def _fill(self, own: Transaction, number: int) -> None:
        for act in self._acts:
            act(own)
        for log, part in self._parts[number]:
            names = [name for name in part.schema.names if name != "recorded_at"]
            stamps = part.column("recorded_at").to_numpy().astype(np.int64)
            own.append(log, {name: part.column(name) for name in names}, stamps)
        if number == ROOT:
            for name, record in self._indexes.items():
                own.set_index(name, record)
            for name in self.snapshot.manifest.indexes.keys() - self._indexes.keys():
                own.set_index(name, None)
            own.set_unlinked(self._unlinked)
        own.advance(self._now_us)


def _merge(own: Transaction, log: str) -> None:
    own.merge(log)
