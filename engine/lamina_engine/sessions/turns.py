"""Turns and topics of a thread: chunks, their text and their metadata."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from lamina_engine.chunks.handoffs import HANDOFF
from lamina_engine.sessions.cutting import JOINT, SessionLimits, estimate_tokens, split_text
from lamina_engine.sessions.events import Event, Thread
from lamina_engine.sessions.handoff import derive
from lamina_engine.sessions.notes import SessionNotes

GAP_US: Final = 30 * 60 * 1_000_000
"""A pause longer than this is a shift; one of exactly this length is none."""

Shift = Literal["gap", "phrase"]

_OPENERS: Final = re.compile(
    r"""
    actually,?\s+(?:let'?s|can\ we|could\ we)\b
    | (?:new|different|another)\s+(?:question|topic|issue)\b
    | switching\s+(?:to|gears)\b
    | (?:on|about)\s+an?\s+(?:different|separate|unrelated)\s+(?:note|topic)\b
    | (?:ok|okay),?\s+now\b
    | moving\s+on\b
    | forget\s+(?:about\s+)?(?:that|this)\b
    | let'?s\s+(?:change|switch|move)\b
    | (?:unrelated|separate)(?:ly)?\b
    | btw\b
    | by\s+the\s+way\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def find_shift(end_us: int | None, start_us: int | None, text: str) -> Shift | None:
    """Return how a turn leaves the topic of the one before it; None where it goes on with it.

    ``end_us`` is the end of the turn before, replies and results included; ``text`` is the user's first text in the turn.
    """
    if end_us is not None and start_us is not None and start_us - end_us > GAP_US:
        return "gap"
    return "phrase" if _OPENERS.match(text[:200].lstrip().replace("\u2019", "'")) else None


MAX_FILES: Final = 20
MAX_THINKING_CHARS: Final = 4_000
_LISTS: Final = ("mentions", "sent", "received", "returned")


CONVERSATION: Final = "conversation"
SUMMARY: Final = "session_summary"


class TurnChunk(msgspec.Struct, gc=False):
    """A chunk of a thread, before it has an id."""

    thread: Thread
    ordinal: int
    turns: tuple[int, int]
    """Numbers of its first and last turn."""
    piece: int
    """0 where it begins with its first turn, else which piece of that turn it begins with."""
    text: str
    created_us: int | None
    facts: dict[str, Any]
    """Its metadata."""
    follows: bool
    """True where the chunk before it in its thread is about the same topic."""
    type: str = CONVERSATION
    title: str | None = None
    """Its own, where the thread's is not."""


class _OpenChunk(msgspec.Struct, gc=False):
    """A chunk that is being filled."""

    parts: list[str] = []
    length: int = 0
    first_turn: int = 0
    piece: int = 0
    shift: Shift | None = None
    started: str | None = None
    started_us: int | None = None
    ended: str | None = None
    ended_us: int | None = None
    tools: dict[str, None] = {}
    files: dict[str, None] = {}
    facts: dict[str, Any] = {}
    thoughts: list[str] = []


class TurnCutter:
    """Makes the chunks of one thread, event by event; its secrets are masked already."""

    def __init__(self, thread: Thread, limits: SessionLimits, *, thinking: bool = False) -> None:
        self._thread, self._thinking = thread, thinking
        self._max, self._min = limits.max_chars, limits.min_chars
        self._turn = -1
        self._pieces = 0
        self._ordinal = 0
        self._summaries = 0
        self._end_us: int | None = None
        self._spawned = False
        self._open = _OpenChunk()
        self._stable: dict[str, Any] = {
            key: thread.facts[key]
            for key in ("format", "cwd", "slug", "team", "name", "agent_id", "parent_tool_use_id")
            if key in thread.facts
        }
        self._branch = thread.facts.get("branch")
        self._model: str | None = None

    def add(self, event: Event) -> list[TurnChunk]:
        """Take an event; return the chunks that it completes."""
        kind = event.kind
        if kind == "summary":
            return list(self._summary(event))
        done: list[TurnChunk] = []
        if kind == "user" or self._turn < 0:
            if kind == "touch":
                return done  # no turn has begun
            self._begin_turn(event, done)
        if kind == "thought":
            if self._thinking:
                self._open.thoughts.append(event.text)
        elif kind != "touch":
            self._section(_render_event(event), event, done)
        self._note(event)
        return done

    def finish(self) -> list[TurnChunk]:
        """Return the remaining turns at the end of the thread."""
        return [self._close()] if self._open.parts else []

    def _begin_turn(self, event: Event, done: list[TurnChunk]) -> None:
        shift = None
        if self._turn >= 0 and event.kind == "user":
            shift = find_shift(self._end_us, event.at_us, event.text)
        if self._open.parts and (shift or self._spawned or self._open.length >= self._min):
            done.append(self._close())
        self._turn += 1
        self._pieces, self._spawned = 0, False
        if not self._open.parts:
            self._open.shift = shift
            self._open.first_turn, self._open.piece = self._turn, 0

    def _section(self, text: str, event: Event, done: list[TurnChunk]) -> None:
        """Add a section; where the chunk would grow too long, begin the next one."""
        cut = self._open
        if not cut.parts:
            if len(text) <= self._max:
                self._append(text, event)
                return
            pieces = split_text(text, self._max)
        elif cut.length + len(JOINT) + len(text) <= self._max:
            self._append(text, event)
            return
        elif cut.length >= self._min:
            pieces = ["", *split_text(text, self._max)]
        else:  # a question alone is no chunk: what follows it begins beside it
            pieces = split_text(text, self._max, max(self._max - cut.length - len(JOINT), 0))
        for i, piece in enumerate(pieces):
            if i:
                done.append(self._close())
                self._open.first_turn, self._open.piece = self._turn, self._pieces
            if piece:
                self._append(piece, event)
                self._end_at_least(event)

    def _append(self, text: str, event: Event) -> None:
        cut = self._open
        cut.length += len(text) + (len(JOINT) if cut.parts else 0)
        cut.parts.append(text)
        if event.at is not None and cut.started is None:
            cut.started, cut.started_us = event.at, event.at_us

    def _end_at_least(self, event: Event) -> None:
        """Let chunk and turn last until an event: lines may come out of order, so the latest counts."""
        cut, us = self._open, event.at_us
        if us is not None and (cut.ended_us is None or us >= cut.ended_us):
            cut.ended, cut.ended_us = event.at, us
        if us is not None and (self._end_us is None or us > self._end_us):
            self._end_us = us

    def _note(self, event: Event) -> None:
        """Keep an event's facts with the chunk that is open after it was added."""
        cut = self._open
        self._end_at_least(event)
        if event.kind == "tool" and event.name:
            cut.tools[event.name] = None
        if event.facts:
            self._note_facts(event.facts)

    def _note_facts(self, facts: dict[str, Any]) -> None:
        cut = self._open
        for file in (*facts.get("files", ()), *([facts["file"]] if "file" in facts else ())):
            if len(cut.files) < MAX_FILES:
                cut.files[file] = None
        if "spawn" in facts:
            cut.facts.setdefault("spawns", []).append({**facts["spawn"], "turn": self._turn})
            self._spawned = True
        if "agents" in facts:
            cut.facts.setdefault("agents", {}).update(facts["agents"])
        for name in _LISTS:
            for value in facts.get(name, ()):
                cut.facts.setdefault(name, []).append(
                    [self._turn, *value] if isinstance(value, list) else [self._turn, value]
                )
        if "prompt" in facts:
            cut.facts["prompt"] = facts["prompt"]
        self._branch = facts.get("branch", self._branch)
        self._model = facts.get("model", self._model)

    def _close(self) -> TurnChunk:
        cut, thread = self._open, self._thread
        text = JOINT.join(cut.parts)
        facts: dict[str, Any] = {
            **self._stable,
            "turns": [cut.first_turn, self._turn],
            "tokens": estimate_tokens(len(text)),
        }
        if cut.piece:
            facts["piece"] = cut.piece
        known = (
            ("started_at", cut.started), ("ended_at", cut.ended), ("shift", cut.shift), ("tools", list(cut.tools)),
            ("files", list(cut.files)), ("branch", self._branch), ("model", self._model),
            ("code_blocks", text.count("```") // 2),
            ("thinking", JOINT.join(cut.thoughts)[:MAX_THINKING_CHARS]),
        )  # fmt: skip
        facts.update({key: value for key, value in known if value}, **cut.facts)
        found = TurnChunk(
            thread, self._ordinal, (cut.first_turn, self._turn), cut.piece, text, cut.started_us, facts,
            follows=self._ordinal > 0 and cut.shift is None,
        )  # fmt: skip
        self._ordinal += 1
        self._pieces += 1
        self._open = _OpenChunk()
        return found

    def _summary(self, event: Event) -> Iterator[TurnChunk]:
        for text in split_text(event.text.strip(), self._max):
            number = self._summaries
            self._summaries += 1
            facts = {**self._stable, "summary": True, "after_turn": self._turn, "tokens": estimate_tokens(len(text))}
            if event.at is not None:
                facts["started_at"] = facts["ended_at"] = event.at
            at_us = self._end_us if event.at_us is None else event.at_us
            yield TurnChunk(self._thread, number, (number, number), 0, text, at_us, facts, follows=False, type=SUMMARY)


def derived_chunks(thread: Thread, notes: SessionNotes) -> Iterator[TurnChunk]:
    """Yield the handoff and the insights of a thread that has ended, or ended so far."""
    stable: dict[str, Any] = {key: thread.facts[key] for key in ("format", "cwd") if key in thread.facts}
    for item in derive(thread, notes):
        facts = {**stable, "derived": True, "session": thread.session, "turn": item.turn}
        if item.is_failure:
            facts["failure"] = True
        if notes.started is not None and item.type == HANDOFF:
            facts["started_at"], facts["ended_at"] = notes.started, notes.ended
        yield TurnChunk(
            thread, 0, (item.turn, item.turn), item.place, item.text, item.at_us, facts, follows=False, type=item.type,
            title=item.title,
        )  # fmt: skip


def _render_event(event: Event) -> str:
    """Return an event as a section of text."""
    text = event.text.strip()
    if event.kind == "user":
        return f"[User]\n{text}"
    if event.kind == "said":
        return f"[Assistant]\n{text}"
    head = f"[{'Tool' if event.kind == 'tool' else 'Result'}:{event.name or 'tool'}]"
    return f"{head}\n{text}" if text else head


PACK_CHUNKS: Final = 256
"""Chunks that are handed over at once."""

_ENCODER: Final = msgspec.json.Encoder(order="sorted")


class ChunkPack(msgspec.Struct):
    """Chunks that follow each other in a file; each list but the first has one value a chunk."""

    threads: list[Thread] = []
    """Those that the chunks are of."""
    owners: list[int] = []
    """Index into ``threads``."""
    texts: list[str] = []
    metadata: list[str] = []
    """JSON."""
    ordinals: list[int] = []
    created_us: list[int | None] = []
    turns: list[int] = []
    """The first one of each; of a summary its number."""
    pieces: list[int] = []
    follows: list[bool] = []
    """True where the chunk before it in its thread is about the same topic."""
    types: list[str] = []
    """Of conversation, summaries, and what is derived from them."""
    titles: list[str | None] = []

    def select(self, places: Sequence[int]) -> ChunkPack:
        """Return a pack of some of its chunks."""
        columns = {
            name: [getattr(self, name)[at] for at in places] for name in self.__struct_fields__ if name != "threads"
        }
        return ChunkPack(threads=self.threads, **columns)


def pack_chunks(cuts: Iterable[TurnChunk]) -> Iterator[ChunkPack]:
    """Yield chunks in packs of `PACK_CHUNKS`, as they come."""
    rest = iter(cuts)
    while some := list(itertools.islice(rest, PACK_CHUNKS)):
        pack = ChunkPack()
        last: Thread | None = None
        for cut in some:
            if cut.thread is not last:
                last = cut.thread
                pack.threads.append(last)
            pack.owners.append(len(pack.threads) - 1)
        pack.texts = [cut.text for cut in some]
        pack.metadata = [_ENCODER.encode(cut.facts).decode() for cut in some]
        pack.ordinals = [cut.ordinal for cut in some]
        pack.created_us = [cut.created_us for cut in some]
        pack.turns = [cut.turns[0] for cut in some]
        pack.pieces = [cut.piece for cut in some]
        pack.follows = [cut.follows for cut in some]
        pack.types = [cut.type for cut in some]
        pack.titles = [cut.title or cut.thread.title for cut in some]
        yield pack
