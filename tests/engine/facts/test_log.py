from __future__ import annotations

import numpy as np
import pytest

from lamina import FixedClock
from lamina_engine.clock import US_PER_DAY, parse_instant
from lamina_engine.errors import EntityNotFound, InvalidArgument
from lamina_engine.facts.entities import merge_entities
from lamina_engine.facts.log import FactsWritten, amend_confidence, close, retract, start_of_today, write, write_columns
from lamina_engine.facts.predicates import TRIPLE_PREDICATES, declare
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import fact_view_at
from lamina_engine.memory import Memory

DAY = parse_instant("2026-02-10")


def said(memory: Memory, name: str, valid_at: int | None = None, as_of: int | None = None) -> list[tuple[str, str]]:
    kg = fact_view_at(memory, as_of)
    entity = kg.resolve(name).entity
    assert entity is not None
    now = memory.clock.now_us() if valid_at is None else valid_at
    return [(fact.key, fact.value) for fact in kg.about(entity.row, valid_at=now)]


def test_a_duplicate_returns_the_row_there_is_and_changes_nothing(memory: Memory) -> None:
    first = write(memory, [Draft("Ann", "phone", "1", confidence=0.5, source="a.md")])
    again = write(memory, [Draft("ANN", "Phone", " 1 ", confidence=0.9, source="b.md")])
    assert again == FactsWritten(rows=first.rows, added=0, unchanged=1)
    (fact,) = fact_view_at(memory).facts_at(first.rows)
    assert (fact.confidence, fact.source) == (0.5, "a.md")


def test_second_values_are_not_lost(memory: Memory) -> None:
    write(memory, [Draft("Ann", "phone", "1"), Draft("Ann", "phone", "2")])
    assert said(memory, "Ann") == [("phone", "1"), ("phone", "2")]


def test_closing_and_saying_it_again(memory: Memory, clock: FixedClock) -> None:
    (first,) = write(memory, [Draft("Ann", "uses", "Vim")]).rows
    clock.advance(86_400)
    assert close(memory, "Ann", "uses", "Vim") == 1
    assert close(memory, "Ann", "uses", "Vim") == 0
    assert said(memory, "Ann") == []
    clock.advance(86_400)
    (second,) = write(memory, [Draft("Ann", "uses", "Vim")]).rows
    assert second != first
    assert said(memory, "Ann") == [("uses", "Vim")]


def test_on_the_day_of_a_change_one_of_the_two_holds(memory: Memory) -> None:
    write(memory, [Draft("Keystone", "port", "3055")])
    before = memory.store.snapshot().manifest.last_us
    written = write(memory, [Draft("Keystone", "port", "4100", valid_from=DAY)])
    assert written.superseded == 1
    assert said(memory, "Keystone", DAY - 1) == [("port", "3055")]
    assert said(memory, "Keystone", DAY) == [("port", "4100")]
    assert said(memory, "Keystone", DAY, as_of=before) == [("port", "3055")]


def test_a_value_that_is_said_for_a_while_interrupts(memory: Memory) -> None:
    write(memory, [Draft("Keystone", "port", "3055")])
    written = write(memory, [Draft("Keystone", "port", "1", valid_from=DAY, valid_to=DAY + US_PER_DAY)])
    assert written.superseded == 1
    found = [said(memory, "Keystone", DAY + at * US_PER_DAY) for at in (-1, 0, 1)]
    assert found == [[("port", "3055")], [("port", "1")], [("port", "3055")]]


def test_a_literal_and_an_entity_never_match(memory: Memory) -> None:
    written = write(memory, [
        Draft("Ann", "likes", "Vim", kind="literal"), Draft("Ann", "likes", "Vim", kind="entity"),
    ])  # fmt: skip
    assert written.added == 2
    assert close(memory, "Ann", "likes", "Vim") == 2


def test_inverses_are_declared_once_and_found_both_ways(memory: Memory) -> None:
    declare(memory, "Mentors", inverse="mentored by", object="entity")
    first = write(memory, [Draft("Ann", "mentors", "Bob")])
    again = write(
        memory, [Draft("Bob", "mentored_by", "Ann"), Draft("Ann", "friend_of", "Bob"), Draft("Bob", "friend_of", "Ann")]
    )
    assert again.rows[0] == first.rows[0]
    assert again.rows[1] == again.rows[2]
    assert said(memory, "Bob") == [("friend_of", "Ann"), ("mentored_by", "Ann")]
    assert said(memory, "Ann") == [("friend_of", "Bob"), ("mentors", "Bob")]
    kg = fact_view_at(memory)
    bob = kg.resolve("Bob").entity
    assert bob is not None
    assert [fact.value for fact in kg.about(bob.row, valid_at=None, predicates={"mentored_by"})] == ["Ann"]
    with pytest.raises(InvalidArgument, match="declared already"):
        declare(memory, "teaches", inverse="mentored_by")


