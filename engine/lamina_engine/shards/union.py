"""Snapshot of a sharded vault: the logs of its root and of its shards, each as one log.

Rows of a log are numbered by ``recorded_at`` over all who hold some (then by number of the shard, and by row there), which
is how they were numbered before the vault was sharded, and how one vault would have numbered what was written since. So
a moment is a watermark, the newest row of an id is the highest, and a row keeps its number. Columns that hold rows of the
chunks log are translated; those of the root's own rows are of the whole vault already.

Columns of small values are gathered when first asked for; texts and vectors only at the rows that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import after_fork, schema
from lamina_engine.columns import Reader
from lamina_engine.errors import VaultCorrupt
from lamina_engine.index.keys import hash_ids
from lamina_engine.index.view import View
from lamina_engine.shards.answers import make_shard
from lamina_engine.shards.asking import ask_each
from lamina_engine.shards.layout import shard_name
from lamina_engine.shards.merging import Homes, MergedKeys
from lamina_engine.store.manifest import SegmentRef, ShardRef
from lamina_engine.store.segments import SEGMENT_ROWS, Segment
from lamina_engine.store.snapshot import Rows, Snapshot

ROW_COLUMNS: Final[Mapping[str, str]] = {
    "chunks": "previous", "events": "row", "members": "row", "origins": "row", "freshness": "row",
}  # fmt: skip
"""By log: the column that holds a row of the chunks log."""
_MOST_SEGMENTS: Final = 8
"""Of more, one is made: each write adds one."""
_NO_ROWS: Final[Rows] = np.empty(0, np.int64)


class Order:
    """Order of one log: the snapshot that each row lies in, and its row there."""

    def __init__(self, homes: NDArray[np.int16], rows: Rows, seen: tuple[int, ...]) -> None:
        self.homes, self.rows, self.seen = homes, rows, seen

    @classmethod
    def none(cls, of: int) -> Order:
        """Return the order of no rows."""
        return cls(np.empty(0, np.int16), _NO_ROWS, (0,) * of)

    def extend(self, stamps: Sequence[NDArray[np.int64]]) -> Order:
        """Return the order with the rows that each snapshot has more, given by their recorded_at."""
        counts = [len(each) for each in stamps]
        order = np.argsort(np.concatenate(stamps), kind="stable")
        homes = np.repeat(np.arange(len(counts), dtype=np.int16), counts)[order]
        more = [np.arange(seen, seen + count, dtype=np.int64) for seen, count in zip(self.seen, counts, strict=True)]
        return Order(
            np.concatenate([self.homes, homes]),
            np.concatenate([self.rows, np.concatenate(more)[order]]),
            tuple(seen + count for seen, count in zip(self.seen, counts, strict=True)),
        )

    def of(self, number: int) -> Rows:
        """Return the rows here that lie in one of the snapshots, ascending."""
        return np.flatnonzero(self.homes == number)


class MergedSegment(Segment):
    """Some rows of one log, out of several snapshots."""

    __slots__ = ("_homes", "_of", "_places", "_rows", "_to_whole")

    def __init__(
        self, of: Sequence[Snapshot], log: str, start: int, order: Order, to_whole: Callable[[int], Rows] | None
    ) -> None:
        homes, rows = order.homes[start:], order.rows[start:]
        self._of, self._homes, self._rows = tuple(of), homes, rows
        self._places = [(int(n), np.flatnonzero(homes == n)) for n in np.flatnonzero(np.bincount(homes)).tolist()]
        self._to_whole = to_whole
        self.log = log
        self._root = Path()
        self._map = None
        self._batch = None
        self._intact = None
        self._columns: dict[str, pa.Array] = {}
        self._readers: dict[str, Reader] = {}
        self._numbers: dict[tuple[str, int], NDArray[np.generic]] = {}
        self._lock = after_fork.make_lock()
        last = int(self._of[int(homes[-1])].numbers(log, "recorded_at", rows[-1:])[0])
        sizes = [round(sum(ref.size for ref in self._of[n].manifest.logs.get(log, ()))) for n, _ in self._places]
        self.ref = SegmentRef(f"{start:012d}-{len(homes)}-merged", start, len(homes), sum(sizes), "", last)

    @property
    def path(self) -> Path:
        """The file of its first row: what errors name."""
        owner, rows = self._of[int(self._homes[0])], self._rows[:1]
        found = owner.groups(self.log, rows)
        return found[0][0].path if found else Path(owner.name)

    def _parse(self) -> pa.RecordBatch:
        layout = self._layout()
        return pa.RecordBatch.from_arrays([self.column(name) for name in layout.names], schema=layout)

    def _layout(self) -> pa.Schema:
        if self.log in schema.LOGS:
            return schema.log_schema(self.log)
        space = self._of[int(self._homes[0])].space
        return schema.log_schema(self.log, space.dim if space is not None else None)

    def column(self, name: str) -> pa.Array:
        """Return one column, gathered."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._gather(name)
        return found

    def _gather(self, name: str) -> pa.Array:
        if ROW_COLUMNS.get(self.log) == name:
            return pa.array(self.numbers(name))
        parts = ask_each(self._places, lambda number, places: self._of[number].take(self.log, name, self._rows[places]))
        order = np.argsort(np.concatenate([places for _, places in self._places]), kind="stable")
        whole = pa.concat_arrays(parts).take(pa.array(order))
        kind = self._layout().field(name).type
        return whole.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else whole

    def numbers(self, name: str, missing: int = 0) -> NDArray[np.generic]:
        """Return one primitive column, gathered."""
        found = self._numbers.get((name, missing))
        if found is None:
            out: NDArray[Any] | None = None
            each = ask_each(
                self._places,
                lambda number, places: self._of[number].numbers(self.log, name, self._rows[places], missing),
            )
            for (number, places), values in zip(self._places, each, strict=True):
                if ROW_COLUMNS.get(self.log) == name and self._to_whole is not None and number:
                    values = translate(values.astype(np.int64), self._to_whole(number))
                out = np.empty(self.rows, values.dtype) if out is None else out
                out[places] = values
            assert out is not None
            found = self._numbers[name, missing] = out
        return found

    def values(self, name: str, offsets: NDArray[np.int64]) -> list[Any]:
        """Return the Python values of one column at some offsets."""
        if ROW_COLUMNS.get(self.log) == name:
            return list(self.numbers(name)[offsets].tolist())
        out: list[Any] = [None] * len(offsets)
        homes = self._homes[offsets]
        parts = [(int(n), np.flatnonzero(homes == n)) for n in np.flatnonzero(np.bincount(homes)).tolist()]
        each = ask_each(parts, lambda number, at: self._of[number].values(self.log, name, self._rows[offsets[at]]))
        for (_, at), values in zip(parts, each, strict=True):
            for place, value in zip(at.tolist(), values, strict=True):
                out[place] = value
        return out

    def reader(self, name: str) -> Reader:
        """Return a function that gives the Python value of one column at an offset."""
        if ROW_COLUMNS.get(self.log) == name:
            values = self.numbers(name)
            return lambda offset: int(values[offset])
        of, homes, rows, log = self._of, self._homes, self._rows, self.log

        def read(offset: int) -> Any:
            return of[homes[offset]].values(log, name, rows[offset : offset + 1])[0]

        return read

    def is_intact(self) -> bool:
        """Return True if the bytes of every segment that holds some of its rows match their digests."""
        return all(
            segment.is_intact()
            for number, places in self._places
            for segment, _, _ in self._of[number].groups(self.log, self._rows[places])
        )

    @property
    def is_known_damaged(self) -> bool:
        """True if one of those was found damaged."""
        return any(
            segment.is_known_damaged
            for number, places in self._places
            for segment, _, _ in self._of[number].groups(self.log, self._rows[places])
        )

    def require_intact(self) -> None:
        """Raise `VaultCorrupt` unless all their bytes match."""
        for number, places in self._places:
            self._of[number].require_intact(self.log, self._rows[places])


