"""Lifecycle of a chunk: events and new rows after it was written, never a change in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.arguments import flag_of, text_of
from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch, Origin
from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.state import ACTIVE, ARCHIVED, INVALIDATED, REMOVED
from lamina_engine.results import Chunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

CHANGEABLE: Final = (
    "text",
    "title",
    "type",
    "collection",
    "project",
    "session",
    "agent",
    "source",
    "created_at",
    "success",
    "tags",
    "metadata",
)
"""Fields that `update` may change; the id never does."""


def invalidate(memory: Memory, identity: str, reason: str, stamp: str = "") -> Chunk:
    """Mark a chunk as no longer true; it stays in the history and can be restored.

    Invalidated again, it keeps every reason and shows the newest.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("invalidate needs a reason: what made it wrong, in words")
    mark = text_of(stamp or None, "stamp")
    detail = msgspec.json.encode({"stamp": memory.redact(mark)}).decode() if mark else None
    return _event(memory, identity, "invalidate", reason, detail, unless=lambda *_: False)


def restore(memory: Memory, identity: str, reason: str | None = None) -> Chunk:
    """Make an invalidated, removed or archived chunk current again, and wake a snoozed one."""
    wake(memory, identity)
    away = (INVALIDATED, REMOVED, ARCHIVED)
    return _event(memory, identity, "restore", reason, None, unless=lambda status, _: status not in away)


def snooze(memory: Memory, identity: str, until_us: int) -> Chunk:
    """Keep a chunk out of recall until a moment; it stays listed, and wakes by itself."""
    if until_us <= memory.clock.now_us():
        raise InvalidArgument(f"until={format_instant(until_us)} is past; give a moment to come, or wake the chunk")
    with memory.write() as (transaction, view):
        row = find_row(view, identity)
        if view.state.snoozed.get(row) != until_us:
            _append(transaction, view, "snooze", [row], [None], [snooze_detail(until_us)])
    return chunks_at(memory.view(), np.array([row], np.int64))[0]


def snooze_detail(until_us: int) -> str:
    """Return the detail of a snooze event."""
    return msgspec.json.encode({"until_us": until_us}).decode()


def wake(memory: Memory, identity: str) -> Chunk:
    """End a chunk's snooze; one that is awake stays as it is."""
    with memory.write() as (transaction, view):
        row = find_row(view, identity)
        if row in view.state.snoozed:
            _append(transaction, view, "wake", [row], [None])
    return chunks_at(memory.view(), np.array([row], np.int64))[0]


def archive(memory: Memory, rows: Sequence[int], reason: str) -> int:
    """Take active chunks out of recall until they are restored; return their number."""
    with memory.write() as (transaction, view):
        active = [row for row in rows if view.state.status[row] == ACTIVE]
        _append(transaction, view, "archive", active, [reason] * len(active))
    return len(active)


