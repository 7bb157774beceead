"""The threads of a view: chunks of one session and one agent, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import BOOL, I64

TYPE: Final = "conversation"


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What the metadata of a session's chunk says, as far as links need it; turns are numbered from 0 in a thread."""

    turns: tuple[int, int] = (-1, -1)
    started_at: str | None = None
    ended_at: str | None = None
    shift: str | None = None
    """Why the chunk begins a topic, None where it goes on with that of the chunk before."""
    agent_id: str | None = None
    parent_tool_use_id: str | None = None
    prompt: str | None = None
    """Digest of the prompt that the thread began with."""
    team: str | None = None
    name: str | None = None
    spawns: tuple[dict[str, Any], ...] = ()
    """Agents that were called: ``id`` of the call, ``turn``, ``at``, ``prompt``, ``name``, ``team``."""
    agents: dict[str, str] = {}
    """By the id of a call, the agent that it gave."""
    mentions: tuple[tuple[int, str], ...] = ()
    returned: tuple[tuple[int, str, str | None], ...] = ()
    sent: tuple[tuple[int, str, str | None], ...] = ()
    received: tuple[tuple[int, str, str | None], ...] = ()


_DECODER: Final = msgspec.json.Decoder(Facts)
_NOTHING: Final = Facts()


class ThreadChunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk of a thread."""

    id: str
    created_us: int | None
    facts: Facts


@dataclass(slots=True)
class Thread:
    """A thread; its chunks are there once it has been `read`."""

    session: str
    agent: str
    project: str | None
    rows: I64
    """Its active rows, in order."""
    every_row: I64
    """All its rows that the log has."""
    created_us: int | None
    """When it began."""
    chunks: list[ThreadChunk] = field(default_factory=list)

    @property
    def called(self) -> bool:
        """Whether another agent called this one."""
        return "/" in self.agent

    def read(self, view: View) -> None:
        """Read its chunks. O(its chunks)."""
        if self.chunks:
            return
        names = view.snapshot.values("chunks", "id", self.rows)
        told = view.snapshot.values("chunks", "metadata", self.rows)
        created = view.created_us[self.rows].tolist()
        self.chunks = [
            ThreadChunk(name, None if us == MISSING_US else us, _facts(text))
            for name, us, text in zip(names, created, told, strict=True)
        ]

    def all_ids(self, view: View) -> list[str]:
        """Return the ids that it has or had; removed chunks keep theirs, and their links are withdrawn."""
        if len(self.every_row) == len(self.chunks):
            return [chunk.id for chunk in self.chunks]
        return list(dict.fromkeys(view.snapshot.values("chunks", "id", self.every_row)))


def _facts(text: str | None) -> Facts:
    if not text:
        return _NOTHING
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):  # somebody else's metadata
        return _NOTHING


def ends_of(view: View, threads: Sequence[Thread]) -> list[tuple[str, str]]:
    """Return the ids of the first and the last chunk of each thread."""
    rows = np.array([row for thread in threads for row in (thread.rows[0], thread.rows[-1])], np.int64)
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    return list(zip(names[::2], names[1::2], strict=True))


def is_session_chunk(view: View, rows: I64) -> BOOL:
    """Return bool for some rows: whether each is a chunk of a thread, whatever its state."""
    categories, snapshot = view.categories, view.snapshot
    code = categories.column(snapshot, "type")  # read first: codes are known once their column has been read
    kind: BOOL = np.equal(code[rows], categories.code("type", TYPE))
    if not kind.any():
        return np.zeros(len(rows), np.bool_)
    kind &= categories.gather(snapshot, "session", rows) >= 0
    kind &= categories.gather(snapshot, "agent", rows) >= 0
    found = np.flatnonzero(kind)
    kind[found] = snapshot.numbers("chunks", "ordinal", rows[found]) >= 0
    return kind


def threads_of(view: View) -> list[Thread]:
    """Return all threads that have an active chunk. O(rows log rows), all of it in NumPy."""
    rows = np.arange(view.rows, dtype=np.int64)
    rows = rows[is_session_chunk(view, rows)]
    if not len(rows):
        return []
    categories, snapshot = view.categories, view.snapshot
    sessions, agents = (categories.gather(snapshot, name, rows) for name in ("session", "agent"))
    ordinals = snapshot.numbers("chunks", "ordinal", rows)
    order = np.lexsort((rows, ordinals, agents, sessions))
    rows, sessions, agents = rows[order], sessions[order], agents[order]
    new = np.flatnonzero((np.diff(sessions, prepend=-1) != 0) | (np.diff(agents, prepend=-1) != 0))
    stops = [*new[1:].tolist(), len(rows)]
    active = view.state.status[rows] == ACTIVE
    projects = categories.gather(snapshot, "project", rows)
    created = view.created_us[rows]
    threads: list[Thread] = []
    for start, stop in zip(new.tolist(), stops, strict=True):
        alive = np.flatnonzero(active[start:stop]) + start
        if not len(alive):
            continue
        first = int(alive[0])
        dated = created[alive][created[alive] != MISSING_US]
        threads.append(
            Thread(
                str(categories.value("session", int(sessions[first]))),
                str(categories.value("agent", int(agents[first]))),
                categories.value("project", int(projects[first])),
                rows[alive],
                rows[start:stop],
                int(dated[0]) if len(dated) else None,
            )
        )
    return threads
