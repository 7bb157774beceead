""""""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import extract
from lamina_engine.facts.entities import add_entity
from lamina_engine.facts.extract import (
    anchors,
    differ_materially,
    extract_text,
    is_same_statement,
    shared_words,
    trigram_cosine,
)
from lamina_engine.facts.questions import ask
from lamina_engine.facts.view import fact_view_at
from lamina_engine.graph.judged import pending_groups
from lamina_engine.memory import Memory
from tests.engine.facts.test_observations import block


def facts(memory: Memory, name: str) -> list[tuple[str, str, str | None, str | None, float]]:
    kg = fact_view_at(memory)
    entity = kg.resolve(name).entity
    assert entity is not None
    found = kg.about(entity.row, valid_at=None, direction="out")
    return [(f.predicate, f.object, f.object_id, f.chunk, round(f.confidence, 3)) for f in found]


def test_an_observation_becomes_a_typed_chunk_and_its_triples_facts_of_it(memory: Memory) -> None:
    report = extract_text(memory, block(), source="log.md", session="s1")
    view = memory.view()
    (chunk,) = chunks_at(view, view.rows_of_ids(report.chunks))
    assert (chunk.type, chunk.title, chunk.session, chunk.source) == (
        "decision",
        "Keystone moves to Postgres",
        "s1",
        "log.md",
    )
    assert chunk.text == "We moved.\n\n- It had two writers."
    assert chunk.metadata["facts"] == ["It had two writers."]
    ((predicate, value, identity, source, sure),) = facts(memory, "Keystone")
    assert (predicate, value, source, sure) == ("migrated_to", "Postgres", report.chunks[0], 0.9)
    assert identity is not None
    assert identity.endswith(":concept:postgres")
    assert (report.added, report.observations, report.dropped) == (1, 1, [])


def test_the_same_text_again_changes_nothing(memory: Memory) -> None:
    first = extract_text(memory, block())
    again = extract_text(memory, block())
    assert (again.chunks, again.added, again.unchanged) == (first.chunks, 0, 1)
    assert memory.view().rows == 1


def test_types_are_inherited_where_they_are_beyond_doubt(memory: Memory) -> None:
    add_entity(memory, "Postgres", "tool")
    add_entity(memory, "Mercury", "person")
    add_entity(memory, "Mercury", "project")
    triples = (("Keystone", "migrated_to", "postgres"), ("Keystone", "depends_on", "Redis"))
    extract_text(memory, block(triples=triples))
    assert {each[2] for each in facts(memory, "Keystone")} == {"vault:tool:postgres", "vault:concept:redis"}


def test_prefers_and_avoids_are_texts_even_where_a_thing_has_that_name(memory: Memory) -> None:
    add_entity(memory, "Postgres", "tool")
    extract_text(memory, block("preference", triples=(("Dana", "prefers", "Postgres"), ("Dana", "avoids", "Redis"))))
    assert [each[2] for each in facts(memory, "Dana")] == [None, None]


def test_only_eligible_types_give_facts_and_all_give_chunks(memory: Memory) -> None:
    report = extract_text(memory, block("bugfix") + block("refactor", title="Other") + block("change", title="Third"))
    assert (len(report.chunks), report.added) == (3, 0)
    assert len(report.dropped) == 3


