"""Open sharded vault: a `Memory` whose rows lie in shards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lamina_engine.clock import Clock
from lamina_engine.embed.resolve import EmbedderSpec as Spec
from lamina_engine.errors import VaultCorrupt, VaultLocked, VaultNotFound
from lamina_engine.memory import Memory
from lamina_engine.shards.indexer import UnionIndexer
from lamina_engine.shards.layout import shard_name, shard_place
from lamina_engine.shards.presence import OpenShards
from lamina_engine.shards.store import UnionStore
from lamina_engine.shards.tables import UnionTables
from lamina_engine.store.files import Files
from lamina_engine.store.lock import LOCK_TIMEOUT_S
from lamina_engine.store.store import INDEX, Store

if TYPE_CHECKING:
    from lamina_engine.redact.redactor import Redactor
    from lamina_engine.shards.remote import Ask


class ShardedMemory(Memory):
    """An open sharded vault. Safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        *,
        mode: str = "w",
        clock: Clock | None = None,
        embedder: Spec = None,
        redactor: Redactor | None = None,
        files: Files | None = None,
        check_trust: Callable[[Path], None] | None = None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        settings: Mapping[str, Any] | None = None,
        incomplete: bool = False,
        ask: Ask | None = None,
    ) -> None:
        self._given_settings, self._incomplete, self._ask = settings, incomplete, ask
        super().__init__(
            root, mode=mode, clock=clock, embedder=embedder, redactor=redactor, files=files, check_trust=check_trust,
            lock_timeout_s=lock_timeout_s, settings=settings,
        )  # fmt: skip

    def _open_store(
        self, mode: str, clock: Clock | None, files: Files | None, check_trust: Callable[[Path], None] | None
    ) -> Store:
        store = UnionStore(self.root, mode=mode, clock=clock, files=files, check_trust=check_trust)
        count = len(store.root_manifest.shards)
        store.shards = OpenShards(
            self.root, count, lambda number: self._open_shard(number, count, mode, clock, files),
            incomplete=self._incomplete,
        )  # fmt: skip
        store.view_of = self.view_of
        return store

    @property
    def shards(self) -> Sequence[Memory]:
        """The shards that are open."""
        assert isinstance(self.store, UnionStore)
        return tuple(self.store.shards)

    def _open_shard(self, number: int, count: int, mode: str, clock: Clock | None, files: Files | None) -> Memory:
        if self._ask is not None:
            from lamina_engine.shards.remote import RemoteMemory

            return cast("Memory", RemoteMemory(self.root / shard_name(number), number, self._ask))
        place, own = shard_place(self.root, files, number)
        try:
            return Memory(place, mode=mode, clock=clock, files=own, settings=self._given_settings)
        except VaultNotFound as error:
            raise VaultCorrupt(
                f"{self.root} has {count} shards, and {shard_name(number)} is missing: put it back from a copy"
            ) from error

    def _make_tables(self, distrusted: Collection[str] = ()) -> UnionTables:
        return UnionTables(self.root / INDEX, distrusted)

    def _index_cache(self) -> None:
        """Save the codes in a cache folder: none are published, so none were fetched."""
        tables, snapshot = self.tables, self.store.snapshot()
        assert isinstance(tables, UnionTables)
        if not snapshot.missing and tables.lacks_codes(snapshot):
            plain = Store(self.root, clock=self.store.clock)
            with contextlib.suppress(VaultLocked), plain.exclusive(0.0):  # else a writer of this machine sees to it
                tables.save_codes(snapshot)

    @property
    def indexer(self) -> UnionIndexer:
        """Indexer that syncs every shard's indexes with its log."""
        with self._lock:
            if not isinstance(self._indexer, UnionIndexer):
                assert isinstance(self.tables, UnionTables)
                self._indexer = UnionIndexer(self.store, self.tables, lambda: self.shards)
            return self._indexer

    def close(self) -> None:
        """Close the root and all shards."""
        super().close()
        assert isinstance(self.store, UnionStore)
        self.store.shards.close()