def test_predicates_can_be_made_functional(memory: Memory) -> None:
    declare(memory, "phone", functional=True)
    assert write(memory, [Draft("Ann", "phone", "1"), Draft("Ann", "phone", "2")]).superseded == 1
    assert said(memory, "Ann") == [("phone", "2")]


def test_retracting_hides_at_every_moment_and_not_the_past(memory: Memory) -> None:
    rows = write(memory, [Draft("Ann", "phone", "1"), Draft("Ann", "phone", "2")]).rows
    before = memory.store.snapshot().manifest.last_us
    assert retract(memory, rows[:1]) == 1
    assert retract(memory, rows[:1]) == 0
    assert said(memory, "Ann") == [("phone", "2")]
    assert said(memory, "Ann", as_of=before) == [("phone", "1"), ("phone", "2")]
    assert fact_view_at(memory).is_current(np.array(rows), None).tolist() == [False, True]
    with pytest.raises(InvalidArgument, match="not a fact"):
        fact_view_at(memory).facts_at(rows)


def test_confidence_changes_and_the_fact_keeps_its_row(memory: Memory) -> None:
    (row,) = write(memory, [Draft("Ann", "phone", "1", confidence=0.75)]).rows
    before = memory.store.snapshot().manifest.last_us
    assert amend_confidence(memory, {row: 0.5}) == 1
    assert amend_confidence(memory, {row: 0.5}) == 0
    assert fact_view_at(memory).facts_at([row])[0].confidence == 0.5
    assert fact_view_at(memory, before).facts_at([row])[0].confidence == 0.75
    close(memory, "Ann", "phone")
    assert fact_view_at(memory).facts_at([row])[0].confidence == 0.5


def test_sources_are_never_empty(memory: Memory) -> None:
    from lamina_engine.ingest.adding import add

    (chunk,) = add(memory, [{"text": "Ann's phone is 1."}], {})
    rows = write(memory, [
        Draft("Ann", "phone", "1", source=chunk), Draft("Ann", "phone", "2", source=f"#{chunk[:8]}"), Draft("Ann", "phone", "3"),
        Draft("Ann", "phone", "4", source="family.md"), Draft("Ann", "phone", "5", source="  "),
    ]).rows  # fmt: skip
    found = [(fact.chunk, fact.source) for fact in fact_view_at(memory).facts_at(rows)]
    assert found == [(chunk, chunk), (chunk, chunk), (None, "user"), (None, "family.md"), (None, "user")]


def test_an_unspecific_entity_becomes_what_it_is_said_to_be(memory: Memory) -> None:
    write(memory, [Draft("Ann", "owns", "Keystone")])
    write(memory, [Draft("Keystone", "port", "1", subject_type="project")])
    entity = fact_view_at(memory).resolve("Keystone").entity
    assert entity is not None
    assert (entity.type, entity.merged) == ("project", ("vault:concept:keystone",))
    assert said(memory, "Keystone") == [("port", "1"), ("owned_by", "Ann")]


def test_merging_settles_what_both_said(memory: Memory) -> None:
    write(memory, [
        Draft("A", "port", "1"), Draft("B", "port", "2"), Draft("A", "uses", "Vim"), Draft("B", "uses", "Vim"),
        Draft("A", "phone", "5"), Draft("C", "owns", "A"), Draft("C", "owns", "B"),
    ])  # fmt: skip
    before = memory.store.snapshot().manifest.last_us
    merge_entities(memory, "A", "B")
    assert said(memory, "B") == [("phone", "5"), ("port", "2"), ("uses", "Vim"), ("owned_by", "C")]
    assert said(memory, "A", as_of=before) == [("phone", "5"), ("port", "1"), ("uses", "Vim"), ("owned_by", "C")]
    assert write(memory, [Draft("A", "port", "3")]).superseded == 1
    assert ("port", "3") in said(memory, "B")


