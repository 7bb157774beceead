"""Points that earlier sessions left open, and that none has taken up since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from lamina_engine.chunks.handoffs import HANDOFFS
from lamina_engine.clock import US_PER_DAY
from lamina_engine.context.memories import item_of_chunk, newest_chunks
from lamina_engine.recall.pipeline import list_chunks

if TYPE_CHECKING:
    from lamina_engine.context.rendering import Item
    from lamina_engine.context.scope import Scope
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

MOST: Final = 3
_SESSIONS: Final = 8
_DAYS: Final = 60
"""Handoffs that are looked at, and their age: what nobody took up for longer has lost its hurry."""
_POINTS: Final = 4
"""Points of one session that are told."""
_TURNS: Final = 400
"""Newest turns that are read for what was said since; handoffs before them are left alone."""


def find_leftovers(memory: Memory, last: Sequence[Chunk], scope: Scope, now_us: int, agent: str | None) -> list[Item]:
    """Return handoffs before the last, cut to the points that nobody took up since."""
    if not last:
        return []
    from lamina_engine.sessions.closures import Talk  # most vaults of notes have no handoff
    from lamina_engine.sessions.turns import CONVERSATION

    known = {chunk.id for chunk in last}
    handoffs = [
        chunk for chunk in newest_chunks(memory, list(HANDOFFS), _SESSIONS, scope, agent=agent)
        if chunk.id not in known and chunk.created_at_us is not None and now_us - chunk.created_at_us <= _DAYS * US_PER_DAY
    ]  # fmt: skip
    turns = list_chunks(memory, scope.filter({"type": CONVERSATION}), _TURNS, now_us=now_us) if handoffs else []
    reach = (turns[-1].created_at_us or 0) if len(turns) == _TURNS else 0
    items: list[Item] = []
    told: set[str] = set()
    for chunk in handoffs:
        ended = chunk.created_at_us or 0
        if len(items) == MOST or ended < reach:
            break
        since = Talk(turn.text for turn in turns if (turn.created_at_us or 0) > ended)
        new = [point for point in islice(find_open_points(chunk.text), _POINTS) if point not in told]
        points = [left for point in new if (left := since.open_parts(point))]
        told.update(new)
        if points:
            is_silent = not any(since.touches(point) for point in points)
            head = "Left open, and not spoken of since:" if is_silent else "Left open:"
            text = "\n".join([head, *(f"- {point}" for point in points)])
            items.append(replace(item_of_chunk(chunk, "task", now_us, memory.config.tz), text=text))
    return items


def find_open_points(handoff: str) -> Iterator[str]:
    """Yield the points of a handoff below a heading of open ones; no questions, no commands."""
    from lamina_engine.sessions import cues

    below = False
    for line in handoff.splitlines():
        if line.startswith("#"):
            below = cues.is_open_heading(line)
        elif below and line.startswith(("- ", "* ")) and not line[2:].startswith(("`", "the agent asked:")):
            yield line[2:].strip()
