from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.log import write
from lamina_engine.facts.schema import Draft
from lamina_engine.memory import Memory
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.pipeline import recall
from lamina_engine.results import Hit
from tests.engine.graph.filling import fill

TEXTS = {
    "a": "Keystone is the port of call; Keystone, Keystone!",
    "b": "It listens on 3055 behind the proxy.",
    "c": "Port lists of all harbours, which port is where.",
    "d": "A recipe for soup.",
}
NOW_US = parse_instant("2026-01-01")
QUESTION = "What port does Keystone run on?"


@pytest.fixture(params=["none", "wordllama"])
def vault(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    memory = Memory(tmp_path / "vault", create=True, clock=clock, embedder=request.param)
    fill(memory, list(TEXTS), texts=list(TEXTS.values()), sources=[f"notes/{name}.md" for name in TEXTS])
    yield memory
    memory.close()


def ids(found: list[Hit]) -> list[str]:
    return [hit.id for hit in found]


def asked(memory: Memory, **options: Any) -> list[Hit]:
    return recall(memory, QUESTION, with_facts=True, **options).hits


@pytest.mark.parametrize("profile", ["default", "entity", "lexical", "temporal"])
def test_a_vault_without_facts_answers_as_before(vault: Memory, profile: str) -> None:
    found = asked(vault, profile=profile)
    assert not any(key.startswith(("fact_", "facts_")) for hit in found for key in hit.terms)


def test_what_a_vault_without_matching_facts_answers_is_the_same_to_the_bit(vault: Memory) -> None:
    before = recall(vault, QUESTION).hits
    write(vault, [Draft("Somebody", "phone", "1")])
    assert recall(vault, QUESTION).hits == before


@pytest.mark.parametrize("profile", ["entity", "default"])
def test_the_chunk_that_holds_the_answer_comes_first(vault: Memory, profile: str) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    found = asked(vault, profile=profile)
    assert "b" in ids(found)
    hit = next(hit for hit in found if hit.id == "b")
    assert (hit.terms["fact_score"], hit.terms["fact_method"]) == (95.0, "entity+intent")
    assert hit.terms["fact_says"] == ["Keystone", "port", "3055"]  # findings, seeds-a table 3 row 41
    if profile == "entity":
        assert ids(found)[0] == "b"


def test_an_answer_stays_before_everything_that_facts_do_not_hold(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="d"), Draft("Keystone", "note", "soup", source="c")])
    found = asked(vault, profile="entity")
    assert ids(found)[0] == "d"
    assert [hit.terms["fact_score"] for hit in found if "fact_score" in hit.terms] == [95.0, 70.0]


@pytest.mark.parametrize("profile", ["entity", "default"])
def test_terms_give_the_score_again(vault: Memory, profile: str) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="d"), Draft("Keystone", "note", "soup", source="b")])
    for hit in asked(vault, profile=profile):
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)


def test_only_what_was_asked_counts_in_the_default_profile(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "colour", "blue", source="d")])
    assert all("fact_score" not in hit.terms for hit in asked(vault, profile="default"))
    assert any(hit.terms.get("fact_score") == 70.0 for hit in asked(vault, profile="entity"))


@pytest.mark.parametrize("source", ["notes/b.md", "b.md", "B.MD"])
def test_a_file_as_source_leads_to_its_chunk(vault: Memory, source: str) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source=source)])
    assert ids(asked(vault, profile="entity"))[0] == "b"


def test_a_source_that_the_vault_does_not_hold_leads_to_no_chunk(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="elsewhere.md")])
    assert [hit.id for hit in asked(vault, profile="entity") if "fact_score" in hit.terms] == ["fact:0"]


