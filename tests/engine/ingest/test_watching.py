"""What the operating system tells of folders and files: real changes, a real watcher."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina import IngestError, MissingExtra
from lamina_engine.ingest.watching import watched

pytest.importorskip("watchfiles")
PATIENCE_S = 10.0


@pytest.fixture
def start() -> Iterator[Callable[..., Iterator[Collection[str]]]]:
    stop = threading.Event()
    yield lambda *roots, **options: watched(
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
    found = watched([str(tmp_path)], look_s=0.05, stop=stop)
    next(found)
    stop.set()
    assert not any(found)


def test_without_watchfiles_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("lamina_engine.ingest.watching.importlib.import_module", absent)
    with pytest.raises(MissingExtra, match=r"pip install 'lamina\[watch\]'"):
        watched([str(tmp_path)])


def test_a_refusal_of_the_system_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def watch(*paths: str, **options: Any) -> None:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr("lamina_engine.ingest.watching.importlib.import_module", lambda name: Refusing)
    with pytest.raises(IngestError, match="max_user_watches"):
        next(watched([str(tmp_path)]))
