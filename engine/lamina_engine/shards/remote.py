"""Shards that another process answers for: what it runs, and what stands for them here.

Whoever answers has one shard open, and is asked for a version: the shard's own rows never change but when rows are forgotten, so
any version with at least these commits, and as many rewritings, gives the same answers. Everything that travels is numbers, texts
and records; no view, segment or file.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.errors import LaminaError, SchemaMismatch
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.keys import Hashes
from lamina_engine.index.scoring import Bm25, WeightedQuery
from lamina_engine.index.tables import Tables
from lamina_engine.index.vectors import Mask, Nearest, VectorBlocks
from lamina_engine.index.view import AnsweringPart, View
from lamina_engine.memory import Memory
from lamina_engine.recall.clauses import find_in_part
from lamina_engine.recall.spelling import Dictionary
from lamina_engine.shards.answers import PartView, Shard, ShardView, in_space
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.layouts import BOOL, F32, F64, I64, U8, U32


class VersionGone(LaminaError, RuntimeError):
    """A shard that is not, or no longer, at the version asked for: look and ask again."""


class Version(NamedTuple):
    """Version of a shard that is asked for."""

    vault: str
    commits: int
    rewritten: int
    space: str
    """Name of the model whose vectors are read."""


Ask = Callable[[int, Version | None, str, tuple[Any, ...]], Any]
"""Asks a shard, by number: a version (None for the newest manifest), a call of `Answering`, its arguments."""

_KNOWN: Final = 32
"""Questions whose numbers are kept for each version of a shard: of some recalls at the same time."""
_MOST_ROWS: Final = 4_096
"""Of more rows nothing is kept."""
_OF_SNAPSHOT: Final = frozenset({"numbers", "values", "records", "column", "take"})
_OF_SHARD: Final = frozenset({
    "sum_lengths", "first_rows", "frequencies", "rows_of_each", "rows_of_all", "best", "score", "words",
    "holds", "scan", "newest_of_ids", "all_of_id", "newest_of_versions",
})  # fmt: skip
_OF_VECTORS: Final = frozenset({"gather", "dots", "present"})


class Answering:
    """One open shard, as it is asked from elsewhere. Safe to use from several threads."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._former: View | None = None
        self._newest: View | None = None
        self._apart: tuple[View, View] | None = None
        """A version, and the same by another model: while a reindex makes shards follow the root."""

    def answer(self, version: Version | None, call: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to a call.

        Raises
        ------
        VersionGone
        """
        if version is None:
            self._memory.store.files.fetch(self._memory.root)
            return self._memory.view().snapshot.manifest
        view = self._view_of(version)
        if call in _OF_SNAPSHOT:
            return getattr(view.snapshot, call)(*arguments)
        if call in _OF_VECTORS:
            return getattr(view.vectors, call)(*arguments)
        if call == "previous":
            return view.tables.previous.of(view.snapshot)
        shard = Shard(view, np.empty(0, np.int64))
        if call in _OF_SHARD:
            return getattr(shard, call)(*arguments)
        if call == "explained":
            return shard.contributions(*arguments), shard.words(arguments[0])
        stop, languages, *rest = arguments
        part = PartView(view, stop, languages)
        if call == "find":
            return find_in_part(part, rest[0], Analyzer())
        if call in ("spelt", "beginning"):
            return getattr(Dictionary(part), "frequencies" if call == "spelt" else call)(*rest)
        raise SchemaMismatch(f"{call!r} is no call of a shard; install the same Lamina everywhere")

    def _view_of(self, version: Version) -> View:
        for again in (False, True):
            if again:
                self._memory.store.files.fetch(self._memory.root)
            view = self._memory.view()
            if view is not self._newest:
                former = self._newest
                if former is not None and former.snapshot.manifest.rewritten != view.snapshot.manifest.rewritten:
                    self._former = former  # who began with it goes on with it
                self._newest = view
            for each in (view, self._former):
                manifest = each.snapshot.manifest if each is not None else None
                if (
                    manifest is not None
                    and (manifest.vault, manifest.rewritten) == (version.vault, version.rewritten)
                    and manifest.commits >= version.commits
                ):
                    assert each is not None
                    if version.space in ("", *manifest.spaces):
                        return self._in_space(each, version.space)
        found = self._memory.view().snapshot.manifest
        raise VersionGone(
            f"{self._memory.root} is at commit {found.commits} of vault {found.vault}, asked for was {version.commits} of "
            f"{version.vault}; ask again"
        )

    def _in_space(self, view: View, space: str) -> View:
        if view.snapshot.manifest.space == space:
            return view
        known = self._apart
        if known is None or known[0] is not view or known[1].snapshot.manifest.space != space:
            known = self._apart = view, in_space(view, space)
        return known[1]


class RemoteSnapshot(Snapshot):
    """A version of a shard elsewhere: its manifest is here, its rows are asked for."""

    __slots__ = ("_asked", "ask")

    def __init__(self, manifest: Manifest, number: int, ask: Ask) -> None:
        super().__init__(manifest, {}, f"shard {number:02d}")
        self._asked = number, ask
        version = Version(manifest.vault, manifest.commits, manifest.rewritten, manifest.space)
        self.ask: Callable[..., Any] = lambda call, *arguments: ask(number, version, call, arguments)

    def in_space(self, space: str) -> RemoteSnapshot:
        """Return the same version, read by the vectors of another model."""
        return RemoteSnapshot(msgspec.structs.replace(self.manifest, space=space), *self._asked)

    def numbers(self, log: str, column: str, rows: Rows, missing: int = 0) -> NDArray[Any]:
        """Gather a primitive column at some rows, in their order; nulls become ``missing``."""
        found: NDArray[Any] = self.ask("numbers", log, column, rows, missing) if len(rows) else np.empty(0, np.int64)
        return found

    def values(self, log: str, column: str, rows: Rows) -> list[Any]:
        """Return the Python values of any column at some rows, in their order."""
        found: list[Any] = self.ask("values", log, column, rows) if len(rows) else []
        return found

    def records(self, log: str, rows: Rows, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return whole rows as dicts, in the order given."""
        found: list[dict[str, Any]] = self.ask("records", log, rows, names) if len(rows) else []
        return found

    def take(self, log: str, column: str, rows: Rows) -> pa.Array:
        """Return any column at ascending rows, dictionaries decoded."""
        return self.ask("take", log, column, rows)

    def column(
        self, log: str, name: str, *, start: int = 0, convert: Callable[[Segment], NDArray[Any]] | None = None
    ) -> NDArray[Any]:
        """Return a primitive column from row ``start`` on."""
        rows = np.arange(start, self.rows(log), dtype=np.int64)
        return self.numbers(log, name, rows)


class Known:
    """Numbers by row that a shard has given lately: asking again would be a round."""

    def __init__(self) -> None:
        self._by_question: dict[bytes, tuple[I64, NDArray[Any]]] = {}
        self._lock = after_fork.make_lock()

    def get(self, question: bytes, rows: I64, ask: Callable[[I64], NDArray[Any]]) -> NDArray[Any]:
        """Return the number of each row, asking for those that are not known."""
        with self._lock:
            found = self._by_question.get(question)
        new = rows if found is None else np.setdiff1d(rows, found[0])
        if found is None or len(new):
            new = np.unique(new)
            found = self.put(question, new, ask(new), found)
        return found[1][np.searchsorted(found[0], rows)]

    def put(
        self, question: bytes, rows: I64, numbers: NDArray[Any], known: tuple[I64, NDArray[Any]] | None = None
    ) -> tuple[I64, NDArray[Any]]:
        """Note the numbers of some rows beside those known; return all, rows ascending."""
        both = rows if known is None else np.concatenate([known[0], rows])
        values = numbers if known is None else np.concatenate([known[1], numbers])
        order = np.unique(both, return_index=True)[1]
        found = both[order], values[order]
        with self._lock:
            self._by_question.pop(question, None)
            if len(both) <= _MOST_ROWS:
                self._by_question[question] = found
            while len(self._by_question) > _KNOWN:
                del self._by_question[next(iter(self._by_question))]
        return found


class RemoteVectors(VectorBlocks):
    """Vectors of a shard elsewhere."""

    __slots__ = ("_ask", "_count", "_known")

    def __init__(self, snapshot: RemoteSnapshot, rows: int) -> None:
        super().__init__((), snapshot.space.dim if snapshot.space else 1)
        self._ask, self._count, self._known = snapshot.ask, rows, Known()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._count

    def gather(self, rows: I64) -> F32:
        """Return float32 (m, d): the vectors of some rows, in their order."""
        found: F32 = self._ask("gather", rows)
        return found

    def dots_of(self, rows: I64, vector: F32) -> F32:
        """Return `dots` with a query that `as_query` has given."""
        if len(rows) > _MOST_ROWS:
            found: F32 = self._ask("dots", rows, vector)
        else:
            found = self._known.get(b"dots" + vector.tobytes(), rows, lambda new: self._ask("dots", new, vector))
        return found

    def present(self, rows: I64) -> BOOL:
        """Return bool (m,): False where a row has no vector."""
        found: BOOL = self._ask("present", rows)
        return found

    def slices(self, start: int, stop: int, length: int = 65_536) -> Iterator[tuple[int, F32]]:
        """Yield ``(first row, float32 (m, d))`` over rows [start, stop), in slices."""
        for first in range(start, stop, length):
            yield first, self.gather(np.arange(first, min(first + length, stop), dtype=np.int64))


class RemotePart:
    """First rows of a shard elsewhere, for operators and corrections."""

    def __init__(self, view: View, stop: int, languages: tuple[str, ...]) -> None:
        assert isinstance(view.snapshot, RemoteSnapshot)
        self._ask, self._given = view.snapshot.ask, (stop, languages)

    def find(self, clause: object) -> I64:
        """Return the rows that a clause matches."""
        found: I64 = self._ask("find", *self._given, clause)
        return found

    def frequencies(self, words: Collection[str]) -> dict[str, int]:
        """Return how many rows hold each word, without those that none holds."""
        found: dict[str, int] = self._ask("spelt", *self._given, words)
        return found

    def beginning(self, prefix: str) -> set[str]:
        """Return the words that begin with a prefix."""
        found: set[str] = self._ask("beginning", *self._given, prefix)
        return found


@after_fork.track_property_locks
class RemoteShard(Shard):
    """A shard elsewhere at one version: each call of `Shard`, asked for."""

    def __init__(self, view: View, rows: I64) -> None:
        super().__init__(view, rows)
        assert isinstance(view.snapshot, RemoteSnapshot)
        self._ask, self._known = view.snapshot.ask, Known()

    def part(self, stop: int, languages: tuple[str, ...]) -> AnsweringPart:
        """Return its first rows for operators and corrections."""
        return RemotePart(self._view, stop, languages)

    def sum_lengths(self, stop: int) -> I64:
        """Return the sums of the lengths of its first rows in each zone."""
        found: I64 = self._ask("sum_lengths", stop)
        return found

    def first_rows(self) -> Mapping[str, int]:
        """Return the first row of each language other than English."""
        found: Mapping[str, int] = self._ask("first_rows")
        return found

    def previous(self) -> I64:
        """Return the row of the turn that gives each short turn its context."""
        found: I64 = self._ask("previous")[: len(self.rows)]
        return found

    def frequencies(self, keys: U32, stop: int) -> I64:
        """Return how many of its first rows hold each term."""
        found: I64 = self._ask("frequencies", keys, stop)
        return found

    def rows_of_each(self, keys: U32, stop: int) -> list[I64]:
        """Return the rows that hold each term."""
        found: list[I64] = self._ask("rows_of_each", keys, stop)
        return found

    def rows_of_all(self, keys: U32, stop: int) -> I64:
        """Return the rows that hold all terms."""
        found: I64 = self._ask("rows_of_all", keys, stop)
        return found

    def best(
        self, keys: U32, idf: F64, bm25: Bm25, average_length: float, depth: int, stop: int, live: U8 | None
    ) -> tuple[I64, F64]:
        """Return at most ``depth`` rows with the highest scores by words, and the scores."""
        found: tuple[I64, F64] = self._ask("best", keys, idf, bm25, average_length, depth, stop, live)
        self._known.put(_scoring(keys, idf, bm25, average_length), *found)
        return found

    def score(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return the score by words of some rows."""
        if len(rows) > _MOST_ROWS:
            found: F64 = self._ask("score", rows, query, bm25, average_length)
        else:
            question = _scoring(query.hashes, query.idf, bm25, average_length)
            found = self._known.get(question, rows, lambda new: self._ask("score", new, query, bm25, average_length))
        return found

    def contributions(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return each term's share of each row's score."""
        found: F64
        found, words = self._ask("explained", rows, query, bm25, average_length)
        self._known.put(b"words", rows, words)  # of hits these are asked next
        return found

    def words(self, rows: I64) -> I64:
        """Return how many words the own text of each of some rows has."""
        if len(rows) > _MOST_ROWS:
            found: I64 = self._ask("words", rows)
        else:
            found = self._known.get(b"words", rows, lambda new: self._ask("words", new))
        return found

    def holds(self, rows: I64, keys: U32) -> BOOL:
        """Return True where a row's own text or header holds every term."""
        found: BOOL = self._ask("holds", rows, keys)
        return found

    @cached_property
    def vectors(self) -> VectorBlocks:
        """Vectors of its rows."""
        assert isinstance(self.snapshot, RemoteSnapshot)
        return RemoteVectors(self.snapshot, self._view.rows)

    def scan(self, query: F32, k: int, start: int, stop: int, mask: Mask | None, floor: float | None) -> Nearest:
        """Return the k nearest of some rows, exactly."""
        found: Nearest = self._ask("scan", query, k, start, stop, mask, floor)
        return found

    def newest_of_ids(self, hashes: Hashes, stop: int) -> I64:
        """Return the newest row of each id, -1 where there is none."""
        found: I64 = self._ask("newest_of_ids", hashes, stop)
        return found

    def all_of_id(self, hashed: int) -> I64:
        """Return all rows of an id."""
        found: I64 = self._ask("all_of_id", hashed)
        return found

    def newest_of_versions(self, hashes: Hashes, stop: int) -> I64:
        """Return a row whose vector is that of each version, -1 where there is none."""
        found: I64 = self._ask("newest_of_versions", hashes, stop)
        return found


def _scoring(keys: U32, idf: F64, bm25: Bm25, average_length: float) -> bytes:
    """Return what the scores of rows by words depend on."""
    return pickle.dumps(("score", keys.tobytes(), idf.tobytes(), bm25, average_length))


class RemoteView(ShardView):
    """A version of a shard elsewhere, in place of the view of an open one."""

    def shard(self, rows: I64) -> Shard:
        """Return what it is asked by."""
        return RemoteShard(self, rows)

    def in_space(self, space: str) -> View:
        """Return the same version, read by the vectors of another model that it has."""
        assert isinstance(self.snapshot, RemoteSnapshot)
        return RemoteView(self.snapshot.in_space(space), self.tables)


class RemoteMemory:
    """A shard elsewhere, in place of an open one: for reading."""

    def __init__(self, root: Path, number: int, ask: Ask) -> None:
        self.root, self._number, self._ask_of = root, number, ask
        self._lock = after_fork.make_lock()
        self._failed = False
        self._view = self._make()

    @property
    def store(self) -> RemoteMemory:
        """Itself: what a reader asks of a store is `fetch`."""
        return self

    files = store

    def view(self) -> View:
        """Return the version seen last, or a newer one after a call that failed."""
        if self._failed:
            self.fetch(self.root)
            self._failed = False
        return self._view

    def _ask(self, number: int, version: Version | None, call: str, arguments: tuple[Any, ...]) -> Any:
        try:
            return self._ask_of(number, version, call, arguments)
        except (OSError, VersionGone):
            self._failed = True
            raise

    def fetch(self, root: Path) -> None:
        """Ask for the newest version."""
        with self._lock:
            self._view = self._make()

    def _make(self) -> View:
        manifest: Manifest = self._ask(self._number, None, "", ())
        return RemoteView(RemoteSnapshot(manifest, self._number, self._ask), Tables(self.root))

    def close(self) -> None:
        """Do nothing: whoever answers closes it."""
