""""""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.chunks import lifecycle
from lamina_engine.graph import entity
from lamina_engine.graph.entity import entities_of
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill


def test_golden_weight() -> None:
    assert entity.weight(entity.idf(1000, 5), 2) == pytest.approx(0.964, abs=5e-4)
    assert entity.idf(1000, 49) == pytest.approx(2.997, abs=5e-4)
    assert entity.weight(9.0, 9) == 1.0


@pytest.mark.parametrize(("documents", "linked"), [(59, False), (60, True)])
def test_below_sixty_documents_there_is_no_link(documents: int, linked: bool) -> None:
    named = {f"d{i:02}": frozenset({"rare"} if i < 2 else ()) for i in range(documents)}
    got = entity.shared(named, dict.fromkeys(named, 0))
    assert [draft[:3] for draft in got] == ([("d00", "d01", "entity")] if linked else [])


def test_df_of_49_in_1000_makes_no_link() -> None:
    named = {f"d{i:03}": frozenset({"common"} if i < 49 else ()) for i in range(1000)}
    assert entity.shared(named, dict.fromkeys(named, 0)) == []


def test_the_rarest_and_how_many_are_shared() -> None:
    named = {f"d{i:03}": frozenset[str]() for i in range(1000)}
    named |= {f"d{i:03}": frozenset({"five", "common"}) for i in range(5)}
    named |= {f"d{i:03}": frozenset({"common"}) for i in range(5, 60)}
    first = entity.shared(named, dict.fromkeys(named, 0))[0]
    assert first.weight == pytest.approx(0.964, abs=5e-4)
    assert first.note == "five (2 shared)"


def test_at_most_twenty_others_each_newer_ones_first() -> None:
    named = {f"d{i:03}": frozenset({"rare"} if i < 30 else ()) for i in range(1000)}
    got = {draft[:2] for draft in entity.shared(named, {name: int(name[1:]) for name in named})}
    assert ("d000", "d010") in got
    assert ("d000", "d009") not in got
    assert ("d010", "d029") in got


def test_in_a_vault(memory: Memory) -> None:
    texts = ["About PostgreSQL here."] * 2 + ["nothing to name"] * 70
    fill(memory, [f"d{i:02}" for i in range(72)], texts=texts)
    assert entity.build(memory) == LinkCounts(added=1)
    (link,) = claims_of(memory.view(), "entity")
    assert (link.source, link.target, link.note) == ("d00", "d01", "postgresql")
    assert link.weight == pytest.approx(0.3 + 0.12 * math.log(73 / 3))
    assert entity.build(memory) == LinkCounts(unchanged=1)
    lifecycle.invalidate(memory, "d01", "no")
    assert entity.build(memory) == LinkCounts(withdrawn=1)


def test_chunks_of_one_file_name_things_together(memory: Memory) -> None:
    n = 70
    texts = ["x"] * n
    texts[1], texts[5] = "the `parse_all` function", "calls parse_all twice"
    sources = ["f", "f", *[None] * (n - 2)]
    ordinals = [0, 1, *[-1] * (n - 2)]
    fill(memory, [f"d{i:02}" for i in range(n)], texts=texts, sources=sources, ordinals=ordinals)
    entity.build(memory)
    assert set(claimed(memory, "entity")) == {("d00", "d05", "entity")}


def test_a_document_more_moves_no_weight_of_a_large_vault(memory: Memory) -> None:
    texts = [f"About PostgreSQL and {'Keystone' if i < 3 else 'the rest'}." for i in range(6)] + ["nothing"] * 200
    fill(memory, [f"d{i:03}" for i in range(206)], texts=texts)
    first = entity.build(memory)
    assert first.added
    fill(memory, ["new"], texts=["nothing to name"])
    assert entity.build(memory) == LinkCounts(unchanged=first.added)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", set()),
        ("We moved to PostgreSQL and then asked Ada Lovelace.", {"postgresql", "ada lovelace"}),
        ("Yesterday it rained. Then nothing.", set()),
        ("see [[Meeting Notes|the notes]] and [[a#b]]", {"meeting notes"}),
        ("call `store.open()` or `run_all`; not `rm -rf x`", {"store.open", "run_all"}),
        ("the parseLine and snake_case names", {"parseline", "snake_case"}),
        ("we love Ada’s work", {"ada"}),
        ("会议记录 plus `名前`", set()),
    ],
)
def test_what_is_named(text: str, ref: set[str]) -> None:
    assert entities_of(text) >= ref
    if not ref:
        assert entities_of(text) == set()


def test_tags_count() -> None:
    assert entities_of("x", ["Project/Alpha", "7", "a"]) == {"project/alpha"}


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    assert all(2 <= len(name) <= 80 and name == " ".join(name.split()) for name in entities_of(text))
