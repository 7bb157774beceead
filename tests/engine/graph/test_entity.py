""""""

from __future__ import annotations

import math

import pytest

from lamina import Vault
from lamina_engine.chunks import lifecycle
from lamina_engine.graph import entity
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill


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


def test_documents_that_name_an_imported_entity(lexical_vault: Vault) -> None:
    memory = lexical_vault._memory
    lexical_vault.facts.add_entity("Keystone", type="project")
    lexical_vault.facts.alias("the broker", "Keystone")
    texts = ["About Keystone here.", "Calls Keystone twice, and I've done it with the rest."]
    texts += ["nothing to name, and I've done it with the rest"] * 70
    fill(memory, [f"d{i:02}" for i in range(72)], texts=[f"{text} {i}" for i, text in enumerate(texts)])
    assert entity.build(memory) == LinkCounts(added=1)
    (link,) = claims_of(memory.view(), "entity")
    assert (link.source, link.target, link.note) == ("d00", "d01", "Keystone")
    assert link.weight == pytest.approx(0.3 + 0.12 * math.log(73 / 3))
    assert entity.build(memory) == LinkCounts(unchanged=1)
    lifecycle.invalidate(memory, "d01", "no")
    assert entity.build(memory) == LinkCounts(withdrawn=1)


def test_words_alone_are_no_entities(memory: Memory) -> None:
    # findings, stranger 6: I've, with, true, users
    text = "I've used PostgreSQL with `true` and users. I'll see. README and users, user_name."
    fill(memory, [f"d{i:02}" for i in range(72)], texts=[f"{text if i < 4 else 'else'} {i}" for i in range(72)])
    assert entity.build(memory) == LinkCounts()


def test_a_document_more_moves_no_weight_of_a_large_vault(lexical_vault: Vault) -> None:
    memory = lexical_vault._memory
    lexical_vault.facts.add_entity("Keystone", type="project")
    texts = [f"About Keystone, number {i}." for i in range(3)] + [f"nothing {i}" for i in range(203)]
    fill(memory, [f"d{i:03}" for i in range(206)], texts=texts)
    first = entity.build(memory)
    assert first.added == 3
    fill(memory, ["new"], texts=["nothing to name"])
    assert entity.build(memory) == LinkCounts(unchanged=first.added)
