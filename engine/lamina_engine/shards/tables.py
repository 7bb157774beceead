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
from lamina_engine.index.view import AnsweringPart, View
from lamina_engine.shards.asking import ask_each
from lamina_engine.shards.codes import SavedCodes
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
        self._codes: tuple[str, tuple[QuantisedIndex | None, ...]] = ("", ())
        self._saved = SavedCodes(folder)
        self._uncodable = ("", 0)
        """Version's name and rows of which there are too few vectors for a codebook."""

    def parts(
        self, snapshot: Snapshot, stop: int, languages: tuple[str, ...]
    ) -> tuple[tuple[View | AnsweringPart, Rows], ...]:
        """Return views of the shards' rows below ``stop``, and the row here of each of theirs."""
        shards = [(shard, shard.stop_at(stop)) for shard in _union(snapshot).shards]
        return tuple((shard.part(below, languages), shard.rows[:below]) for shard, below in shards)

    def forward(self, snapshot: Snapshot, rows: int) -> ForwardLists:
        """Return the forward lists of all shards."""
        return MergedForward(_union(snapshot).homes)

    def sum_lengths(self, snapshot: Snapshot, rows: int) -> NDArray[np.int64]:
        """Return the sums of the lengths of a version's first rows, int64 (3,)."""
        stops = [(shard, shard.stop_at(rows)) for shard in _union(snapshot).shards]
        found = ask_each(stops, lambda shard, stop: shard.sum_lengths(stop))
        return sum(found, start=np.zeros(ZONES, np.int64))

    def first_rows(self, snapshot: Snapshot) -> Mapping[str, int]:
        """Return the first row of each language other than English."""
        first: dict[str, int] = {}
        shards = _union(snapshot).shards
        for shard, found in zip(
            shards, ask_each([(shard,) for shard in shards], lambda each: each.first_rows()), strict=True
        ):
            for language, own in found.items():
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

    def has_codes(self, snapshot: Snapshot) -> bool:
        """Tell whether a version has vector codes to be read before it is asked."""
        return self._coded_rows(snapshot) > 0

    def _coded_rows(self, snapshot: Snapshot) -> int:
        """Return how many rows have codes, as they would in one vault."""
        space = snapshot.space
        return quantised.covered_rows(snapshot.rows("chunks")) if space and space.dim >= quantised.MIN_DIM else 0

    def quantised(self, snapshot: Snapshot) -> QuantisedIndex | None:
        """Return the codes of all shards, by the codebook that one vault of these rows would have."""
        covered = self._coded_rows(snapshot)
        with self._codes_lock:
            return self._merged_codes(_union(snapshot), covered) if covered else None

    def _merged_codes(self, union: UnionSnapshot, covered: int) -> MergedCodes | None:
        known, prefix = self._known_codes(union), quantised.train_rows(union.rows("chunks"))
        if self._uncodable == (self._codes[0], covered):
            return None
        stops = [shard.stop_at(covered) for shard in union.shards]
        if any(own is None or own.rows < stop for own, stop in zip(known, stops, strict=True)):
            whole = self.vector_blocks(union, union.rows("chunks"))
            blocks = [shard.vectors for shard in union.shards]
            made = quantised.code_shards(known, whole, prefix, blocks, stops)
            if made is None:
                self._uncodable = (self._codes[0], covered)
                return None
            known = made
            self._codes = (self._codes[0], known)
        found = tuple(own for own in known if own is not None)
        return MergedCodes(union.shards, found, covered)

    def _known_codes(self, union: UnionSnapshot) -> tuple[QuantisedIndex | None, ...]:
        """Return the codes made so far, at first those that were saved."""
        space, prefix = union.space, quantised.train_rows(union.rows("chunks"))
        name = f"{union.manifest.space} {space and space.identity} {prefix} {union.manifest.rewritten}"
        if self._codes[0] != name:
            self._codes = (name, tuple(self._saved.read(union, prefix)))
        return self._codes[1]

    def lacks_codes(self, snapshot: Snapshot, waiting: int = 0) -> bool:
        """Tell whether more rows than so many lack saved codes, or some are of no use."""
        covered = self._coded_rows(snapshot)
        with self._codes_lock:
            if not covered:
                return self._saved.has_others()
            self._known_codes(_union(snapshot))
            held = sum(own.rows for own in self._saved.held.values())
            uncodable = self._uncodable == (self._codes[0], covered)
            return (covered - held > waiting and not uncodable) or self._saved.has_others()

    def take_codes(self, other: UnionTables) -> None:
        """Take codes of other tables in place of all that were saved; under the root's lock."""
        with self._codes_lock:
            self._saved.held.clear()
            self._saved.remove_others()
            self._codes, self._uncodable = other._codes, ("", 0)

    def save_codes(self, snapshot: Snapshot) -> None:
        """Save the codes of all shards; under the root's lock."""
        union, covered = _union(snapshot), self._coded_rows(snapshot)
        with self._codes_lock:
            if covered:
                self._known_codes(union)
            else:
                self._saved.held.clear()
            self._saved.remove_others()  # before any is made: what rows have lost must go even where the disk is full
            if covered and self._merged_codes(union, covered) is not None:
                self._saved.save(union, quantised.train_rows(union.rows("chunks")), self._codes[1])

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
