"""Tables of a sharded vault: what recall asks of one vault's indexes, asked of the shards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index import quantised
from lamina_engine.index.inverted import InvertedLists
from lamina_engine.index.keys import KeyIndex
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.row_columns import RowColumn
from lamina_engine.index.scoring import ForwardLists
from lamina_engine.index.tables import Tables
from lamina_engine.index.textindex import TextIndex
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.index.view import View
from lamina_engine.shards.merging import MergedCodes, MergedForward, MergedKeys, MergedLists, MergedVectors
from lamina_engine.shards.union import MergedSegment, UnionSnapshot, translate
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.terms import ZONES


class UnionTables(Tables):
    """Tables whose rows lie in shards; columns of small values are its own."""

    is_sharded = True

    def __init__(self, folder: Path, distrusted: Collection[str] = ()) -> None:
        super().__init__(folder, distrusted)
        self.previous = RowColumn(self._read_turns)
        self._codes: tuple[str, tuple[QuantisedIndex, ...]] = ("", ())

    def parts(self, snapshot: Snapshot, stop: int, languages: tuple[str, ...]) -> tuple[tuple[View, Rows], ...]:
        """Return views of the shards' rows below ``stop``, and the row here of each of theirs."""
        shards = [(shard, shard.stop_at(stop)) for shard in _union(snapshot).shards]
        return tuple((shard.part(below, languages), shard.rows[:below]) for shard, below in shards)

    def forward(self, snapshot: Snapshot, rows: int) -> ForwardLists:
        """Return the forward lists of all shards."""
        return MergedForward(_union(snapshot).homes)

    def sum_lengths(self, snapshot: Snapshot, rows: int) -> NDArray[np.int64]:
        """Return the sums of the lengths of a version's first rows, int64 (3,)."""
        found = [shard.sum_lengths(shard.stop_at(rows)) for shard in _union(snapshot).shards]
        return sum(found, start=np.zeros(ZONES, np.int64))

    def first_rows(self, snapshot: Snapshot) -> Mapping[str, int]:
        """Return the first row of each language other than English."""
        first: dict[str, int] = {}
        for shard in _union(snapshot).shards:
            for language, own in shard.first_rows().items():
                if own < len(shard.rows):
                    row = int(shard.rows[own])
                    first[language] = min(row, first.get(language, row))
        return first

    def vector_blocks(self, snapshot: Snapshot, rows: int) -> VectorBlocks:
        """Return the vectors of all shards."""
        space = snapshot.space
        return MergedVectors(_union(snapshot).homes, space.dim if space else 1)

    def inverted(self, snapshot: Snapshot) -> InvertedLists:
        """Return the lists of all shards, which reach to the last row."""
        return MergedLists(_union(snapshot).shards, snapshot.rows("chunks"))

    def ids(self, snapshot: Snapshot) -> KeyIndex:
        """Return the ids of all shards."""
        return MergedKeys(_union(snapshot).shards, snapshot.rows("chunks"), of_versions=False)

    def versions(self, snapshot: Snapshot) -> KeyIndex:
        """Return the versions with a vector of all shards."""
        return MergedKeys(_union(snapshot).shards, snapshot.rows("chunks"), of_versions=True)

    def text(self, snapshot: Snapshot) -> TextIndex | None:
        """Return None: the shards' own are asked, by `parts`."""
        return None

    def quantised(self, snapshot: Snapshot) -> QuantisedIndex | None:
        """Return the codes of all shards, by the codebook that one vault of these rows would have."""
        union, rows, space = _union(snapshot), snapshot.rows("chunks"), snapshot.space
        covered, prefix = quantised.covered_rows(rows), quantised.train_rows(rows)
        if space is None or not covered or space.dim < quantised.MIN_DIM:
            return None
        name = f"{space.identity} {prefix} {snapshot.manifest.rewritten}"
        with self._codes_lock:
            known = self._codes[1] if self._codes[0] == name else ()
            found: list[QuantisedIndex] = []
            for shard in union.shards:
                stop = shard.stop_at(covered)
                own = known[len(found)] if known else None
                if own is None or own.rows < stop:
                    blank = known[0] if known else found[0] if found else None
                    own = quantised.code_rows(
                        own, blank, self.vector_blocks(snapshot, rows), prefix, shard.vectors, stop
                    )
                    if own is None:
                        return None
                found.append(own)
            self._codes = (name, tuple(found))
            return MergedCodes(union.shards, found, covered)

    def _read_turns(self, snapshot: Snapshot, segment: Segment) -> NDArray[np.int64]:
        union, merged = _union(snapshot), cast("MergedSegment", segment)
        out = np.full(merged.rows, -1, np.int64)
        for shard in union.shards:
            own = np.searchsorted(shard.rows, merged.start)
            mine = shard.rows[own : shard.stop_at(merged.start + merged.rows)]
            out[mine - merged.start] = translate(shard.previous()[own : own + len(mine)], shard.rows)
        return out


def _union(snapshot: Snapshot) -> UnionSnapshot:
    assert isinstance(snapshot, UnionSnapshot)
    return snapshot