class MemberSegment(MergedSegment):
    """Members of topics while shards are missing, with rows by their ids; -1 for missing ones."""

    __slots__ = ("_union",)

    def __init__(self, union: UnionSnapshot, order: Order) -> None:
        super().__init__(union.of, "members", 0, order, None)
        self._union = union

    def numbers(self, name: str, missing: int = 0) -> NDArray[np.generic]:
        """Return one primitive column; rows are the newest of their chunks at that moment."""
        if name != "row":
            return super().numbers(name, missing)
        found = self._numbers.get((name, missing))
        if found is None:
            found = self._numbers[name, missing] = self._union.rows_before(
                self.texts("chunk"), super().numbers("recorded_at").astype(np.int64)
            )
        return found


def translate(rows: Rows, to: Rows) -> Rows:
    """Return rows of a shard as rows of the whole; -1 stays."""
    return np.where(rows >= 0, to[np.maximum(rows, 0)] if len(to) else -1, -1)


def is_ahead(snapshot: Snapshot, ref: ShardRef, used: str) -> bool:
    """Return True if a shard has rows that no commit of the root has shown."""
    return any(snapshot.rows(log) > rows for log, rows in shown_rows(snapshot, ref, used).items())


def shown_rows(snapshot: Snapshot, ref: ShardRef, used: str) -> dict[str, int]:
    """Return how many rows of each log of a shard the root shows.

    ``used`` is the log of vectors that it reads. Those of other models are made beside (a reindex), chunk by chunk: they stay as
    far as there are chunks.
    """
    chunks = ref.rows.get("chunks", 0)
    return {
        log: min(snapshot.rows(log), chunks) if log.startswith("vectors.") and log != used else ref.rows.get(log, 0)
        for log in snapshot.manifest.logs
    }


