"""Chunks and hits as items of a block, with age, source and freshness."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from lamina_engine.clock import MISSING_US, US_PER_S, format_local
from lamina_engine.context.rendering import Item, age_text, render_item
from lamina_engine.context.scope import Scope, known_projects
from lamina_engine.context.tokens import count_tokens
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.languages import language_of
from lamina_engine.recall.pipeline import list_chunks

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

UNVERIFIED: Final = "unverified"
TASK: Final = "agent_task"
_TASKS: Final = 8
"""Newest tasks among which the active one is looked for."""
_DONE: Final = frozenset({"done", "closed", "complete", "completed", "cancelled", "canceled", "abandoned", "resolved"})


def item_of_chunk(chunk: Chunk, part: str, now_us: int, tz: str, score: float | None = None) -> Item:
    """Return a chunk, or a hit and its score, as an item of a part, dated in a zone."""
    return Item(
        part=part, id=chunk.id, text=chunk.text.strip("\n"), type=chunk.type, collection=chunk.collection,
        source=_source(chunk.source, chunk.session),
        date=day_text(chunk.created_at_us, tz), age=_age(chunk.created_at_us, now_us),
        freshness=chunk.freshness or UNVERIFIED, needs_review=chunk.needs_review,
        score="" if score is None else f"{score:.2f}", title=chunk.label or "",
    )  # fmt: skip


def newest_chunks(
    memory: Memory, types: list[str], limit: int, scope: Scope, *, agent: str | None = None
) -> list[Chunk]:
    """Return the newest chunks of some types, by their date; none that is snoozed."""
    where: dict[str, Any] = {"type": {"in": types}, **({"agent": agent} if agent else {})}
    return list_chunks(memory, scope.filter(where), limit, now_us=memory.clock.now_us())


def types_ending(memory: Memory, words: Collection[str]) -> list[str]:
    """Return the types of a vault by their last words: ``architecture_decision``."""
    table, snapshot = memory.view().categories, memory.view().snapshot
    table.column(snapshot, "type")  # it reads the names
    return [name for name in table.values("type") if name.rpartition("_")[2].removesuffix("s") in words]


def active_task(memory: Memory, scope: Scope) -> Chunk | None:
    """Return the newest task of an agent whose status is not done.

    Without a project, None where tasks are of several: it would be somebody else's in most cases.
    """
    if scope.project is None and len(known_projects(memory.view(), TASK)) > 1:
        scope = Scope(unowned=True)
    for chunk in newest_chunks(memory, [TASK], _TASKS, scope):
        status = chunk.metadata.get("status")
        if chunk.success is None and not (isinstance(status, str) and status.strip().lower() in _DONE):
            return chunk
    return None


_FACTS: Final = 3


def fact_items(memory: Memory, prompt: str, now_us: int) -> list[Item]:
    """Return the facts that answer a prompt, a line each; none where no fact does."""
    if not memory.view().snapshot.rows("facts"):
        return []
    from lamina_engine.facts.questions import ask

    found = ask(memory, prompt, k=_FACTS, valid_at_us=now_us)
    if not found.answered:
        return []
    return [
        Item(
            part="facts", id=f"fact:{answer.id}", type="fact",
            text=f"{answer.subject} · {answer.predicate} · {answer.object}{until_text(answer.valid_to_us, memory.config.tz)}",
            collection="facts", source=answer.source, date=day_text(answer.valid_from_us, memory.config.tz),
            age=_age(answer.valid_from_us, now_us), freshness=UNVERIFIED,
        )
        for answer in found if answer.asked and answer.status == "active"
    ]  # fmt: skip


# ---------------------------------------------------------------------- shortened items

_HEADING: Final = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_WORD: Final = re.compile(r"\s+")
_LEAST_KEPT: Final = 0.5
"""A heading, paragraph or sentence is cut before only where so much of what fits is kept."""


def shorten_item(item: Item, fits: Callable[[Item], bool]) -> Item | None:
    """Return an item that fits, cut if need be; None where nothing of it fits.

    It is cut where a heading begins, else a paragraph, line, sentence or word, and says where the rest is.
    """
    if fits(item):
        return item

    def cut_at(end: int) -> Item:
        note = f"[… cut; the rest: lamina get {item.id}]"
        return replace(item, text=f"{item.text[:end].rstrip()}\n{note}")

    low, high = 0, len(item.text)  # text[:low] fits, text[:high] does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(cut_at(middle)) else (low, middle)
    for border in (_HEADING, _PARAGRAPH, _LINE, _SENTENCE, _WORD):
        ends = [found.start() for found in border.finditer(item.text, 0, low + 1) if found.start() <= low]
        if ends and ends[-1] >= max(_LEAST_KEPT * low, 1) and fits(cut_at(ends[-1])):
            return cut_at(ends[-1])
    return cut_at(low) if low else None


_LEAST_PART: Final = 400
"""Characters of which a part says something."""


def choose_part(item: Item, stems: Mapping[str, float], most: int) -> Item | None:
    """Return the part of an item that holds most of some words; None where too little fits."""
    from lamina_engine.recall.snippets import cut_snippet  # most items are told whole

    note = f"\n[… a part; all of it: lamina get {item.id}]"
    whole, empty = count_tokens(render_item(item)), count_tokens(render_item(replace(item, text=note)))
    width = int(len(item.text) * (most - empty) / max(whole - empty, 1))
    analyzer = Analyzer().of(language_of(item.text.split()))
    while width >= _LEAST_PART:
        part = replace(item, text=cut_snippet(item.text, stems, analyzer, width=width).text.strip("\n") + note)
        if count_tokens(render_item(part)) <= most:
            return part
        width = width * 9 // 10
    return None


def _source(source: str | None, session: str | None) -> str:
    """Return the source of a memory: its file, else its session, else "added"."""
    return source or (f"session {session}" if session else "added")


def _age(created_us: int | None, now_us: int) -> str:
    known = created_us is not None and created_us != MISSING_US
    return age_text(max(now_us - created_us, 0) / US_PER_S if known and created_us is not None else None)


def until_text(valid_to_us: int | None, tz: str) -> str:
    """Return until when a fact holds, to be said behind it; empty where it has no end."""
    return f" (until {day_text(valid_to_us, tz)})" if valid_to_us is not None else ""


def day_text(created_us: int | None, tz: str) -> str:
    """Return the day of an instant in a zone, ISO 8601; empty where unknown."""
    return "" if created_us in (None, MISSING_US) else format_local(created_us, tz)[:10]
