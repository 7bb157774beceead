"""Ingest whose documents are read, cut and embedded elsewhere: the vault is the one made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pytest

import lamina
from lamina_engine.chunks.batch import version_of
from lamina_engine.embed.travelling import TravellingEmbedder
from lamina_engine.executor import ProcessExecutor
from lamina_engine.ingest import pipeline
from lamina_engine.ingest.drafting import Drafter, DraftTask, map_texts
from lamina_engine.ingest.drafts import SourceDraft
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.redact.redactor import Redactor
from lamina_engine.subprocesses import SubprocessExecutor
from lamina_kernels.layouts import F32
from tests.conftest import NOW

T = TypeVar("T")
R = TypeVar("R")


class Away:
    """An executor that works here, and says that it does not."""

    remote = True

    def __init__(self, stop_after: int = 1 << 30) -> None:
        self.given = 0
        self.stop_after = stop_after

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        for item in items:
            self.given += 1
            if self.given > self.stop_after:
                raise KeyboardInterrupt
            yield fn(item)


def corpus(folder: Path) -> Path:
    folder.mkdir()
    for i in range(40):
        (folder / f"note-{i:02}.md").write_text(
            f"---\ntags: [t{i % 3}]\n---\n# Note {i}\n\nOn the harbour {i}, see [[Note {(i + 1) % 40}]].\n\n## Part\n\n"
            + f"Crane {i} lifts. " * 60
        )
    (folder / "code.py").write_text('def crane(tons: int) -> str:\n    """Lift."""\n    return f"{tons}"\n' * 20)
    (folder / "rows.csv").write_text("text,project\nA row of a table,api\nAnother row,api\n")
    (folder / "secret.md").write_text("# Keys\n\nThe token is ghp_0123456789abcdefghijABCDEFGHIJ012345 here.\n")
    (folder / "empty.md").write_text("")
    (folder / "bad.html").write_bytes(b"\xff\xfe<html>" + b"\x00" * 50)
    return folder


def made(root: Path, folder: Path, executor: Any) -> tuple[dict[str, Any], list[Any], Any]:
    with lamina.open(root, create=True, clock=lamina.FixedClock(NOW)) as vault:
        report = ingest(vault._memory, [str(folder)], executor=executor).to_dict()
        del report["seconds"]
        view = vault._memory.view()
        vectors = view.vectors.gather(np.arange(view.vector_rows, dtype=np.int64))
        hits = [hit.to_dict() for query in ("crane 7", "harbour", "row of a table") for hit in vault.recall(query)]
        return report, [vault.content(), hits, [chunk.to_dict() for chunk in vault.list(limit=None)]], vectors


def test_the_vault_is_the_one_made_here(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "notes")
    here = made(tmp_path / "here", folder, None)
    away = made(tmp_path / "away", folder, Away())
    assert away[:2] == here[:2]
    assert here[0]["redactions"]
    np.testing.assert_array_equal(away[2], here[2])


def test_processes_of_their_own(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "notes")
    here, away = made(tmp_path / "here", folder, None), made(tmp_path / "away", folder, ProcessExecutor(2))
    assert away[:2] == here[:2]
    np.testing.assert_array_equal(away[2], here[2])


def test_many_bytes_are_read_beside_this_process_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = corpus(tmp_path / "notes")
    here = made(tmp_path / "here", folder, None)
    aside = Away()
    monkeypatch.setattr(pipeline, "spare_executor", lambda: aside)
    assert made(tmp_path / "few", folder, None)[:2] == here[:2]
    assert aside.given == 0
    monkeypatch.setattr(pipeline, "_MANY_BYTES", 1_000)
    many = made(tmp_path / "many", folder, None)
    assert many[:2] == here[:2]
    np.testing.assert_array_equal(many[2], here[2])
    assert aside.given > 0
    monkeypatch.setattr(pipeline, "spare_executor", lambda: SubprocessExecutor(1))
    assert made(tmp_path / "processes", folder, None)[:2] == here[:2]
    monkeypatch.setattr(pipeline, "spare_executor", lambda: None)  # one CPU
    monkeypatch.setattr(pipeline, "load_kernel", lambda: None)  # on a thread that would go on in later tests
    assert made(tmp_path / "alone", folder, None)[:2] == here[:2]


def test_a_worker_embeds_all_its_documents_at_once() -> None:
    asked: list[int] = []

    def embed(texts: Sequence[str]) -> F32:
        asked.append(len(texts))
        return np.array([[len(text)] for text in texts], np.float32)

    tasks = [DraftTask(f"{i}.md", None, f"# Note {i}\n\nOn the harbour {'x' * i}.\n".encode()) for i in range(9)]
    drafter = Drafter(Redactor(), "UTC", cast("TravellingEmbedder", embed))
    for (draft, vectors), task in zip(drafter(tasks), tasks, strict=True):
        assert isinstance(draft, SourceDraft)
        assert {name: row.tolist() for name, row in vectors.items()} == {
            version_of(text): [float(len(text))] for text in map_texts(draft)
        }, task
    assert asked == [9]
    assert drafter([]) == []
    assert asked == [9]


def test_workers_embed_and_this_process_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.memory import Memory

    embedded: list[int] = []
    embed = Memory.embed

    def count(memory: Memory, texts: Any, space: Any = None) -> Any:
        embedded.append(len(texts))
        return embed(memory, texts, space)

    monkeypatch.setattr(Memory, "embed", count)
    folder = corpus(tmp_path / "notes")
    (folder / "rows.csv").unlink()  # rows of tables are read here
    made(tmp_path / "away", folder, Away())
    assert sum(embedded) == 0


def test_an_interrupted_run_goes_on_and_does_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina_engine.ingest.drafting.TASK_BYTES", 2_000)
    monkeypatch.setattr("lamina_engine.ingest.documents.GROUP_CHUNKS", 8)
    folder = corpus(tmp_path / "notes")
    with lamina.open(tmp_path / "vault", create=True, clock=lamina.FixedClock(NOW)) as vault:
        with pytest.raises(KeyboardInterrupt):
            ingest(vault._memory, [str(folder)], executor=Away(10))
        kept = len({chunk.source for chunk in vault.list(limit=None)})
        assert kept
        again = Away()
        report = ingest(vault._memory, [str(folder)], executor=again)
        assert report.unchanged >= kept - 1
        assert report.added + report.unchanged + report.skipped == 45
    whole = made(tmp_path / "whole", folder, None)
    with lamina.open(tmp_path / "vault", mode="r", clock=lamina.FixedClock(NOW)) as vault:
        assert vault.content()["sources"] == whole[1][0]["sources"]
        assert vault.content()["status"] == whole[1][0]["status"]


def test_what_a_parser_raises_is_a_problem_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.ingest.drafts import read_source

    def fail(data: bytes, source: str, **options: Any) -> Any:
        if source == "note-03.md":
            raise ZeroDivisionError("of this file")
        return read_source(data, source, **options)

    monkeypatch.setattr("lamina_engine.ingest.drafting.read_source", fail)
    report = made(tmp_path / "away", corpus(tmp_path / "notes"), Away())[0]
    assert [(p["source"], p["code"]) for p in report["problems"] if p["code"] == "failed"] == [("note-03.md", "failed")]
    assert "(ZeroDivisionError: of this file)" in str(report["problems"])