def has_forgotten(snapshot: Snapshot, ref: ShardRef) -> bool:
    """Return True if some of those say that chunks were forgotten: there is no way back."""
    rows = np.arange(ref.rows.get("events", 0), snapshot.rows("events"), dtype=np.int64)
    return "forget" in snapshot.values("events", "kind", rows)


def require_vectors(root: Snapshot, number: int, shard: Snapshot, rows: int) -> None:
    """Raise `VaultCorrupt` unless a shard's chunks have vectors of the root's model."""
    space, log = root.space, root.vector_log
    if space is None:
        return
    if shard.space != space:
        raise VaultCorrupt(
            f"shard {number:02d} has vectors of {shard.space.identity if shard.space else 'no model'!r} where the root has "
            f"{space.identity!r}: it is behind the others; reindex that shard with the same model"
        )
    if shard.rows(log) < rows:
        raise VaultCorrupt(f"shard {number:02d} has {rows} chunks and {shard.rows(log)} vectors; reindex it")


class Absent(Snapshot):
    """Version without a row, for a shard that is missing."""

    __slots__ = ()


class UnionSnapshot(Snapshot):
    """One version of a sharded vault: one of its root, and of each shard.

    Parameters
    ----------
    root : Snapshot
    views : sequence of View
        Of the shards, by number. Rows beyond those that the root names are not seen. One of an `Absent` snapshot stands for a
        shard that is missing: rows are then numbered over the others.
    former : UnionSnapshot, optional
        An earlier version: the order of its rows is continued.
    """

    __slots__ = ("_generation", "_limits", "_missing", "chunk_counts", "homes", "of", "orders", "root", "shards")

    def __init__(self, root: Snapshot, views: Sequence[View], former: UnionSnapshot | None = None) -> None:
        self.root = root
        self.of = (root, *(view.snapshot for view in views))
        rewritten = sum(each.manifest.rewritten for each in self.of)
        self._missing = tuple(shard_name(n) for n, view in enumerate(views) if isinstance(view.snapshot, Absent))
        usable = former is not None and former.manifest.rewritten == rewritten and former.missing == self._missing
        before = former if usable else None
        self._generation = rewritten if former is None else former.generation + (not usable)
        logs = dict.fromkeys(log for each in self.of for log in each.manifest.logs if not log.startswith("vectors."))
        refs = zip(self.of[1:], root.manifest.shards, strict=True)
        self._limits = [None, *(None if has_forgotten(each, ref) else ref.rows for each, ref in refs)]
        self.orders: dict[str, Order] = {}
        for log in logs:
            known = before.orders.get(log) if before is not None else None
            self.orders[log] = self._order(log, known or Order.none(len(self.of)))
        chunks = self.orders.get("chunks") or Order.none(len(self.of))
        self.shards = tuple(make_shard(view, chunks.of(n)) for n, view in enumerate(views, 1))
        self.homes = Homes(self.shards, chunks.homes - 1, chunks.rows)
        self.chunk_counts = chunks.seen[1:]
        if root.space is not None:
            for number, (each, rows) in enumerate(zip(self.of[1:], chunks.seen[1:], strict=True)):
                require_vectors(root, number, each, rows)
            self.orders[root.vector_log] = chunks
        parts = {log: self._segments_of(log, order, before) for log, order in self.orders.items() if order.rows.size}
        manifest = msgspec.structs.replace(
            root.manifest, logs={log: [part.ref for part in each] for log, each in parts.items()}, rewritten=rewritten,
        )  # fmt: skip
        super().__init__(manifest, parts, root.name)

    def _order(self, log: str, known: Order) -> Order:
        """Return the order of a log's rows: all of the root, of the shards those that it names."""
        stops = [
            each.rows(log) if limit is None else min(each.rows(log), limit.get(log, 0))
            for each, limit in zip(self.of, self._limits, strict=True)
        ]
        if tuple(stops) == known.seen:
            return known
        stamps = ask_each(
            list(zip(self.of, known.seen, stops, strict=True)),
            lambda each, seen, stop: each.column(log, "recorded_at", start=seen)[: stop - seen].astype(np.int64),
        )
        return known.extend(stamps)

    @property
    def generation(self) -> int:
        """Grows where rows were forgotten, and where a shard is gone or back."""
        return self._generation

    @property
    def missing(self) -> tuple[str, ...]:
        """Shards that are missing, by name."""
        return self._missing

    def _segments_of(self, log: str, order: Order, former: UnionSnapshot | None) -> tuple[Segment, ...]:
        holders = [number for number, seen in enumerate(order.seen) if seen]
        if self._missing and log == "members":
            return (MemberSegment(self, order),)
        if holders == [0]:
            return self.root.segments(log)
        known = former.segments(log) if former is not None and log in former.orders else ()
        if not known or len(known) >= _MOST_SEGMENTS or not isinstance(known[0], MergedSegment):
            known = ()
        start = known[-1].start + known[-1].rows if known else 0
        if start >= order.rows.size:
            return known
        shards = self.shards
        new = MergedSegment(self.of, log, start, order, lambda number: shards[number - 1].rows)
        return (*known, new)

    def parts(self, log: str, rows: Rows) -> Iterator[tuple[Segment, Rows]]:
        """Yield some rows of a log in their order, gathered piece by piece: nothing of them is kept."""
        if not self._is_merged(log):
            yield from super().parts(log, rows)
            return
        order, shards = self.orders[log], self.shards
        for at in range(0, len(rows), SEGMENT_ROWS):
            some = rows[at : at + SEGMENT_ROWS]
            picked = Order(order.homes[some], order.rows[some], order.seen)
            yield MergedSegment(self.of, log, 0, picked, lambda number: shards[number - 1].rows), np.arange(len(some))

    def values(self, log: str, column: str, rows: Rows) -> list[Any]:
        """Return the Python values of any column at some rows, in their order."""
        if not self._is_merged(log):
            return super().values(log, column, rows)
        if ROW_COLUMNS.get(log) == column:
            return list(self.numbers(log, column, rows).tolist())
        out: list[Any] = [None] * len(rows)
        parts = list(self._split(log, rows))
        for (_, at, _), values in zip(
            parts, ask_each(parts, lambda own, _, there: own.values(log, column, there)), strict=True
        ):
            for place, value in zip(at, values, strict=True):
                out[place] = value
        return out

    def records(self, log: str, rows: Rows, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return whole rows as dicts, in the order given."""
        if not self._is_merged(log):
            return super().records(log, rows, names)
        out: list[dict[str, Any]] = [{}] * len(rows)
        parts = list(self._split(log, rows))
        for (_, at, _), records in zip(
            parts, ask_each(parts, lambda own, _, there: own.records(log, there, names)), strict=True
        ):
            for place, record in zip(at, records, strict=True):
                out[place] = record
        name = ROW_COLUMNS.get(log, "")
        if out and name in out[0]:
            for record, row in zip(out, self.numbers(log, name, rows).tolist(), strict=True):
                record[name] = row
        return out

    def _is_merged(self, log: str) -> bool:
        """Tell whether rows of a log lie in shards."""
        return log in self.orders and any(self.orders[log].seen[1:])

    def _split(self, log: str, rows: Rows) -> Iterator[tuple[Snapshot, list[int], Rows]]:
        """Yield the versions that have some rows, the places of these, and their rows there."""
        order = self.orders[log]
        homes = order.homes[rows]
        for number in np.flatnonzero(np.bincount(homes, minlength=1)).tolist():
            at = np.flatnonzero(homes == number)
            yield self.of[number], at.tolist(), order.rows[rows[at]]

    @property
    def holders(self) -> tuple[Snapshot, ...]:
        """The versions of the root and of each shard."""
        return self.of

    def split(self, rows: Rows) -> list[tuple[Snapshot, Rows]]:
        """Return who holds rows of the chunks log, the root first, with their rows there."""
        found: list[tuple[Snapshot, Rows]] = [(self.root, _NO_ROWS)]
        found += [(shard.snapshot, own) for shard, _, own in self.homes.split(rows)]
        return found

    def rows_before(self, names: Sequence[str], stamps: NDArray[np.int64]) -> Rows:
        """Return the newest row of each id before a moment of its own; -1 where there is none."""
        keys = MergedKeys(self.shards, self.rows("chunks"), of_versions=False)
        hashes = hash_ids(names)
        found = keys.lookup(hashes)
        for at in np.flatnonzero(found >= 0).tolist():
            if not self._is_before(int(found[at]), names[at], int(stamps[at])):
                older = keys.all_rows(int(hashes[at]))[::-1].tolist()
                found[at] = next((row for row in older if self._is_before(row, names[at], int(stamps[at]))), -1)
        return found

    def _is_before(self, row: int, name: str, stamp: int) -> bool:
        at = np.array([row], np.int64)
        own = self.values("chunks", "id", at)[0] == name
        return own and int(self.numbers("chunks", "recorded_at", at)[0]) < stamp

    def is_of(self, root: Snapshot, views: Sequence[View]) -> bool:
        """Tell whether this is the version of the same root and shards."""
        return self.root is root and all(a is b.snapshot for a, b in zip(self.of[1:], views, strict=True))
