"""Compaction joins files and changes nothing else, whoever reads meanwhile."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.care.compaction import compact
from lamina_engine.care.verify import verify
from lamina_engine.chunks import lifecycle
from lamina_engine.clock import FixedClock
from lamina_engine.errors import VaultReadOnly
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.store import segments
from lamina_engine.store.files import Files
from tests.engine.store.faults import Crash, FaultyFiles, Quick, contents, contents_at, copy, orphans

MOMENT = "2026-03-01T12:00:00Z"


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1.0, 1.0, 2.0] for text in texts], np.float32)


def opened(root: Path, files: Files | None = None, mode: str = "w") -> Memory:
    return Memory(root, create=mode == "w", mode=mode, files=files or Quick(), clock=FixedClock(MOMENT), embedder=embed)


def build(root: Path) -> Memory:
    """Return a vault whose logs lie in several files each."""
    memory = opened(root)
    for i in range(5):
        adding.add(memory, f"base note number {i}", {"id": f"base{i}", "session": "s", "project": f"p{i}"})
    lifecycle.invalidate(memory, "base1", "never true")
    adding.update(memory, "base2", {"text": "another text"})
    return memory


def answers(memory: Memory) -> list[tuple[Any, float]]:
    found = [recall(memory, query, now=MOMENT).hits for query in ("base note", "number 3", "another text")]
    return [(f.id, f.score) for hits in found for f in hits]


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def test_each_log_becomes_one_file_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault")
    old, ref = contents(memory.store.snapshot()), answers(memory)
    before = memory.store.snapshot().manifest
    report = compact(memory)
    after = memory.store.snapshot().manifest
    assert (report.segments_before, report.segments_after) == (sum(map(len, before.logs.values())), len(before.logs))
    assert report.version == after.version == before.version + 1
    assert report.bytes_after < report.bytes_before
    assert (after.last_us, after.rewritten) == (before.last_us, 0)
    assert contents_at(tmp_path / "vault") == old
    assert answers(memory) == answers(opened(tmp_path / "vault")) == ref
    again = compact(memory)
    assert (again.version, again.segments_before, again.segments_after) == (report.version, 3, 3)
    assert orphans(tmp_path / "vault") == []
    assert [p for p in verify(tmp_path / "vault", deep=True).problems if p.code != "version"] == []
    assert list((tmp_path / "vault" / "index" / "terms").iterdir()) == []  # so few rows have no file


def test_an_empty_vault_is_compact(tmp_path: Path) -> None:
    memory = opened(tmp_path / "vault")
    assert compact(memory).segments_after == 0
    assert memory.store.snapshot().version == 1


def test_readers_go_on_during_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = build(tmp_path / "vault")
    reader = opened(tmp_path / "vault", mode="r")
    old = reader.view()
    ref, rows = answers(reader), contents(old.snapshot)
    seen: list[list[tuple[Any, float]]] = []
    begin = segments.write_segment

    def watched(*arguments: Any) -> Any:
        seen.append(answers(reader))
        return begin(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "write_segment", watched)
        compact(memory)
    assert seen == [ref] * 3
    assert contents(old.snapshot) == rows
    late = opened(tmp_path / "vault", mode="r").view_of(old.snapshot)  # nothing of it was read before
    assert late.forward.rows == old.rows
    assert answers(reader) == ref
    with pytest.raises(VaultReadOnly):
        compact(reader)


def test_full_segments_stay_and_moments_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina_engine.store.segments.SEGMENT_ROWS", 4)
    monkeypatch.setattr("lamina_engine.store.transaction.SEGMENT_ROWS", 4)
    memory = opened(tmp_path / "vault")
    adding.add(memory, [{"text": f"first {i}"} for i in range(4)], {})
    for i in range(5):
        adding.add(memory, f"later {i}", {})
    before = memory.store.snapshot()
    compact(memory)
    after = memory.store.snapshot()
    assert [s.rows for s in after.segments("chunks")] == [4, 4, 1]
    assert after.segments("chunks")[0].ref == before.segments("chunks")[0].ref
    for us in before.column("chunks", "recorded_at").tolist():
        assert after.watermark("chunks", us) == before.watermark("chunks", us)
    assert compact(memory).version == after.version


def test_a_damaged_segment_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    memory = build(tmp_path / "vault")
    damaged = memory.store.snapshot().segments("chunks")[2].path
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(bytes(content))
    compact(memory)
    assert damaged.exists()
    assert [s.rows for s in memory.store.snapshot().segments("chunks")] == [2, 1, 3]
    assert "is damaged and is not joined" in caplog.text


@pytest.mark.parametrize("kind", ["nospace", "io", "crash", "crash after"])
def test_every_step_may_fail(tmp_path: Path, kind: str) -> None:
    build(tmp_path / "base")
    old = contents_at(tmp_path / "base")
    files = FaultyFiles()
    compact(opened(copy(tmp_path / "base", tmp_path / "whole"), files))
    for at in range(1, len(files.steps) + 1):
        root = copy(tmp_path / "base", tmp_path / f"at{at}")
        faulty = FaultyFiles(at, kind)
        memory = opened(root, faulty)
        with contextlib.suppress(OSError, Crash):
            compact(memory)
        assert contents_at(root) == old, f"step {at}, {files.steps[at - 1]}"
        compact(opened(root) if faulty.dead else memory)
        assert orphans(root) == []
        assert [len(parts) for parts in opened(root).store.snapshot().manifest.logs.values()] == [1, 1, 1]
        assert contents_at(root) == old
