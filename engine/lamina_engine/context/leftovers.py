"""Points that earlier sessions left open, and that none has taken up since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from lamina_engine.clock import US_PER_DAY
from lamina_engine.context.memories import item_of_chunk, newest_chunks
from lamina_engine.recall.pipeline import recall

if TYPE_CHECKING:
    from lamina_engine.context.rendering import Item
    from lamina_engine.context.scope import Scope
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

MOST: Final = 3
_SESSIONS: Final = 8
_DAYS: Final = 30
"""Handoffs that are looked at, and their age: what nobody took up for longer has lost its hurry."""
_POINTS: Final = 4
"""Points of one session that are told."""
_TURNS: Final = 12
"""Later turns that are read for a point."""
_CORE: Final = 3
_HELD: Final = 2
"""First words of a point, which name it, and how many of them a sentence has that is about it."""
_WORK_WORDS: Final = (
    "add adjust chang check clea come creat document finish fix get implement make need prüf schreib show support try updat "
    "verify writ ergänz änder einbau erledig"
)
_WORK: Final = frozenset(_WORK_WORDS.split())
"""Words of any work: they name no point."""


def find_leftovers(
    memory: Memory, types: Sequence[str], last: Sequence[Chunk], scope: Scope, now_us: int, agent: str | None
) -> list[Item]:
    """Return the handoffs before the last one, cut to the points that no later session speaks of."""
    known = {chunk.id for chunk in last}
    before = [
        chunk for chunk in newest_chunks(memory, list(types), _SESSIONS, scope, agent=agent)
        if chunk.id not in known and chunk.created_at_us is not None and now_us - chunk.created_at_us <= _DAYS * US_PER_DAY
    ]  # fmt: skip
    items: list[Item] = []
    told: set[str] = set()
    for chunk in before if last else ():
        if len(items) == MOST:
            break
        new = [point for point in islice(_left_open(chunk.text), _POINTS) if point not in told]
        points = [point for point in new if not _is_taken_up(memory, point, chunk, scope)]
        told.update(new)
        if points:
            text = "\n".join(["Left open, and not spoken of since:", *(f"- {point}" for point in points)])
            items.append(replace(item_of_chunk(chunk, "task", now_us), text=text))
    return items


def _left_open(handoff: str) -> Iterator[str]:
    """Yield the points below a heading of a handoff that says they are open; no questions, no failing commands."""
    from lamina_engine.sessions import cues

    below = False
    for line in handoff.splitlines():
        if line.startswith("#"):
            below = cues.is_open_heading(line)
        elif below and line.startswith(("- ", "* ")) and not line[2:].startswith(("`", "the agent asked:")):
            yield line[2:].strip()


def _is_taken_up(memory: Memory, point: str, chunk: Chunk, scope: Scope) -> bool:
    """Return whether a sentence said since is about a point: settled or not, a later handoff knows better."""
    from lamina_engine.sessions import cues
    from lamina_engine.sessions.replacements import content_words
    from lamina_engine.sessions.turns import CONVERSATION

    words = dict.fromkeys(content_words(cues.without_open_mark(point)))
    core = [word for word in words if word not in _WORK and not word[0].isdigit()][:_CORE] or list(words)
    if not core:
        return True
    where: dict[str, Any] = scope.filter({"type": CONVERSATION, "created_at": {"gt": chunk.created_at}})
    later = recall(
        memory, " ".join(core), k=_TURNS, where=where, lanes=("lexical",), time="off", now=memory.clock.now_us() / 1e6
    )
    texts = [hit.text for hit in later.hits]
    return any(
        len({*core}.intersection(content_words(sentence))) >= min(_HELD, len(core))
        for text in texts for sentence in cues.sentences(text)
    )  # fmt: skip
