"""What chains and reconstructions return: instants are ISO 8601 with Z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs

from lamina_engine.clock import format_instant
from lamina_engine.index.state import STATUS_NAMES

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.reconstruction import Reconstruction as EngineReconstruction
    from lamina_engine.recall.sessions import Session as Found
    from lamina_engine.recall.stories import Story as EngineStory


class StoryChunk(Struct, frozen=True):
    """One chunk of a story, or of a reconstruction."""

    id: str
    text: str
    title: str | None
    type: str
    project: str | None
    session: str | None
    agent: str | None
    source: str | None
    created_at: str | None
    status: str
    score: float | None
    """Its own match with the question; None where nothing was asked."""
    hops: int | None
    """Links between it and the hit that the chain begins with; None outside of chains."""
    tokens: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return structs.asdict(self)


@dataclass(frozen=True, slots=True)
class Story:
    """What led to a hit of a question, or came after it."""

    query: str | None
    direction: str
    mode: str
    """``chain``; or ``search``, where there is no chain of two chunks."""
    reason: str | None
    """Why it is a search."""
    chunks: tuple[StoryChunk, ...]
    """Oldest first in a chain, best first in a search."""
    seed: str | None
    """Id of the hit that the chain begins with."""
    median: float
    """Of the chunks' matches: what the chain was chosen by."""
    score: float
    """Their sum."""
    tokens: int
    hits: int
    """Hits, or seeds, that chains could begin with."""
    seeds: int
    """Those of them that one began with."""
    lengths: tuple[int, ...]
    """Chunks of every chain that was looked at."""
    snapshot: int
    took_ms: float

    @property
    def text(self) -> str:
        """The chunks' texts in order, a blank line between them."""
        return "\n\n".join(chunk.text for chunk in self.chunks)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``lamina chain --json`` prints."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "chunks": [chunk.to_dict() for chunk in self.chunks], "lengths": list(self.lengths),
            "took_ms": round(self.took_ms, 3),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session."""

    session: str
    project: str | None
    agents: tuple[str, ...]
    chunks: int
    started_at: str | None
    ended_at: str | None
    """When its last chunk ended, where its record says so; else when it began."""
    summary: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"agents": list(self.agents)}


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """The text of a session, or of a span of days."""

    mode: str
    text: str
    tokens: int
    """Of the text."""
    chunks: tuple[StoryChunk, ...]
    """Those that it tells whole, in its order."""
    left_out: int
    """Chunks asked for that are not among them."""
    sessions: tuple[SessionInfo, ...]
    """Of which it tells, newest first."""
    since: str | None
    until: str | None
    snapshot: int

    def to_dict(self) -> dict[str, Any]:
        """Return what ``lamina reconstruct --json`` prints."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "chunks": [chunk.to_dict() for chunk in self.chunks],
            "sessions": [session.to_dict() for session in self.sessions],
        }


def story_of(query: str | None, direction: str, found: EngineStory) -> Story:
    """Return a story of the engine as users see it."""
    view = found.view
    rows = [each.row for each in found.items]
    in_chain = found.mode == "chain"
    extras = [
        {"score": each.score, "hops": each.hops if in_chain else None, "tokens": each.tokens} for each in found.items
    ]
    seed = str(view.snapshot.values("chunks", "id", np.array([found.seed]))[0]) if found.seed >= 0 else None
    return Story(
        query, direction, found.mode, found.reason, _shown(view, rows, extras), seed, found.median, found.total,
        found.tokens, found.hits, found.seeds, found.lengths, view.snapshot.version, found.took_ms,
    )  # fmt: skip


def session_info(found: Found) -> SessionInfo:
    """Return a session of the engine as users see it."""
    return SessionInfo(
        found.session, found.project, found.agents, found.chunks, format_instant(found.started_us),
        format_instant(found.ended_us), found.summary,
    )  # fmt: skip


def reconstruction_of(found: EngineReconstruction) -> Reconstruction:
    """Return a reconstruction of the engine as users see it."""
    view = found.view
    extras = [{"score": None, "hops": None, "tokens": None} for _ in found.rows]
    return Reconstruction(
        found.mode, found.text, found.tokens, _shown(view, list(found.rows), extras), found.left_out,
        tuple(session_info(session) for session in found.sessions), format_instant(found.since_us),
        format_instant(found.until_us), view.snapshot.version,
    )  # fmt: skip


_SHOWN = ("id", "text", "title", "type", "project", "session", "agent", "source", "created_at")


def _shown(view: View, rows: list[int], extras: Sequence[dict[str, Any]]) -> tuple[StoryChunk, ...]:
    at = np.array(rows, np.int64)
    records = view.snapshot.records("chunks", at, _SHOWN) if rows else []
    states = [STATUS_NAMES[code] for code in view.state.status[at].tolist()]
    for record in records:
        record["created_at"] = format_instant(record["created_at"])
    return tuple(
        StoryChunk(**record, status=state, **extra)
        for record, state, extra in zip(records, states, extras, strict=True)
    )
