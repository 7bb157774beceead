from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.index import lexical
from lamina_engine.index.lexical import LexicalDamaged, LexicalIndex


def fill(index: LexicalIndex, stems: Sequence[str], *, threads: int | None = None) -> None:
    index.append(stems, [()] * len(stems), [None] * len(stems), threads=threads)


def found(index: LexicalIndex, *args: Any, **options: Any) -> list[int]:
    rows = index.search(*args, **options)
    assert rows is not None
    return [int(row) for row in rows]


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    return LexicalIndex.create(tmp_path / "lexical")


def tie_heavy(n: int) -> list[str]:
    """Documents of few words and few lengths: most scores are shared by many of them."""
    chance = random.Random(5)
    return [" ".join(chance.choices("abcdefgh", k=chance.choice((3, 4, 6)))) for _ in range(n)]


def test_an_empty_index_finds_nothing(index: LexicalIndex) -> None:
    assert index.rows == 0
    assert found(index, ["a"], 10) == []
    assert index.doc_freq("a") == 0
    fill(index, [])
    assert index.rows == 0
    assert LexicalIndex.open(index.path, verify=True).rows == 0


def test_rows_are_found_best_first(index: LexicalIndex) -> None:
    fill(index, ["a b", "b c c", "c", "", "a a a"])
    assert index.rows == 5
    assert found(index, ["a"], 10) == [4, 0]
    assert found(index, ["a", "none"], 1) == [4]
    assert set(found(index, ["c", "b", "b"], 10)) == {0, 1, 2}
    assert found(index, [], 10) == []
    assert found(index, ["a"], 0) == []
    assert [index.doc_freq(stem) for stem in "abcd"] == [2, 2, 2, 0]


def test_terms_of_any_script_and_length_are_whole(index: LexicalIndex) -> None:
    fill(index, ["数据 据库", "1.2.3 foo", "x" * 64, "हिन्दी"])
    assert found(index, ["据库"], 5) == [0]
    assert found(index, ["1.2.3"], 5) == [1]
    assert found(index, ["x" * 64], 5) == [2]
    assert found(index, ["हिन्दी"], 5) == [3]


def test_filters_are_exact_and_do_not_move_the_ranking(index: LexicalIndex) -> None:
    facets = [("project=my api", "type=note"), ("project=my api",), ("project=my",), ()]
    index.append(["a a", "a b", "a", "a"], facets, [10, 20, 30, None])
    assert found(index, ["a"], 9, ["project=my api"]) == [0, 1]
    assert found(index, ["a"], 9, ["project=my api", "type=note"]) == [0]
    assert found(index, ["a"], 9, ["project=m"]) == []
    assert set(found(index, ["a"], 9, created_s=(10, 30))) == {0, 1}
    assert found(index, ["a"], 9, ["project=my"], created_s=(30, 31)) == [2]
    ref = found(index, ["a"], 9)
    got = found(index, ["a"], 9, created_s=(-(10**9), 10**9))
    assert got == [row for row in ref if row != 3]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[LexicalIndex]:
    """The same rows by one thread, by two, and in many commits."""
    docs, folder = tie_heavy(1500), tmp_path_factory.mktemp("builds")
    one, two, many = (LexicalIndex.create(folder / name) for name in ("one", "two", "many"))
    fill(one, docs, threads=1)
    fill(two, docs, threads=2)
    for start in range(0, len(docs), 150):
        fill(many, docs[start : start + 150])
    return [one, two, many]


@pytest.mark.parametrize("limit", [1, 5, 60, 200])
def test_what_is_found_does_not_depend_on_commits_and_threads(builds: list[LexicalIndex], limit: int) -> None:
    chance = random.Random(limit)
    for _ in range(25):
        query = chance.sample("abcdefgh", chance.randint(1, 5))
        ref, *others = [found(build, query, limit) for build in builds]
        assert len(ref) >= limit
        assert all(got == ref for got in others)


def test_a_tie_at_the_cut_is_taken_whole(index: LexicalIndex) -> None:
    fill(index, ["a a b"] * 3 + ["a b c"] * 300 + ["b"])
    got = found(index, ["a"], 10)
    assert set(got[:3]) == {0, 1, 2}
    assert got[3:] == list(range(302, 2, -1))
    assert found(index, ["a"], 3) == [2, 1, 0]


def test_a_tie_beyond_all_measure_is_left_to_others(index: LexicalIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "TIE_ROWS", 70)
    fill(index, ["a a"] + ["a b"] * 300)
    assert index.search(["a"], 2) is None
    assert found(index, ["a"], 1) == [0]
    fill(index, ["c"] * 72)
    assert len(found(index, ["c"], 2)) == 72
    fill(index, ["c"])
    assert index.search(["c"], 2) is None


def test_a_failed_append_adds_nothing(index: LexicalIndex) -> None:
    fill(index, ["a"])
    with pytest.raises(InvalidArgument, match="row 2"):
        index.append(["b", "b"], [()], [None, None])
    assert index.rows == 1
    fill(index, ["c"])
    assert found(index, ["b"], 5) == []
    assert found(index, ["c"], 5) == [1]


