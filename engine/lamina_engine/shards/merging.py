"""Answers of all shards as one: by row numbers of the whole vault.

Each class here stands where recall knows one vault's lists, vectors, codes or keys, and asks the shards. A shard's rows
are in the order of the whole, so ties, cuts and watermarks mean the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index.helper import Helper
from lamina_engine.index.inverted import InvertedLists, TermPostings
from lamina_engine.index.keys import Hashes, KeyIndex
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.scoring import Bm25, ForwardLists, WeightedQuery
from lamina_engine.index.vectors import Mask, Nearest, VectorBlocks
from lamina_engine.shards.answers import Shard
from lamina_engine.shards.asking import ask_each
from lamina_kernels.layouts import BOOL, F32, F64, I64, U8, U32

T = TypeVar("T", bound=np.generic)
_NO_ROWS: I64 = np.empty(0, np.int64)


class Homes:
    """Shard and row there of every row of the whole vault."""

    def __init__(self, shards: Sequence[Shard], homes: NDArray[np.int16], rows: I64) -> None:
        self.shards, self.homes, self.rows = tuple(shards), homes, rows

    def split(self, rows: I64) -> Iterator[tuple[Shard, NDArray[np.intp], I64]]:
        """Yield each shard that has some of the rows, with their positions and their rows there."""
        homes = self.homes[rows]
        for number in np.flatnonzero(np.bincount(homes, minlength=len(self.shards))).tolist():
            at = np.flatnonzero(homes == number)
            yield self.shards[number], at, self.rows[rows[at]]

    def gather(
        self, rows: I64, shape: tuple[int, ...], dtype: type[T], ask: Callable[[Shard, I64], NDArray[Any]]
    ) -> NDArray[T]:
        """Return an array with what each shard answers for its own of some rows."""
        out = np.zeros(shape, dtype)
        parts = list(self.split(rows))
        for (_, at, _), found in zip(parts, ask_each(parts, lambda shard, _, own: ask(shard, own)), strict=True):
            out[at] = found
        return out


class MergedForward(ForwardLists):
    """Forward lists of the shards."""

    def __init__(self, homes: Homes) -> None:
        self._homes_of = homes
        self.rows = len(homes.rows)

    def score(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Score chosen rows, float64 (m,)."""
        return self._homes_of.gather(
            rows, (rows.size,), np.float64, lambda shard, own: shard.score(own, query, bm25, average_length)
        )

    def contributions(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return each term's share of each row's score, float64 (m, q)."""
        shape = (rows.size, query.hashes.size)
        return self._homes_of.gather(
            rows, shape, np.float64, lambda shard, own: shard.contributions(own, query, bm25, average_length)
        )

    def words(self, rows: I64) -> I64:
        """Return how many words the own text of each of some rows has, int64 (m,)."""
        return self._homes_of.gather(rows, (rows.size,), np.int64, lambda shard, own: shard.words(own))

    def holds(self, rows: I64, hashes: U32) -> BOOL:
        """Return True where a row's own text or header holds every term, bool (m,)."""
        return self._homes_of.gather(rows, (rows.size,), np.bool_, lambda shard, own: shard.holds(own, hashes))


class MergedLists(InvertedLists):
    """Inverted lists of the shards, their tails among them: they reach to the last row."""

    def __init__(self, shards: Sequence[Shard], rows: int) -> None:
        super().__init__(())
        self._shards, self.rows = tuple(shards), rows

    def seek(self, hashes: U32, *, stop: int) -> TermPostings:
        """Return the postings of distinct terms in the rows below ``stop``."""
        return MergedPostings(self, hashes, self._shards, stop)


class MergedPostings(TermPostings):
    """Postings of some terms in all shards."""

    def __init__(self, lists: InvertedLists, hashes: U32, shards: Sequence[Shard], stop: int) -> None:
        super().__init__(lists, hashes, np.empty(0, np.int64), np.empty((0, hashes.size, 2), np.int64))
        self._shards, self._stop = shards, stop

    def _each(self) -> Iterator[tuple[Shard, int]]:
        for shard in self._shards if self.hashes.size else ():
            if stop := shard.stop_at(self._stop):
                yield shard, stop

    def frequencies(self) -> I64:
        """Return how many rows hold each term, int64 (q,)."""
        found = ask_each(list(self._each()), lambda shard, stop: shard.frequencies(self.hashes, stop))
        return sum(found, start=np.zeros(self.hashes.size, np.int64))

    def only(self, hashes: U32) -> TermPostings:
        """Return the same for some of the terms, in their order."""
        return MergedPostings(self._lists, hashes, self._shards, self._stop)

    def rows_of_each(self) -> list[I64]:
        """Return the rows that hold each term, int64 (m,) ascending."""
        found: list[list[I64]] = [[_NO_ROWS] for _ in range(self.hashes.size)]
        asked = list(self._each())
        each = ask_each(asked, lambda shard, stop: shard.rows_of_each(self.hashes, stop))
        for (shard, _), answer in zip(asked, each, strict=True):
            for rows, own in zip(found, answer, strict=True):
                rows.append(shard.rows[own])
        return [np.sort(np.concatenate(rows)) for rows in found]

    def rows_of_all(self) -> I64:
        """Return the rows that hold all terms (at least one), int64 (m,) ascending."""
        found = ask_each(list(self._each()), lambda shard, stop: shard.rows[shard.rows_of_all(self.hashes, stop)])
        return np.sort(np.concatenate([_NO_ROWS, *found]))

    scores_others = False

    def best(
        self, idf: F64, bm25: Bm25, average_length: float, depth: int, *, live: U8 | None = None, beside: I64 = _NO_ROWS
    ) -> tuple[I64, F64, F64]:
        """Return the rows with the highest scores, and the scores; no others are asked for."""
        rows, scores = [_NO_ROWS], [np.empty(0)]

        def ask(shard: Shard, stop: int) -> tuple[I64, F64]:
            own = None if live is None else live[shard.rows[:stop]]
            found, their = shard.best(self.hashes, idf, bm25, average_length, depth, stop, own)
            return shard.rows[found], their

        for found, their in ask_each(list(self._each()), ask):
            rows.append(found)
            scores.append(their)
        every, all_scores = np.concatenate(rows), np.concatenate(scores)
        order = np.lexsort((-every, -all_scores))[:depth]
        order = order[all_scores[order] > 0.0]
        return every[order], all_scores[order], np.empty(0)


class MergedVectors(VectorBlocks):
    """Vectors of the shards."""

    __slots__ = ("_homes_of",)

    def __init__(self, homes: Homes, dim: int) -> None:
        super().__init__((), dim)
        self._homes_of = homes

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._homes_of.rows)

    def gather(self, rows: I64) -> F32:
        """Return float32 (m, d): the vectors of some rows, in their order."""
        return self._homes_of.gather(
            rows, (len(rows), self.dim), np.float32, lambda shard, own: shard.vectors.gather(own)
        )

    def dots_of(self, rows: I64, vector: F32) -> F32:
        """Return `dots` with a query that `as_query` has given."""
        return self._homes_of.gather(
            rows, (len(rows),), np.float32, lambda shard, own: shard.vectors.dots_of(own, vector)
        )

    def present(self, rows: I64) -> BOOL:
        """Return bool (m,): False where a row has no vector."""
        return self._homes_of.gather(rows, (len(rows),), np.bool_, lambda shard, own: shard.vectors.present(own))

    def slices(self, start: int, stop: int, length: int = 65_536) -> Iterator[tuple[int, F32]]:
        """Yield ``(first row, float32 (m, d))`` over rows [start, stop), in slices."""
        for first in range(start, stop, length):
            yield first, self.gather(np.arange(first, min(first + length, stop), dtype=np.int64))

    def scan(
        self,
        query: F32,
        k: int,
        *,
        start: int = 0,
        stop: int | None = None,
        mask: Mask | None = None,
        floor: float | None = None,
    ) -> Nearest:
        """Return the k nearest of some rows, exactly: the nearest of each shard, merged."""
        end = self.rows if stop is None else stop
        rows, scores = [_NO_ROWS], [np.empty(0, np.float32)]
        spans = [(shard, shard.stop_at(start), shard.stop_at(end)) for shard in self._homes_of.shards]
        spans = [(shard, first, last) for shard, first, last in spans if first < last]

        def ask(shard: Shard, first: int, last: int) -> Nearest:
            own = None if mask is None else mask[shard.rows[:last]]
            return shard.scan(query, k, first, last, own, floor)

        for (shard, _, _), found in zip(spans, ask_each(spans, ask), strict=True):
            rows.append(shard.rows[found.rows])
            scores.append(found.scores)
        return Nearest.best(np.concatenate(rows), np.concatenate(scores), k)


