"""Points that earlier sessions left open, and that none has taken up since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

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
    """Return handoffs before the last, cut to the points that nobody spoke of since."""
    from lamina_engine.sessions.turns import CONVERSATION

    if not last:
        return []
    known = {chunk.id for chunk in last}
    handoffs = [
        chunk for chunk in newest_chunks(memory, list(types), _SESSIONS, scope, agent=agent)
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
        since = [turn.text for turn in turns if (turn.created_at_us or 0) > ended]
        new = [point for point in islice(find_open_points(chunk.text), _POINTS) if point not in told]
        points = [point for point in new if not is_spoken_of(point, since)]
        told.update(new)
        if points:
            text = "\n".join(["Left open, and not spoken of since:", *(f"- {point}" for point in points)])
            items.append(replace(item_of_chunk(chunk, "task", now_us), text=text))
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


def is_spoken_of(point: str, texts: Iterable[str]) -> bool:
    """Return whether a sentence is about a point: settled or not, its handoff knows better."""
    from lamina_engine.sessions import cues
    from lamina_engine.sessions.replacements import content_words

    words = dict.fromkeys(content_words(cues.without_open_mark(point)))
    core = [word for word in words if word not in _WORK and not word[0].isdigit()][:_CORE] or list(words)
    held = min(_HELD, len(core))
    near = (text for text in texts if sum(word in text.lower() for word in core) >= held)
    return any(
        sum(_names(word, sentence) for word in core) >= held
        for text in near for sentence in map(content_words, cues.sentences(text))
    )  # fmt: skip


def _names(word: str, sentence: Sequence[str]) -> bool:
    """Return whether a sentence has a word, or a compound of it: "Bon" in "Pfandbon"."""
    return any(word == said or said.endswith(word) or (len(word) > 3 and said.startswith(word)) for said in sentence)