def test_a_chunk_that_cannot_be_written_gives_no_facts_and_its_siblings_do(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamina_engine.chunks import writing

    real = writing.write

    def failing(memory: Memory, batch: object) -> object:
        if batch.titles == ["Bad one"]:  # type: ignore[attr-defined]
            raise InvalidArgument("no")
        return real(memory, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "write", failing)
    bad = block(title="Bad one", triples=(("Keystone", "uses", "Redis"),))
    report = extract_text(memory, bad + block(title="Good one"))
    assert len(report.chunks) == 1
    assert [each[1] for each in facts(memory, "Keystone")] == ["Postgres"]
    assert "Bad one" in report.dropped[0].what


def test_malformed_blocks_are_told_and_the_others_stay(memory: Memory) -> None:
    report = extract_text(memory, block("gossip") + block() + "<observation>")
    assert (len(report.chunks), report.added, len(report.dropped)) == (1, 1, 3)
    document: dict[str, Any] = report.to_dict()
    assert document["dropped"][0]["what"] == "observation 1"
    assert json.dumps(document)


def test_their_facts_feed_the_search_for_causes(memory: Memory) -> None:
    extract_text(
        memory,
        block(title="One here") + block(title="Two here", facts=("Then it was slow.", "So we moved.")),
        session="s",
    )
    ((_, said),) = pending_groups(memory.view())
    assert [fact.text for fact in said] == ["It had two writers.", "Then it was slow.", "So we moved."]
    assert len({fact.document for fact in said}) == 2


def test_secrets_are_masked_in_chunks_and_facts(memory: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    extract_text(
        memory, block(facts=(f"The token is {secret}",), triples=(("Keystone", "uses", secret),), narrative=secret)
    )
    assert all(secret.encode() not in path.read_bytes() for path in memory.root.rglob("*.arrow"))


def test_questions_find_what_was_extracted(memory: Memory) -> None:
    extract_text(memory, block(triples=(("Keystone", "runs_on", "port 3055"),)), source="a.md")
    (answer, *_) = ask(memory, "What port does Keystone run on?")
    assert (answer.value, answer.source) == ("port 3055", "a.md")


def test_no_text_is_an_error(memory: Memory) -> None:
    with pytest.raises(InvalidArgument):
        extract_text(memory, None)  # type: ignore[arg-type]
    assert extract_text(memory, "nothing here").chunks == []


LONG = "prefers that every change of the deployment scripts is reviewed by somebody else before it is merged"


def test_the_same_said_of_two_people_is_never_one() -> None:
    assert trigram_cosine(f"Alice {LONG}", f"Bob {LONG}") > 0.93
    assert not is_same_statement(f"Alice {LONG}", f"Bob {LONG}")
    assert not is_same_statement("Alice likes Keystone", "Bob likes Keystone")
    assert is_same_statement(f"Alice {LONG}", f"alice {LONG}.")


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [({"a", "b"}, {"a"}, False), ({"a"}, {"a", "b", "c"}, False), ({"a", "x"}, {"b", "x"}, True), (set(), {"a"}, False),
     ({"a"}, {"b"}, True), ({"a", "b", "c"}, {"a", "b", "d"}, False), (set(), set(), False)],
)  # fmt: skip
def test_anchors_that_differ_materially(first: set[str], second: set[str], differ: bool) -> None:
    assert differ_materially(first, second) is differ
    assert differ_materially(second, first) is differ


def test_what_anchors_are() -> None:
    text = "We moved Keystone to /srv/app on port 3055, see run_all and fooBar. The end."
    assert anchors(text) == {"keystone", "/srv/app", "3055", "run_all", "foobar"}
    assert anchors("nothing to hold on to") == set()


def test_without_anchors_texts_must_be_closer(monkeypatch: pytest.MonkeyPatch) -> None:
    for cosine, with_anchor, without in (
        (0.93, True, False),
        (0.929, False, False),
        (0.98, True, True),
        (0.979, True, False),
    ):
        monkeypatch.setattr(extract, "trigram_cosine", lambda a, b, cosine=cosine: cosine)
        assert is_same_statement(f"Alice {LONG}", f"Alice {LONG}") is with_anchor
        assert is_same_statement(LONG, LONG) is without


def test_what_one_denies_the_other_does_not_say() -> None:
    assert not is_same_statement(f"It is so that Alice {LONG}", f"It is not so that Alice {LONG}")


@given(st.text(max_size=60), st.text(max_size=60))
def test_bounds_and_symmetry(a: str, b: str) -> None:
    assert -1e-9 <= trigram_cosine(a, b) <= 1 + 1e-9
    assert trigram_cosine(a, b) == pytest.approx(trigram_cosine(b, a))
    assert is_same_statement(a, b) == is_same_statement(b, a)
    assert 0.0 <= shared_words(a, b) <= 1.0


def test_an_observation_said_again_in_nearly_the_same_words_stays_one_memory(memory: Memory) -> None:
    text = "Alice decided that Keystone keeps its queue in Postgres, and that nobody adds another broker this year."
    first = extract_text(memory, block(narrative=text))
    again = extract_text(
        memory, block(narrative=text.replace(", and", " and"), triples=(("Keystone", "uses", "Postgres"),))
    )
    other = extract_text(memory, block(narrative=text.replace("Alice", "Robin").replace("Keystone", "Moraine")))
    assert again.chunks == first.chunks
    assert (again.repeated, other.repeated) == (1, 0)
    assert memory.view().rows == 2
    assert again.added == 1


def test_an_observation_s_facts_begin_at_its_date_and_end_the_ones_before(memory: Memory) -> None:
    # findings, seeds-a gap 3
    january, march = parse_instant("2026-01-01"), parse_instant("2026-03-01")
    for moment, values in ((march, ("Ben", "k8s", "PostgreSQL 16")), (january, ("Ana", "vm-1", "MySQL 8"))):
        pairs = zip(("owned_by", "runs_on", "migrated_to"), values, strict=True)
        triples = "".join(
            f"<triple><subject>Atlas</subject><predicate>{name}</predicate><object>{value}</object></triple>"
            for name, value in pairs
        )
        text = (
            f"<observation><type>decision</type><title>Atlas {moment}</title><facts><fact>{values} it is</fact></facts>"
            f"<triples>{triples}</triples></observation>"
        )
        assert extract_text(memory, text, created_at_us=moment).added == 3
    kg = fact_view_at(memory)
    atlas = kg.resolve("Atlas").entity
    assert atlas is not None
    held = [
        {fact.value for fact in kg.about(atlas.row, valid_at=at)} for at in (january - 1, january, march - 1, march)
    ]
    assert held == [set(), {"Ana", "vm-1", "MySQL 8"}, {"Ana", "vm-1", "MySQL 8"}, {"Ben", "k8s", "PostgreSQL 16"}]
    assert [answer.value for answer in ask(memory, "who owns Atlas?") if answer.score >= 90] == ["Ben"]


def test_a_name_of_several_entities_is_filed_as_a_concept(memory: Memory) -> None:
    # findings, seeds-a table 2 row 43
    add_entity(memory, "Mercury", "project")
    add_entity(memory, "Mercury", "service")
    text = (
        "<observation><type>decision</type><title>Which Mercury</title><facts><fact>Mercury it is</fact></facts><triples>"
        "<triple><subject>Mercury</subject><predicate>uses</predicate><object>Redis</object></triple>"
        "<triple><subject>Atlas</subject><predicate>depends_on</predicate><object>mercury</object></triple>"
        "<triple><subject>Atlas</subject><predicate>runs_on</predicate><object>Mercury</object></triple>"
        "</triples></observation>"
    )
    report = extract_text(memory, text)
    assert (report.added, report.dropped) == (3, [])
    kg = fact_view_at(memory)
    found = kg.resolve("Mercury").entities
    assert [entity.type for entity in found] == ["concept", "project", "service"]
    assert [len(kg.about(entity.row, valid_at=None)) for entity in found] == [3, 0, 0]
    assert extract_text(memory, text).unchanged == 3
