from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lamina_engine.store import journals


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return journals.journal_path(tmp_path, "context", "s")


def test_lines_are_read_as_they_were_appended(path: Path) -> None:
    assert list(journals.read(path)) == []
    journals.append(path, {"ids": ["a"], "n": 1})
    journals.append(path, {"ids": [], "n": 2})
    assert [record["n"] for record in journals.read(path)] == [1, 2]


def test_torn_and_foreign_lines_are_passed_over(path: Path) -> None:
    journals.append(path, {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2\n[3]\n\xff\n"x"\n{"n": 4}\n')
    assert [record["n"] for record in journals.read(path)] == [1, 4]


@pytest.mark.parametrize("keys", [("a/b", "ab"), ("../x", "x"), ("", "unknown"), ("A", "a")])
def test_no_two_keys_share_a_file_and_none_leaves_the_folder(tmp_path: Path, keys: tuple[str, str]) -> None:
    first, second = (journals.journal_path(tmp_path, "context", key) for key in keys)
    assert first != second
    assert first.parent == second.parent == tmp_path / "journal" / "context"


def test_erasing_takes_ids_out_and_leaves_the_rest(path: Path, tmp_path: Path) -> None:
    journals.append(path, {"ids": ["a", "b"], "n": 1})
    journals.append(path, {"ids": ["c"], "n": 2})
    other = journals.journal_path(tmp_path, "context", "t")
    journals.append(other, {"ids": ["c"], "n": 3})
    before = other.read_bytes()
    assert journals.erase(tmp_path, ["a", "x"]) == 1
    assert list(journals.read(path)) == [{"ids": ["b"], "n": 1}, {"ids": ["c"], "n": 2}]
    assert other.read_bytes() == before
    assert b'"a"' not in path.read_bytes()
    assert journals.erase(tmp_path, ["a"]) == 0


def test_erasing_drops_a_line_that_cannot_be_read(path: Path, tmp_path: Path) -> None:
    journals.append(path, {"ids": ["a"], "n": 1})
    with path.open("ab") as file:
        file.write(b'{"ids": ["secret"')
    assert journals.erase(tmp_path, ["secret"]) == 1
    assert b"secret" not in path.read_bytes()


def test_there_may_be_no_journals(tmp_path: Path) -> None:
    assert journals.erase(tmp_path, ["a"]) == 0


def test_lines_of_several_writers_are_all_there(path: Path) -> None:
    def write(writer: int) -> None:
        for line in range(50):
            journals.append(path, {"ids": ["x" * 200], "writer": writer, "line": line})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = {(record["writer"], record["line"]) for record in journals.read(path)}
    assert got == {(writer, line) for writer in range(4) for line in range(50)}
