"""Rows by word: made, joined, saved, and damaged."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.facts import search
from lamina_engine.facts.log import amend_confidence, close, retract, write
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.search import (
    Postings,
    PostingsDamaged,
    build_postings,
    merge_postings,
    open_postings,
    pack_entries,
    save_postings,
    word_key,
)
from lamina_engine.facts.view import fact_view, fact_view_at
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.memory import Memory

Entries = list[tuple[int, int, bool]]
"""Hash, row, whether the row is a relation."""
entries = st.lists(
    st.tuples(st.sampled_from([0, 1, 7, 2**31, 2**32 - 1]), st.integers(0, 99)), unique=True, max_size=60
).map(lambda found: [(hash, row, row % 3 == 0) for hash, row in found])


def lists_of(found: Entries, start: int = 0, stop: int = 100) -> Postings:
    hashes, rows, kinds = (np.array([entry[at] for entry in found]) for at in range(3))
    return build_postings(
        start, stop, pack_entries(hashes.astype(np.uint32), rows.astype(np.int64), kinds.astype(np.bool_))
    )


def as_dict(words: Postings) -> dict[int, list[int]]:
    return {key: words.of(key).tolist() for key in words.keys.tolist()}


def reference(found: Entries) -> dict[int, list[int]]:
    lists: dict[int, list[int]] = {}
    for hash, row, relation in sorted(found):
        lists.setdefault(2 * hash + relation, []).append(row)
    return lists


@given(found=entries)
def test_each_word_has_its_rows(found: Entries) -> None:
    words = lists_of(found)
    assert as_dict(words) == reference(found)
    for hash in (0, 5, 2**32 - 1):
        for relation in (False, True):
            key = word_key(hash, relation=relation)
            assert words.of(key).tolist() == reference(found).get(key, [])


@given(found=entries, at=st.integers(0, 100))
def test_joined_stretches_are_the_whole(found: Entries, at: int) -> None:
    parts = [
        lists_of([entry for entry in found if entry[1] < at], 0, at),
        lists_of([entry for entry in found if entry[1] >= at], at, 100),
    ]
    got, ref = merge_postings(parts), lists_of(found)
    assert got[:2] == ref[:2]
    for a, b in ((got.keys, ref.keys), (got.starts, ref.starts), (got.rows, ref.rows)):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("found", [[], [(7, 3, True)], [(7, 3, True), (2**32 - 1, 2**31 - 1, False)]])
def test_saved_and_read(found: Entries, tmp_path: Path) -> None:
    ref = lists_of(found, 0, 2**31)
    save_postings(tmp_path / "some.words", ref)
    got = open_postings(tmp_path / "some.words")
    assert got[:2] == ref[:2]
    assert as_dict(got) == as_dict(ref) == reference(found)


def test_damage_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.words"
    save_postings(path, lists_of([(7, 3, True), (9, 4, False)]))
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", whole[:20]):
        path.write_bytes(damaged)
        with pytest.raises(PostingsDamaged):
            open_postings(path)
    path.write_bytes(whole)
    monkeypatch.setattr(search, "ANALYSIS_ID", "lamina-text@0")
    with pytest.raises(PostingsDamaged, match="other rules"):
        open_postings(path)


def test_lists_that_do_not_fit_their_header(tmp_path: Path) -> None:
    path, words = tmp_path / "some.words", lists_of([(7, 3, True), (9, 4, False)])
    save_postings(path, words._replace(starts=np.array([0, 2, 1], np.int64)))
    with pytest.raises(PostingsDamaged, match="out of order"):
        open_postings(path)
    save_postings(path, words._replace(starts=words.starts[:-1]))
    with pytest.raises(PostingsDamaged, match="header says"):
        open_postings(path)


SAID = ("running ports", "東京 tower", "C++ and C#", "1,234.5", "naïve café", "x_y_z", "!!!", "  tabs\tand\nlines ")


def words_by_row(memory: Memory) -> dict[int, set[str]]:
    """The stems of each fact, analysed one by one."""
    kg, analyzer = fact_view_at(memory), Analyzer()
    return {
        row: {term.stem for term in analyzer.tokens(" ".join(said).replace("_", " "))}
        for row, *said in kg.texts(0, kg.fact_rows)
    }


@pytest.mark.parametrize("rows", [1, 2, 70])
@pytest.mark.parametrize("at_once", [3, 2_047])
def test_rows_by_their_stems(memory: Memory, rows: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_SMALL_BLOCK", at_once)
    write(
        memory, [Draft(f"Ann {at % 9}", "notes_on", f"{at} {SAID[at % len(SAID)]}") for at in range(rows)], index=False
    )
    close(memory, "Ann 0", "notes_on")
    kg = fact_view_at(memory)
    words = build_postings(0, kg.fact_rows, search.analyze_facts(Analyzer(), kg, 0, kg.fact_rows))
    ref = words_by_row(memory)
    assert len(ref) == rows < kg.fact_rows
    for stem in set().union(*ref.values()):
        got = words.of(word_key(term_hash(stem), relation=False)).tolist()
        assert got == [row for row, stems in ref.items() if stem in stems], stem


def test_many_rows_have_the_words_of_few(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [Draft(f"Ann {at % 9}", "notes_on", f"{at} {SAID[at % len(SAID)]}") for at in range(70)]
    write(memory, [*drafts, Draft("Ann 1", "uses", "Vim", kind="entity")], index=False)
    kg = fact_view_at(memory)
    ref = search.analyze_facts(Analyzer(), kg, 0, kg.fact_rows)
    monkeypatch.setattr(search, "_BULK_ROWS", 1)
    got = search.analyze_facts(Analyzer(), kg, 0, kg.fact_rows)
    assert sorted(got.tolist()) == sorted(ref.tolist())
    relations = build_postings(0, kg.fact_rows, got).of(word_key(term_hash("vim"), relation=True))
    assert relations.tolist() == [kg.fact_rows - 1]


def test_words_of_nothing(memory: Memory) -> None:
    assert search.analyze_facts(Analyzer(), fact_view_at(memory), 0, 0).tolist() == []
    write(memory, [Draft("Ann", "uses", "Vim")], index=False)
    assert fact_view_at(memory).texts(2, 1) == fact_view_at(memory).texts(1, 9) == []
    assert search.analyze_facts(Analyzer(), fact_view_at(memory), 1, 9).tolist() == []


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK_ROWS", 4)


NATO = re.findall(
    r"\w+",
    "alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra "
    "tango uniform",
)


def find(memory: Memory, text: str, *, relations: bool = False, limit: int = 10) -> list[str]:
    view = memory.view()
    found = search.fact_text_index(view).find(
        view.snapshot, fact_view_at(memory), text, limit=limit, valid_at=None, relations=relations
    )
    return [f"{fact.subject} {fact.object}" for fact in found]


def say(memory: Memory, start: int, stop: int) -> list[int]:
    drafts = [Draft(f"Thing{i}", "holds", f"box {NATO[i]} {'red' if i % 2 else 'blue'}") for i in range(start, stop)]
    return write(memory, drafts).rows


def files(memory: Memory) -> list[str]:
    record = memory.view().snapshot.manifest.indexes.get(search.WORDS_INDEX, {})
    return [str(name) for field, name in record.items() if field.startswith("words")]


def covered(memory: Memory) -> int:
    return int(memory.view().snapshot.manifest.indexes.get(search.WORDS_INDEX, {}).get("rows", 0))


def test_few_facts_are_scanned(memory: Memory) -> None:
    say(memory, 0, 3)
    assert find(memory, "a charlie box") == ["Thing2 box charlie blue", "Thing1 box bravo red", "Thing0 box alfa blue"]
    assert covered(memory) == 0
    assert find(memory, "the of and") == []
    assert find(memory, "") == []


@pytest.mark.usefixtures("small_blocks")
def test_blocks_go_to_files_and_the_answers_stay(memory: Memory, tmp_path: Path, clock: FixedClock) -> None:
    for start in range(0, 21, 3):
        say(memory, start, start + 3)
    assert covered(memory) == 20
    other = Memory(tmp_path / "other", create=True, clock=clock, embedder="none")
    monkey = search.BLOCK_ROWS
    search.BLOCK_ROWS = 1_000  # type: ignore[misc]
    say(other, 0, 21)
    search.BLOCK_ROWS = monkey  # type: ignore[misc]
    assert covered(other) == 0
    for text in ("red boxes", "hotel", "Thing20", "blue delta box", "things"):
        assert find(memory, text) == find(other, text), text
    other.close()


@pytest.mark.usefixtures("small_blocks")
def test_after_a_reopening(memory: Memory) -> None:
    say(memory, 0, 9)
    again = Memory(memory.root, mode="r", embedder="none")
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    assert find(again, "india") == ["Thing8 box india blue"]
    again.close()


@pytest.mark.usefixtures("small_blocks")
def test_a_missing_index_costs_time_and_no_fact(memory: Memory) -> None:
    say(memory, 0, 9)
    for name in files(memory):
        (memory.tables.folder / name).unlink()
    again = Memory(memory.root, embedder="none")
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    say(again, 9, 13)
    assert covered(again) == 12
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    again.close()


@pytest.mark.usefixtures("small_blocks")
def test_a_damaged_file_costs_time_and_no_fact(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    for start in range(0, 12, 4):
        say(memory, start, start + 4)
    *_, last = files(memory)
    content = (memory.tables.folder / last).read_bytes()
    (memory.tables.folder / last).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    again = Memory(memory.root, embedder="none")
    assert find(again, "lima") == ["Thing11 box lima red"]
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    assert "taken from the log" in caplog.text
    say(again, 12, 16)
    other = Memory(memory.root, mode="r", embedder="none")
    caplog.clear()
    assert find(other, "lima") == ["Thing11 box lima red"]
    assert not caplog.text
    other.close()
    again.close()


@pytest.mark.usefixtures("small_blocks")
def test_many_writes_leave_few_files(memory: Memory) -> None:
    for start in range(0, 20, 2):
        say(memory, start, start + 2)
        found = files(memory)
        assert len(found) <= 2
        assert {path.name for path in memory.tables.folder.glob("facts-*.words")} == set(found)
    assert covered(memory) == 20


@pytest.mark.usefixtures("small_blocks")
def test_an_older_version_sees_its_own_rows(memory: Memory) -> None:
    say(memory, 0, 6)
    view = memory.view()
    say(memory, 6, 14)
    assert find(memory, "golf") == ["Thing6 box golf blue"]
    found = search.fact_text_index(view).find(
        view.snapshot, fact_view(view), "boxes", limit=20, valid_at=None, relations=False
    )
    assert [fact.row for fact in found] == [5, 4, 3, 2, 1, 0]


@pytest.mark.usefixtures("small_blocks")
def test_what_is_surer_goes_first_also_where_it_became_so(memory: Memory) -> None:
    rows = say(memory, 0, 10)
    amend_confidence(memory, dict.fromkeys(rows, 0.5))
    amend_confidence(memory, {rows[2]: 0.9})
    write(memory, [Draft("Zeta", "holds", "box nine", confidence=0.6)])
    assert find(memory, "box", limit=3) == ["Thing2 box charlie blue", "Zeta box nine", "Thing9 box juliett red"]


@pytest.mark.usefixtures("small_blocks")
def test_what_was_taken_back_is_not_found_in_either_part(memory: Memory) -> None:
    rows = say(memory, 0, 6)
    assert len(rows) == 6
    retract(memory, [rows[1], rows[5]])
    assert find(memory, "bravo") == []
    assert find(memory, "foxtrot") == []
    assert find(memory, "echo") == ["Thing4 box echo blue"]


def test_facts_and_relations_apart(memory: Memory) -> None:
    write(memory, [Draft("Dana", "owns", "Keystone", kind="entity"), Draft("Dana", "notes", "Keystone is fast")])
    assert find(memory, "keystone") == ["Dana Keystone is fast"]
    assert find(memory, "keystone", relations=True) == ["Dana Keystone"]


@pytest.mark.usefixtures("small_blocks")
def test_as_many_rows_in_the_index_as_facts_after_every_change(memory: Memory) -> None:
    for start in range(0, 12, 4):
        rows = say(memory, start, start + 4)
        retract(memory, rows[:1])
        assert covered(memory) <= memory.view().snapshot.rows("facts")
    say(memory, 12, 13)
    assert covered(memory) == memory.view().snapshot.rows("facts") // 4 * 4
