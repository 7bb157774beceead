"""A backup is a vault of its own that answers as the one it was taken from."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.care.backup import backup
from lamina_engine.care.compaction import compact
from lamina_engine.care.verify import verify
from lamina_engine.chunks import lifecycle
from lamina_engine.clock import FixedClock
from lamina_engine.errors import InvalidArgument, VaultCorrupt, VaultExists, VaultNotFound, VaultReadOnly
from lamina_engine.graph import links, log
from lamina_engine.index import nodes
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.store.files import Files
from lamina_engine.store.store import Store
from tests.engine.index.building import build_at_once
from tests.engine.store.faults import Crash, FaultyFiles, Quick, contents, contents_at

MOMENT = "2026-03-01T12:00:00Z"


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1.0, 1.0, 2.0] for text in texts], np.float32)


def opened(root: Path, files: Files | None = None, mode: str = "w") -> Memory:
    return Memory(root, create=mode == "w", mode=mode, files=files or Quick(), clock=FixedClock(MOMENT), embedder=embed)


def build(root: Path, n: int = 20) -> Memory:
    memory = opened(root)
    for start in range(0, n, 5):
        adding.add(
            memory, [{"text": f"note number {i}", "id": f"id{i}", "session": "s"} for i in range(start, start + 5)], {}
        )
    lifecycle.invalidate(memory, "id1", "never true")
    return memory


def answers(memory: Memory) -> list[tuple[Any, float]]:
    found = [recall(memory, query, now=MOMENT).hits for query in ("note", "number 3", "17")]
    return [(f.id, f.score) for hits in found for f in hits]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk; indexes of eight rows."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    build_at_once(monkeypatch, 8)


@pytest.mark.parametrize("mode", ["w", "r"])
def test_the_copy_answers_the_same_and_goes_on_by_itself(tmp_path: Path, mode: str) -> None:
    build(tmp_path / "vault")
    (tmp_path / "vault" / "vault.toml").write_text('name = "mine"\n')
    memory = opened(tmp_path / "vault", mode=mode)
    report = backup(memory, tmp_path / "deep" / "copy")
    assert (report.path, report.rows, report.version) == (
        str(tmp_path / "deep" / "copy"),
        20,
        memory.store.snapshot().version,
    )
    assert report.indexes == ("keys", "lexical")
    assert report.bytes == sum(
        s.ref.size for log in contents(memory.store.snapshot()) for s in memory.store.snapshot().segments(log)
    )
    assert (tmp_path / "deep" / "copy" / "vault.toml").read_text() == 'name = "mine"\n'
    assert contents_at(tmp_path / "deep" / "copy") == contents(memory.store.snapshot())
    assert [p for p in verify(tmp_path / "deep" / "copy", deep=True).problems if p.code != "version"] == []
    for copied in (opened(tmp_path / "deep" / "copy", mode="r"), opened(tmp_path / "deep" / "copy")):
        assert answers(copied) == answers(memory)
    both = [opened(tmp_path / "vault"), opened(tmp_path / "deep" / "copy")]
    for each in both:
        adding.add(each, [{"text": f"later {i}", "id": f"later{i}"} for i in range(10)], {})
    assert answers(both[0]) == answers(both[1])


def test_an_index_that_grew_or_vanished_is_built_again_by_the_copy(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault")
    snapshot = memory.store.snapshot()
    other = opened(tmp_path / "vault")
    adding.add(other, [{"text": f"later {i}", "id": f"later{i}"} for i in range(10)], {})
    memory.store.snapshot = lambda: snapshot  # type: ignore[method-assign]
    report = backup(memory, tmp_path / "copy")
    assert (report.rows, report.indexes) == (20, ())
    assert sorted(path.name for path in (tmp_path / "copy" / "index").iterdir()) == ["terms"]
    copied, ref = opened(tmp_path / "copy"), build(tmp_path / "ref")
    assert answers(copied) == answers(ref)
    adding.add(copied, "one more", {"id": "more"})
    assert set(copied.store.snapshot().manifest.indexes) == {"keys", "lexical"}


def test_an_empty_vault(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    report = backup(opened(tmp_path / "vault"), tmp_path / "copy")
    assert (report.rows, report.segments) == (0, 0)
    assert Store(tmp_path / "copy").snapshot().rows("chunks") == 0


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 5)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "full", tmp_path / "file"):
        with pytest.raises(VaultExists):
            backup(memory, target)
    for target in (tmp_path / "vault", tmp_path / "vault" / "index" / "copy"):
        with pytest.raises(InvalidArgument):
            backup(memory, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "vault"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_damage_is_not_copied(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 5)
    path = memory.store.snapshot().segments("chunks")[0].path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(VaultCorrupt, match="is damaged"):
        backup(opened(tmp_path / "vault"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("kind", ["nospace", "crash"])
def test_every_step_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    build_at_once(monkeypatch, 4096)  # without Tantivy's many files
    build(tmp_path / "vault", 5)
    files = FaultyFiles()
    backup(opened(tmp_path / "vault", files), tmp_path / "whole")
    ref = contents_at(tmp_path / "whole")
    for at in range(1, len(files.steps)):  # the last one flushes the folder that CURRENT is in
        target = tmp_path / f"at{at}"
        faulty = FaultyFiles(at, kind)
        with pytest.raises((OSError, Crash)) as raised:
            backup(opened(tmp_path / "vault", faulty), target)
        assert kind == "crash" or (isinstance(raised.value, OSError) and raised.value.errno == errno.ENOSPC)
        with pytest.raises(VaultNotFound):
            Store(target)
        assert not target.exists(), f"step {at}, {files.steps[at - 1]}"
        backup(opened(tmp_path / "vault"), target)
        assert contents_at(target) == ref


def test_writing_goes_on_meanwhile(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault")
    stop = threading.Event()

    def write() -> None:
        writer = opened(tmp_path / "vault")
        for i in range(1000):
            if stop.is_set():
                break
            adding.add(writer, f"meanwhile {i}", {"id": f"meanwhile{i}"})
            if i % 5 == 4:
                compact(writer)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for i in range(6):
            report = backup(memory, tmp_path / f"copy{i}")
            copied = opened(tmp_path / f"copy{i}")
            assert [p for p in verify(tmp_path / f"copy{i}", deep=True).problems if p.code != "version"] == []
            names = copied.view().snapshot.values("chunks", "id", np.arange(report.rows))
            assert names[20:] == [f"meanwhile{k}" for k in range(report.rows - 20)]
            assert len(answers(copied)) > 0
    finally:
        stop.set()
        thread.join()


def test_the_graph_of_links_is_copied_with_the_keys_of_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_TAIL_ROWS", 4)
    memory = build(tmp_path / "vault")
    log.write(memory, [log.Draft(f"id{i}", f"id{i + 1}", "causal") for i in range(2, 12)])
    report = backup(memory, tmp_path / "copy")
    record = Store(tmp_path / "copy").snapshot().manifest.indexes["graph"]
    assert report.indexes == ("graph", "keys", "lexical")
    assert {path.name for path in (tmp_path / "copy" / "index").glob("graph-*")} == {record["file"], record["keys"]}
    monkeypatch.setattr(nodes, "build", None)
    copied = opened(tmp_path / "copy", mode="r")
    assert nodes.state_of(copied.view()).graph.rows == 10
    assert [link.target for link in links.links_of(copied.view(), "id5", direction="out")] == ["id6"]


@pytest.mark.parametrize("suffix", [".links", ".nodes"])
def test_a_damaged_graph_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(nodes, "_TAIL_ROWS", 4)
    memory = build(tmp_path / "vault")
    log.write(memory, [log.Draft(f"id{i}", f"id{i + 1}", "causal") for i in range(2, 12)])
    (path,) = (tmp_path / "vault" / "index").glob(f"graph-*{suffix}")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    report = backup(opened(tmp_path / "vault"), tmp_path / "copy")
    assert report.indexes == ("keys", "lexical")
    copied = opened(tmp_path / "copy")
    assert [link.target for link in links.links_of(copied.view(), "id5", direction="out")] == ["id6"]


def test_a_place_where_no_folder_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    place = tmp_path / "file" / "copy"
    memory = opened(tmp_path / "v")
    with pytest.raises(VaultReadOnly, match="choose a folder") as caught:
        backup(memory, place)
    assert str(caught.value).startswith(f"{place} cannot be made: ")
    with pytest.raises(VaultReadOnly, match="choose a folder") as caught:
        opened(place)
    assert str(caught.value).startswith(f"{place} cannot be made: ")
    assert (tmp_path / "file").read_text() == "mine"
