"""Ingest that goes on, with a scripted source of changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina import EmbedderMismatch, EmbeddingError, IngestError, InvalidArgument, Vault, VaultLocked
from lamina_engine.ingest.following import follow
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.ingest.report import IngestReport
from tests.notes import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    write(made, "a.md", "# A\n\nThe first note.\n")
    return made


class Script:
    """Does one thing after the other, and tells the roots that changed by it."""

    def __init__(self, *steps: tuple[Callable[[], Any] | None, Collection[str]]) -> None:
        self.steps = steps

    def __iter__(self) -> Iterator[Collection[str]]:
        for do, changed in self.steps:
            if do is not None:
                do()
            yield changed


def run(
    vault: Vault, paths: list[str], *steps: tuple[Callable[[], Any] | None, Collection[str]], **options: Any
) -> Any:
    return list(follow(vault._memory, paths, changes=Script(*steps), **options))


def brief(report: IngestReport) -> tuple[int, int, int, list[str]]:
    return report.added, report.updated, report.removed, [problem.code for problem in report.problems]


def test_what_changes_is_read_and_what_does_not_is_no_news(lexical_vault: Vault, folder: Path) -> None:
    root = str(folder)
    got = run(
        lexical_vault,
        [root],
        (None, {root}),
        (lambda: write(folder, "b.md", "# B\n\nThe second.\n"), {root}),
        (None, {root}),
        (None, ()),
        (lambda: write(folder, "a.md", "# A\n\nOf another kind.\n"), {root}),
        (lambda: (folder / "b.md").unlink(), {root}),
    )
    assert [brief(report) for report in got] == [(1, 0, 0, []), (1, 0, 0, []), (0, 1, 0, []), (0, 0, 1, [])]
    assert [chunk.text for chunk in lexical_vault.list()] == ["# A\n\nOf another kind.\n"]


def test_a_folder_without_change_is_not_gone_through(lexical_vault: Vault, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, "o.md", "Other.")
    roots = [str(folder), str(other)]

    def both() -> None:
        write(folder, "b.md", "# B\n\nThe second.\n")
        write(other, "p.md", "Another.")

    got = run(lexical_vault, roots, (None, roots), (both, {str(other)}))
    assert [brief(report) for report in got] == [(1, 0, 0, []), (1, 0, 0, []), (1, 0, 0, [])]
    assert {chunk.source for chunk in lexical_vault.list()} == {"a.md", "o.md", "p.md"}


def test_a_folder_that_goes_and_comes_back_loses_nothing(lexical_vault: Vault, folder: Path) -> None:
    root, aside = str(folder), folder.with_name("aside")
    got = run(
        lexical_vault,
        [root],
        (None, {root}),
        (lambda: folder.rename(aside), {root}),
        *[(None, ())] * 5,
        (lambda: (aside.rename(folder), write(folder, "b.md", "Back.")), {root}),
    )
    assert [brief(report) for report in got] == [(1, 0, 0, []), (0, 0, 0, ["unreadable"]), (1, 0, 0, [])]
    assert {chunk.source for chunk in lexical_vault.list()} == {"a.md", "b.md"}


def test_one_bad_file_is_told_once_and_stops_nothing(lexical_vault: Vault, folder: Path) -> None:
    root = str(folder)
    got = run(
        lexical_vault,
        [root],
        (None, {root}),
        (lambda: (write(folder, "bad.md", b"\x00\x01\x02" * 50), write(folder, "b.md", "Good.")), {root}),
        (lambda: write(folder, "c.md", "Good too."), {root}),
        (lambda: write(folder, "bad.md", "Mended."), {root}),
    )
    assert [brief(report) for report in got] == [(1, 0, 0, []), (1, 0, 0, ["binary"]), (1, 0, 0, []), (0, 1, 0, [])]


@pytest.mark.parametrize(
    ("error", "code"), [(VaultLocked, "locked"), (EmbeddingError, "model"), (IngestError, "unreadable")]
)
def test_what_may_pass_is_tried_again_more_and_more_seldom(
    error: type[Exception], code: str, lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, looks, tries = str(folder), 0, list[int]()

    def failing(*args: Any, **options: Any) -> IngestReport:
        tries.append(looks)
        if 0 < looks < 14:
            raise error("not now")
        return ingest(*args, **options)

    def look() -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr("lamina_engine.ingest.following.ingest", failing)

    def change() -> None:
        write(folder, "b.md", "New.")
        look()

    got = run(lexical_vault, [root], (None, {root}), (change, {root}), *[(look, ())] * 20)
    assert [brief(report) for report in got] == [(1, 0, 0, []), (0, 0, 0, [code]), (1, 0, 0, [])]
    assert tries == [0, 1, 3, 7, 15]


def test_what_cannot_pass_ends_it(lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(folder)
    calls = 0

    def failing(*args: Any, **options: Any) -> IngestReport:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise EmbedderMismatch("another model")
        return ingest(*args, **options)

    monkeypatch.setattr("lamina_engine.ingest.following.ingest", failing)
    with pytest.raises(EmbedderMismatch):
        run(lexical_vault, [root], (None, {root}), (None, {root}))


def test_the_first_pass_fails_as_an_ingest_does(lexical_vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="does not exist"):
        run(lexical_vault, [str(tmp_path / "nothing")], (None, ()))
    with pytest.raises(InvalidArgument, match="kind"):
        run(lexical_vault, [str(tmp_path)], (None, ()), kind="nothing")


@pytest.mark.parametrize("paths", [[], ["-"], ["notes", "-"]])
def test_standard_input_is_refused_at_once(paths: list[str], lexical_vault: Vault) -> None:
    with pytest.raises(InvalidArgument, match="standard input"):
        follow(lexical_vault._memory, paths)


@pytest.mark.parametrize("settled_s", [0.0, -1.0, 61.0, float("nan")])
def test_a_wait_out_of_range_is_refused(settled_s: float, lexical_vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="settled_s"):
        follow(lexical_vault._memory, [str(tmp_path)], settled_s=settled_s)


def test_files_of_other_systems_are_followed_too(lexical_vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"

    def issue(number: int, title: str) -> str:
        return json.dumps(
            {"id": f"x-{number}", "title": title, "status": "open", "created_at": f"2026-01-0{number}T00:00:00Z"}
        )

    path.write_text(issue(1, "First") + "\n")
    got = run(
        lexical_vault,
        [str(path)],
        (None, ()),
        (lambda: path.write_text(issue(1, "First, changed") + "\n" + issue(2, "Second") + "\n"), {str(path)}),
        (None, {str(path)}),
        kind="beads",
    )
    assert [brief(report) for report in got] == [(1, 0, 0, []), (1, 1, 0, [])]
