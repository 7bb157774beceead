from __future__ import annotations

import re
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.facts import search
from lamina_engine.facts.book import book_at, book_of
from lamina_engine.facts.log import Draft, amend_confidence, retract, write
from lamina_engine.memory import Memory


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
    found = search.of(view).find(view.snapshot, book_at(memory), text, limit=limit, valid_at=None, relations=relations)
    return [f"{fact.subject} {fact.object}" for fact in found]


def say(memory: Memory, start: int, stop: int) -> list[int]:
    drafts = [Draft(f"Thing{i}", "holds", f"box {NATO[i]} {'red' if i % 2 else 'blue'}") for i in range(start, stop)]
    return write(memory, drafts).rows


def files(memory: Memory) -> list[str]:
    record = memory.view().snapshot.manifest.indexes.get(search.INDEX, {})
    return [str(name) for field, name in record.items() if field.startswith("words")]


def covered(memory: Memory) -> int:
    return int(memory.view().snapshot.manifest.indexes.get(search.INDEX, {}).get("rows", 0))


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
    found = search.of(view).find(view.snapshot, book_of(view), "boxes", limit=20, valid_at=None, relations=False)
    assert [fact.row for fact in found] == [5, 4, 3, 2, 1, 0]


@pytest.mark.usefixtures("small_blocks")
def test_what_is_surer_goes_first_also_where_it_became_so(memory: Memory) -> None:
    rows = say(memory, 0, 10)
    amend_confidence(memory, dict.fromkeys(rows, 0.5))
    amend_confidence(memory, {rows[2]: 0.9})
    write(memory, [Draft("Zeta", "holds", "box nine", confidence=0.6)])
    assert find(memory, "box", limit=3) == ["Thing2 box charlie blue", "Zeta box nine", "Thing9 box juliett red"]


def test_what_former_versions_kept_is_let_go(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, 0, 3)
    folder = memory.tables.folder / "lexical-facts-1"
    folder.mkdir()
    with memory.store.transaction() as transaction:
        transaction.set_index(search.FORMER, {"folder": folder.name, "analysis": "lamina-text@1", "rows": 3})
    assert find(memory, "alfa") == ["Thing0 box alfa blue"]
    monkeypatch.setattr(search, "BLOCK_ROWS", 2)
    say(memory, 3, 4)
    assert len(files(memory)) == 1
    assert search.FORMER not in memory.view().snapshot.manifest.indexes
    assert not folder.exists()


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
