"""View: one version of a vault, or a past moment of it, with its indexes.

Parts are built when first asked for, from the tables that all versions share; a view is then immutable.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork, columns
from lamina_engine.index.accesses import Accesses
from lamina_engine.index.cache import Cache
from lamina_engine.index.freshness import Freshness
from lamina_engine.index.keys import hash_ids, hash_versions
from lamina_engine.index.languages import LANGUAGES
from lamina_engine.index.row_columns import CategoryTable
from lamina_engine.index.scoring import ForwardLists, Statistics
from lamina_engine.index.state import SUPERSEDED, State
from lamina_engine.index.tables import Tables
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.layouts import U32

_NO_ROWS: Final = np.empty(0, np.int64)

_MOMENTS: Final = 2
"""Past moments of a version that are kept: questions about the past come several at a time."""


class AnsweringPart(Protocol):
    """A part of a sharded vault that answers for itself, instead of being read."""

    def find(self, clause: object) -> NDArray[np.int64]:
        """Return the rows that a clause of a query matches."""
        ...

    def frequencies(self, words: Collection[str]) -> dict[str, int]:
        """Return how many rows hold each word, without those that none holds."""
        ...

    def beginning(self, prefix: str) -> set[str]:
        """Return the words that begin with a prefix."""
        ...


@after_fork.track_property_locks
class View(Cache):
    """One version, or a past moment of it; `cached` keeps what other rooms derive from it.

    Parameters
    ----------
    snapshot : Snapshot
        The version.
    tables : Tables
        What all versions share.
    former : View, optional
        A view of an earlier version: its state is continued instead of replayed.
    as_of_us : int, optional
        A moment of recorded time: only rows and events recorded by then are seen.
    """

    def __init__(
        self, snapshot: Snapshot, tables: Tables, *, former: View | None = None, as_of_us: int | None = None
    ) -> None:
        super().__init__()
        self.snapshot, self.tables = snapshot, tables
        self.as_of_us = as_of_us
        past = as_of_us is not None
        self.rows = snapshot.watermark("chunks", as_of_us)
        """Rows of the chunks log that this view sees."""
        self._events = snapshot.watermark("events", as_of_us)
        # only a state that exists already is continued: building one for the sake of the next would be work for nothing
        usable = former is not None and not past and former.as_of_us is None and "_state" in former.__dict__
        self._former = former.state if usable and former is not None else None
        going_on = former is not None and not past and former.as_of_us is None
        self._former_freshness = former._last_freshness() if going_on and former is not None else None
        self._former_accesses = former._last_accesses() if going_on and former is not None else None

        self._moments: dict[int, View] = {}

    def at(self, as_of_us: int) -> View:
        """Return this version as it was known at a moment; the same object when asked again."""
        found = self._moments.get(as_of_us)
        if found is None:
            found = View(self.snapshot, self.tables, as_of_us=as_of_us)
            kept = list(self._moments.items())[1 - _MOMENTS :]
            self._moments = {**dict(kept), as_of_us: found}
        return found

    @property
    def is_past(self) -> bool:
        """True where the view hides rows or events that its version has."""
        return self.rows < self.snapshot.rows("chunks") or self._events < self.snapshot.rows("events")

    @property
    def categories(self) -> CategoryTable:
        """Codes of project, type, collection, session and agent."""
        return self.tables.categories

    @property
    def state(self) -> State:
        """Status and pin of every row."""
        return self._state

    @cached_property
    def _state(self) -> State:
        state = State(self.snapshot, self._former, rows=self.rows, events=self._events)
        self._former = None
        return state

    @property
    def freshness(self) -> Freshness:
        """Last scanned tier of every row, and whether it wants a review."""
        return self._freshness

    @cached_property
    def _freshness(self) -> Freshness:
        scans = self.snapshot.watermark("freshness", self.as_of_us)
        former, self._former_freshness = self._former_freshness, None
        return Freshness(self.snapshot, former, rows=self.rows, events=self._events, scans=scans)

    def _last_freshness(self) -> Freshness | None:
        """Return what a later version can go on from: its own, or that of a version before it."""
        found: Freshness | None = self.__dict__.get("_freshness", self._former_freshness)
        return found

    def _last_accesses(self) -> Accesses | None:
        found: Accesses | None = self.__dict__.get("_accesses", self._former_accesses)
        return found

    @property
    def accesses(self) -> Accesses:
        """Access counts and times of rows, as recorded in the log."""
        return self._accesses

    @cached_property
    def _accesses(self) -> Accesses:
        former, self._former_accesses = self._former_accesses, None
        return Accesses(self.snapshot, former, events=self._events)

    @cached_property
    def forgotten(self) -> int:
        """Number of contentless tombstones."""
        return self.state.forgotten

    @cached_property
    def all_active(self) -> bool:
        """True where every row is active and none was ever snoozed: no mask is needed."""
        return self.state.all_active and not self.state.snoozed

    @cached_property
    def parts(self) -> tuple[tuple[View | AnsweringPart, Rows], ...]:
        """Views of the shards that hold the rows, each with the rows here of its own."""
        return self.tables.parts(self.snapshot, self.rows, self.languages) if self.tables.is_sharded else ()

    @cached_property
    def forward(self) -> ForwardLists:
        """Forward lists of all rows, for scoring."""
        return self.tables.forward(self.snapshot, self.rows)

    def rows_with_all(self, keys: U32) -> NDArray[np.int64]:
        """Return the rows that hold all terms (at least one), ascending."""
        lists = self.tables.inverted(self.snapshot)
        rows, first = lists.seek(keys, stop=self.rows).rows_of_all(), min(lists.rows, self.rows)
        if first >= self.rows:
            return rows
        tail = self.tables.tail(self.snapshot, first).match(keys, self.rows)
        counts = np.bincount(tail.rows - first, minlength=self.rows - first)
        return np.concatenate([rows, np.flatnonzero(counts == len(keys)) + first])

    def rows_with_each(self, keys: U32) -> list[NDArray[np.int64]]:
        """Return the rows that hold each of some distinct terms, ascending."""
        lists = self.tables.inverted(self.snapshot)
        found, first = lists.seek(keys, stop=self.rows).rows_of_each(), min(lists.rows, self.rows)
        if first >= self.rows:
            return found
        tail = self.tables.tail(self.snapshot, first).match(keys, self.rows)
        order = np.lexsort((tail.rows, tail.terms))
        bounds = np.searchsorted(tail.terms[order], np.arange(len(keys) + 1))
        rows = tail.rows[order]
        return [np.concatenate([found[i], rows[bounds[i] : bounds[i + 1]]]) for i in range(len(keys))]

    @cached_property
    def statistics(self) -> Statistics:
        """Rows and lengths that BM25 needs; tombstones do not count."""
        totals = self.tables.sum_lengths(self.snapshot, self.rows)
        return Statistics(self.rows - self.forgotten, totals)

    @cached_property
    def vectors(self) -> VectorBlocks:
        """Vectors of the space that recall uses, row for row beside the chunks."""
        return self.tables.vector_blocks(self.snapshot, self.rows)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages other than English that rows of this view are in."""
        first = self.tables.first_rows(self.snapshot)
        return tuple(language for language in LANGUAGES if first.get(language, self.rows) < self.rows)

    @property
    def created_us(self) -> NDArray[np.int64]:
        """created_at of every row, int64 (rows,); `MISSING_US` where unknown."""
        return self.tables.created.of(self.snapshot)[: self.rows]

    @property
    def previous(self) -> NDArray[np.int64]:
        """Row of the turn that gives each short turn its context, int64; -1 without one.

        (rows,), or (0,) where no row belongs to a session.
        """
        if not self.categories.has_values(self.snapshot, "session"):
            return _NO_ROWS
        return self.tables.previous.of(self.snapshot)[: self.rows]

    @cached_property
    def vector_rows(self) -> int:
        """Rows below this have an entry in the vectors log."""
        return min(self.rows, self.snapshot.rows(self.snapshot.vector_log)) if self.snapshot.space else 0

    def rows_of_ids(self, identities: list[str]) -> NDArray[np.int64]:
        """Return int64 (n,): the newest row of each id, -1 where there is none."""
        if not identities or not self.rows:
            return np.full(len(identities), -1, np.int64)
        index = self.tables.ids(self.snapshot)
        hashes = hash_ids(identities)
        found = index.lookup(hashes, n_rows=self.rows)
        hit = np.flatnonzero(found >= 0)
        names = self.snapshot.values("chunks", "id", found[hit])
        for position, name in zip(hit.tolist(), names, strict=True):
            if name != identities[position]:  # another id with the same hash: look at all of them
                rows = index.all_rows(int(hashes[position]))
                same = [
                    r
                    for r, n in zip(rows.tolist(), self.snapshot.values("chunks", "id", rows), strict=True)
                    if n == identities[position]
                ]
                found[position] = max((r for r in same if r < self.rows), default=-1)
        return found

    def all_rows_of_id(self, identity: str) -> Rows:
        """Return every row that an id has had, oldest first."""
        rows = self.tables.ids(self.snapshot).all_rows(int(hash_ids([identity])[0]))
        rows = np.sort(rows[rows < self.rows])
        names = self.snapshot.values("chunks", "id", rows)
        return rows[[name == identity for name in names]] if len(rows) else rows

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Return the ids of current chunks that begin with a prefix. O(n)."""
        import pyarrow.compute as pc

        found: set[str] = set()
        for segment in self.snapshot.segments("chunks"):
            column = segment.column("id")
            offsets = np.flatnonzero(pc.starts_with(column, prefix).to_numpy(zero_copy_only=False))
            offsets = offsets[offsets + segment.start < self.rows]
            current = self.state.status[offsets + segment.start] != SUPERSEDED
            found.update(columns.strings(column, offsets[current]))
        return sorted(found)

    def rows_of_versions(self, versions: list[bytes]) -> NDArray[np.int64]:
        """Return int64 (n,): a row whose vector is that of each version, -1 where the log has none."""
        if not versions or not self.vector_rows:
            return np.full(len(versions), -1, np.int64)
        found = self.tables.versions(self.snapshot).lookup(hash_versions(versions), n_rows=self.vector_rows)
        hit = np.flatnonzero(found >= 0)
        for position, version in zip(hit.tolist(), self.snapshot.values("chunks", "version", found[hit]), strict=True):
            if version != versions[position]:  # half a hash in common: embed it anew
                found[position] = -1
        return found

    def events_of(self, identity: str) -> list[dict[str, Any]]:
        """Return the events of a chunk, oldest first."""
        found = []
        for segment in self.snapshot.segments("events"):
            names = segment.texts("chunk")
            rows = [
                segment.start + i
                for i, name in enumerate(names)
                if name == identity and segment.start + i < self._events
            ]
            found += self.snapshot.records("events", np.array(rows, np.int64)) if rows else []
        return found
