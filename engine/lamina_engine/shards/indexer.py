"""Indexer of a sharded vault: each shard builds its own, the root those of links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lamina_engine.index.indexer import Indexer, most_waiting
from lamina_engine.index.tables import NO_MORE, BulkHint
from lamina_engine.index.view import View
from lamina_engine.shards.tables import UnionTables
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store

if TYPE_CHECKING:
    from lamina_engine.chunks.batch import ChunkBatch
    from lamina_engine.memory import Memory


class UnionIndexer(Indexer):
    """Brings the indexes of all shards up to date."""

    def __init__(self, store: Store, tables: UnionTables, shards: Callable[[], Sequence[Memory]]) -> None:
        super().__init__(store, tables)
        self._shards, self._codes = shards, tables

    def stage(
        self, snapshot: Snapshot, first: int, batch: ChunkBatch, created_at: list[int | None], previous: list[int]
    ) -> None:
        """Do nothing: a shard analyses its rows when it has them."""

    def carry_terms(self, before: Snapshot) -> None:
        """Keep the forward lists that rewritten segments had, in every shard."""
        for shard, own in zip(self._shards(), before.holders[1:], strict=True):
            shard.view()  # where rows of it were forgotten, another indexer takes over
            shard.indexer.carry_terms(own)

    def catch_up(self, view: Callable[[], View], hint: BulkHint = NO_MORE) -> None:
        """Sync the indexes of every shard that has new rows, and save the codes of all."""
        for shard in self._shards():
            with shard.store.exclusive(shard.lock_timeout_s):
                shard.indexer.catch_up(shard.view, hint)
        snapshot = view().snapshot
        if self._codes.lacks_codes(snapshot, most_waiting(hint, snapshot.rows("chunks")) if hint.more else 0):
            self._codes.save_codes(snapshot)
