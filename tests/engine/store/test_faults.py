"""Whatever step of whatever write fails: the vault holds the old version or the new one, and goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.care.verify import verify
from lamina_engine.chunks import lifecycle
from lamina_engine.chunks.identities import find_row
from lamina_engine.clock import FixedClock
from lamina_engine.errors import VaultNotFound
from lamina_engine.index.textindex import open_index
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.store.files import Files
from lamina_engine.store.store import Store
from tests.engine.index.building import build_at_once
from tests.engine.store.faults import Crash, FaultyFiles, PowerCutFiles, Quick, contents_at, copy, orphans

MOMENT = "2026-03-01T12:00:00Z"
KINDS = ("nospace", "io", "crash", "crash after")
Operation = Callable[[Memory], object]


def cases(quick: set[tuple[str, object]], second: tuple[object, ...]) -> list[Any]:
    """Return every operation with every value of the second parameter; those that are not quick are marked slow."""
    return [
        pytest.param(name, value, marks=() if (name, value) in quick else pytest.mark.slow)
        for name in OPERATIONS
        for value in second
    ]


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1.0, 1.0, 2.0] for text in texts], np.float32)


def opened(root: Path, files: Files | None = None) -> Memory:
    return Memory(root, files=files or Quick(), clock=FixedClock(MOMENT), embedder=embed)


OPERATIONS: dict[str, Operation] = {
    "add": lambda memory: adding.add(memory, "one more note", {"id": "more"}),
    "add many": lambda memory: adding.add(memory, [{"text": f"of many {i}", "id": f"many{i}"} for i in range(60)], {}),
    "update": lambda memory: adding.update(memory, "base3", {"text": "another text"}),
    "invalidate": lambda memory: lifecycle.invalidate(memory, "base2", "it was wrong"),
}


@pytest.fixture(scope="module")
def base(quick_folder: Path) -> Path:
    """A vault with seven segments of one row each: the next add merges them."""
    root = quick_folder / "base"
    Store.create(root, clock=FixedClock(MOMENT), files=Quick())
    memory = opened(root)
    for i in range(7):
        adding.add(memory, f"base note number {i}", {"id": f"base{i}"})
    lifecycle.invalidate(memory, "base1", "never true")
    return root


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here but on purpose."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of four rows: an add publishes some."""
    build_at_once(monkeypatch, 4)


def steps_of(base: Path, scratch: Path, operation: Operation) -> tuple[list[str], Any]:
    """Return the steps of an operation that nothing disturbs, and what the vault holds afterwards."""
    files = FaultyFiles()
    root = copy(base, scratch)
    operation(opened(root, files))
    return files.steps, contents_at(root)


def goes_on(root: Path, memory: Memory) -> None:
    """A further write works, is found, and leaves nothing lying about."""
    adding.add(memory, "written afterwards", {"id": "afterwards"})
    reopened = opened(root)
    assert find_row(reopened.view(), "afterwards") == reopened.view().rows - 1
    assert orphans(root) == []
    report = verify(root)
    assert report.ok, report.problems


QUICK_FAULTS: set[tuple[str, object]] = {
    ("add", "nospace"),
    ("add", "crash"),
    ("add many", "io"),
    ("update", "crash"),
    ("invalidate", "crash after"),
}


@pytest.mark.parametrize(("name", "kind"), cases(QUICK_FAULTS, KINDS))
def test_every_step_may_fail(base: Path, quick_path: Path, name: str, kind: str) -> None:
    steps = fail_every_step(base, quick_path, OPERATIONS[name], kind, 1)
    assert {"write", "flush", "replace"} <= set(steps)


@pytest.mark.parametrize("kind", ["io", "crash"])
@pytest.mark.usefixtures("small_blocks")
def test_every_step_of_publishing_an_index_may_fail(base: Path, quick_path: Path, kind: str) -> None:
    steps = fail_every_step(base, quick_path, OPERATIONS["add"], kind, -8)
    assert steps.count("replace") == 2  # twice CURRENT