def test_a_reader_sees_a_commit_after_reload(index: LexicalIndex) -> None:
    fill(index, ["a"])
    reader, linked = LexicalIndex.open(index.path), LexicalIndex.open(index.path, linked=True)
    fill(index, ["a"])
    for each in (reader, linked):
        assert found(each, ["a"], 5) == [0]
        each.reload()
        assert found(each, ["a"], 5) == [1, 0]


def test_an_index_opened_through_links_leaves_its_folder_alone(index: LexicalIndex) -> None:
    fill(index, ["a", "b"])
    for lock in index.path.glob(".*.lock"):
        lock.unlink()
    before = sorted(path.name for path in index.path.iterdir())
    linked = LexicalIndex.open(index.path, linked=True, verify=True)
    assert found(linked, ["b"], 5) == [1]
    with pytest.raises(LexicalDamaged, match="reading only"):
        fill(linked, ["c"])
    assert sorted(path.name for path in index.path.iterdir()) == before


def test_a_folder_that_cannot_be_written_is_opened_through_links(
    index: LexicalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(index, ["a"])
    monkeypatch.setattr("os.access", lambda *_: False)
    assert found(LexicalIndex.open(index.path), ["a"], 5) == [0]


def test_create_refuses_a_folder_in_use(index: LexicalIndex) -> None:
    with pytest.raises(LexicalDamaged, match="not empty"):
        LexicalIndex.create(index.path)


def test_damage_is_noticed(index: LexicalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(index, ["a b c"] * 50)
    with pytest.raises(LexicalDamaged):
        LexicalIndex.open(tmp_path / "none")
    postings = max(index.path.glob("*.idx"), key=lambda path: path.stat().st_size)
    whole = postings.read_bytes()
    postings.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    with pytest.raises(LexicalDamaged, match="checksum"):
        LexicalIndex.open(index.path, verify=True)
    postings.unlink()
    with pytest.raises(LexicalDamaged, match="cannot be read"):
        LexicalIndex.open(index.path)
    monkeypatch.setattr(lexical, "ANALYSIS_ID", "lamina-text@2")
    with pytest.raises(LexicalDamaged, match="made by"):
        LexicalIndex.open(index.path)


@pytest.mark.parametrize("whole", [True, False])
def test_a_flip_is_noticed_at_once_where_files_are_small(
    index: LexicalIndex, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    fill(index, ["a b c"] * 50)
    fast = max(index.path.glob("*.fast"), key=lambda path: path.stat().st_size)
    content = bytearray(fast.read_bytes())
    content[0] ^= 1
    fast.write_bytes(content)
    monkeypatch.setattr(lexical, "CHECKED_BYTES", 1 << 20 if whole else 1)
    if whole:
        with pytest.raises(LexicalDamaged, match="checksum"):
            LexicalIndex.open(index.path)
    else:
        assert LexicalIndex.open(index.path).rows == 50


class PanicException(BaseException):
    """Of the name of what code in Rust raises where it panics; it is no `Exception` either."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds"), ValueError("an error occurred")])
def test_what_tantivy_raises_on_bytes_that_make_no_sense_is_damage(index: LexicalIndex, error: BaseException) -> None:
    class Broken:
        num_docs = 3

        def search(self, *_: Any, **__: Any) -> None:
            raise error

        doc_freq = search

    fill(index, ["a"] * 3)
    index._searcher = Broken()  # type: ignore[assignment]
    with pytest.raises(LexicalDamaged, match="cannot be read"):
        index.search(["a"], 1)
    with pytest.raises(LexicalDamaged, match="cannot be read"):
        index.doc_freq("a")


def test_an_interrupt_stays_one(index: LexicalIndex) -> None:
    class Slow:
        num_docs = 3

        def search(self, *_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

    fill(index, ["a"] * 3)
    index._searcher = Slow()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        index.search(["a"], 1)


def test_a_process_killed_while_it_appends_leaves_the_last_commit(index: LexicalIndex) -> None:
    fill(index, ["a"] * 10)
    program = (
        "import os, signal, sys; from pathlib import Path; from lamina_engine.index.lexical import LexicalIndex\n"
        "index = LexicalIndex.open(Path(sys.argv[1]))\n"
        "def facets():\n"
        "    for i in range(5000):\n"
        "        if i == 4900: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        yield ()\n"
        "index.append(['a b c'] * 5000, facets(), [None] * 5000)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(index.path)], check=False)
    assert killed.returncode == -9
    again = LexicalIndex.open(index.path, verify=True)
    assert again.rows == 10
    fill(again, ["b"])
    assert found(again, ["b"], 5) == [10]


def test_bulk_goes_through_two_threads(index: LexicalIndex) -> None:
    fill(index, [f"w{i} all" for i in range(5000)])
    assert index.rows == 5000
    assert found(index, ["w4321"], 5) == [4321]
    assert index.doc_freq("all") == 5000
    assert sorted(found(index, ["all"], 4000)) == [*range(5000)]
