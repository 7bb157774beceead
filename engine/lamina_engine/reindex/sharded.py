"""Reindex of a sharded vault: all shards beside what serves, one gate, one commit.

Each shard gets the new model's vectors and indexes as a vault of its own does, in its own log and build folder; nobody reads
them. The gate asks the whole, old and new. Then the root names the new model, which is the one commit that readers see:
whichever model a shard has by itself, the whole reads the vectors that the root names (`UnionStore`). The shards follow, and
where the job dies before all have, the next writer sees to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec

from lamina_engine.index.view import View
from lamina_engine.reindex import gate
from lamina_engine.reindex.derived import IndexBuilder, build_dir, drop_unnamed_terms
from lamina_engine.reindex.job import Job, count_words, new_view
from lamina_engine.reindex.space import SpaceBuilder
from lamina_engine.reports import ProgressReporter, ReindexReport
from lamina_engine.shards.layout import shard_ref
from lamina_engine.shards.store import UnionStore
from lamina_engine.shards.tables import UnionTables
from lamina_engine.shards.union import UnionSnapshot
from lamina_engine.store.manifest import Space
from lamina_engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


Known: TypeAlias = dict[str, dict[int, tuple[int, int]]]
"""By stage and number of the shard: how much is done, of how much."""


class _Part:
    """One shard at work."""

    def __init__(self, memory: Memory, progress: ProgressReporter) -> None:
        self.memory, self.progress = memory, progress
        self.space_builder: SpaceBuilder | None = None
        self.snapshot: Snapshot
        """The version that is indexed."""
        self.derived: IndexBuilder
        self.new: View


class _PartProgress(ProgressReporter):
    """Progress of one shard, told as the whole vault's."""

    def __init__(self, whole: ProgressReporter, number: int, rows: list[int], known: Known) -> None:
        super().__init__(None)
        self._whole, self._number, self._rows, self._known = whole, number, rows, known

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report the state of a stage in all shards; later ones count with all their rows."""
        known = self._known.setdefault(stage, {})
        known[self._number] = (done, total)
        totals = [known[n][1] if n in known else rows for n, rows in enumerate(self._rows)]
        self._whole(stage, sum(each[0] for each in known.values()), sum(totals))


class ShardedJob(Job):
    """One run over all shards."""

    def __init__(self, memory: Memory, *given: Any, **options: Any) -> None:
        self._store = cast("UnionStore", memory.store)
        with memory.store.exclusive(memory.lock_timeout_s):
            self._store.repair(memory.lock_timeout_s)
        super().__init__(memory, *given, **options)
        rows = [shard.store.snapshot().rows("chunks") for shard in memory.shards]
        known: Known = {}
        self._parts = [
            _Part(shard, _PartProgress(self.progress, number, rows, known))
            for number, shard in enumerate(memory.shards)
        ]

    @property
    def _indexed(self) -> list[Memory]:
        return [part.memory for part in self._parts]

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Hold the whole's lock around a shard's commit: its writers commit to shards, too."""
        with self._store.exclusive(self.memory.lock_timeout_s):
            yield

    def _begin_space(self) -> None:
        if self.changes and self.space:
            for part in self._parts:
                part.space_builder = self._open_space(part.memory, part.progress, self._guard)

    def _catch_up(self) -> None:
        for part in self._parts:
            if part.space_builder is not None:
                part.space_builder.catch_up()

    def _level(self) -> None:
        """Make the missing vectors, the last of them under the lock: the gate compares wholes."""
        self._catch_up()
        with self._guard():
            self._store.repair(self.memory.lock_timeout_s)
            self._finish()
            self.snapshot = self._store.snapshot()
            for part in self._parts:
                part.snapshot = part.memory.store.snapshot()

    def _finish(self) -> None:
        for part in self._parts:
            if part.space_builder is not None:
                with part.memory.store.transaction(part.memory.lock_timeout_s) as transaction:
                    part.space_builder.finish(transaction)

    # ------------------------------------------------------------------ building and judging

    def run(self, place: Path, *, drop_old: bool) -> ReindexReport:
        """Reindex all shards; their build folders are held meanwhile."""
        with ExitStack() as held:
            self._places = [held.enter_context(build_dir(part.memory.tables.folder)) for part in self._parts]
            return super().run(place, drop_old=drop_old)

    def _build(self, place: Path) -> None:
        for part, own in zip(self._parts, self._places, strict=True):
            part.derived = IndexBuilder(part.memory, own, part.snapshot, self.executor, part.progress)
            made = part.space_builder
            blocks = made.blocks(part.snapshot) if made else View(part.snapshot, part.memory.tables).vectors
            self._index(part.derived, blocks)

    def _count_words(self, new: View) -> tuple[int, int, int]:
        counts = [count_words(part.new, part.derived) for part in self._parts]
        covered, indexed, wanted = (sum(each) for each in zip(*counts, strict=True))
        return covered, indexed, wanted

    def _count_vectors(self, new: View) -> dict[str, int]:
        found = {"expected": 0, "found": 0, "missing": 0, "rows": 0}
        for part in self._parts:
            assert part.space_builder is not None
            blocks = part.space_builder.blocks(part.snapshot)
            for name, count in gate.missing_vectors(part.new, blocks, self.embedder).items():
                found[name] += count
            found["rows"] += blocks.rows
        return found

    def _new_view(self, place: Path) -> View:
        for part in self._parts:
            part.new = new_view(part.snapshot, part.memory.tables.folder, self.space, part.derived)
        root = cast("UnionSnapshot", self.snapshot).root
        spaces = dict(root.manifest.spaces)
        if self.space:
            spaces[self.space] = Space(self.embedder.identity, self.embedder.dim)
        manifest = msgspec.structs.replace(root.manifest, space=self.space, spaces=spaces)
        named = Snapshot(manifest, {log: root.segments(log) for log in manifest.logs}, root.name)
        union = UnionSnapshot(named, [part.new for part in self._parts])
        self._tables = UnionTables(place)  # where no codes were saved
        return View(union, self._tables)

    # ------------------------------------------------------------------ swapping

    def _swap(self, *, drop_old: bool) -> None:
        memory, store, timeout_s = self.memory, self._store, self.memory.lock_timeout_s
        memory.cache_embedders(self.before, self.embedder)
        self.progress("swap", 0, 1)
        with store.exclusive(timeout_s):
            store.repair(timeout_s)
            self._finish()
            if self.changes:
                self._commit_root(drop_old=drop_old)
            for part in self._parts:
                self._swap_part(part, drop_old=drop_old)
            self._follow(memory)
            if self.engine in (None, "vectors"):
                cast("UnionTables", memory.tables).take_codes(self._tables)
            memory.indexer.catch_up(memory.view)
            self.snapshot = store.snapshot()
            self.tidy()
        self.report.generation, self.report.swapped = self.snapshot.version, True
        self.progress("swap", 1, 1)

    def _commit_root(self, *, drop_old: bool) -> None:
        """Commit the new model: readers see the old one before it, and the new one after it."""
        with self._store.root_transaction(self.memory.lock_timeout_s) as transaction:
            if self.space:
                space = Space(self.embedder.identity, self.embedder.dim)
                transaction.set_space(self.space, space, default=True)
            else:
                transaction.use_space("")
            if drop_old and self.former:
                transaction.drop_space(self.former)
            shards = [part.memory.store.snapshot().manifest for part in self._parts]
            transaction.set_shards([shard_ref(each) for each in shards], self._store.sharded_by)
            transaction.advance(max(each.last_us for each in shards) + 1)  # rows come after the vectors made here

    def _swap_part(self, part: _Part, *, drop_old: bool) -> None:
        shard = part.memory
        with shard.store.exclusive(shard.lock_timeout_s):
            with shard.store.transaction() as transaction:
                self._use(transaction, part.derived, part.snapshot, drop_old=drop_old)
                transaction.set_built_on(self._store.root_manifest.commits)
            self._follow(shard)
            shard.indexer.catch_up(shard.view)
            shard.indexer.remove_stale()

    def tidy(self) -> None:
        """Remove forward lists that no version of a shard needs."""
        with self._guard():
            for part in self._parts:
                with part.memory.store.exclusive(self.memory.lock_timeout_s):
                    drop_unnamed_terms(part.memory.tables.folder, part.memory.store.snapshot())
