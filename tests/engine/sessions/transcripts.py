"""Transcripts for tests: lines as agents write them, and what a vault holds of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.graph import sessions
from lamina_engine.graph.links import claims_of
from lamina_engine.index.state import ACTIVE
from lamina_engine.memory import Memory
from lamina_engine.reports import IngestReport
from lamina_engine.sessions.cutting import SessionLimits
from lamina_engine.sessions.ingest import ingest_sessions
from lamina_engine.sessions.reading import SessionOptions

START = parse_instant("2026-01-15T10:00:00Z")
SMALL = SessionOptions(SessionLimits(max_tokens=40, min_tokens=8))
APART = SessionOptions(SessionLimits(min_tokens=0))
"""Every turn a chunk."""

Line = dict[str, Any] | str


def at(seconds: float) -> str:
    """An instant so many seconds after the first."""
    return str(format_instant(START + round(seconds * 1e6)))


def user(seconds: float, content: Any, **more: Any) -> Line:
    """A line of the user."""
    return _line("user", seconds, {"role": "user", "content": content}, more)


def says(seconds: float, content: Any, **more: Any) -> Line:
    """A line of the agent."""
    return _line("assistant", seconds, {"role": "assistant", "content": content}, more)


def uses(seconds: float, ref: str, name: str = "Bash", **arguments: Any) -> Line:
    """A line in which the agent uses a tool."""
    return says(seconds, [{"type": "tool_use", "id": ref, "name": name, "input": arguments}])


def gets(seconds: float, ref: str, content: Any, **more: Any) -> Line:
    """A line with what a tool said."""
    return user(seconds, [{"type": "tool_result", "tool_use_id": ref, "content": content}], **more)


def _line(kind: str, seconds: float, message: dict[str, Any], more: dict[str, Any]) -> Line:
    base = {
        "type": kind, "timestamp": at(seconds), "sessionId": "s1", "cwd": "/home/me/code/shop", "isSidechain": False,
        "uuid": f"u{seconds}", "message": message,
    }  # fmt: skip
    return {**base, **more}


def write(path: Path, lines: Iterable[Line]) -> Path:
    """Write lines; text is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8", newline="")
    return path


def ingest(memory: Memory, path: Path, options: SessionOptions = APART, **overrides: str) -> IngestReport:
    """Read sessions into a vault."""
    report = IngestReport()
    ingest_sessions(memory, path.resolve(), report, overrides, options=options)
    return report


def records(memory: Memory, *names: str) -> list[dict[str, Any]]:
    """The active chunks, by session, agent and place; ``facts`` is their metadata."""
    import numpy as np

    view = memory.view()
    rows = np.flatnonzero(view.state.status == ACTIVE)
    wanted = names or ("id", "text", "type", "session", "agent", "ordinal", "metadata", "project", "created_at")
    found = [
        {**record, "facts": json.loads(record["metadata"] or "{}")} if "metadata" in record else record
        for record in view.snapshot.records("chunks", rows, wanted)
    ]
    return sorted(found, key=lambda r: (r.get("session") or "", r.get("agent") or "", r.get("type"), r.get("ordinal")))


def texts(memory: Memory) -> list[str]:
    """The texts of turns, in order."""
    return [record["text"] for record in records(memory) if record["type"] == "conversation"]


def links(memory: Memory, *origins: str) -> set[tuple[str, str, str, str, float]]:
    """What sessions' links say now: source, target, relation, origin, weight."""
    found: set[tuple[str, str, str, str, float]] = set()
    for origin in origins or sessions.ORIGINS:
        claims = claims_of(memory.view(), origin)
        assert len({(c.source, c.target, c.relation) for c in claims}) == len(claims), "a link is claimed twice"
        found |= {(c.source, c.target, c.relation, origin, round(c.weight, 3)) for c in claims}
    return found


def steps(memory: Memory, *origins: str) -> list[tuple[str, str]]:
    """Links by the first words of what each end says."""
    names = {record["id"]: _short(record) for record in records(memory)}
    return sorted((names[source], names[target]) for source, target, *_ in links(memory, *origins))


def _short(record: Mapping[str, Any]) -> str:
    return str(record["text"]).removeprefix("[User]\n").removeprefix("[Assistant]\n").split("\n")[0]


def state(memory: Memory) -> tuple[Sequence[Mapping[str, Any]], set[tuple[str, str, str, str, float]]]:
    """All that two vaults of the same sessions have in common."""
    columns = ("id", "version", "text", "type", "collection", "session", "agent", "project", "ordinal", "source",
               "created_at", "metadata", "title")  # fmt: skip
    return records(memory, *columns), links(memory)
