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
    from collections.abc import Callable, Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

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
    return _event(memory, identity, "invalidate", lambda *_: True, reason, detail)


def restore(memory: Memory, identity: str, reason: str | None = None) -> Chunk:
    """Make an invalidated, removed or archived chunk current again, and wake a snoozed one."""
    wake(memory, identity)
    away = (INVALIDATED, REMOVED, ARCHIVED)
    return _event(memory, identity, "restore", lambda view, row: view.state.status[row] in away, reason)


def snooze(memory: Memory, identity: str, until_us: int) -> Chunk:
    """Keep a chunk out of recall until a moment; it stays listed, and wakes by itself."""
    if until_us <= memory.clock.now_us():
        raise InvalidArgument(f"until={format_instant(until_us)} is past; give a moment to come, or wake the chunk")
    detail = snooze_detail(until_us)
    return _event(memory, identity, "snooze", lambda view, row: view.state.snoozed.get(row) != until_us, None, detail)


def snooze_detail(until_us: int) -> str:
    """Return the detail of a snooze event."""
    return msgspec.json.encode({"until_us": until_us}).decode()


def wake(memory: Memory, identity: str) -> Chunk:
    """End a chunk's snooze; one that is awake stays as it is."""
    return _event(memory, identity, "wake", lambda view, row: row in view.state.snoozed)


def archive(memory: Memory, rows: Sequence[int], reason: str) -> int:
    """Take active chunks out of recall until they are restored; return their number."""
    with memory.write() as (transaction, view):
        active = np.array([row for row in rows if view.state.status[row] == ACTIVE], np.int64)
        names, stamps = view.snapshot.values("chunks", "id", active), transaction.stamps(len(active))
        writing.add_events(transaction, "archive", names, active, stamps, [reason] * len(active))
    return len(active)


def review(memory: Memory, identity: str, reason: str) -> Chunk:
    """Request a review; ``needs_review`` stays until refreshed, updated or confirmed."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("review needs a reason; say what to check")
    return _event(memory, identity, "review", lambda view, row: not view.freshness.manual[row], reason)


def pin(memory: Memory, identity: str, *, pinned: bool = True) -> Chunk:
    """Pin a chunk, or take its pin away."""
    flag_of(pinned, "pinned")
    kind = "pin" if pinned else "unpin"
    return _event(memory, identity, kind, lambda view, row: bool(view.state.pinned[row]) != pinned)


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


def _event(
    memory: Memory,
    identity: str,
    kind: str,
    changes: Callable[[View, int], bool],
    reason: str | None = None,
    detail: str | None = None,
) -> Chunk:
    """Record an event of a chunk where it changes anything; return the chunk."""
    reason = text_of(reason or None, "reason")
    with memory.write() as (transaction, view):
        row = find_row(view, identity)
        about = np.array([row], np.int64)
        if changes(view, row):
            names, clean = view.snapshot.values("chunks", "id", about), memory.redact(reason) if reason else reason
            writing.add_events(transaction, kind, names, about, transaction.stamps(1), [clean], [detail])
    return chunks_at(memory.view(), about)[0]


def update(memory: Memory, identity: str, changes: Mapping[str, Any]) -> Chunk:
    """Supersede a chunk by a new row with the same id, changed as ``changes`` says."""
    view = memory.view()
    about = np.array([find_row(view, identity)], np.int64)
    view.snapshot.require_intact("chunks", about)  # what does not change is copied
    chunk = chunks_at(view, about)[0]
    before = int(view.snapshot.numbers("chunks", "previous", about)[0])
    # what an invalidated chunk hides of its outcome
    outcome = {"success": view.snapshot.values("chunks", "success", about)[0]}
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
