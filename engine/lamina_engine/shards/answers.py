"""Shard: one version of one shard, and everything that it is asked.

This is the seam: whoever answers these calls, here or elsewhere, is a shard. Rows in arguments and answers are the shard's own;
`Shard.rows` says which rows of the whole vault they are. Scores come from the whole vault's statistics, which the caller gives,
and each is a sum over one row in one fixed order: where a row lies changes no bit of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec
import numpy as np

from lamina_engine import after_fork
from lamina_engine.index.keys import Hashes
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.scoring import Bm25, WeightedQuery
from lamina_engine.index.tail import Matches
from lamina_engine.index.vectors import Mask, Nearest, VectorBlocks
from lamina_engine.index.view import AnsweringPart, View
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import BOOL, F32, F64, I64, U8, U32


class PartView(View):
    """First rows of a shard's version, in the languages of the whole vault."""

    def __init__(self, view: View, stop: int, languages: tuple[str, ...]) -> None:
        super().__init__(view.snapshot, view.tables)
        self.rows = stop
        self.languages = languages


class ShardView(View):
    """Version of a shard that is asked in another way than by reading it."""

    def shard(self, rows: I64) -> Shard:
        """Return what it is asked by."""
        raise NotImplementedError

    def in_space(self, space: str) -> View:
        """Return the same version, read by the vectors of another model that it has."""
        raise NotImplementedError


@after_fork.track_property_locks
class Shard:
    """A shard at one version.

    Parameters
    ----------
    view : View
        The shard's own.
    rows : int64 (n,)
        The row in the whole vault of each of its first n rows, ascending; it has no others for the whole vault.
    """

    def __init__(self, view: View, rows: I64) -> None:
        self._view, self.rows = view, rows

    @property
    def snapshot(self) -> Snapshot:
        """The shard's log: columns of its rows."""
        return self._view.snapshot

    def stop_at(self, stop: int) -> int:
        """Return how many of its rows lie below a row of the whole."""
        return int(np.searchsorted(self.rows, stop))

    def part(self, stop: int, languages: tuple[str, ...]) -> View | AnsweringPart:
        """Return its first rows for what reads words as written: operators and corrections."""
        return PartView(self._view, stop, languages)

    # ------------------------------------------------------------------ statistics

    def sum_lengths(self, stop: int) -> I64:
        """Return the sums of the lengths of its first rows in each zone, int64 (3,)."""
        return self._view.tables.sum_lengths(self.snapshot, stop)

    def first_rows(self) -> Mapping[str, int]:
        """Return the first row of each language other than English."""
        return self._view.tables.first_rows(self.snapshot)

    def previous(self) -> I64:
        """Return the row of the turn that gives each short turn its context, -1 without one."""
        found: I64 = self._view.tables.previous.of(self.snapshot)[: len(self.rows)]
        return found

    # ------------------------------------------------------------------ words

    def frequencies(self, keys: U32, stop: int) -> I64:
        """Return how many of its first rows hold each term, int64 (q,)."""
        lists = self._view.tables.inverted(self.snapshot)
        found = lists.seek(keys, stop=stop).frequencies()
        tail = self._tail(keys, stop)
        return found if tail is None else found + np.bincount(tail.terms, minlength=len(keys))

    def rows_of_each(self, keys: U32, stop: int) -> list[I64]:
        """Return the rows that hold each term, ascending."""
        return PartView(self._view, stop, ()).rows_with_each(keys)

    def rows_of_all(self, keys: U32, stop: int) -> I64:
        """Return the rows that hold all terms, ascending."""
        return PartView(self._view, stop, ()).rows_with_all(keys)

    def best(
        self, keys: U32, idf: F64, bm25: Bm25, average_length: float, depth: int, stop: int, live: U8 | None
    ) -> tuple[I64, F64]:
        """Return at most ``depth`` rows with the highest scores by words, and the scores."""
        lists = self._view.tables.inverted(self.snapshot)
        rows, scores, _ = lists.seek(keys, stop=stop).best(idf, bm25, average_length, depth, live=live)
        tail = self._tail(keys, stop)
        if tail is None:
            return rows, scores
        more = np.unique(tail.rows)
        if live is not None:
            more = more[live[more] != 0]
        rows = np.concatenate([rows, more])
        scores = np.concatenate([scores, self.score(more, WeightedQuery((), keys, idf), bm25, average_length)])
        order = np.lexsort((-rows, -scores))[:depth]
        return rows[order], scores[order]

    def _tail(self, keys: U32, stop: int) -> Matches | None:
        """Return where terms stand in the rows without lists."""
        tables = self._view.tables
        first = min(tables.inverted(self.snapshot).rows, stop)
        return tables.tail(self.snapshot, first).match(keys, stop) if first < stop and len(keys) else None

    def score(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return the score by words of some rows, float64 (m,)."""
        return self._view.forward.score(rows, query, bm25, average_length)

    def contributions(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return each term's share of each row's score, float64 (m, q)."""
        return self._view.forward.contributions(rows, query, bm25, average_length)

    def words(self, rows: I64) -> I64:
        """Return how many words the own text of each of some rows has, int64 (m,)."""
        return self._view.forward.words(rows)

    def holds(self, rows: I64, keys: U32) -> BOOL:
        """Return True where a row's own text or header holds every term, bool (m,)."""
        return self._view.forward.holds(rows, keys)

    # ------------------------------------------------------------------ vectors

    @cached_property
    def vectors(self) -> VectorBlocks:
        """Vectors of its rows: `scan`, `dots`, `gather`, `present`."""
        return self._view.vectors

    def scan(self, query: F32, k: int, start: int, stop: int, mask: Mask | None, floor: float | None) -> Nearest:
        """Return the k nearest of some rows, exactly."""
        return self.vectors.scan(query, k, start=start, stop=stop, mask=mask, floor=floor)

    def propose(self, codes: QuantisedIndex, query: F32, n: int) -> Nearest:
        """Return at most ``n`` rows that promise the largest products by the whole vault's codebook."""
        return codes.search(query, n) if codes.rows else Nearest.nothing()

    # ------------------------------------------------------------------ look-ups

    def newest_of_ids(self, hashes: Hashes, stop: int) -> I64:
        """Return the newest row of each id, -1 where there is none."""
        return self._view.tables.ids(self.snapshot).lookup(hashes, n_rows=stop)

    def all_of_id(self, hashed: int) -> I64:
        """Return all rows of an id, those of others with the same hash among them, ascending."""
        return self._view.tables.ids(self.snapshot).all_rows(hashed)

    def newest_of_versions(self, hashes: Hashes, stop: int) -> I64:
        """Return a row whose vector is that of each version, -1 where there is none."""
        return self._view.tables.versions(self.snapshot).lookup(hashes, n_rows=stop)


def in_space(view: View, space: str) -> View:
    """Return the same version of a shard, read by the vectors of another model that it has."""
    if isinstance(view, ShardView):
        return view.in_space(space)
    base = view.snapshot
    manifest = msgspec.structs.replace(base.manifest, space=space)
    return View(Snapshot(manifest, {log: base.segments(log) for log in manifest.logs}, base.name), view.tables)


def make_shard(view: View, rows: I64) -> Shard:
    """Return what a shard at a version is asked by, here or elsewhere."""
    return view.shard(rows) if isinstance(view, ShardView) else Shard(view, rows)
