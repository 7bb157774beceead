from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lamina
from lamina import AmbiguousEntity, EntityNotFound, Fact, FixedClock, InvalidArgument, LaminaError, Results, Vault


@pytest.fixture
def plain(tmp_path: Path, clock: FixedClock) -> Vault:
    return lamina.open(tmp_path / "plain", create=True, clock=clock, embedder="none")


def told(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    return [(fact.key, fact.value) for fact in facts]


def test_said_asked_and_closed(plain: Vault) -> None:
    fact = plain.facts.add(
        "Keystone", "runs on", "port 3055", source="keystone.md", type="project", valid_from="2026-01-01"
    )
    assert (fact.subject_id, fact.predicate, fact.source) == ("vault:project:keystone", "runs_on", "keystone.md")
    assert tuple(fact.to_dict()[name] for name in ("valid_from", "valid_to", "recorded_at")) == (
        "2026-01-01T00:00:00Z",
        None,
        "2026-03-01T12:00:00.000001Z",
    )
    plain.facts.add("Ann", "owns", "Keystone")
    plain.facts.alias("KS", "keystone")
    assert told(plain.facts.about("ks")) == [("runs_on", "port 3055"), ("owned_by", "Ann")]
    assert told(plain.facts.about("KS", direction="in", predicates={"owned by"})) == [("owned_by", "Ann")]
    assert told(plain.facts.about("KS", valid_at="2025-12-31", direction="out")) == []
    assert told(plain.facts.about("KS", history=True, direction="out")) == [("runs_on", "port 3055")]
    assert plain.facts.close("KS", "runs_on", valid_to=date(2026, 2, 1)) == 1
    assert told(plain.facts.about("KS", direction="out")) == []
    assert told(plain.facts.about("KS", valid_at="2026-01-15", direction="out")) == [("runs_on", "port 3055")]
    assert plain.facts.unalias("KS") == 1
    with pytest.raises(EntityNotFound):
        plain.facts.about("KS")
    stats = plain.stats()
    assert (stats["facts"], stats["entities"]) == (1, 2)
    assert plain.verify(deep=True).ok


def test_as_of_is_what_was_known_then(plain: Vault, clock: FixedClock) -> None:
    plain.facts.add("Keystone", "port", 3055)
    clock.advance(86_400)
    then = "2026-03-02T00:00:00Z"
    plain.facts.add("Keystone", "port", 4100)
    assert told(plain.facts.about("Keystone")) == [("port", "4100")]
    assert told(plain.facts.about("Keystone", as_of=then)) == [("port", "3055")]
    assert told(plain.facts.about("Keystone", valid_at="2026-02-01")) == [("port", "3055")]
    with pytest.raises(EntityNotFound):
        plain.facts.about("Keystone", as_of="2026-01-01")


def test_many_at_once_from_records_and_tables(plain: Vault) -> None:
    records = [
        {"subject": "Ann", "predicate": "phone", "object": "1", "valid_from": "2026-01-01"},
        {"subject": "Ann", "predicate": "phone", "object": 2, "confidence": 0.5},
        {"subject": "", "predicate": "phone", "object": "3"},
        {"subject": "Ann", "predicate": "phone", "object": "4", "valid_to": "never"},
        {"subject": "Ann", "predicate": "phone", "object": "5", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
    ]
    report = plain.facts.add_many(records)  # type: ignore[arg-type]
    assert (report.added, report.entities, len(report.problems)) == (2, 1, 3)
    assert [at >= 0 for at in report.ids] == [True, True, False, False, False]
    with pytest.raises(InvalidArgument):
        plain.facts.add_many(records, skip_bad=False)  # type: ignore[arg-type]
    table = pa.table({"subject": ["Bob"] * 100, "predicate": ["phone"] * 100, "object": [str(at) for at in range(100)]})
    assert plain.facts.add_many(table, index=False).added == 100
    assert plain.facts.add_many(table).unchanged == 100
    assert len(plain.facts.about("Bob")) == 100
    assert plain.facts.add_many([]).added == 0


@pytest.mark.parametrize("bad", [[{"subject": "a", "predicate": "b", "object": "c", "colour": "d"}], [7]])
def test_records_that_are_none(plain: Vault, bad: list[object]) -> None:
    with pytest.raises(InvalidArgument):
        plain.facts.add_many(bad)  # type: ignore[arg-type]


def test_entities_shown_merged_and_never_guessed(plain: Vault) -> None:
    plain.facts.add_entity("Mercury", "person", ["Freddie"])
    plain.facts.add_entity("Mercury", "project")
    with pytest.raises(AmbiguousEntity, match="vault:person:mercury, vault:project:mercury"):
        plain.facts.entity("mercury")
    assert plain.facts.entity("mercury", type="person").aliases == ("Freddie",)
    shown = plain.facts.resolve("mercury")
    assert (shown.ambiguous, shown.how, len(shown.entities)) == (True, "folded name", 2)
    merged = plain.facts.merge("vault:project:mercury", "Freddie")
    assert plain.facts.entity("vault:project:mercury") == merged
    assert plain.facts.resolve("Fred", prefix=True).entity == merged
    assert plain.facts.resolve("nobody").entities == ()


def test_listing_retracting_declaring(plain: Vault) -> None:
    plain.facts.declare("badge", functional=True)
    first = plain.facts.add("Ann", "badge", "7")
    plain.facts.add("Ann", "badge", "8")
    plain.facts.add("Ann", "uses", "Vim")
    assert told(plain.facts.list(predicate="badge")) == [("badge", "8")]
    assert told(plain.facts.list("Ann", history=True)) == [("badge", "7"), ("badge", "8"), ("uses", "Vim")]
    assert told(plain.facts.list(object="Vim")) == [("uses", "Vim")]
    assert told(plain.facts.list(object="8", limit=1)) == [("badge", "8")]
    assert plain.facts.retract(first.id) == 1
    assert told(plain.facts.list("Ann", "badge", history=True)) == [("badge", "8")]
    assert plain.facts.list(limit=None) == plain.facts.list()
    with pytest.raises(InvalidArgument, match="None for all"):
        plain.facts.list(limit=0)


def test_asking_goes_to_the_questions(plain: Vault) -> None:
    plain.facts.add("Keystone", "port", "3055", source="keystone.md")
    found = plain.facts.ask("what port does Keystone run on?")
    assert found.answered
    assert (found[0].subject, found[0].object, found[0].source) == ("Keystone", "3055", "keystone.md")
    assert found[0].to_dict()["valid_from"] is None
    assert len(plain.facts.ask("who painted the ceiling?")) == 0


def test_answers_say_whether_they_answer_the_question(plain: Vault) -> None:
    plain.facts.add("Keystone", "port", "3055", source="keystone.md")
    found = plain.facts.ask("what port does Keystone run on?")
    assert isinstance(found, Results)
    assert repr(found) == "Answers(1 for 'what port does Keystone run on?')"
    assert found.to_arrow()["object"].to_pylist() == ["3055"]
    assert found.to_dict()["answers"] == found.to_dicts()
    assert (found.entities, found.ambiguous) == (("Keystone",), False)
    related = plain.facts.ask("who owns Keystone?")
    assert (related.answered, repr(related)) == (False, "Answers(1 for 'who owns Keystone?', related facts only)")
    nothing = plain.facts.ask("who painted the ceiling?")
    assert repr(nothing) == "Answers(0 for 'who painted the ceiling?')"


def test_readers_read_and_do_not_write(plain: Vault) -> None:
    plain.facts.add("Ann", "phone", "1")
    with lamina.open(plain.path, mode="r", embedder="none") as reader:
        assert told(reader.facts.about("Ann")) == [("phone", "1")]
        with pytest.raises(LaminaError):
            reader.facts.add("Ann", "phone", "2")


def test_awaited(plain: Vault) -> None:
    async def work() -> list[tuple[str, str]]:
        async with lamina.aopen(plain.path, embedder="none") as vault:
            await vault.facts.add("Ann", "phone", "1")
            assert "about" in dir(vault.facts)
            with pytest.raises(AttributeError):
                vault.facts.nothing  # type: ignore[attr-defined]  # noqa: B018
            return told(await vault.facts.about("Ann"))

    assert asyncio.run(work()) == [("phone", "1")]


def test_a_backup_and_a_compacted_vault_say_the_same(plain: Vault, tmp_path: Path) -> None:
    for at in range(12):
        plain.facts.add("Ann", "phone", at)
    expected = plain.facts.about("Ann")
    plain.compact()
    assert plain.facts.about("Ann") == expected
    plain.snapshot(tmp_path / "copy")
    with lamina.open(tmp_path / "copy", embedder="none") as copy:
        assert copy.facts.about("Ann") == expected
        copy.facts.add("Ann", "phone", 12)
        assert len(copy.facts.about("Ann")) == 13


def test_what_notes_say_in_fields_and_what_contradicts_it(plain: Vault, tmp_path: Path) -> None:
    note = tmp_path / "notes" / "beacon.md"
    note.parent.mkdir()
    note.write_text("---\nport: 8080\n---\n# Beacon\n\nstatus:: live\n\nIt lights the way.\n")
    plain.ingest(note.parent)
    assert plain.facts.extract().added == 2
    assert plain.facts.extract().unchanged == 2
    assert told(plain.facts.about("Beacon")) == [("port", "8080"), ("status", "live")]
    assert plain.facts.contradictions() == []
    plain.facts.add("Beacon", "port", "9090", source="later.md")
    [found] = plain.facts.contradictions()
    assert (found.old.value, found.new.value, found.old.source) == ("8080", "9090", "beacon.md")
    document: dict[str, Any] = found.to_dict()
    assert document["old"]["value"] == "8080"


def test_without_a_language_model_it_says_so(plain: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAMINA_JUDGE_URL", raising=False)
    for call in (lambda: plain.facts.extract(judge=True), lambda: plain.facts.contradictions(judge=True)):
        with pytest.raises(lamina.InvalidConfig, match="LAMINA_JUDGE_URL"):
            call()


def test_entities_aliases_and_facts_are_listed_by_category(plain: Vault) -> None:
    # findings, seeds-a table 3 row 33
    plain.facts.add_entity("Keystone", "project", ["KS"])
    plain.facts.add_entity("Ann", "person", ["Annie", "Mum"])
    plain.facts.add("Ann", "phone", "1")
    plain.facts.add("Keystone", "port", "3055")
    assert [entity.name for entity in plain.facts.entities()] == ["Ann", "Keystone"]
    assert [entity.id for entity in plain.facts.entities("Project")] == ["vault:project:keystone"]
    assert [(each.alias, each.entity) for each in plain.facts.aliases()] == [
        ("Annie", "Ann"),
        ("Mum", "Ann"),
        ("KS", "Keystone"),
    ]
    assert [each.alias for each in plain.facts.aliases("mum")] == ["Annie", "Mum"]
    assert [each.alias for each in plain.facts.aliases(type="project")] == ["KS"]
    assert told(plain.facts.list(category="person")) == [("phone", "1")]
    assert plain.facts.entities().to_arrow()["name"].to_pylist() == ["Ann", "Keystone"]
    assert plain.facts.aliases().to_arrow().num_rows == 3


def test_the_registry_is_shown(plain: Vault) -> None:
    registered = {each.name: each for each in plain.facts.predicates()}
    assert registered["owner"].functional
    assert not registered["phone"].functional
    assert registered["owns"].inverse == "owned_by"
    plain.facts.add("Ann", "badge", "1")
    assert [(each.name, each.functional) for each in plain.facts.predicates(used=True)] == [("badge", False)]
    plain.facts.declare("badge", functional=True)
    assert [(each.name, each.functional) for each in plain.facts.predicates(used=True)] == [("badge", True)]


def test_about_takes_part_of_a_name(plain: Vault) -> None:
    # findings, seeds-a table 2 row 49
    plain.facts.add("Billing Service", "port", "8080", type="service")
    assert told(plain.facts.about("billing")) == [("port", "8080")]
    plain.facts.add("Old Billing Job", "port", "8081")
    with pytest.raises(AmbiguousEntity, match=r"vault:concept:old_billing_job, vault:service:billing_service"):
        plain.facts.about("billing")
    assert told(plain.facts.about("billing", type="service")) == [("port", "8080")]
    for nothing in ("bill", "service job"):
        with pytest.raises(EntityNotFound):
            plain.facts.about(nothing)
    assert plain.facts.resolve("billing", part=True).how == "part"


def test_a_graph_is_the_document_that_export_writes(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.facts.add("Ann", "works_at", "Acme", object_type="company", valid_from="2024-01-01")
        vault.facts.add("Ann", "works_at", "Globex", object_type="company", valid_to="2024-01-01")
        vault.facts.add("Ann", "port", "3055")
        vault.export(tmp_path / "g.json", "graph-json")
        written = json.loads((tmp_path / "g.json").read_text())
        whole = vault.facts.graph()
        assert {name: whole[name] for name in written} == written
        assert (whole["center"], whole["left_out"]) == (None, 0)
        spans = {each["target"]: each for each in vault.facts.graph(history=True)["edges"]}  # type: ignore[attr-defined]
        assert spans["Acme"]["valid_from"] == "2024-01-01T00:00:00Z"
        assert spans["Globex"]["valid_to"] == "2024-01-01T00:00:00Z"
        then = vault.facts.graph(valid_at="2023-06-01")
        assert [each["target"] for each in then["edges"]] == ["Globex"]  # type: ignore[attr-defined]


def test_a_large_graph_is_cut_around_its_best_joined_entity_or_the_one_named(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.facts.add_many(
            [{"subject": f"P{i}", "predicate": "next", "object": f"P{i + 1}", "kind": "entity", "object_type": "place"} for i in range(9)]
            + [{"subject": f"P{i}", "predicate": "near", "object": "P5", "kind": "entity", "object_type": "place"} for i in (1, 9)]
        )  # fmt: skip
        cut = vault.facts.graph(limit=8, hops=1)
        assert (cut["center"], cut["left_out"]) == ("P5", 5)
        assert [node["id"] for node in cut["nodes"]] == ["P1", "P4", "P5", "P6", "P9"]  # type: ignore[attr-defined]
        near = vault.facts.graph("p2", hops=1)
        assert [node["id"] for node in near["nodes"]] == ["P1", "P2", "P3"]  # type: ignore[attr-defined]
        assert len(vault.facts.graph("P2", hops=16, limit=4)["nodes"]) == 4  # type: ignore[arg-type]
        for wrong in ({"hops": 0}, {"hops": 17}, {"limit": 0}):
            with pytest.raises(lamina.InvalidArgument):
                vault.facts.graph(**wrong)  # type: ignore[arg-type]
        with pytest.raises(lamina.EntityNotFound):
            vault.facts.graph("nobody")
