"""What happens to a chunk after it was written: rows and events, never a change in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.reading import Chunk, chunks_at, find_row
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.state import INVALIDATED, REMOVED

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Mark a chunk as no longer true. It stays in the history and can be restored; a second time changes nothing.

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("invalidate needs a reason: what made it wrong, in words")
    detail = msgspec.json.encode({"stamp": stamp}).decode() if stamp else None
    return _event(memory, identity, "invalidate", reason, detail, unless=lambda status, _: status == INVALIDATED)


def restore(memory: Memory, identity: str, reason: str | None = None) -> Chunk:
    """Make an invalidated or removed chunk current again; an active one stays as it is."""
    return _event(
        memory, identity, "restore", reason, None, unless=lambda status, _: status not in (INVALIDATED, REMOVED)
    )


def pin(memory: Memory, identity: str, *, pinned: bool = True) -> Chunk:
    """Pin a chunk, or take its pin away."""
    return _event(memory, identity, "pin" if pinned else "unpin", None, None, unless=lambda _, pin: bool(pin) == pinned)


def _event(memory: Memory, identity: str, kind: str, reason: str | None, detail: str | None, unless: Any) -> Chunk:
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
    """Supersede a chunk: a new row with the same id; what is not named in ``changes`` stays.

    Parameters
    ----------
    changes : mapping
        Values for some of `CHANGEABLE`, already normalised (instants as us).

    Raises
    ------
    InvalidArgument, ChunkNotFound, AmbiguousId, EmbeddingError, VaultReadOnly, VaultLocked
    """
    unknown = sorted(set(changes) - set(CHANGEABLE))
    if unknown or not changes:
        raise InvalidArgument(f"update was given {unknown or 'nothing'}; it changes {', '.join(CHANGEABLE)}")
    view = memory.view()
    row = find_row(view, identity)
    chunk = chunks_at(view, np.array([row], np.int64))[0]
    before = int(view.snapshot.numbers("chunks", "previous", np.array([row], np.int64))[0])
    same = _batch_of(chunk, {})
    same.embed_like([chunk.version])
    batch = _batch_of(chunk, changes)
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
    )
