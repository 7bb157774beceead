"""Processes beside this one: the same answers in the same order, whatever becomes of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lamina import FixedClock
from lamina_engine import subprocesses
from lamina_engine.errors import VaultCorrupt
from lamina_engine.executor import Executor, InlineExecutor
from lamina_engine.memory import Memory
from lamina_engine.redact.redactor import Redactor
from lamina_engine.reports import IngestReport
from lamina_engine.sessions import parallel as opening
from lamina_engine.sessions import write as writing
from lamina_engine.sessions.events import Event
from lamina_engine.sessions.ingest import ingest_sessions
from lamina_engine.sessions.notes import SessionNotes
from lamina_engine.sessions.parallel import FileReader, ReadTask
from lamina_engine.sessions.reading import SessionOptions
from lamina_engine.subprocesses import SubprocessExecutor
from tests.conftest import NOW
from tests.engine.sessions.transcripts import SMALL, says, user, write


@pytest.mark.parametrize("remote", [False, True])
def test_a_defect_of_a_reader_costs_one_file(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: bool
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("a", "b"):
        write(folder / f"{name}.jsonl", [user(0, f"what is {name}?"), says(1, "a letter")])
    add = SessionNotes.add

    def fail(notes: SessionNotes, event: Event) -> None:
        if "what is a?" in event.text:
            raise ZeroDivisionError("by nothing")
        add(notes, event)

    monkeypatch.setattr(SessionNotes, "add", fail)
    report = IngestReport()
    ingest_sessions(memory, folder, report, {}, options=SMALL, executor=InlineExecutor() if remote else None)
    assert (report.added, [each.code for each in report.problems]) == (1, ["unreadable"])
    assert "ZeroDivisionError: by nothing" in report.problems[0].message


TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
ANSWER = {"type": "text", "text": "so it is\n\n```\ncode\n```\n" + "because " * 20}
EXECUTORS: dict[str, Callable[[], Executor | None]] = {
    "as it comes": lambda: None,
    "whole": InlineExecutor,
    "one process": lambda: SubprocessExecutor(1),
    "two processes": lambda: SubprocessExecutor(2),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sessions of all sorts, and what is none."""
    found = tmp_path / "files"
    for name in ("one", "two", "three", "four"):
        said = f"{name} of them " + "word " * 20
        talk = [line for i in range(0, 1080, 90) for line in
                (user(i, f"{i} {said}", sessionId=name), says(i + 1, [ANSWER], sessionId=name))]  # fmt: skip
        write(found / "p" / f"{name}.jsonl", talk)
    write(found / "secret.jsonl", [user(0, f"use {TOKEN} please", cwd="/home/me/shop", slug=TOKEN), says(1, [])])
    write(found / "broken.jsonl", [user(0, "one " * 90), '{"type": "user", "mess', user(9, "two")])
    write(found / "s1" / "subagents" / "agent-a1.jsonl", [user(0, "do it", agentId="a1")])
    write(found / "copy.jsonl", ['{"type":"summary","summary":"all of it","leafUuid":"x"}', user(0, "moving on")])
    write(found / "none.jsonl", ['{"text": "a record"}'])
    (found / "talk.log").write_text("User: why is it slow?\nAssistant: the cache is cold\n", encoding="utf-8")
    (found / "notes.md").write_text("# no session\n", encoding="utf-8")
    first = min(found.rglob("p/*.jsonl"))
    shutil.copy(first, found / "again.jsonl")
    for number, path in enumerate(sorted(path for path in found.rglob("*") if path.is_file())):
        os.utime(path, (1_700_000_000 + number // 2, 1_700_000_000 + number // 2))
    return found


def vault(place: Path, redactor: Redactor | None = None) -> Memory:
    return Memory(place, create=True, clock=FixedClock(NOW), embedder="none", redactor=redactor)


def told(
    place: Path, folder: Path, executor: Executor | None, redactor: Redactor | None = None
) -> tuple[IngestReport, dict[str, bytes]]:
    """What is reported, and the bytes of logs and indexes, after two runs with a change between them."""
    memory, report = vault(place, redactor), IngestReport()
    try:
        ingest_sessions(memory, folder, report, {}, options=SMALL, executor=executor)
        path = folder / "broken.jsonl"
        before, dates = path.read_bytes(), path.stat()
        with path.open("ab") as file:
            file.write(before)
        os.utime(path, (1_700_001_000, 1_700_001_000))
        ingest_sessions(memory, folder, report, {}, options=SMALL, executor=executor)
        path.write_bytes(before)
        os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    finally:
        memory.close()
    kept = [path for path in place.rglob("*") if path.suffix in (".arrow", ".terms", ".keys", ".links", ".nodes")]
    return report, {path.relative_to(place).as_posix(): path.read_bytes() for path in kept}


@pytest.mark.parametrize("policy", ["mask", "skip"])
def test_a_vault_is_the_same_wherever_its_sessions_were_read(
    tmp_path: Path, folder: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "RUN_BYTES", 6_000)
    monkeypatch.setattr(writing, "GROUP_CHUNKS", 100)
    redactor = Redactor("skip" if policy == "skip" else "mask")
    ref = told(tmp_path / "ref", folder, None, redactor)
    assert ref[0].added > 6
    assert ref[0].skipped + len(ref[0].problems) > 2
    assert bool(ref[0].redactions) == (policy == "mask")
    for name in EXECUTORS if policy == "mask" else ("one process",):
        got = told(tmp_path / name, folder, EXECUTORS[name](), redactor)
        assert got == ref, name


def test_long_files_are_read_here(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PARALLEL_BYTES", 4_000)
    ref, got = (
        told(tmp_path / name, folder, executor) for name, executor in (("ref", None), ("got", SubprocessExecutor(1)))
    )
    assert got == ref


def test_many_bytes_are_read_beside_this_process_unasked(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Watched(SubprocessExecutor):
        def __init__(self, workers: int) -> None:
            asked.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(subprocesses, "SubprocessExecutor", Watched)
    monkeypatch.setattr(subprocesses, "count_workers", lambda: 1)
    ref = told(tmp_path / "ref", folder, None)
    assert not asked
    monkeypatch.setattr(opening, "PARALLEL_BYTES", 20_000)
    assert told(tmp_path / "got", folder, None) == ref
    assert asked == [1]
    monkeypatch.setattr(subprocesses, "count_workers", lambda: 0)
    assert told(tmp_path / "again", folder, None) == ref
    assert asked == [1]


def test_a_file_that_is_gone_when_its_turn_comes_is_told_so(tmp_path: Path) -> None:
    reader = FileReader(Redactor(), SessionOptions(), "UTC")
    assert reader([ReadTask(str(tmp_path / "gone.jsonl"), "gone.jsonl", "jsonl", 9)]) == ["No such file or directory"]


@pytest.mark.parametrize("executor", [None, InlineExecutor()], ids=["as it comes", "whole"])
def test_a_file_that_cannot_be_read_stops_nothing(
    tmp_path: Path, folder: Path, executor: Executor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = Path.open

    def opened(path: Path, *options: object, **more: object) -> object:
        if path.name == "secret.jsonl":
            raise PermissionError(13, "Permission denied")
        return unreadable(path, *options, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", opened)
    report = told(tmp_path / "v", folder, executor)[0]
    problem = next(p for p in report.problems if p.source == "secret.jsonl")
    assert (problem.code, "cannot be read (Permission denied)" in problem.message) == ("unreadable", True)
    assert report.added > 6


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = vault(tmp_path / "v")
    yield opened
    opened.close()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), VaultCorrupt("bytes are wrong")])
def test_what_is_wrong_with_the_vault_is_not_said_of_a_file(
    memory: Memory, folder: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, times = writing.SessionWriter._commit, iter([None, error])

    def failing(self: writing.SessionWriter, batch: object, *_: object) -> None:
        wrong = next(times, None)
        if wrong is not None:
            raise wrong
        commit(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "GROUP_CHUNKS", 16)
    monkeypatch.setattr(writing.SessionWriter, "_commit", failing)
    with pytest.raises(type(error), match=str(error.args[-1])):
        ingest_sessions(memory, folder, IngestReport(), {}, options=SMALL)
    monkeypatch.undo()
    report = IngestReport()
    ingest_sessions(memory, folder, report, {}, options=SMALL)
    assert report.added > 6  # nothing was noted as read whose chunks were lost
    assert np.count_nonzero(memory.view().state.active()) == memory.view().rows
