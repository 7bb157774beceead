"""Saved keys of names: opened, added to, and never trusted."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from lamina_engine.care.backup import backup
from lamina_engine.facts.book import book_at
from lamina_engine.facts.entities import Named, ensure
from lamina_engine.facts.grown import Grouped
from lamina_engine.facts.lexicon import INDEX, NamesDamaged, lexicon_of, open_names
from lamina_engine.facts.log import Draft, write
from lamina_engine.memory import Memory


@pytest.fixture
def many(memory: Memory) -> Memory:
    ensure(memory, [Named(f"Thing {at}", None, [f"T{at} of the north"] if at % 10 == 0 else ()) for at in range(4_100)])
    return memory


def test_names_are_saved_once_there_are_many_and_found_by_the_next_process(many: Memory) -> None:
    record = many.store.snapshot().manifest.indexes[INDEX]
    assert (record["rows"], record["aliases"]) == (4_100, 410)
    write(many, [Draft("Newcomer", "phone", "1")])
    assert many.store.snapshot().manifest.indexes[INDEX] == record  # one more is no reason
    other = Memory(many.root, mode="r", embedder="none")
    book = book_at(other)
    for name in ("thing 7", "Newcomer", "t10 of the NORTH"):
        assert book.resolve(name).entity is not None
    assert [mention.text for mention in book.scan("ask T20 of the north about Thing 4099")] == [
        "T20 of the north",
        "Thing 4099",
    ]
    snapshot = other.store.snapshot()
    mine, its = lexicon_of(many.tables, snapshot), lexicon_of(other.tables, snapshot)
    assert np.array_equal(mine.name_keys.values, its.name_keys.values)
    assert mine.longest == its.longest
    other.close()


def test_damage_is_noticed_and_costs_time_alone(many: Memory, caplog: pytest.LogCaptureFixture) -> None:
    path = many.tables.folder / str(many.store.snapshot().manifest.indexes[INDEX]["file"])
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(NamesDamaged):
        open_names(path)
    other = Memory(many.root, mode="r", embedder="none")
    with caplog.at_level(logging.WARNING):
        assert book_at(other).resolve("thing 7").entity is not None
    assert "made again" in caplog.text
    other.close()


def test_a_backup_makes_them_again(many: Memory) -> None:
    copy = many.root.with_name("copy")
    backup(many, copy)
    other = Memory(copy, mode="r", embedder="none")
    assert book_at(other).resolve("thing 7").entity is not None
    other.close()


@pytest.mark.parametrize("sizes", [(0,), (1, 2), (9_000, 3, 5), (3, 9_000, 9_000)])
def test_rows_by_number_are_those_of_a_scan(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    grouped, parts = Grouped(), []
    for size in sizes:
        parts.append(rng.integers(-1, 50, size))
        grouped.append(sum(map(len, parts[:-1])), parts[-1])
    numbers = np.concatenate(parts)
    for number in range(51):
        for below in (0, len(numbers) // 2, len(numbers)):
            ref = np.flatnonzero(numbers[:below] == number)
            assert np.array_equal(grouped.of(number, below), ref)
