from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lamina_engine.clock import FixedClock
from lamina_engine.index.tables import VECTORS, Tables
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.store.snapshot import Snapshot
from tests.engine.store.faults import Quick

MOMENT = "2026-03-01T12:00:00Z"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = Memory(tmp_path / "vault", create=True, files=Quick(), clock=FixedClock(MOMENT))
    adding.add(made, "We moved to PostgreSQL 16.", {"id": "a"})
    return made


def name_codes(memory: Memory) -> None:
    """Have the manifest name codes that are not there."""
    with memory.store.transaction() as transaction:
        transaction.set_index(VECTORS, {"file": "vectors-gone.faiss", "rows": 0, "space": "default"})


def wait() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith(("lamina-codes", "lamina-load")):
            thread.join()


def test_codes_are_asked_for_once_before_the_first_recall(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def quantised(self: Tables, snapshot: Snapshot) -> None:
        asked.append(snapshot.version)

    monkeypatch.setattr(Tables, "quantised", quantised)
    memory.begin_recall()
    wait()
    assert asked == []  # a vault without codes
    name_codes(memory)
    again = Memory(memory.root, mode="r")
    again.begin_recall()
    again.begin_recall()
    wait()
    assert asked == [again.store.snapshot().version]
    closed = Memory(memory.root, mode="r")
    closed.close()
    closed.begin_recall()
    wait()
    assert len(asked) == 1


def test_codes_that_cannot_be_read_stop_no_recall(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    name_codes(memory)
    reader = Memory(memory.root, mode="r", clock=FixedClock(MOMENT))
    with caplog.at_level(logging.WARNING):
        reader.begin_recall()
        wait()
        found = recall(reader, "which database").hits
    assert [hit.id for hit in found] == ["a"]
    assert "cannot be read" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_has_locks_of_its_own(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from lamina_engine.index.tables import Tables
tables = Tables(Path(sys.argv[1]))
with tables._lock, tables._codes_lock:
    child = os.fork()
    if child == 0:
        os._exit(0 if tables._codes_lock.acquire(timeout=1) and tables._lock.acquire(timeout=1) else 1)
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
