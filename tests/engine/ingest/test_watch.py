"""What the operating system tells of folders and files: real changes, a real watcher."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina import EmbedderMismatch, EmbeddingError, IngestError, InvalidArgument, MissingExtra, Vault, VaultLocked
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.ingest.watch import follow, watch_roots
from lamina_engine.reports import IngestReport
from tests.notes import write

pytest.importorskip("watchfiles")
PATIENCE_S = 10.0


@pytest.fixture
def start() -> Iterator[Callable[..., Iterator[Collection[str]]]]:
    stop = threading.Event()
    yield lambda *roots, **options: watch_roots(
        [str(root) for root in roots], settled_s=0.02, look_s=0.05, stop=stop, **options
    )
    stop.set()


def told(found: Iterator[Collection[str]], *, within_s: float = PATIENCE_S) -> set[str]:
    """Return the first that is told."""
    limit = time.monotonic() + within_s
    for changed in found:
        if changed or time.monotonic() > limit:
            return set(changed)
    raise AssertionError("it ended")


def quiet(found: Iterator[Collection[str]], looks: int = 4) -> bool:
    return all(not next(found) for _ in range(looks))


def test_all_roots_are_told_at_first_and_then_what_changes(start: Any, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    found = start(one, two)
    assert told(found) == {str(one), str(two)}
    assert quiet(found)
    (two / "deep").mkdir()
    (two / "deep" / "x.md").write_text("x")
    assert told(found) == {str(two)}


def test_a_folder_that_is_made_anew_is_watched_again(start: Any, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    found = start(folder)
    told(found)
    folder.rename(tmp_path / "gone")
    assert told(found) == {str(folder)}
    assert quiet(found)
    folder.mkdir()
    assert told(found) == {str(folder)}
    while told(found, within_s=0.3):
        pass
    (folder / "a.md").write_text("a")
    assert told(found) == {str(folder)}


def test_a_file_that_an_editor_replaces_stays_watched(start: Any, tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_text("1")
    found = start(path)
    told(found)
    for text in ("22", "333"):
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").replace(path)
        assert told(found) == {str(path)}
        while told(found, within_s=0.3):
            pass
    with path.open("a") as file:
        file.write("4444")
    assert told(found) == {str(path)}


def test_a_root_that_is_not_there_yet_is_told_when_it_comes(start: Any, tmp_path: Path) -> None:
    found = start(tmp_path / "later")
    assert told(found) == {str(tmp_path / "later")}
    assert quiet(found)
    (tmp_path / "later").mkdir()
    assert told(found) == {str(tmp_path / "later")}


def test_the_vault_itself_and_what_no_walk_finds_is_not_told(start: Any, tmp_path: Path) -> None:
    folder = tmp_path / ".hidden" / "notes"  # parts above the root say nothing
    for name in ("vault", ".git", "node_modules"):
        (folder / name).mkdir(parents=True)
    found = start(folder, apart=folder / "vault")
    told(found)
    for name in ("vault/CURRENT", ".git/HEAD", "node_modules/x.js", ".x.md.swp"):
        (folder / name).write_text("x")
    assert quiet(found)
    (folder / "x.md").write_text("x")
    assert told(found) == {str(folder)}


def test_a_link_is_followed(start: Any, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = start(tmp_path / "link")
    told(found)
    (tmp_path / "real" / "x.md").write_text("x")
    assert told(found) == {str(tmp_path / "link")}


def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    stop = threading.Event()
    found = watch_roots([str(tmp_path)], look_s=0.05, stop=stop)
    next(found)
    stop.set()
    assert not any(found)


def test_without_watchfiles_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("lamina_engine.ingest.watch.importlib.import_module", absent)
    with pytest.raises(MissingExtra, match=r"pip install .*\[watch\]"):
        watch_roots([str(tmp_path)])


def test_a_refusal_of_the_system_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def watch(*paths: str, **options: Any) -> None:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr("lamina_engine.ingest.watch.importlib.import_module", lambda name: Refusing)
    with pytest.raises(IngestError, match="max_user_watches"):
        next(watch_roots([str(tmp_path)]))


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

    monkeypatch.setattr("lamina_engine.ingest.watch.ingest", failing)

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

    monkeypatch.setattr("lamina_engine.ingest.watch.ingest", failing)
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
