from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.clock import FixedClock
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.row_columns import FIELDS
from lamina_engine.index.tables import VECTORS, Tables
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.store.files import Files
from lamina_engine.store.segments import Segment
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
        assert recall(reader, "which database").hits == found
        assert [hit.id for hit in found] == ["a"]
        assert caplog.text.count("cannot be read") == 1  # said once
        name = str(reader.store.snapshot().manifest.indexes["vectors"]["file"])
        (memory.root / "index" / name).write_bytes(b"damaged in another way")
        assert recall(reader, "which database").hits == found
    assert caplog.text.count("cannot be read") == 2


def test_codes_that_could_not_be_opened_once_are_opened_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name_codes(memory)
    tried: list[Path] = []

    def open_none(path: Path) -> None:
        tried.append(path)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(QuantisedIndex, "open", open_none)
    with caplog.at_level(logging.WARNING):
        assert [memory.tables.quantised(memory.view().snapshot) for _ in range(2)] == [None, None]
    assert len(tried) == 2


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


class Waits(Files):
    """Real files that note each wait for the disk, and what is flushed in it."""

    def __init__(self) -> None:
        self.waits: list[list[str]] = []
        self._joint = False

    def fsync_all(self, files: Any, folders: Any = (), on_flush: Any = None) -> None:
        self.waits.append([Path(each.path).parent.name for each in files] + [f"{each.name}/" for each in folders])
        self._joint = True
        super().fsync_all(files, folders, on_flush)
        self._joint = False

    def flush_folder(self, path: Path) -> None:
        if not self._joint:
            self.waits.append([f"{path.name}/"])
        super().flush_folder(path)


def test_a_small_add_waits_for_the_disk_twice_and_is_found_at_once(tmp_path: Path) -> None:
    files = Waits()
    memory = Memory(tmp_path / "vault", create=True, files=files, clock=FixedClock(MOMENT))
    adding.add(memory, "We moved to PostgreSQL 16.", {})
    for i in range(20):  # merges of small segments among them
        files.waits.clear()
        (identity,) = adding.add(memory, f"We moved the service{i} to Kubernetes.", {"session": "s"})
        data = ["chunks", "vectors.default", "manifests", "vault", "chunks/", "vectors.default/", "manifests/"]
        assert files.waits == [data, ["vault/"]]
        assert [hit.id for hit in recall(memory, f"service{i}", k=1).hits] == [identity]
        with contextlib.closing(Memory(memory.root, mode="r")) as other:
            assert [hit.id for hit in recall(other, f"service{i}", k=1).hits] == [identity]


RECORDS: tuple[dict[str, Any], ...] = (
    {"text": "We moved to PostgreSQL 16."},
    {"text": "Die Datenbank wurde nach Frankfurt verschoben, weil der Vertrag nicht verlängert wird."},
    {"text": "Yes, do it.", "session": "s", "agent": "codex", "project": "ops"},
    {"text": "We moved to PostgreSQL 16.", "id": "known", "type": "decision"},
    {"text": "We moved to PostgreSQL 17.", "id": "known", "type": "decision"},
    {"text": "A date from before.", "created_at": "2019-04-01", "collection": "old"},
)


def test_what_single_adds_leave_in_memory_is_what_another_process_reads(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "vault", create=True, files=Quick(), clock=FixedClock(MOMENT))
    for i in range(40):  # past what the newest keys may be, and with merges of small segments
        adding.add(memory, dict(RECORDS[i % len(RECORDS)], text=f"{RECORDS[i % len(RECORDS)]['text']} {i // 7}"), {})
        if i % 3:
            recall(memory, "PostgreSQL", k=1)
        if i % 5:
            continue
        with contextlib.closing(Memory(memory.root, mode="r")) as other:
            ours, theirs = memory.view(), other.view()
            for field in FIELDS:
                kept, read = (
                    [
                        each.categories.value(field, code)
                        for code in each.categories.column(each.snapshot, field).tolist()
                    ]
                    for each in (ours, theirs)
                )
                assert kept == read
            for name in ("created_us", "previous"):
                assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
            assert ours.languages == theirs.languages
            assert ours.statistics.totals.tolist() == theirs.statistics.totals.tolist()
            rows = np.arange(ours.rows)
            assert ours.vectors.gather(rows).tolist() == theirs.vectors.gather(rows).tolist()
            ids = ours.snapshot.values("chunks", "id", rows)
            assert ours.rows_of_ids(ids).tolist() == theirs.rows_of_ids(ids).tolist()
            versions = ours.snapshot.values("chunks", "version", rows)
            assert ours.rows_of_versions(versions).tolist() == theirs.rows_of_versions(versions).tolist()
            moment = int(ours.snapshot.numbers("chunks", "recorded_at", rows)[ours.rows // 2])
            past, known = ours.at(moment), theirs.at(moment)
            assert past.statistics.totals.tolist() == known.statistics.totals.tolist()
            assert past.languages == known.languages


def test_words_of_large_segments_are_looked_for_again_where_a_file_was_damaged(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    lacks = Tables.lacks_terms

    def look(self: Tables, snapshot: Snapshot) -> list[Segment]:
        asked.append(1)
        return lacks(self, snapshot)

    monkeypatch.setattr(Tables, "lacks_terms", look)
    indexer, snapshot = memory.indexer, memory.store.snapshot()
    assert [indexer._lacks_words(snapshot) for _ in range(3)] == [False] * 3
    assert len(asked) == 1
    memory.tables.distrust("x.terms", "damaged")
    indexer._lacks_words(snapshot)
    memory.tables.trust("x.terms")  # its forward lists are whole again: nothing is known of the others
    indexer._lacks_words(snapshot)
    assert len(asked) == 3
