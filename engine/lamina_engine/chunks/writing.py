"""Writing of batches: new, superseding and unchanged chunks, and the chunk before each."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine import columns
from lamina_engine.chunks.batch import ChunkBatch, Origin, check_vectors
from lamina_engine.errors import ChunkExists, InvalidArgument, VaultCorrupt
from lamina_engine.index import textbuilder
from lamina_engine.index.state import ACTIVE, ARCHIVED, INVALIDATED, REMOVED
from lamina_engine.index.tables import NO_MORE, BulkHint
from lamina_engine.store.segments import SEGMENT_ROWS
from lamina_engine.store.transaction import LogWriter, Transaction

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

logger = logging.getLogger(__name__)


OnConflict = Literal["version", "skip", "error", "overwrite"]
"""Treatment of a record whose id a chunk has."""

_FEW_ROWS = 64
"""Fewer are analysed while the disk writes them: that takes less time than the disk."""
_CARRIED = '{"carried":true}'
"""Detail of an invalidation that passed on to a new row."""
_COMPARED = (
    "version", "text", "title", "headings", "type", "collection", "project", "session", "agent", "source", "tags", "success",
    "metadata", "role",
)  # fmt: skip


@dataclass(slots=True)
class ChunkCounts:
    """Counts of one write."""

    ids: list[str] = field(default_factory=list)
    """Id of every record, in order."""
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    embedded: int = 0
    """How many texts the embedder was given."""

    def add(self, other: ChunkCounts) -> None:
        """Count another batch to this one."""
        self.ids += other.ids
        self.added += other.added
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.embedded += other.embedded


class PrecomputedVectors(dict[bytes, NDArray[np.float32]]):
    """Vectors by version, embedded before the lock was taken, and their embedder's identity."""

    def __init__(self, identity: str, vectors: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        super().__init__(vectors)
        self.identity = identity


def write(
    memory: Memory,
    batch: ChunkBatch,
    hint: BulkHint = NO_MORE,
    *,
    on_conflict: OnConflict = "version",
    invalid: Mapping[int, str | None] = MappingProxyType({}),
) -> ChunkCounts:
    """Write a batch durably, in commits of at most `SEGMENT_ROWS` rows; known chunks are kept.

    Texts are embedded before the lock is taken, so a slow model never blocks other writers. ``invalid`` are the positions
    that say what was invalidated before, with the reasons: these stay invalid.
    """
    memory.ensure_space(batch.vectors)
    if batch.vectors is not None and memory.view().snapshot.space is None:
        raise InvalidArgument(
            "vectors were given, but this vault is searched by words alone; leave them out, or reindex with an embedder"
        )
    batch.identify()
    if on_conflict == "error":
        _refuse_known(memory.view(), batch)  # before anything is written; again under the lock
    total = ChunkCounts()
    for start in range(0, len(batch), SEGMENT_ROWS):
        stop = min(start + SEGMENT_ROWS, len(batch))
        part = batch if len(batch) <= SEGMENT_ROWS else batch.select(range(start, stop))
        left = len(batch) - stop
        here = {p - start: reason for p, reason in invalid.items() if 0 <= p - start < len(part)}
        made = precompute_vectors(memory, memory.view(), part)
        writer = ChunkWriter(memory, part, *made, on_conflict=on_conflict, invalid=here)
        total.add(writer.write(BulkHint(left + hint.rows, hint.more or left > 0)))
    return total


class _ChunkPlan(NamedTuple):
    counts: ChunkCounts
    fresh: list[int]
    """Positions to write."""
    replaced: dict[int, int]
    """Row that each supersedes; -2 - p for the row that position p of the batch gets."""
    restored: dict[int, int]
    """Removed rows that are back, with a position of each."""


class _Appended(NamedTuple):
    """Rows of one transaction, which builds on a view."""

    view: View
    first: int
    values: Mapping[str, Any]
    """By column."""
    stamps: Sequence[int]
    matrix: NDArray[np.float32] | None


class ChunkWriter(LogWriter[_ChunkPlan, ChunkCounts]):
    """Writes one batch; vectors made before the lock was taken are given by version."""

    def __init__(
        self,
        memory: Memory,
        batch: ChunkBatch,
        vectors: dict[bytes, NDArray[np.float32]],
        embedded: int = 0,
        *,
        on_conflict: OnConflict = "version",
        invalid: Mapping[int, str | None] = MappingProxyType({}),
    ) -> None:
        super().__init__(memory)
        self._invalid = invalid
        self._batch, self._vectors, self._embedded = batch, vectors, embedded
        self._on_conflict: OnConflict = on_conflict
        self._appended: _Appended | None = None
        """Few rows, appended."""

    def write(self, hint: BulkHint = NO_MORE) -> ChunkCounts:
        """Write the batch durably, all or nothing; ``hint`` announces later batches."""
        with self.memory.write(hint=hint) as (transaction, view):
            counts = self.append_to(transaction, view)
        self._remember()
        return counts

    def _remember(self) -> None:
        """Cache keys of what was written, and its fields where this process has read before."""
        if self._appended is None:
            return
        view, first, values, stamps, matrix = self._appended
        view.tables.add_keys(view.snapshot, first, values, matrix)
        if self.memory.recalled:
            view.tables.add_columns(first, values)
            from lamina_engine.chunks.reading import remember_fields

            remember_fields(view.tables, first, values, stamps)

    def plan(self, view: View) -> _ChunkPlan:
        """Separate new chunks from known ones, by id and content."""
        counts = ChunkCounts(ids=[str(i) for i in self._batch.ids], embedded=self._embedded)
        if self._on_conflict == "error":
            _refuse_known(view, self._batch)
        return _ChunkPlan(counts, *_resolve(view, self._batch, counts, self._on_conflict))

    def append(self, transaction: Transaction, view: View, plan: _ChunkPlan) -> ChunkCounts:
        """Append restorations, chunks, vectors, supersessions and origins; stage the chunks' words."""
        counts, fresh = plan.counts, plan.fresh
        if plan.restored:
            rows = np.array(list(plan.restored), np.int64)
            names = [self._batch.ids[p] for p in plan.restored.values()]
            reasons = ["its source is back" if self._on_conflict == "version" else "overwritten"] * len(rows)
            add_events(transaction, "restore", names, rows, transaction.stamps(len(rows)), reasons)
        if not fresh:
            return counts
        picked = self._batch.select(fresh) if len(fresh) < len(self._batch) else self._batch
        stamps = transaction.stamps(len(fresh))
        first = transaction.rows("chunks")
        matrix, late = _matrix(self.memory, view, picked, self._vectors)
        counts.embedded += late
        row_at = {position: first + i for i, position in enumerate(fresh)} if plan.replaced or self._invalid else {}
        older = {row_at[p] - first: row if row >= 0 else row_at[-2 - row] for p, row in plan.replaced.items()}
        previous = previous_rows(view, picked, first, older)
        values = picked.columns(previous)
        created = zip(picked.created_at, picked.fallback_created_at or stamps.tolist(), strict=True)
        values["created_at"] = [fallback if given is None else given for given, fallback in created]
        transaction.append("chunks", values, stamps)
        if matrix is not None:
            transaction.append(transaction.snapshot.vector_log, {"vector": columns.vector_array(matrix)}, stamps)
        _append_supersessions(
            transaction, view, picked, older, first, stamps, keep_invalid=self._on_conflict != "overwrite"
        )
        wrong = {row_at[p] - first: reason for p, reason in self._invalid.items() if p in row_at}
        _add_marks(
            transaction, picked, first, stamps, "invalidate", [*wrong], [*wrong.values()], [_CARRIED] * len(wrong)
        )
        if picked.origins:
            add_origins(transaction, picked.ids, np.arange(first, first + len(fresh)), picked.origins, stamps)
        indexer = self.memory.indexer
        stage = functools.partial(indexer.stage, view.snapshot, first, picked, values["created_at"], previous)
        if len(fresh) >= textbuilder.LARGE_ROWS:
            pass  # analysed behind the commit
        elif len(fresh) < _FEW_ROWS:
            transaction.on_flush(stage)
            self._appended = _Appended(view, first, values, stamps.tolist(), matrix)
        else:
            stage()
        return counts


def _refuse_known(view: View, batch: ChunkBatch) -> None:
    """Raise where a record has the id of a chunk, or of a record before it."""
    known = view.rows_of_ids([str(name) for name in batch.ids])
    seen: set[str | None] = set()
    for position, (name, row) in enumerate(zip(batch.ids, known.tolist(), strict=True)):
        if row >= 0 or name in seen:
            raise ChunkExists(
                f"record {position} has the id {name!r}, which {'is in the vault' if row >= 0 else 'is given twice'}; "
                'give another id, or on_conflict="version", "skip" or "overwrite"; nothing was written'
            )
        seen.add(name)


def _resolve(
    view: View, batch: ChunkBatch, written: ChunkCounts, on_conflict: OnConflict
) -> tuple[list[int], dict[int, int], dict[int, int]]:
    """Return positions to write, the row each supersedes, and rows to restore by position.

    A row of -2 - p stands for the row that position p of this batch will get.
    """
    known = view.rows_of_ids(written.ids)
    if (known < 0).all() and len(set(written.ids)) == len(batch):  # nearly always, of many rows
        written.added += len(batch)
        return list(range(len(batch))), {}, {}
    returning = (REMOVED, INVALIDATED, ARCHIVED) if on_conflict == "overwrite" else (REMOVED,)
    have = view.snapshot.records("chunks", known[known >= 0], (*_COMPARED, "created_at")) if (known >= 0).any() else []
    records = iter(have)
    latest: dict[str, int] = {}
    fresh: list[int] = []
    replaced: dict[int, int] = {}
    restored: dict[int, int] = {}
    for position, (identity, row) in enumerate(zip(written.ids, known.tolist(), strict=True)):
        record = next(records) if row >= 0 else None
        if identity in latest:
            row, record = -2 - latest[identity], _pending(batch, latest[identity])
        if record is not None and (on_conflict == "skip" or _equal(record, batch, position)):
            written.unchanged += 1
            if on_conflict != "skip" and row >= 0 and view.state.status[row] in returning:
                restored[row] = position
            continue
        fresh.append(position)
        latest[identity] = position
        if record is None:
            written.added += 1
        else:
            written.updated += 1
            replaced[position] = row
    return fresh, replaced, restored


def _pending(batch: ChunkBatch, position: int) -> dict[str, Any]:
    values = batch.select([position]).columns([-1])
    return {name: values[name][0] for name in (*_COMPARED, "created_at")}


def _equal(record: dict[str, Any], batch: ChunkBatch, position: int) -> bool:
    new = _pending(batch, position)
    if new["created_at"] is not None and new["created_at"] != record["created_at"]:
        return False
    return all(
        (record[name] or None) == (new[name] or None) if name != "success" else record[name] == new[name]
        for name in _COMPARED
    )


def _append_supersessions(
    transaction: Transaction,
    view: View,
    batch: ChunkBatch,
    older: dict[int, int],
    first: int,
    stamps: NDArray[np.int64],
    *,
    keep_invalid: bool,
) -> None:
    """Append supersessions at the instant of the new rows, and the marks that pass on to these.

    Pins and snoozes do; invalidations and pending reviews where the text is unchanged: moving does not make it true.
    """
    if not older:
        return
    positions, rows = list(older), np.array(list(older.values()), np.int64)
    add_events(transaction, "supersede", [batch.ids[p] for p in positions], rows, stamps[positions])
    add = functools.partial(_add_marks, transaction, batch, first, stamps)
    origins: dict[int, int] = {}
    same: dict[int, int] = {}
    status, asked = view.state.status, view.freshness.manual
    for p, row in older.items():  # ascending: within a batch marks pass on from row to row
        is_known = row < view.rows
        origin = row if is_known else origins.get(row - first, -1)
        if origin < 0:
            continue
        origins[p] = origin
        has_mark = (keep_invalid and status[origin] == INVALIDATED) or asked[origin]
        if has_mark and (is_known or row - first in same) and _has_same_text(view, batch, p, origin):
            same[p] = origin
    wrong = {p: row for p, row in same.items() if keep_invalid and status[row] == INVALIDATED}
    if wrong:
        from lamina_engine.chunks.reading import reasons_at  # most writes need no reading

        reasons = reasons_at(view, np.array(list(wrong.values()), np.int64))
        add("invalidate", list(wrong), reasons, [_CARRIED] * len(wrong))
    until = {p: view.state.snoozed[row] for p, row in origins.items() if row in view.state.snoozed}
    add("snooze", list(until), None, [msgspec.json.encode({"until_us": each}).decode() for each in until.values()])
    add("review", [p for p, row in same.items() if asked[row]])
    add("pin", [p for p, row in origins.items() if view.state.pinned[row]])


def _add_marks(
    transaction: Transaction,
    batch: ChunkBatch,
    first: int,
    stamps: NDArray[np.int64],
    kind: str,
    positions: list[int],
    reasons: Sequence[str | None] | None = None,
    details: Sequence[str] | None = None,
) -> None:
    """Append events of the new rows at some positions, at the rows' instants."""
    if positions:
        rows = np.array(positions, np.int64) + first
        add_events(transaction, kind, [batch.ids[p] for p in positions], rows, stamps[positions], reasons, details)


def _has_same_text(view: View, batch: ChunkBatch, position: int, row: int) -> bool:
    return bool(view.snapshot.values("chunks", "text", np.array([row]))[0] == batch.texts[position])


def add_events(
    transaction: Transaction,
    kind: str,
    ids: Sequence[str | None],
    rows: NDArray[np.int64],
    stamps: NDArray[np.int64],
    reasons: Sequence[str | None] | None = None,
    details: Sequence[str | None] | None = None,
) -> None:
    """Append events of one kind."""
    transaction.append(
        "events",
        {
            "kind": [kind] * len(rows),
            "chunk": list(ids),
            "row": rows,
            "reason": list(reasons or [None] * len(rows)),
            "detail": list(details or [None] * len(rows)),
        },
        stamps,
    )


def remove_chunks(transaction: Transaction, view: View, identities: Sequence[str], reason: str) -> None:
    """Deactivate the active chunks of vanished text; they come back with it.

    Chunks that a user invalidated stay invalidated: the text's return must not make them true again.
    """
    rows = view.rows_of_ids(list(identities))
    known = rows[rows >= 0]
    current = known[view.state.status[known] == ACTIVE]
    names, n = view.snapshot.values("chunks", "id", current), len(current)
    add_events(transaction, "remove", names, current, transaction.stamps(n), [reason] * n)


def add_origins(
    transaction: Transaction,
    ids: Sequence[str | None],
    rows: NDArray[np.int64],
    origins: Sequence[Origin | None],
    stamps: NDArray[np.int64],
) -> None:
    """Append the origins of those rows that have one."""
    known = [(i, origin) for i, origin in enumerate(origins) if origin is not None]
    places = [i for i, _ in known]
    values = {name: [getattr(origin, name) for _, origin in known] for name in ("repository", "path", "commit", "blob")}
    transaction.append("origins", {"chunk": [ids[i] for i in places], "row": rows[places], **values}, stamps[places])


def precompute_vectors(
    memory: Memory, view: View, batch: ChunkBatch, made: PrecomputedVectors | None = None
) -> tuple[dict[bytes, NDArray[np.float32]], int]:
    """Embed the versions that the vault has no vector of; ``made`` are those of workers."""
    memory.check_space(view.snapshot, batch.vectors)
    space = view.snapshot.space
    if batch.vectors is not None or space is None:
        return {}, 0
    known = view.rows_of_versions(batch.versions)
    missing = dict.fromkeys(batch.versions[i] for i in np.flatnonzero(known < 0).tolist())
    if not missing:
        return {}, 0
    position = {version: i for i, version in enumerate(batch.versions)}
    if made is None or made.identity != space.identity:  # or a reindex changed the model meanwhile
        made = PrecomputedVectors(space.identity, ())
    rest = [version for version in missing if version not in made]
    texts = batch.embedded([position[version] for version in rest])
    found = PrecomputedVectors(space.identity, ((version, made[version]) for version in missing if version in made))
    if rest:
        found.update(zip(rest, memory.embed(texts, space), strict=True))
    return found, len(missing)


def _matrix(
    memory: Memory, view: View, batch: ChunkBatch, vectors: dict[bytes, NDArray[np.float32]]
) -> tuple[NDArray[np.float32] | None, int]:
    """Return a batch's vectors (given, precomputed, logged or new), and the number of new ones."""
    space = view.snapshot.space
    if space is None:
        return None, 0
    if batch.vectors is not None:
        return check_vectors(batch.vectors, len(batch), space.dim), 0
    if isinstance(vectors, PrecomputedVectors) and vectors.identity != space.identity:
        vectors = {}  # a reindex changed the model meanwhile
    matrix = np.zeros((len(batch), space.dim), np.float32)
    ahead = [i for i, version in enumerate(batch.versions) if version in vectors]
    if ahead:
        matrix[ahead] = np.stack([vectors[batch.versions[i]] for i in ahead])
    rest = np.array([i for i, version in enumerate(batch.versions) if version not in vectors], np.int64)
    if not len(rest):
        return matrix, 0
    known = _undamaged(view, view.rows_of_versions([batch.versions[i] for i in rest]))
    matrix[rest[known >= 0]] = view.vectors.gather(known[known >= 0])
    late = rest[known < 0].tolist()
    if late:
        memory.check_space(view.snapshot, None)
        matrix[late] = memory.embed(batch.embedded(late), space)
    return matrix, len(late)


def _undamaged(view: View, known: Rows) -> Rows:
    """Return rows, or -1 for all where their vectors are damaged: those are made again."""
    try:
        view.snapshot.require_intact(view.snapshot.vector_log, known[known >= 0])
    except VaultCorrupt as error:
        logger.warning("vectors are made again: %s", error)
        return np.full_like(known, -1)
    return known


Key = tuple[str | None, str]
"""Project and session."""


def previous_rows(view: View, batch: ChunkBatch, first: int, older: Mapping[int, int] | None = None) -> list[int]:
    """Return for each chunk of a batch the row of the chunk before it, -1 for none."""
    older = older or {}
    if batch.after is not None:
        return _declared_previous(view, batch, batch.after, first)
    named = zip(batch.projects, batch.sessions, strict=True)
    keys = [None if session is None else (project, session) for project, session in named]
    last = _last_rows(view, {key for key in keys if key is not None})
    previous = []
    for i, key in enumerate(keys):
        old = older.get(i)
        if key is None:
            previous.append(-1)
        elif old is None or key != (keys[old - first] if old >= first else _key_of(view, old)):
            previous.append(last.get(key, -1))
            last[key] = first + i
        else:
            previous.append(previous[old - first] if old >= first else _previous_of(view, old))
            if last.get(key) == old:
                last[key] = first + i
    return previous


def _key_of(view: View, row: int) -> Key | None:
    at = np.array([row], np.int64)
    session, project = (view.snapshot.values("chunks", name, at)[0] for name in ("session", "project"))
    return None if session is None else (project, session)


def _previous_of(view: View, row: int) -> int:
    return int(view.snapshot.numbers("chunks", "previous", np.array([row], np.int64))[0])


def _declared_previous(view: View, batch: ChunkBatch, after: list[str | None], first: int) -> list[int]:
    """Return the previous rows that a source's reader declares, in this batch or the vault."""
    here = {str(identity): first + i for i, identity in enumerate(batch.ids)}
    outside = [identity for identity in after if identity is not None and identity not in here]
    known = dict(zip(outside, view.rows_of_ids(outside).tolist(), strict=True)) if outside else {}
    places: dict[str, int] = {**known, **here}
    found = [-1 if identity is None else places.get(identity, -1) for identity in after]
    # a chunk's words may depend on chunks before it, never on later ones
    return [row if row < first + i else -1 for i, row in enumerate(found)]


def _last_rows(view: View, keys: set[Key]) -> dict[Key, int]:
    """Return the newest active row of each session. O(rows) for all keys together."""
    if not keys or not view.rows:
        return {}
    categories, snapshot = view.categories, view.snapshot
    sessions = categories.column(snapshot, "session")
    wanted = {categories.code("session", name) for _, name in keys} - {-2}
    if not wanted:
        return {}
    table = np.zeros(len(categories.values("session")) + 1, np.bool_)
    table[list(wanted)] = True
    rows = np.flatnonzero(table[sessions] & (view.state.status == ACTIVE))
    projects = categories.gather(snapshot, "project", rows).astype(np.int64)
    pairs = ((projects + 1) << 32) | sessions[rows]
    # the last occurrence of each pair: unique gives first ones, so look from the end
    distinct, position = np.unique(pairs[::-1], return_index=True)
    found: dict[Key, int] = {}
    for pair, row in zip(distinct.tolist(), rows[::-1][position].tolist(), strict=True):
        project, session = (pair >> 32) - 1, categories.value("session", pair & 0xFFFFFFFF)
        found[categories.value("project", project), str(session)] = row
    return {key: row for key, row in found.items() if key in keys}
