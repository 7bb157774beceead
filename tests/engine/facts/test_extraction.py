from __future__ import annotations

import json

import pytest

from lamina_engine.chunks.reading import chunks_at
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.book import book_at
from lamina_engine.facts.entities import add_entity
from lamina_engine.facts.extraction import extract_text
from lamina_engine.facts.questions import ask
from lamina_engine.graph.judged import pending_groups
from lamina_engine.memory import Memory
from tests.engine.facts.test_observations import block


def facts(memory: Memory, name: str) -> list[tuple[str, str, str | None, str | None, float]]:
    book = book_at(memory)
    entity = book.resolve(name).entity
    assert entity is not None
    found = book.about(entity.row, valid_at=None, direction="out")
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
    document = report.to_dict()
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