def review(memory: Memory, identity: str, reason: str) -> Chunk:
    """Request a review; ``needs_review`` stays until refreshed, updated or confirmed."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("review needs a reason; say what to check")
    with memory.write() as (transaction, view):
        row = find_row(view, identity)
        if not view.freshness.manual[row]:
            _append(transaction, view, "review", [row], [memory.redact(reason)])
    return chunks_at(memory.view(), np.array([row], np.int64))[0]


def pin(memory: Memory, identity: str, *, pinned: bool = True) -> Chunk:
    """Pin a chunk, or take its pin away."""
    flag_of(pinned, "pinned")
    return _event(memory, identity, "pin" if pinned else "unpin", None, None, unless=lambda _, pin: bool(pin) == pinned)


def confirm(memory: Memory, row: int, origin: Origin | None, reason: str | None = None) -> Chunk:
    """Confirm a chunk: pending reviews are done, and commits of its file count from now on."""
    about = np.array([row], np.int64)
    with memory.write() as (transaction, view):
        ids = view.snapshot.values("chunks", "id", about)
        if view.freshness.review_of(about)[0]:
            writing.add_events(transaction, "reviewed", ids, about, transaction.stamps(1), [reason])
        tier = "fresh" if origin is not None else view.freshness.tiers_of(about)[0]
        if origin is not None:
            writing.add_origins(transaction, ids, about, [origin], transaction.stamps(1))
        if tier is not None:
            seen = {"tier": [tier], "reason": ["commits" if origin else "manual"], "commits": [0 if origin else -1]}
            seen |= {"review": [False], "path": [origin.path if origin else None]}
            transaction.append("freshness", {"chunk": ids, "row": about, **seen}, transaction.stamps(1))
    return chunks_at(memory.view(), about)[0]


def _append(
    transaction: Transaction,
    view: View,
    kind: str,
    rows: Sequence[int],
    reasons: Sequence[str | None],
    details: Sequence[str | None] | None = None,
) -> None:
    about = np.array(rows, np.int64)
    names = view.snapshot.values("chunks", "id", about)
    writing.add_events(transaction, kind, names, about, transaction.stamps(len(about)), reasons, details)


def _event(memory: Memory, identity: str, kind: str, reason: str | None, detail: str | None, unless: Any) -> Chunk:
    reason = text_of(reason or None, "reason")
    with memory.write() as (transaction, view):
        row = find_row(view, identity)
        if not unless(int(view.state.status[row]), int(view.state.pinned[row])):
            full = view.snapshot.values("chunks", "id", np.array([row]))
            clean = memory.redact(reason) if reason else reason
            writing.add_events(
                transaction, kind, full, np.array([row], np.int64), transaction.stamps(1), [clean], [detail]
            )
    return chunks_at(memory.view(), np.array([row], np.int64))[0]


def update(memory: Memory, identity: str, changes: Mapping[str, Any]) -> Chunk:
    """Supersede a chunk by a new row with the same id, changed as ``changes`` says."""
    unknown = sorted(set(changes) - set(CHANGEABLE))
    if unknown or not changes:
        raise InvalidArgument(f"update was given {unknown or 'nothing'}; it changes {', '.join(CHANGEABLE)}")
    view = memory.view()
    row = find_row(view, identity)
    view.snapshot.require_intact("chunks", np.array([row], np.int64))  # what does not change is copied
    chunk = chunks_at(view, np.array([row], np.int64))[0]
    before = int(view.snapshot.numbers("chunks", "previous", np.array([row], np.int64))[0])
    # what an invalidated chunk hides of its outcome
    outcome = {"success": view.snapshot.values("chunks", "success", np.array([row], np.int64))[0]}
    same = _batch_of(chunk, outcome)
    same.embed_like([chunk.version])
    batch = _batch_of(chunk, {**outcome, **changes})
    batch.title_is_name, batch.date_is_embedded = same.title_is_name, same.date_is_embedded
    if "title" in changes:
        batch.title_is_name = [False]
    batch.after = [view.snapshot.values("chunks", "id", np.array([before]))[0] if before >= 0 else None]
    writing.write(memory, batch)
    now = memory.view()
    return chunks_at(now, now.rows_of_ids([chunk.id]))[0]


def _batch_of(chunk: Chunk, changes: Mapping[str, Any]) -> ChunkBatch:
    value = {name: changes.get(name, getattr(chunk, name, None)) for name in CHANGEABLE if name != "created_at"}
    metadata = value["metadata"]
    moved = "text" in changes
    return ChunkBatch(
        texts=[value["text"]],
        ids=[chunk.id],
        titles=[value["title"]],
        headings=[list(chunk.headings)],
        types=[value["type"]],
        collections=[value["collection"]],
        projects=[value["project"]],
        sessions=[value["session"]],
        agents=[value["agent"]],
        sources=[value["source"]],
        ordinals=[chunk.ordinal],
        starts=[-1 if moved else chunk.start],
        stops=[-1 if moved else chunk.stop],
        created_at=[changes.get("created_at", chunk.created_at_us)],
        tags=[list(value["tags"] or ())],
        success=[value["success"]],
        fallback_created_at=[None],
        commits=[chunk.commit],
        blobs=[chunk.blob],
        metadata=[msgspec.json.encode(metadata, order="sorted").decode() if metadata else None],
        roles=[chunk.role],
    )
