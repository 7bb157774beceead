"""The text index by itself: what stands in it, what it finds, and that damage and hostile files are noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tantivy import Query, Schema

import lamina
from lamina import FixedClock
from lamina_engine.index import textindex
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.terms import surface_texts
from lamina_engine.index.textbuilder import plan_parts
from lamina_engine.index.textindex import (
    FACET,
    TITLE,
    WORDS,
    Documents,
    PartRecord,
    TextIndex,
    TextIndexDamaged,
    open_index,
    read_parts,
    write_part,
    write_parts,
)
from tests.conftest import NOW
from tests.engine.index.building import build_at_once
from tests.engine.recall.corpus import QUERIES, records, same_part

TEXTS = ("alpha beta beta", "alpha", "Running fooBar alpha", "", "数据库 naïve v1.2.3", "beta " * 60)


def documents(texts: Sequence[str], facets: Sequence[Sequence[str]] | None = None) -> Documents:
    empty = [""] * len(texts)
    return Documents(
        empty,
        surface_texts(texts, analyzer=Analyzer()),
        facets if facets is not None else [()] * len(texts),
        [None] * len(texts),
    )


def build(folder: Path, texts: Sequence[str] = TEXTS, size: int = 3, **options: Any) -> TextIndex:
    """Build an index of parts of ``size`` rows."""
    folder.mkdir(exist_ok=True)
    parts = []
    for start in range(0, len(texts), size):
        stop = min(start + size, len(texts))
        batch = documents(texts[start:stop], **options)
        parts.append(write_part(folder, start, stop, 0, iter([batch]), building=folder / "building-000000000000"))
    write_parts(folder, parts)
    return open_index(folder)


@pytest.fixture
def index(tmp_path: Path) -> TextIndex:
    return build(tmp_path / "text")


def holding(field: str, term: str) -> Any:
    return lambda schema: Query.term_query(schema, field, term, "basic" if field == FACET else "position")


def test_rows_are_found_by_their_words_in_any_part(index: TextIndex) -> None:
    assert index.rows == len(TEXTS)
    assert index.rows_of(holding(WORDS, "alpha"), 9).tolist() == [0, 1, 2]
    assert index.rows_of(holding(WORDS, "beta"), 9).tolist() == [0, 5]
    assert index.rows_of(holding(WORDS, "beta"), 5).tolist() == [0]
    assert index.rows_of(holding(WORDS, "running"), 9).tolist() == [2]
    assert index.rows_of(holding(WORDS, "foobar"), 9).tolist() == [2]
    assert index.rows_of(holding(WORDS, "据库"), 9).tolist() == [4]
    assert index.rows_of(holding(WORDS, "1.2.3"), 9).tolist() == [4]
    assert index.rows_of(holding(TITLE, "alpha"), 9).tolist() == []

    def phrase(schema: Schema) -> Query:
        return Query.phrase_query(schema, WORDS, ["alpha", "beta"])

    assert index.rows_of(phrase, 9).tolist() == [0]


def test_frequencies_are_counted_below_a_row(index: TextIndex) -> None:
    words = ("alpha", "beta", "none")
    assert index.frequencies(WORDS, words, 9) == {"alpha": 3, "beta": 2}
    assert index.frequencies(WORDS, words, 2) == {"alpha": 2, "beta": 1}
    assert index.frequencies(WORDS, words, 0) == {}


def test_facets_are_exact(tmp_path: Path) -> None:
    facets = [("project=my api", "type=note"), ("project=my api",), ("project=my",), ()]
    index = build(tmp_path / "text", ["alpha alpha", "alpha beta", "alpha", "alpha"], 4, facets=facets)
    assert index.rows_of(holding(FACET, "project=my api"), 9).tolist() == [0, 1]
    assert index.rows_of(holding(FACET, "project=my"), 9).tolist() == [2]
    assert index.rows_of(holding(FACET, "project=m"), 9).tolist() == []
    assert index.frequencies(FACET, ["project=my api"], 1) == {"project=my api": 1}


def test_parts_are_merged_so_that_each_is_larger_than_all_that_follow() -> None:
    def record(start: int, stop: int) -> PartRecord:
        return PartRecord(start, stop, 0, {})

    parts: list[PartRecord] = []
    for rows in range(0, 4_000, 7):
        spans = plan_parts(parts, rows, 16)
        if spans:
            parts = [part for part in parts if part.stop <= spans[0][0]] + [record(*span) for span in spans]
        assert (parts[-1].stop if parts else 0) == rows // 16 * 16
        sizes = [part.stop - part.start for part in parts]
        assert all(size > sum(sizes[i + 1 :]) for i, size in enumerate(sizes))
    assert plan_parts([], 100_000, 2_048) == [(0, 98_304)]
    million = plan_parts([], 1_000_000, 2_048)
    assert [*million[0], len(million), million[-1][1]] == [0, 249_856, 4, 999_424]
    assert plan_parts([record(*span) for span in million], 1_002_000, 2_048) == [(999_424, 1_001_472)]


def test_what_utf_8_cannot_hold_is_replaced() -> None:
    assert textindex.encodable("plain \u00e9") == "plain \u00e9"
    assert textindex.encodable("a\ud800") == "a?"


# ---------------------------------------------------------------- damage


def test_an_index_opened_through_links_leaves_its_folder_alone(
    index: TextIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a copy: the thread with which Tantivy begins each open index may still lock the folder that was just built
    path = Path(shutil.copytree(index.path, tmp_path / "copy", ignore=shutil.ignore_patterns(".*.lock")))
    before = sorted(file.name for file in path.rglob("*"))
    linked = open_index(path, linked=True, verify=True)
    assert linked.rows_of(holding(WORDS, "alpha"), 9).tolist() == [0, 1, 2]
    monkeypatch.setattr("os.access", lambda *_: False)
    assert open_index(path).rows == len(TEXTS)
    assert sorted(file.name for file in path.rglob("*")) == before


def test_damage_is_noticed(index: TextIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_index(tmp_path / "none").rows == 0
    postings = max(index.path.glob("*/*.idx"), key=lambda path: path.stat().st_size)
    content = postings.read_bytes()
    postings.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])
    for verify in (True, False):
        with pytest.raises(TextIndexDamaged, match="checksum"):
            open_index(index.path, verify=verify)
    monkeypatch.setattr(textindex, "CHECKED_BYTES", 1)
    assert open_index(index.path).rows == len(TEXTS)  # too large to be read whole at once
    with pytest.raises(TextIndexDamaged, match="checksum"):
        textindex.check_files(index.path)
    postings.unlink()
    with pytest.raises(TextIndexDamaged, match="other files"):
        open_index(index.path)
    monkeypatch.setattr(textindex, "ANALYSIS_ID", "lamina-text@0")
    with pytest.raises(TextIndexDamaged, match="made by"):
        open_index(index.path)
    (index.path / textindex.PARTS).write_bytes(b"{")
    with pytest.raises(TextIndexDamaged, match="cannot be read"):
        open_index(index.path)


class PanicException(BaseException):
    """Of the name of what code in Rust raises where it panics; it is no `Exception` either."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds"), ValueError("an error occurred")])