class MergedCodes(QuantisedIndex):
    """Codes of the shards by one codebook, that of the whole vault's first rows.

    A row's promise depends on its codes, the codebook and the query alone, so the best of all shards are the best of one index.
    """

    __slots__ = ("_own", "_shards")

    def __init__(self, shards: Sequence[Shard], codes: Sequence[QuantisedIndex], rows: int) -> None:
        self.dim, self.rows = codes[0].dim, rows
        self.trained_on, self.faiss_version = codes[0].trained_on, codes[0].faiss_version
        self._shards, self._own = tuple(shards), tuple(codes)

    def search(self, query: F32, n: int, helper: Helper | None = None) -> Nearest:
        """Return at most ``n`` rows that promise the largest products, the most promising first."""
        del helper  # shards answer one after the other
        rows, promises = [_NO_ROWS], [np.empty(0, np.float32)]
        for shard, codes in zip(self._shards, self._own, strict=True):
            found = shard.propose(codes, query, n)
            seen = found.rows < len(shard.rows)  # they may be of a later version
            rows.append(shard.rows[found.rows[seen]])
            promises.append(found.scores[seen])
        return Nearest.best(np.concatenate(rows), np.concatenate(promises), min(n, self.rows))


class MergedKeys(KeyIndex):
    """Ids, or versions with a vector, in all shards."""

    def __init__(self, shards: Sequence[Shard], rows: int, *, of_versions: bool) -> None:
        super().__init__((), rows)
        self._shards, self._of_versions = tuple(shards), of_versions

    def lookup(self, keys: Hashes, *, n_rows: int | None = None) -> I64:
        """Return the newest row of each key; -1 where there is none."""
        found = np.full(len(keys), -1, np.int64)
        stops = [(shard, shard.stop_at(self.rows if n_rows is None else n_rows)) for shard in self._shards]

        def ask(shard: Shard, stop: int) -> I64:
            return shard.newest_of_versions(keys, stop) if self._of_versions else shard.newest_of_ids(keys, stop)

        for (shard, _), own in zip(stops, ask_each(stops, ask), strict=True):
            hit = np.flatnonzero(own >= 0)
            found[hit] = np.maximum(found[hit], shard.rows[own[hit]])
        return found

    def all_rows(self, key: int) -> I64:
        """Return all rows that share a key's hash, int64 ascending."""
        rows = [_NO_ROWS]
        for shard, own in zip(
            self._shards,
            ask_each([(shard,) for shard in self._shards], lambda shard: shard.all_of_id(key)),
            strict=True,
        ):
            rows.append(shard.rows[own[own < len(shard.rows)]])
        return np.sort(np.concatenate(rows))
