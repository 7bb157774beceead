"""Chunks out of the log: by id, in history, in lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.locations import locate
from lamina_engine.clock import MISSING_US
from lamina_engine.index.state import INVALIDATED, STATUS_NAMES
from lamina_engine.results import Cause, Chunk, Event, Hit, Neighbor, StoryChunk
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View
    from lamina_engine.store.snapshot import Rows

T = TypeVar("T", Neighbor, Cause)

_COLUMNS: Final = (
    "id", "text", "title", "headings", "type", "collection", "project", "session", "agent", "source", "ordinal", "start",
    "stop", "created_at", "recorded_at", "tags", "success", "commit", "blob", "metadata", "version", "role",
)  # fmt: skip
_TEXT: Final = _COLUMNS.index("text")
_PLAIN: Final = frozenset((str, int, bool, bytes, list, type(None)))
"""Types of values that the log gives back as they are; of others, such as enumerations, it gives the plain ones."""
_STORY_COLUMNS: Final = ("id", "text", "title", "type", "project", "session", "agent", "source", "created_at")
_KEPT_ROWS: Final = 4_096
_KEPT_CHARS: Final = 4_000
"""What is remembered of hits: at most 16 million characters, some 6 MB of texts of the usual length."""


class StoredRow:
    """Fields of a row that never change, and the hit that recalls of it begin from."""

    __slots__ = ("_hit", "fields", "metadata")

    def __init__(self, record: dict[str, Any]) -> None:
        record["created_at_us"], record["recorded_at_us"] = record.pop("created_at"), record.pop("recorded_at")
        record["headings"], record["tags"] = tuple(record["headings"] or ()), tuple(record["tags"] or ())
        record["version"] = record["version"].hex()
        self.metadata: str | None = record.pop("metadata")
        """As JSON: who is given the metadata may change it."""
        self.fields = record
        """The other ones, to be copied."""
        self._hit: Hit | None = None

    @property
    def hit(self) -> Hit:
        """Return the fields as a hit without a score: copying one costs a fifth of making one."""
        if self._hit is None:
            self._hit = Hit(**self.fields, score=0.0)
        return self._hit


def chunks_at(view: View, rows: Rows) -> list[Chunk]:
    """Return the chunks of some rows, in their order."""
    return [Chunk(**(stored.fields | current)) for stored, current in fields_at(view, rows)]


def fields_at(view: View, rows: Rows) -> list[tuple[StoredRow, dict[str, Any]]]:
    """Return what the log says of some rows, in their order, with the other fields of `Chunk`."""
    records = _stored_rows(view, rows)
    state, freshness = view.state, view.freshness
    found: list[dict[str, Any]] = [{"metadata": read_json(each.metadata) if each.metadata else {}} for each in records]
    if view.snapshot.rows("sources"):
        for fields, place in zip(found, locate(view, [each.fields for each in records]), strict=True):
            if place is not None:
                fields["path"], fields["line"], fields["end_line"] = place
    if state.snoozed:
        for fields, row in zip(found, rows.tolist(), strict=True):
            fields["snoozed_until_us"] = state.snoozed.get(row)
    if not state.all_active and (status := state.status[rows]).any():
        _add_status(view, rows, status.tolist(), found)
    if state.any_pinned:
        for fields, is_pinned in zip(found, state.pinned[rows].tolist(), strict=True):
            fields["pinned"] = bool(is_pinned)
    if freshness.scans or freshness.events:
        for fields, tier, review in zip(found, freshness.tiers_of(rows), freshness.review_of(rows), strict=True):
            fields["freshness"], fields["needs_review"] = tier, review
    return list(zip(records, found, strict=True))


def _add_status(view: View, rows: Rows, status: list[int], found: list[dict[str, Any]]) -> None:
    """Add the status of rows that are not all active, with the reasons of those in doubt."""
    for fields, code in zip(found, status, strict=True):
        fields["status"] = STATUS_NAMES[code]
    wrong = [place for place, code in enumerate(status) if code == INVALIDATED]
    for place, reason in zip(wrong, reasons_at(view, rows[wrong]) if wrong else (), strict=True):
        found[place]["reason"], found[place]["success"] = reason, None  # it is not known while it is in doubt


def reasons_at(view: View, rows: Rows) -> list[str | None]:
    """Return the newest reason for which each of some invalidated rows was invalidated."""
    events = [view.state.invalidations.get(row, -1) for row in rows.tolist()]
    known = np.array([event for event in events if event >= 0], np.int64)
    reasons = dict(zip(known.tolist(), view.snapshot.values("events", "reason", known), strict=True))
    return [reasons.get(event) for event in events]


def _stored_rows(view: View, rows: Rows) -> list[StoredRow]:
    """Return what the log says of some rows; recently read ones come from memory."""
    cached: dict[int, StoredRow] = view.tables.shown
    wanted = rows.tolist()
    found = [cached.get(row) for row in wanted]
    if None in found:
        missing = [place for place, stored in enumerate(found) if stored is None]
        read = view.snapshot.records("chunks", rows[missing], _COLUMNS)
        keep = len(missing) <= _KEPT_ROWS
        if keep and len(cached) + len(missing) > _KEPT_ROWS:
            cached.clear()
        for place, record in zip(missing, read, strict=True):
            row = record["row"] = wanted[place]
            stored = found[place] = StoredRow(record)
            if keep and len(cached) < _KEPT_ROWS and len(record["text"]) <= _KEPT_CHARS:
                cached[row] = stored
    return [stored for stored in found if stored is not None]


def remember_fields(tables: Tables, first: int, values: Mapping[str, Sequence[Any]], stamps: Sequence[int]) -> None:
    """Cache the fields of rows just committed, given by column; they are often asked for next."""
    columns = [values[name] if name != "recorded_at" else stamps for name in _COLUMNS]
    for row, fields in enumerate(zip(*columns, strict=True), first):
        if (
            len(tables.shown) < _KEPT_ROWS
            and len(fields[_TEXT]) <= _KEPT_CHARS
            and _PLAIN.issuperset(map(type, fields))
        ):
            tables.shown[row] = StoredRow(dict(zip(_COLUMNS, fields, strict=True), row=row))


def with_texts(view: View, found: Sequence[T]) -> list[T]:
    """Fill in the title, text, type, source and date of records that name a chunk by id."""
    rows = view.rows_of_ids([each.id for each in found]) if found else np.empty(0, np.int64)
    records = view.snapshot.records("chunks", rows, ("title", "text", "type", "source", "created_at")) if found else []
    for record in records:
        record["created_at_us"] = record.pop("created_at")
    return [msgspec.structs.replace(each, **record) for each, record in zip(found, records, strict=True)]


def story_chunks(
    view: View, rows: Sequence[int], measures: Sequence[tuple[float | None, int | None, int | None]] = ()
) -> tuple[StoryChunk, ...]:
    """Return rows as chunks of a story, each with its score, hops and tokens where given."""
    at = np.array(rows, np.int64)
    records = view.snapshot.records("chunks", at, _STORY_COLUMNS) if len(rows) else []
    states = view.state.status[at].tolist()
    for record in records:
        record["created_at_us"] = record.pop("created_at")
    return tuple(
        StoryChunk(**record, status=STATUS_NAMES[state], score=score, hops=hops, tokens=tokens)
        for record, state, (score, hops, tokens) in zip(
            records, states, measures or [(None, None, None)] * len(rows), strict=True
        )
    )


def history(view: View, identity: str) -> list[Event]:
    """Return the versions and events of a chunk, oldest first."""
    row = find_row(view, identity)
    full = str(view.snapshot.values("chunks", "id", np.array([row]))[0])
    versions = chunks_at(view, view.all_rows_of_id(full))
    entries = [
        (chunk.recorded_at_us, 0, Event("updated" if i else "added", chunk.recorded_at_us, chunk=chunk))
        for i, chunk in enumerate(versions)
    ]
    # an update already shows that it superseded the version before
    for event in view.events_of(full):
        if event["kind"] != "supersede":
            detail = read_json(event["detail"]) if event["detail"] else {}
            recorded = event["recorded_at"]
            entries.append((recorded, 1, Event(event["kind"], recorded, event["reason"], detail)))
    return [entry for _, _, entry in sorted(entries, key=lambda entry: entry[:2])]


def select_chunks(view: View, rows: Rows, limit: int | None, offset: int = 0) -> list[Chunk]:
    """Return ``limit`` chunks after the first ``offset``, newest first (created_at, then id)."""
    created = view.snapshot.numbers("chunks", "created_at", rows, missing=MISSING_US).astype(np.int64)
    newest = np.argsort(created, kind="stable")[::-1]
    stop = len(rows) if limit is None else min(offset + limit, len(rows))
    if offset >= stop:
        return []
    # moments at the ends of the page are those of other rows too, and ids order them: a table may have one date alone
    first, last = created[newest[offset]], created[newest[stop - 1]]
    before = int(np.count_nonzero(created > first))
    near = newest[(created[newest] <= first) & (created[newest] >= last)]
    near = near[np.argsort(rows[near])]
    ids = view.snapshot.values("chunks", "id", rows[near])
    order = sorted(range(len(near)), key=lambda i: (-int(created[near[i]]), ids[i]))
    return chunks_at(view, rows[near[order[offset - before : stop - before]]])
