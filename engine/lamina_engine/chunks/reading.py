"""Chunks out of the log: by id, in history, in lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.errors import AmbiguousId, ChunkNotFound, InvalidArgument
from lamina_engine.index.state import FORGOTTEN, STATUS_NAMES, SUPERSEDED

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.store.snapshot import Rows

_SHORT: Final = re.compile(r"#?[0-9a-f]{4,32}")
_SHOWN_CANDIDATES: Final = 5
_KEPT_ROWS: Final = 4_096
_KEPT_CHARS: Final = 4_000
"""What is remembered of hits: at most 16 million characters, some 6 MB of texts of the usual length."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk as the log has it. Instants are us UTC."""

    id: str
    row: int
    text: str
    title: str | None
    headings: tuple[str, ...]
    type: str
    collection: str
    project: str | None
    session: str | None
    agent: str | None
    source: str | None
    ordinal: int
    start: int
    stop: int
    created_at_us: int | None
    recorded_at_us: int
    tags: tuple[str, ...]
    success: bool | None
    commit: str | None
    blob: str | None
    metadata: dict[str, Any]
    version: str
    status: str
    pinned: bool
    snoozed_until_us: int | None = None
    freshness: str | None = None
    """Tier of the last scan of its source; None where none was made."""
    needs_review: bool = False
    """Whether a scan or a person says that somebody should look at it."""


def chunks_at(view: View, rows: Rows) -> list[Chunk]:
    """Return the chunks of some rows, in their order."""
    records = view.snapshot.records("chunks", rows)
    status, pinned = view.state.status[rows].tolist(), view.state.pinned[rows].tolist()
    tiers, review = view.freshness.tiers_of(rows), view.freshness.review_of(rows)
    return [
        _chunk(record, row, STATUS_NAMES[state], bool(pin), view.state.snoozed.get(row), tier, wanted)
        for record, row, state, pin, tier, wanted in zip(
            records, rows.tolist(), status, pinned, tiers, review, strict=True
        )
    ]


HIT_COLUMNS: Final = (
    "id", "text", "title", "type", "collection", "project", "session", "source", "created_at", "recorded_at", "metadata",
)  # fmt: skip
"""What a hit shows of its chunk: reading half the columns takes half the time."""


def hit_fields_at(view: View, rows: Rows) -> list[dict[str, Any]]:
    """Return what hits show of some rows, in their order.

    `HIT_COLUMNS`, with metadata decoded, and ``status``, ``freshness``, ``needs_review``.
    """
    records = _cached_fields(view, rows)
    facts = (view.state.status[rows].tolist(), view.freshness.tiers_of(rows), view.freshness.review_of(rows))
    for record, state, tier, review in zip(records, *facts, strict=True):
        record["status"], record["freshness"], record["needs_review"] = STATUS_NAMES[state], tier, review
        record["metadata"] = msgspec.json.decode(record["metadata"]) if record["metadata"] else {}
    return records


def _cached_fields(view: View, rows: Rows) -> list[dict[str, Any]]:
    """Return `HIT_COLUMNS` of some rows, each a dict of its own: rows never change, and what is found is found again."""
    kept = view.tables.shown
    found = [kept.get(row) for row in rows.tolist()]
    if None in found:
        new = [place for place, record in enumerate(found) if record is None]
        records = view.snapshot.records("chunks", rows[new], HIT_COLUMNS)
        if len(kept) + len(new) > _KEPT_ROWS:
            kept.clear()
        for place, row, record in zip(new, rows[new].tolist(), records, strict=True):
            found[place] = record
            if len(kept) < _KEPT_ROWS and len(record["text"]) <= _KEPT_CHARS:
                kept[row] = record
    return [dict(record) for record in found if record is not None]