def test_what_tantivy_raises_on_bytes_that_make_no_sense_is_damage(index: TextIndex, error: BaseException) -> None:
    class Broken:
        def search(self, *_: Any, **__: Any) -> None:
            raise error

        doc_freq = search

    index.parts[0].searcher = Broken()  # type: ignore[assignment]
    with pytest.raises(TextIndexDamaged, match="cannot be used"):
        index.rows_of(holding(WORDS, "alpha"), 9)
    with pytest.raises(TextIndexDamaged, match="cannot be used"):
        index.frequencies(WORDS, ["alpha"], 9)


def test_an_interrupt_stays_one(index: TextIndex) -> None:
    class Slow:
        def doc_freq(self, *_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

    index.parts[0].searcher = Slow()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        index.frequencies(WORDS, ["alpha"], 9)


def test_tantivys_lists_of_files_delete_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes a vault may name any file in Tantivy's own lists: nothing of it is ever acted on."""
    build_at_once(monkeypatch, 16)
    home = tmp_path / "home"
    home.mkdir()
    for name in (".bashrc", "thesis.tex"):
        (home / name).write_text("mine")
    root = tmp_path / "v"
    with lamina.open(root, create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add(records(40))
    [managed, *_] = root.glob("index/lexical-*/*/.managed.json")
    names = [
        *json.loads(managed.read_text()),
        os.path.relpath(home / "thesis.tex", managed.parent),
        str(home / ".bashrc"),
    ]
    managed.write_text(json.dumps(names))
    # the attacker mends the checksums, too
    parts = read_parts(managed.parent.parent)
    parts[0].files[".managed.json"] = textindex._measure(managed)
    write_parts(managed.parent.parent, parts)
    with lamina.open(root, clock=FixedClock(NOW), embedder="none") as vault:
        for start in range(0, 120, 30):
            vault.add(records(30, seed=start))
            vault.recall("Redis")
        assert vault.verify(deep=True).ok
    assert sorted(path.name for path in home.iterdir()) == [".bashrc", "thesis.tex"]


@pytest.mark.parametrize("what", ["file", "part"])
def test_links_in_an_index_are_damage(index: TextIndex, tmp_path: Path, what: str) -> None:
    path = next(index.path.glob("0*")) if what == "part" else next(index.path.glob("*/*.term"))
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TextIndexDamaged, match=r"real folder|regular file"):
        open_index(index.path)


def test_rows_of_another_history_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 16)
    for name, seed in (("a", 1), ("b", 2)):
        with lamina.open(tmp_path / name, create=True, clock=FixedClock(NOW), embedder="none") as vault:
            vault.add(records(5, seed=seed))
            vault.add(records(40, seed=seed))
    [mine], [theirs] = (list((tmp_path / name).glob("index/lexical-*")) for name in "ab")
    parts = read_parts(theirs)
    import msgspec

    for part in theirs.glob("0*"):
        shutil.rmtree(mine / part.name)
        shutil.copytree(part, mine / part.name)
    write_parts(mine, [msgspec.structs.replace(part, recorded_at=part.recorded_at + 1) for part in parts])
    with lamina.open(tmp_path / "a", clock=FixedClock(NOW), embedder="none") as vault:
        ref = [same_part(vault.recall(query).to_dict()) for query in QUERIES]
        assert vault._memory.tables.text(vault._memory.view().snapshot) is None
        assert vault._memory.tables.distrusted == {mine.name}
        vault.add("another note")
        assert not vault._memory.tables.distrusted
    assert read_parts(mine) != parts
    with lamina.open(tmp_path / "a", clock=FixedClock(NOW), embedder="none") as vault:
        vault.forget([vault.list(limit=1)[0].id], dry_run=False)
        assert [same_part(vault.recall(query).to_dict())["hits"] for query in QUERIES] == [each["hits"] for each in ref]