def fail_every_step(base: Path, quick_path: Path, operation: Operation, kind: str, first: int) -> list[str]:
    """Fail each step from the one numbered ``first`` on (negative: counted from the end); return all steps."""
    old = contents_at(base)
    steps, new = steps_of(base, quick_path / "whole", operation)
    for at in range(first if first > 0 else len(steps) + 1 + first, len(steps) + 1):
        root = copy(base, quick_path / f"at{at}")
        files = FaultyFiles(at, kind)
        memory = opened(root, files)
        try:
            operation(memory)
            returned = True
        except (OSError, Crash):
            returned = False
        got = contents_at(root)
        assert got in ((new,) if returned else (old, new)), f"step {at}, {steps[at - 1]}"
        goes_on(root, opened(root) if files.dead else memory)
    return steps


@pytest.mark.parametrize("name", OPERATIONS)
def test_short_writes_are_continued(base: Path, quick_path: Path, name: str) -> None:
    _, new = steps_of(base, quick_path / "whole", OPERATIONS[name])
    root = copy(base, quick_path / "short")
    OPERATIONS[name](opened(root, FaultyFiles(kind="short")))
    assert contents_at(root) == new


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_a_creation_may_fail(quick_path: Path, kind: str) -> None:
    files = FaultyFiles()
    Store.create(quick_path / "whole", files=files)
    for at in range(1, len(files.steps) + 1):
        root = quick_path / f"at{at}" / "deeper"
        with pytest.raises((OSError, Crash)):
            Store.create(root, files=FaultyFiles(at, kind))
        Store.create(root, clock=FixedClock(MOMENT), files=Quick())
        goes_on(root, opened(root))


@pytest.mark.parametrize(("name", "lost"), cases({("add", 1.0), ("add", 0.0), ("update", 0.5)}, (1.0, 0.0, 0.5)))
def test_a_power_cut_at_every_step(base: Path, quick_path: Path, name: str, lost: float) -> None:
    old = contents_at(base)
    steps, new = steps_of(base, quick_path / "whole", OPERATIONS[name])
    for at in range(1, len(steps) + 2):  # the last one: everything has returned
        top = quick_path / f"at{at}"
        top.mkdir()
        copy(base, top / "vault")
        files = PowerCutFiles(top, at)
        try:
            OPERATIONS[name](opened(top / "vault", files))
            returned = True
        except Crash:
            returned = False
        files.cut(quick_path / f"after{at}", lost, seed=at)
        root = quick_path / f"after{at}" / "vault"
        got = contents_at(root)
        assert got in ((new,) if returned else (old, new)), f"step {at}"
        goes_on(root, opened(root))


@pytest.mark.parametrize("lost", [1.0, 0.0, 0.5])
def test_a_power_cut_while_a_vault_is_made(quick_path: Path, lost: float) -> None:
    counted = FaultyFiles()
    adding.add(make(quick_path / "whole", counted), "first", {"id": "first"})
    for at in range(1, len(counted.steps) + 2):
        top = quick_path / f"at{at}"
        top.mkdir()
        files = PowerCutFiles(top, at)
        done: list[str] = []
        try:
            memory = make(top / "vault", files)
            done.append("made")
            adding.add(memory, "first", {"id": "first"})
            done.append("added")
        except Crash:
            pass
        files.cut(quick_path / f"after{at}", lost, seed=at)
        root = quick_path / f"after{at}" / "vault"
        try:
            rows = Store(root).snapshot().rows("chunks")
        except VaultNotFound:
            assert done == []
        else:
            assert rows == 1 if "added" in done else rows in (0, 1)
        goes_on(root, make(root, Quick()))


def make(root: Path, files: Files) -> Memory:
    Store.create(root, clock=FixedClock(MOMENT), files=files)
    return opened(root, files)


@pytest.mark.parametrize("lost", [1.0, 0.0, 0.5])
def test_a_power_cut_whatever_reaches_the_disk_first(base: Path, quick_path: Path, lost: float) -> None:
    """What a commit flushes at once is flushed in any order: names before the bytes, and CURRENT's bytes before all."""

    class Backwards(PowerCutFiles):
        def in_order(self, items: Any) -> Any:
            return reversed(items)

    old = contents_at(base)
    steps, new = steps_of(base, quick_path / "whole", OPERATIONS["update"])
    for at in range(1, len(steps) + 2):
        top = quick_path / f"at{at}"
        top.mkdir()
        copy(base, top / "vault")
        files = Backwards(top, at)
        try:
            OPERATIONS["update"](opened(top / "vault", files))
            returned = True
        except Crash:
            returned = False
        files.cut(quick_path / f"after{at}", lost, seed=at)
        got = contents_at(quick_path / f"after{at}" / "vault")
        assert got in ((new,) if returned else (old, new)), f"step {at}"
        goes_on(quick_path / f"after{at}" / "vault", opened(quick_path / f"after{at}" / "vault"))