def test_a_filter_holds_for_facts_too(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    assert "b" not in ids(asked(vault, profile="entity", where={"source": {"ne": "notes/b.md"}}))


def test_the_lane_alone_and_without(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    assert ids(asked(vault, profile="entity", lanes=("facts",))) == ["b"]
    assert all("fact_score" not in hit.terms for hit in asked(vault, profile="entity", lanes=("lexical",)))
    with pytest.raises(InvalidArgument, match="facts"):
        asked(vault, lanes=("words",))


def test_the_past_knows_later_facts_not(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    recorded = int(vault.view().snapshot.numbers("facts", "recorded_at", np.array([0]))[0])
    for moment, known in ((recorded - 1, False), (recorded, True)):
        found = asked(vault, profile="entity", as_of=format_instant(moment))
        assert any("fact_score" in hit.terms for hit in found) is known


def test_a_contradiction_is_shown_on_the_hit(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    write(vault, [Draft("Keystone", "port", "4100", source="c")])
    (hit,) = [hit for hit in asked(vault, profile="entity") if hit.id == "c"]
    assert hit.terms["fact_contradicted"] == ["3055"]


def test_which_profiles_look_at_facts() -> None:
    assert {p.name for p in BUILT_IN.values() if p.facts.weight} == {"default", "entity"}


def test_a_hit_that_no_words_find_says_by_which_fact_it_came(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="d")])
    (hit,) = asked(vault, profile="entity", lanes=("facts",))
    assert hit.via == "fact: Keystone -port-> 3055"


# ---------------------------------------------------------------------- facts that no chunk states


@pytest.mark.parametrize("profile", ["entity", "default"])
def test_a_fact_without_a_note_is_a_hit_by_itself(tmp_path: Path, clock: FixedClock, profile: str) -> None:
    # findings, seeds-a gap 7
    with closing(Memory(tmp_path / "vault", create=True, clock=clock)) as memory:
        write(memory, [Draft("Keystone", "runs_on", "port 3055", source="beacon.md", valid_from=NOW_US)])
        write(memory, [Draft("Keystone", "owner", "Ann")])
        (hit,) = asked(memory, profile=profile)
        assert (hit.id, hit.text, hit.source, hit.type) == ("fact:0", "Keystone runs on port 3055", "beacon.md", "fact")
        assert hit.via == "fact: Keystone -runs_on-> port 3055"
        assert (hit.metadata["fact"], hit.created_at_us) == (0, NOW_US)
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
        assert hit.terms["fact_asked"]
        assert asked(memory, profile=profile, where={"type": "decision"}) == []
        assert asked(memory, profile=profile, lanes=["lexical", "vector"]) == []
        for nothing in ("Who owns the moon?", "What is the budget of Keystone?", "what is the weather"):
            assert recall(memory, nothing, profile=profile, with_facts=True).hits == []


def test_facts_stand_among_chunks_by_their_score(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="facts.db"), Draft("Keystone", "status", "live")])
    found = asked(vault, profile="entity", k=3)
    assert ids(found)[0] == "fact:0"
    assert len(found) == 3
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert ids(asked(vault, profile="entity", k=1)) == ["fact:0"]
    assert ids(asked(vault, profile="entity", k=2, offset=1)) == ids(found)[1:3]
    assert "fact:0" not in ids(asked(vault, profile="entity", token_budget=1))


def test_what_is_known_of_a_thing_is_shown_where_all_is_asked_for(vault: Memory) -> None:
    write(vault, [Draft("Beacon", key, "x", source="facts.db") for key in ("port", "status", "stack")])
    hits = recall(vault, "tell me about Beacon", profile="entity", with_facts=True).hits
    assert {hit.id for hit in hits if hit.type == "fact"} == {"fact:0", "fact:1", "fact:2"}


def test_where_a_chunk_states_the_fact_the_chunk_is_the_hit(vault: Memory) -> None:
    write(vault, [Draft("Keystone", "port", "3055", source="b")])
    assert all(hit.type != "fact" for hit in asked(vault, profile="entity"))


def test_a_fact_among_hits_is_read_by_its_id(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as opened:
        opened.facts.add("Keystone", "port", "3055", source="beacon.md")
        opened.add("Anything else.", id="x")
        (hit,) = opened.recall(QUESTION)
        chunk = opened.get(hit.id)
        assert (chunk.id, chunk.text, chunk.type, chunk.source) == (hit.id, hit.text, "fact", "beacon.md")
        assert [each.id for each in opened.get_many(["x", "fact:0", "x"])] == ["x", "fact:0", "x"]
        for nothing in ("fact:9", "fact:", "fact:x"):
            with pytest.raises(lamina.ChunkNotFound):
                opened.get(nothing)