def test_a_process_killed_while_it_builds_leaves_an_index_that_the_next_writer_goes_on_with(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, threading\n"
        "import lamina\n"
        "from lamina_engine.index import textbuilder\n"
        "from tests.engine.recall.corpus import records\n"
        "textbuilder.BLOCK_ROWS, textbuilder._AT_ONCE = 16, 16\n"
        "real, calls = textbuilder._facets, []\n"
        "def kill(*args):\n"
        "    calls.append(1)\n"
        "    if len(calls) == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*args)\n"
        "textbuilder._facets = kill\n"
        "vault = lamina.open(sys.argv[1], create=True, embedder='none')\n"
        "for start in range(0, 200, 50):\n"
        "    vault.add(records(200)[start:start + 50])\n"
        "    print(start + 50, flush=True)\n"
        "    vault._memory.indexer.text.join()\n"
    )
    for calls in (1, 4, 9):
        root = tmp_path / str(calls)
        run = subprocess.run(
            [sys.executable, "-c", program, str(root), str(calls)], check=False, capture_output=True, text=True
        )
        assert run.returncode == -9, run.stderr
        acknowledged = int(["0", *run.stdout.split()][-1])  # the builder may be killed before the add returns
        with pytest.MonkeyPatch.context() as patch:
            build_at_once(patch, 16)
            with lamina.open(root, clock=FixedClock(NOW), embedder="none") as vault:
                committed = vault.stats()["chunks"]
                assert committed in (acknowledged, acknowledged + 50)  # it may die between a commit and the word of it
                ref = [same_part(vault.recall(query, now=NOW).to_dict())["hits"] for query in QUERIES]
                vault.pin(vault.list(limit=1)[0].id)
                text = vault._memory.tables.text(vault._memory.view().snapshot)
                assert text is not None
                assert text.rows == committed // 16 * 16
                assert [same_part(vault.recall(query, now=NOW).to_dict())["hits"] for query in QUERIES] == ref
                assert vault.verify(deep=True).ok
        [folder] = (root / "index").glob("lexical-*")
        assert not list(folder.glob("building-*"))