def _chunk(
    record: dict[str, Any],
    row: int,
    status: str,
    pinned: bool,
    snoozed_until_us: int | None,
    freshness: str | None,
    needs_review: bool,
) -> Chunk:
    return Chunk(
        id=record["id"],
        row=row,
        text=record["text"],
        title=record["title"],
        headings=tuple(record["headings"] or ()),
        type=record["type"],
        collection=record["collection"],
        project=record["project"],
        session=record["session"],
        agent=record["agent"],
        source=record["source"],
        ordinal=record["ordinal"],
        start=record["start"],
        stop=record["stop"],
        created_at_us=record["created_at"],
        recorded_at_us=record["recorded_at"],
        tags=tuple(record["tags"] or ()),
        success=record["success"],
        commit=record["commit"],
        blob=record["blob"],
        metadata=msgspec.json.decode(record["metadata"]) if record["metadata"] else {},
        version=record["version"].hex(),
        status=status,
        pinned=pinned,
        snoozed_until_us=snoozed_until_us,
        freshness=freshness,
        needs_review=needs_review,
    )


def find_row(view: View, identity: str) -> int:
    """Return the current row of a chunk by its id, or by an unambiguous short id such as ``#a1b2c3``."""
    if not isinstance(identity, str) or not identity:
        raise InvalidArgument(f"id={identity!r} must be the text of an id")
    row = int(view.rows_of_ids([identity])[0])
    if row >= 0 and view.state.status[row] == FORGOTTEN:
        raise ChunkNotFound(f"{identity!r} stands for a chunk that was forgotten: nothing of it is left")
    if row >= 0:
        return row
    if _SHORT.fullmatch(identity):
        found = view.ids_with_prefix(identity.removeprefix("#"))
        if len(found) == 1:
            return int(view.rows_of_ids(found)[0])
        if found:
            shown = ", ".join(sorted(found)[:_SHOWN_CANDIDATES])
            raise AmbiguousId(
                f"id={identity!r} fits {len(found)} chunks ({shown}{', ...' if len(found) > _SHOWN_CANDIDATES else ''}); give more digits"
            )
    raise ChunkNotFound(
        f"no chunk has the id {identity!r}; ids are listed by `lamina list`, short ones need 4 hex digits or more"
    )


def history(view: View, identity: str) -> list[dict[str, Any]]:
    """Return what happened to a chunk, oldest first: its versions and its events."""
    row = find_row(view, identity)
    full = str(view.snapshot.values("chunks", "id", np.array([row]))[0])
    rows = view.all_rows_of_id(full)
    entries: list[tuple[int, int, dict[str, Any]]] = []
    for i, chunk in enumerate(chunks_at(view, rows)):
        kind = "updated" if i else "added"
        entries.append(
            (
                chunk.recorded_at_us,
                0,
                {"kind": kind, "recorded_at": chunk.recorded_at_us, "reason": None, "chunk": chunk},
            )
        )
    # a supersession is said by the update
    entries += [(event["recorded_at"], 1, event) for event in view.events_of(full) if event["kind"] != "supersede"]
    return [entry for _, _, entry in sorted(entries, key=lambda e: e[:2])]


def select_chunks(view: View, rows: Rows, limit: int | None) -> list[Chunk]:
    """Return chunks newest first (created_at, then id), at most ``limit``."""
    created = view.snapshot.numbers("chunks", "created_at", rows, missing=-(2**63)).astype(np.int64)
    order = np.argsort(-created.astype(np.float64), kind="stable")
    if limit is not None and limit < len(order):
        # ties at the cut are broken by id below, so all of them are read
        cut = created[order[limit - 1]]
        order = order[created[order] >= cut]
    found = chunks_at(view, rows[order])
    found.sort(key=lambda c: (-(c.created_at_us if c.created_at_us is not None else -(2**63)), c.id))
    return found[:limit]


def current_rows(view: View, identities: Sequence[str]) -> list[int]:
    """Return the current row of each id; see `find_row`."""
    return [find_row(view, identity) for identity in ids_of(identities)]


__all__ = ["SUPERSEDED", "Chunk", "chunks_at", "current_rows", "find_row", "history", "select_chunks"]
