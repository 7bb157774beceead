"""Chunks and hits as items of a block, with age, source and freshness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import MISSING_US, US_PER_S, format_instant
from lamina_engine.context.rendering import Item, age_text
from lamina_engine.recall.pipeline import list_chunks

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

UNVERIFIED: Final = "unverified"
_TASKS: Final = 8
"""Newest tasks among which the active one is looked for."""
_DONE: Final = frozenset({"done", "closed", "complete", "completed", "cancelled", "canceled", "abandoned", "resolved"})


def item_of_chunk(chunk: Chunk, part: str, now_us: int, score: float | None = None) -> Item:
    """Return a chunk, or a hit and its score, as an item of a part."""
    return Item(
        part=part, id=chunk.id, text=chunk.text, type=chunk.type, collection=chunk.collection, source=_source(chunk.source, chunk.session),
        date=_day(chunk.created_at_us), age=_age(chunk.created_at_us, now_us),
        freshness=chunk.freshness or UNVERIFIED, needs_review=chunk.needs_review,
        score="" if score is None else f"{score:.2f}", title=chunk.title or "",
    )  # fmt: skip


def newest_chunks(
    memory: Memory, type_: str, limit: int, *, project: str | None = None, agent: str | None = None
) -> list[Chunk]:
    """Return the newest chunks of a type, by their date; none that is snoozed."""
    return list_chunks(memory, scope_filter({"type": type_}, project, agent), limit, now_us=memory.clock.now_us())


def scope_filter(where: Mapping[str, Any], project: str | None, agent: str | None = None) -> dict[str, Any]:
    """Return a filter for a project and an agent, where these are named."""
    return {**where, **({"project": project} if project else {}), **({"agent": agent} if agent else {})}


def active_task(memory: Memory, project: str | None) -> Chunk | None:
    """Return the newest task of an agent whose status is not done."""
    for chunk in newest_chunks(memory, "agent_task", _TASKS, project=project):
        status = chunk.metadata.get("status")
        if chunk.success is None and not (isinstance(status, str) and status.strip().lower() in _DONE):
            return chunk
    return None


def _source(source: str | None, session: str | None) -> str:
    """Return the source of a memory: its file, else its session, else "added"."""
    return source or (f"session {session}" if session else "added")


def _age(created_us: int | None, now_us: int) -> str:
    known = created_us is not None and created_us != MISSING_US
    return age_text(max(now_us - created_us, 0) / US_PER_S if known and created_us is not None else None)


def _day(created_us: int | None) -> str:
    return (format_instant(created_us) or "")[:10]
