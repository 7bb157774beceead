from __future__ import annotations

import json
from pathlib import Path

from bench.session_corpus import AGENTS, write_sessions
from lamina import FixedClock
from lamina_engine.memory import Memory
from lamina_engine.sessions.reading import SessionOptions
from tests.engine.sessions.transcripts import ingest, links, records


def test_sessions_do_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    write_sessions(tmp_path / "a", 1, turns=4)
    written = write_sessions(tmp_path / "b", 2, turns=4)
    first = {path.relative_to(tmp_path / "a"): path.read_bytes() for path in (tmp_path / "a").rglob("*.jsonl")}
    assert written.files == 2 * (1 + AGENTS)
    assert all((tmp_path / "b" / name).read_bytes() == data for name, data in first.items())


def test_a_session_gives_about_a_chunk_a_turn_and_its_agents_are_linked(tmp_path: Path) -> None:
    write_sessions(tmp_path / "files", 1, turns=6)
    memory = Memory(tmp_path / "vault", create=True, clock=FixedClock("2026-03-01"), embedder="none")
    report = ingest(memory, tmp_path / "files", SessionOptions())
    assert not report.problems
    turns = sum(
        isinstance(json.loads(line)["message"]["content"], str)
        for path in (tmp_path / "files").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    )
    talk = [record for record in records(memory) if record["type"] == "conversation"]
    assert len(talk) == turns - AGENTS  # a prompt stands beside the turn after it
    assert len(links(memory, "brief")) == len(links(memory, "debrief")) == AGENTS
    memory.close()