def test_an_interrupt_just_after_the_swap_takes_nothing_back(base: Path, quick_path: Path) -> None:
    class Interrupted(Quick):
        def replace(self, source: Any, target: Any) -> None:
            super().replace(source, target)
            raise KeyboardInterrupt

    _, new = steps_of(base, quick_path / "whole", OPERATIONS["add"])
    root = copy(base, quick_path / "vault")
    memory = opened(root, Interrupted())
    with pytest.raises(KeyboardInterrupt):
        OPERATIONS["add"](memory)
    assert contents_at(root) == new
    goes_on(root, opened(root))


@pytest.mark.parametrize("what", ["segment", "manifest"])
def test_a_name_that_an_interrupted_commit_left_is_taken_over_whole(base: Path, quick_path: Path, what: str) -> None:
    """Nothing is written into a file that is there already: who knows who reads it."""
    whole = quick_path / "whole"
    _, new = steps_of(base, whole, OPERATIONS["add"])
    log = Store(whole).snapshot().segments("chunks")[-1].path
    left = log if what == "segment" else whole / "manifests" / Store(whole).snapshot().name
    root = copy(base, quick_path / "vault")
    memory = opened(root)
    adding.add(memory, "of an hour ago", {"id": "sweeps"})  # after this nothing is swept
    shutil.rmtree(root)
    copy(base, root)
    torn = root / left.relative_to(whole)
    torn.write_bytes(b"torn")
    with torn.open("rb") as seen:
        OPERATIONS["add"](memory)
        assert seen.read() == b"torn"
    assert contents_at(root) == new
    goes_on(root, memory)


def test_the_power_cut_notices_a_missing_flush(base: Path, quick_path: Path) -> None:
    """The harness itself: without one of the flushes it finds a loss."""

    class Careless(PowerCutFiles):
        def flush_folder(self, path: Path) -> None:
            if path.name != "manifests":
                super().flush_folder(path)

    copy(base, quick_path / "top" / "vault")
    files = Careless(quick_path / "top")
    OPERATIONS["add"](opened(quick_path / "top" / "vault", files))
    files.cut(quick_path / "after", lost=1.0)
    assert not verify(quick_path / "after" / "vault").ok


WRITERS = {
    "forward lists": "lamina_engine.index.textbuilder.write_terms",
    "forward lists at hand": "lamina_engine.index.indexer.write_terms",
    "keys": "lamina_engine.index.keys.KeyIndex.save",
    "words": "lamina_engine.index.textbuilder.write_part",
    "inverted lists": "lamina_engine.index.textbuilder.write_lists",
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("what", WRITERS)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("something else")])
def test_an_index_that_cannot_be_written_costs_no_write(
    base: Path,
    quick_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    what: str,
    error: Exception,
) -> None:
    root = copy(base, quick_path / "vault")
    memory = opened(root)
    if (
        what == "forward lists at hand"
    ):  # those of rows that a recall has analysed: the call that merges them writes them
        view = memory.view()
        for segment in view.snapshot.segments("chunks"):
            view.tables.terms(view.snapshot, segment)

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device") if what == "keys" else ValueError("something else")

    with monkeypatch.context() as patch:
        patch.setattr(WRITERS[what], fails)
        assert adding.add(memory, "one more note", {"id": "more"}) == ["more"]
    assert "behind, the next write" in caplog.text
    assert find_row(opened(root).view(), "more") == 7
    assert find_row(memory.view(), "more") == 7
    goes_on(root, memory)
    [folder] = (root / "index").glob("lexical-*")
    assert (open_index(folder).rows, Store(root).snapshot().manifest.indexes["keys"]["rows"]) == (8, 8)
