"""What a forgotten chunk said goes with it, to the last byte; what it ended stands again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lamina_engine.care.forgetting import forget
from lamina_engine.care.verify import verify
from lamina_engine.facts.entities import add_alias
from lamina_engine.facts.log import write
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import fact_view_at
from lamina_engine.ingest.adding import add
from lamina_engine.memory import Memory


def chunks(memory: Memory, *texts: str) -> list[str]:
    return [*add(memory, [{"text": text} for text in texts], {})]


def bytes_of(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def said(memory: Memory, name: str) -> set[tuple[str, str]]:
    kg = fact_view_at(memory)
    entity = kg.resolve(name).entity
    return set() if entity is None else {(f.key, f.value) for f in kg.about(entity.row, valid_at=memory.clock.now_us())}


def test_facts_go_with_the_chunk_that_says_them_and_no_byte_is_left(memory: Memory) -> None:
    first, second = chunks(memory, "Wanda keeps bees.", "The port is open.")
    write(memory, [
        Draft("Wandaquist", "keeps_zebras_named", "Zebulonius", source=first, category="menagerie"),
        Draft("Wandaquist", "uses", "Hexaforge", source=first),
        Draft("Harbour", "port", "4100", source=second),
        Draft("Harbour", "uses", "Hexaforge", source=second),
    ])  # fmt: skip
    add_alias(memory, "Wandyquix", "Wandaquist")
    report = forget(memory, ids=[first], dry_run=False)
    assert report.facts == 2
    left = bytes_of(memory.root).lower()
    for word in (b"wandaquist", b"zebulonius", b"keeps_zebras_named", b"menagerie", b"wandyquix", first.encode()):
        assert word not in left
    assert said(memory, "Wandaquist") == set()
    assert said(memory, "Harbour") == {
        ("port", "4100"),
        ("uses", "Hexaforge"),
    }  # named by the first, said by the second
    assert fact_view_at(memory).entities == 2
    assert verify(memory, deep=True).ok


def test_what_a_forgotten_fact_had_ended_stands_again(memory: Memory) -> None:
    first, second = chunks(memory, "one", "two")
    write(memory, [Draft("Keystone", "port", "3055", source=first)])
    write(memory, [Draft("Keystone", "port", "4100", source=second)])
    assert said(memory, "Keystone") == {("port", "4100")}
    forget(memory, ids=[second], dry_run=False)
    assert said(memory, "Keystone") == {("port", "3055")}


def test_a_dry_run_counts_and_changes_nothing(memory: Memory) -> None:
    (first,) = chunks(memory, "one")
    write(memory, [Draft("Keystone", "port", "3055", source=first)])
    assert forget(memory, ids=[first]).facts == 1
    assert said(memory, "Keystone") == {("port", "3055")}


def test_rows_keep_their_numbers_and_new_facts_follow(memory: Memory) -> None:
    first, second = chunks(memory, "one", "two")
    write(memory, [Draft("A", "phone", "1", source=first), Draft("B", "phone", "2", source=second)])
    forget(memory, ids=[first], dry_run=False)
    written = write(memory, [Draft("A", "phone", "3")])
    assert written.rows == [2]
    assert written.entities == 1
    kg = fact_view_at(memory)
    assert kg.is_current(np.arange(3), None).tolist() == [False, True, True]
    assert [fact.object for fact in kg.find()] == ["2", "3"]


def test_what_an_unspecific_entity_became_stays_when_that_is_forgotten(memory: Memory) -> None:
    first, second = chunks(memory, "one", "two")
    write(memory, [Draft("Ann", "owns", "Keystone", source=second)])
    write(memory, [Draft("Keystone", "port", "1", subject_type="project", source=first)])
    forget(memory, ids=[first], dry_run=False)
    kg = fact_view_at(memory)
    entity = kg.resolve("Keystone").entity
    assert entity is not None
    assert said(memory, "Keystone") == {("owned_by", "Ann")}
