from __future__ import annotations

import re
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.facts import search
from lamina_engine.facts.book import book_at
from lamina_engine.facts.log import Draft, retract, write
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


def covered(memory: Memory) -> int:
    return int(memory.view().snapshot.manifest.indexes.get(search.INDEX, {}).get("rows", 0))


def test_few_facts_are_scanned(memory: Memory) -> None:
    say(memory, 0, 3)
    assert find(memory, "a charlie box") == ["Thing2 box charlie blue", "Thing1 box bravo red", "Thing0 box alfa blue"]
    assert covered(memory) == 0
    assert find(memory, "the of and") == []
    assert find(memory, "") == []


@pytest.mark.usefixtures("small_blocks")
def test_blocks_go_to_tantivy_and_the_answers_stay(memory: Memory, tmp_path: Path, clock: FixedClock) -> None:
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
    import shutil

    shutil.rmtree(memory.tables.folder / memory.view().snapshot.manifest.indexes[search.INDEX]["folder"])
    again = Memory(memory.root, embedder="none")
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    say(again, 9, 13)
    assert covered(again) == 12
    assert find(again, "bravo") == ["Thing1 box bravo red"]
    again.close()


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