def test_strict_refuses_what_is_not_registered(memory: Memory) -> None:
    with pytest.raises(InvalidArgument, match="strict"):
        write(memory, [Draft("Ann", "frobnicates", "x")], strict=True)
    assert {predicate.name for predicate in fact_view_at(memory).registry} >= TRIPLE_PREDICATES
    declare(memory, "frobnicates")
    assert write(memory, [Draft("Ann", "frobnicates", "x")], strict=True).added == 1


BAD = (
    Draft("", "uses", "Vim"), Draft("!!!", "uses", "Vim"), Draft("x" * 201, "uses", "Vim"), Draft("Ann", "", "Vim"),
    Draft("Ann", "a" * 65, "Vim"), Draft("Ann", "uses;drop", "Vim"), Draft("Ann", "uses", ""), Draft("Ann", "uses", "x" * 4_001),
    Draft("Ann", "uses", "Vim", confidence=1.1), Draft("Ann", "uses", "Vim", confidence=float("nan")),
    Draft("Ann", "uses", "Vim", confidence=True), Draft("Ann", "uses", "Vim", weight=0.0), Draft("Ann", "uses", "Vim", weight=float("inf")),
    Draft("Ann", "uses", "Vim", valid_from=DAY, valid_to=DAY), Draft("Ann", "uses", "Vim", valid_from=DAY, valid_to=DAY - 1),
    Draft("Ann", "uses", "Vim", kind="thing"), Draft("Ann", "uses", "a\ud800"), Draft("Ann", "uses", None),  # type: ignore[arg-type]
    Draft("Ann", "uses", "Vim", subject_type="no type!"), Draft(["Ann"], "uses", "Vim"), Draft("Ann", "uses", "Vim", source="x" * 1_001),  # type: ignore[arg-type]
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_one_bad_fact_is_an_error_and_among_many_a_problem(memory: Memory, bad: Draft) -> None:
    with pytest.raises(InvalidArgument):
        write(memory, [Draft("Ann", "phone", "1"), bad])
    assert fact_view_at(memory).fact_rows == 0
    assert fact_view_at(memory).entities == 0
    written = write(memory, [Draft("Ann", "phone", "1"), bad, Draft("Ann", "phone", "2")], skip_bad=True)
    assert (written.added, written.rows[1], len(written.problems)) == (2, -1, 1)
    assert written.problems[0].startswith("fact 2: ")


NO_COLUMNS: tuple[dict[str, list[str]], ...] = (
    {"subject": ["a"]}, {"subject": ["a"], "predicate": [], "object": ["x"]},
    {"subject": [], "predicate": [], "object": [], "colour": []},
)  # fmt: skip


def test_bad_columns(memory: Memory) -> None:
    for columns in NO_COLUMNS:
        with pytest.raises(InvalidArgument):
            write_columns(memory, columns)
    assert write_columns(memory, {"subject": [], "predicate": [], "object": []}) == FactsWritten()


def test_closing_before_it_began_and_what_is_unknown(memory: Memory) -> None:
    write(memory, [Draft("Ann", "uses", "Vim", valid_from=DAY)])
    with pytest.raises(InvalidArgument, match="before"):
        close(memory, "Ann", "uses", valid_to=DAY - 1)
    with pytest.raises(EntityNotFound):
        close(memory, "Nobody", "uses")
    assert close(memory, "Ann", "owns") == 0


def test_secrets_are_masked(memory: Memory) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (row,) = write(memory, [Draft("Ann", "note", f"token {token}")]).rows
    assert token not in fact_view_at(memory).facts_at([row])[0].object
    (row,) = write(memory, [Draft("Ann", "password", "Zq7-pW3x_Rt9vKb2Lm")]).rows
    assert "pW3x" not in fact_view_at(memory).facts_at([row])[0].object


def test_nothing_depends_on_segments(memory: Memory) -> None:
    for at in range(30):
        write(memory, [Draft(f"E{at % 5}", "phone", str(at))], index=False)
    assert [value for _, value in said(memory, "E3")] == sorted(str(at) for at in range(3, 30, 5))
    kg = fact_view_at(memory)
    assert [text[0] for text in kg.texts(0, 100)] == list(range(30))
    assert kg.texts(28, 30)[1] == (29, "E4", "phone", "29")


def test_a_log_that_was_tampered_with_hangs_and_crashes_nothing(memory: Memory) -> None:
    write(memory, [Draft("A", "uses", "B"), Draft("B", "phone", "1")])
    with memory.write() as (transaction, _):
        for merged, into in ((0, 1), (1, 0), (7, 99), (-5, 0), (0, 0)):
            row = {
                "kind": ["merge"],
                "entity": [merged],
                "into": [into],
                "id": [""],
                "name": [""],
                "type": [""],
                "chunk": [None],
                "origin": ["x"],
            }
            transaction.append("entities", row, transaction.stamps(1))
        for subject, target, amends in ((99, -1, -1), (0, 99, -1), (0, -1, 77), (-9, -9, -9)):
            values = {
                "kind": ["fact"], "amends": [amends], "subject": [subject], "predicate": ["uses"], "target": [target], "object": ["x"],
                "category": [None], "source": ["x"], "chunk": [None], "confidence": [1.0], "weight": [1.0], "valid_from": [None],
                "valid_to": [None], "origin": ["x"],
            }  # fmt: skip
            transaction.append("facts", values, transaction.stamps(1))
    kg = fact_view_at(memory)
    entity = kg.resolve("A").entity
    assert entity is not None
    assert ("phone", "1") in said(memory, "A")
    assert kg.find()


@pytest.mark.parametrize(
    "predicate", ["owner", "owned_by", "runs_on", "hosted_on", "deployed_to", "migrated_to", "version", "server"]
)
def test_owners_hosts_versions_and_migrations_have_one_value_at_a_time(memory: Memory, predicate: str) -> None:
    # findings, seeds-a gap 3 and table 3 row 30
    write(memory, [Draft("Atlas", predicate, "One", valid_from=DAY)])
    write(memory, [Draft("Atlas", predicate, "Two", valid_from=DAY + 10 * US_PER_DAY)])
    assert said(memory, "Atlas", DAY) == [(predicate, "One")]
    assert said(memory, "Atlas", DAY + 10 * US_PER_DAY) == [(predicate, "Two")]


def test_what_runs_on_a_port_still_runs_on_its_machine(memory: Memory) -> None:
    write(memory, [Draft("Atlas", "runs_on", value) for value in ("vm-1", "port 3055", "4055")])
    write(memory, [Draft("Atlas", "runs_on", "vm-2", kind="entity")])
    assert said(memory, "Atlas") == [("runs_on", "4055"), ("runs_on", "vm-2")]


def test_an_owner_ends_the_one_before_from_either_end(memory: Memory) -> None:
    write(
        memory, [Draft("Ann", "owns", "Keystone"), Draft("Ann", "owns", "Larder"), Draft("Keystone", "owned_by", "Ben")]
    )
    assert said(memory, "Keystone") == [("owned_by", "Ben")]
    assert said(memory, "Ann") == [("owns", "Larder")]


def test_a_declaration_mends_what_stands(memory: Memory, clock: FixedClock) -> None:
    # findings, seeds-a table 3 row 30: "does not mend what is there"
    write(memory, [Draft("Ann", "badge", "1"), Draft("Bob", "badge", "1"), Draft("Cleo", "badge", "3", valid_from=DAY)])
    clock.advance(5 * 86_400)
    write(memory, [Draft("Ann", "badge", "2"), Draft("Cleo", "badge", "2", valid_from=DAY - US_PER_DAY)])
    begin = start_of_today(memory)
    before = memory.store.snapshot().manifest.last_us
    assert said(memory, "Ann") == [("badge", "1"), ("badge", "2")]
    made = declare(memory, "badge", functional=True)
    assert (made.functional, made.mended) == (True, 3)
    assert said(memory, "Ann", begin - 1) == [("badge", "1")]
    assert said(memory, "Ann", begin) == [("badge", "2")]
    assert said(memory, "Ann", as_of=before) == [("badge", "1"), ("badge", "2")]
    assert said(memory, "Bob") == [("badge", "1")]
    assert said(memory, "Cleo", DAY - 1) == [("badge", "2")]
    assert said(memory, "Cleo", DAY) == [("badge", "3")]
    assert declare(memory, "badge", functional=True).mended == 0
    assert declare(memory, "badge", functional=False).mended == 0
    write(memory, [Draft("Ann", "badge", "9")])
    assert sorted(said(memory, "Ann")) == [("badge", "2"), ("badge", "9")]
