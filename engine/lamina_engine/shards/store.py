"""Store of a sharded vault: the root's, with the shards' rows in its snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine import after_fork
from lamina_engine.clock import Clock
from lamina_engine.errors import LaminaError, VaultCorrupt, VaultIncomplete
from lamina_engine.index.view import View
from lamina_engine.schema import vector_log
from lamina_engine.shards.answers import in_space
from lamina_engine.shards.layout import shard_name, shard_ref
from lamina_engine.shards.presence import OpenShards
from lamina_engine.shards.union import UnionSnapshot, has_forgotten, is_ahead, shown_rows
from lamina_engine.store.files import Files
from lamina_engine.store.lock import LOCK_TIMEOUT_S
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction


_ATTEMPTS: Final = 3


class _RootMoved(Exception):
    """The root that was read names a model that its shards have given up since."""


class UnionStore(Store):
    """The root's store; its snapshots are `UnionSnapshot`s."""

    def __init__(
        self,
        root: Path,
        *,
        mode: str,
        clock: Clock | None,
        files: Files | None,
        check_trust: Callable[[Path], None] | None,
    ) -> None:
        super().__init__(root, mode=mode, clock=clock, files=files, check_trust=check_trust)
        self.shards: OpenShards
        """Shards by number: the memory's."""
        self.view_of: Callable[[Snapshot], View]
        """Gives the view of a version: the memory's."""
        self._union: UnionSnapshot | None = None
        self._union_lock = after_fork.make_lock()
        self._apart: dict[int, tuple[Snapshot, View]] = {}
        """Views of shards by another model than their own, each with the version that it is of."""

    @property
    def root_manifest(self) -> Manifest:
        """The newest version of the root alone."""
        return self._read().manifest

    @property
    def last_seen(self) -> Snapshot:
        """The newest version this process has seen."""
        return self._union or self.snapshot()

    def snapshot(self) -> UnionSnapshot:
        """Return the newest committed version; the same object until the next commit."""
        for _ in range(_ATTEMPTS):
            root = self._read()  # before the shards: what they have beyond it is not seen
            try:
                views = self.shards.views(root, self._level)
            except _RootMoved:
                continue
            known = self._union
            if known is not None and known.is_of(root, views):
                return known
            with self._union_lock:
                self._union = UnionSnapshot(root, views, self._union)
                return self._union
        raise VaultCorrupt(
            f"{self.root}: its models change faster than they can be read; is something replacing its root?"
        )

    def _in_space(self, root: Snapshot, number: int, view: View) -> View:
        """Return a shard's view by the whole's model, whichever the shard has by itself.

        They differ while a reindex makes the shards follow the root.
        """
        base, space = view.snapshot, root.manifest.space
        if base.manifest.space == space:
            return view
        if space and space not in base.manifest.spaces:
            # a shard gives a model up after the root has named another, which a cache folder may not know yet
            self.files.fetch(self.root)
            if self._read() is not root:
                raise _RootMoved
            raise VaultCorrupt(
                f"{self.root}: {shard_name(number)} has no vectors of {space!r}, which its root names; restore all from one moment"
            )
        known = self._apart.get(number)
        if known is None or known[0] is not base or known[1].snapshot.manifest.space != space:
            known = self._apart[number] = (base, in_space(view, space))
        return known[1]

    @contextlib.contextmanager
    def exclusive(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Hold the writer lock; refused while shards are missing."""
        with super().exclusive(timeout_s):
            if self.shards.incomplete:
                self.require_whole(self.snapshot())
            yield

    def require_whole(self, snapshot: Snapshot) -> None:
        """Raise `VaultIncomplete` for a version without some of its shards."""
        if snapshot.missing:
            raise VaultIncomplete(
                f"{self.root} is open without {', '.join(snapshot.missing)}, and nothing is written or copied as a whole without "
                f"them: {self.shards.why()}"
            )

    @property
    def is_trusted(self) -> bool:
        """True where journals may be written: they name rows of the whole vault."""
        return not self.last_seen.missing and super().is_trusted

    @contextlib.contextmanager
    def transaction(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[Transaction]:
        """Write under the root's lock: commits when the block ends, changes nothing if it raises."""
        from lamina_engine.shards.writing import UnionTransaction

        with self.exclusive(timeout_s):
            self.repair(timeout_s)
            snapshot = self.snapshot()
            self.require_whole(snapshot)  # one may have gone since the lock was taken
            transaction = UnionTransaction(self, snapshot, timeout_s)
            yield transaction
            try:
                transaction.commit()
            except BaseException:
                with contextlib.suppress(LaminaError, OSError):  # else the next writer does
                    self.repair(timeout_s)
                raise

    def root_transaction(self, timeout_s: float) -> contextlib.AbstractContextManager[Transaction]:
        """Write to the root alone."""
        return super().transaction(timeout_s)

    def repair(self, timeout_s: float = LOCK_TIMEOUT_S) -> None:
        """Take back what an interrupted writer left in shards, end a reindex; under the root's lock.

        What it has forgotten stays forgotten. A commit of the root goes before: only who can make it has seen all that the
        root shows, and takes back nothing of a writer that has just shown it.
        """
        refs, commits = self.root_manifest.shards, self.root_manifest.commits
        for number in range(len(refs)):
            if self.shards[number].store.snapshot().manifest.built_on > commits:
                raise VaultCorrupt(
                    f"{self.root} is older than {shard_name(number)}, which was written to after it: the root was restored from "
                    "an older copy than its shards; nothing was changed: restore all from one moment"
                )
        space, used = self.root_manifest.space, vector_log(self.root_manifest.space)
        found = [shard.store.snapshot() for shard in self.shards]
        apart = [
            n for n, each in enumerate(found) if each.manifest.space != space and space in {"", *each.manifest.spaces}
        ]
        ahead = [n for n, ref in enumerate(refs) if is_ahead(found[n], ref, used)]
        if not ahead and not apart:
            return
        with self.root_transaction(timeout_s) as transaction:
            transaction.set_shards(refs, self.sharded_by)
            transaction.advance(self.root_manifest.last_us + 1)
        for number in apart:
            self._follow(number, timeout_s)
        for number in ahead:
            shard, ref = self.shards[number], refs[number]
            if has_forgotten(shard.store.snapshot(), ref):
                self._show(number, timeout_s)
                continue
            with shard.store.exclusive(timeout_s):
                with shard.store.transaction(timeout_s) as transaction:
                    transaction.truncate(shown_rows(transaction.snapshot, ref, used))
                shard.indexer.catch_up(shard.view)

    def _follow(self, number: int, timeout_s: float) -> None:
        """Give a shard the model that the root names: a reindex ended in between."""
        shard, root = self.shards[number], self.root_manifest
        with shard.store.exclusive(timeout_s):
            with shard.store.transaction(timeout_s) as transaction:
                transaction.use_space(root.space)
                transaction.set_built_on(root.commits)
            shard.indexer.catch_up(shard.view)

    def _show(self, number: int, timeout_s: float) -> None:
        """Show all that a shard has: one commit of the root."""
        root = self.root_manifest
        refs, newest = list(root.shards), root.last_us
        found, old = self.shards[number].store.snapshot(), refs[number]
        for log in found.manifest.logs:
            first, rows = old.rows.get(log, 0), found.rows(log)
            if log.startswith("vectors.") or first == rows:
                continue
            newest = max(newest, *found.numbers(log, "recorded_at", np.array([rows - 1], np.int64)).tolist())
        refs[number] = shard_ref(found.manifest)
        with self.root_transaction(timeout_s) as transaction:
            transaction.set_shards(refs, self.sharded_by)
            transaction.advance(newest + 1)

    @property
    def sharded_by(self) -> str:
        """Key of what is kept together in one shard: source or project."""
        return self._read().manifest.sharded_by

    def _level(self, root: Snapshot, number: int, shard: Memory, view: View) -> View:
        """Return a shard's version that is not behind what the root names, by its model."""
        ref = root.manifest.shards[number]
        if view.snapshot.manifest.commits < ref.commits:  # a cache folder may not have looked again
            shard.store.files.fetch(shard.root)
            view = shard.view()
        found = view.snapshot.manifest
        if found.vault != ref.vault:
            raise VaultCorrupt(
                f"{self.root}: {shard_name(number)} is vault {found.vault}, and its root names {ref.vault}: shards of different "
                "vaults were mixed; put the right one in its place"
            )
        if found.commits < ref.commits:
            raise VaultCorrupt(
                f"{self.root}: {shard_name(number)} is behind: it has commit {found.commits}, and its root names {ref.commits}; "
                "it was restored from an older copy than the others: restore all from one moment"
            )
        return self._in_space(root, number, view)
