""""""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.facts.entities import EntityDraft, ensure_entities, merge_entities
from lamina_engine.facts.log import amend_confidence, close, retract, write
from lamina_engine.facts.predicates import declare
from lamina_engine.facts.questions import ask
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.transfer import export_facts, export_graph, import_facts, import_openclaw, is_fact_file
from lamina_engine.facts.view import fact_view_at
from lamina_engine.memory import Memory
from lamina_engine.transfer.exporting import export
from lamina_engine.transfer.importing import import_


@pytest.fixture
def filled(memory: Memory) -> Memory:
    declare(memory, "mentors", inverse="mentored_by", object="entity", functional=True)
    ensure_entities(
        memory,
        [
            EntityDraft("Keystone", "project", ["KS"]),
            EntityDraft("Mercury", "person"),
            EntityDraft("Mercury", "project"),
        ],
    )
    written = write(memory, [
        Draft("Keystone", "port", "3055", source="keystone.md"), Draft("Ann", "mentors", "Bob", weight=0.25, source="USER.md"),
        Draft("Keystone", "port", "4100", valid_from=parse_instant("2026-02-01")), Draft("Ann", "phone", "1"),
        Draft("vault:person:mercury", "uses", "Keystone", confidence=0.5), Draft("Ann", "phone", "2"), Draft("Ann", "phone", "3"),
    ])  # fmt: skip
    write(memory, [Draft("Anna", "phone", "9")], origin="seed")
    merge_entities(memory, "Anna", "Ann")
    amend_confidence(memory, {written.rows[3]: 0.5})
    retract(memory, written.rows[6:])
    close(memory, "Ann", "phone", "2")
    return memory


def test_out_in_and_out_again_gives_the_same_bytes(filled: Memory, tmp_path: Path, clock: FixedClock) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert export_facts(filled, first) == 7
    other = Memory(tmp_path / "other", create=True, clock=clock, embedder="none")
    assert import_facts(other, first) == 7
    export_facts(other, second)
    assert second.read_bytes() == first.read_bytes()
    assert import_facts(other, first) == 0
    kg, there = fact_view_at(filled), fact_view_at(other)
    for name in ("Keystone", "Ann", "Bob", "vault:person:mercury"):
        mine, its = kg.resolve(name).entity, there.resolve(name).entity
        assert mine is not None
        assert its is not None
        for when in (None, filled.clock.now_us(), parse_instant("2026-01-01")):
            ours = [(f.key, f.value, f.source, f.weight, f.confidence) for f in kg.about(mine.row, valid_at=when)]
            assert [
                (f.key, f.value, f.source, f.weight, f.confidence) for f in there.about(its.row, valid_at=when)
            ] == ours
    other.close()


def test_the_graph_has_both_ends_of_every_edge_and_counts_that_fit(filled: Memory, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    assert export(filled, path, "graph-json", None) == 5
    graph = json.loads(path.read_text())
    assert list(graph) == ["nodes", "edges", "facts", "stats"]
    ids = [node["id"] for node in graph["nodes"]]
    assert ids == sorted(ids)
    assert {"Keystone", "vault:person:mercury", "vault:project:mercury", "Ann", "Bob"} == set(ids)
    assert all(edge["source"] in ids and edge["target"] in ids for edge in graph["edges"])
    assert graph["facts"]["Keystone"] == [{"key": "port", "value": "4100"}]
    assert graph["facts"]["Ann"] == [{"key": "phone", "value": "1"}, {"key": "phone", "value": "9"}]
    assert graph["stats"] == {"entities": 5, "relations": 2, "facts": 3, "aliases": 2}
    again = tmp_path / "again.json"
    export_graph(filled, again)
    assert again.read_bytes() == path.read_bytes()
    assert path.read_text().startswith('{\n  "nodes": [\n    {\n      "id"')


def test_transfer_takes_facts_too(filled: Memory, tmp_path: Path, clock: FixedClock) -> None:
    path = tmp_path / "facts.jsonl"
    assert export(filled, path, "facts", None) == 7
    assert is_fact_file(path)
    other = Memory(tmp_path / "other", create=True, clock=clock, embedder="none")
    assert import_(other, path) == []
    assert len(fact_view_at(other).find()) == 7
    with pytest.raises(InvalidArgument, match="chooses chunks"):
        export(filled, path, "facts", {"type": "note"})
    other.close()


def test_lines_that_are_none_write_nothing(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"record":"entity","name":"a","type":"b"}\n{"record":"fact","subject":"a"}\n')
    with pytest.raises(InvalidArgument, match=":2"):
        import_facts(memory, path)
    assert fact_view_at(memory).entities == 0
    assert not is_fact_file(tmp_path / "nowhere")
    path.write_text("[]\n")
    assert not is_fact_file(path)


SCHEMA = """
CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    category TEXT NOT NULL, source TEXT, created_at TEXT DEFAULT (datetime('now')));
CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, predicate TEXT NOT NULL,
    object TEXT NOT NULL, weight REAL DEFAULT 1.0, source TEXT, UNIQUE(subject, predicate, object));
CREATE TABLE aliases (id INTEGER PRIMARY KEY AUTOINCREMENT, alias TEXT NOT NULL COLLATE NOCASE, entity TEXT NOT NULL,
    UNIQUE(alias, entity));
CREATE VIRTUAL TABLE facts_fts USING fts5(entity, key, value, content=facts, content_rowid=id);
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with what goes wrong in them: duplicates, a null source, a stale full-text table, odd values."""
    path = tmp_path / "facts.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(SCHEMA)
        database.executemany(
            "INSERT INTO facts (entity, key, value, category, source, created_at) VALUES (?,?,?,?,?,?)",
            [
                ("Harbor Engine", "type", "service", "project", "harbor.md", "2026-01-01 10:00:00"),
                ("Harbor Engine", "type", "service", "project", "harbor.md", "2026-01-02 10:00:00"),
                ("Harbor Engine", "status", "beta", "project", None, "2026-01-09 10:00:00"),
                ("Harbor Engine", "status", "alpha", "project", None, "2026-01-01 10:00:00"),
                ("Ada", "phone", "1", "person", "family.md", None), ("Ada", "phone", 2, "person", "family.md", None),
                ("", "phone", "3", "person", None, None), ("x" * 300, "phone", "3", "person", None, None),
            ],
        )  # fmt: skip
        database.executemany(
            "INSERT INTO relations (subject, predicate, object, weight, source) VALUES (?,?,?,?,?)",
            [("Harbor Engine", "runs_on", "port 4100", 1.0, None), ("Ada", "owns", "Harbor Engine", 0.25, "USER.md")],
        )
        database.executemany(
            "INSERT INTO aliases (alias, entity) VALUES (?,?)",
            [("Harbor", "Harbor Engine"), ("Mum", "Ada"), ("mum", "Berta"), ("", "Ada")],
        )
        database.commit()
    return path


def test_everything_is_read_once(memory: Memory, path: Path) -> None:
    found = import_openclaw(memory, path)
    assert (found.facts, found.unchanged, found.superseded) == (7, 1, 1)
    assert len(found.problems) == 3
    again = import_openclaw(memory, path)
    assert (again.facts, again.entities, again.aliases) == (0, 0, 0)
    kg = fact_view_at(memory)
    engine = kg.resolve("harbor").entity
    assert engine is not None
    assert engine.type == "project"
    told = [
        (fact.key, fact.value, fact.source, fact.weight)
        for fact in kg.about(engine.row, valid_at=memory.clock.now_us())
    ]
    assert told == [
        ("runs_on", "port 4100", "facts.db", 1.0), ("status", "beta", "facts.db", 1.0), ("type", "service", "harbor.md", 1.0),
        ("owned_by", "Ada", "USER.md", 0.25),
    ]  # fmt: skip
    ada = kg.resolve("Ada").entity
    assert ada is not None
    assert [fact.value for fact in kg.about(ada.row, valid_at=None, predicates={"phone"})] == ["1", "2"]
    assert kg.resolve("MUM").ambiguous


def test_a_relation_stays_one_where_its_object_is_nothing_known(memory: Memory, path: Path) -> None:
    import_openclaw(memory, path)
    first = next(iter(ask(memory, "what does Harbor Engine run on?")))
    assert (first.predicate, first.object, first.score) == ("runs_on", "port 4100", 90.0)


def test_later_versions_of_the_schema(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE facts (entity, key, value, category, superseded_at, importance)")
        database.execute("INSERT INTO facts VALUES ('Ada', 'role', 'captain', 'person', '2026-01-05 00:00:00', 0.5)")
        database.commit()
    assert import_openclaw(memory, path).facts == 1
    kg = fact_view_at(memory)
    (fact,) = kg.find()
    assert fact.valid_to is not None
    assert kg.find(valid_at=memory.clock.now_us()) == []


def test_what_is_no_such_file(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="not a file"):
        import_openclaw(memory, tmp_path / "nowhere.db")
    text = tmp_path / "text.db"
    text.write_text("no database" * 100)
    with pytest.raises(IngestError, match="SQLite"):
        import_openclaw(memory, text)
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE things (a)")
        database.commit()
    with pytest.raises(IngestError, match="none of the tables"):
        import_openclaw(memory, other)


def test_what_leaves_the_database_is_withdrawn_and_what_changed_replaced(memory: Memory, path: Path) -> None:
    # findings, seeds-a table 3 row 24
    import_openclaw(memory, path)
    change(path, "UPDATE relations SET object = 'port 5100' WHERE predicate = 'runs_on'")
    change(path, "UPDATE facts SET value = 'live' WHERE value = 'beta'")
    change(path, "DELETE FROM facts WHERE value = '2'")
    change(path, "DELETE FROM aliases WHERE alias = 'Harbor'")
    write(memory, [Draft("Ada", "phone", "7")])
    found = import_openclaw(memory, path)
    assert (found.facts, found.withdrawn) == (2, 2)
    assert current(memory, "Harbor Engine") == {"runs_on port 5100", "status live", "type service"}
    assert current(memory, "Ada") == {"phone 1", "phone 7", "owns Harbor Engine"}
    assert ask(memory, "what does Harbor Engine run on?")[0].object == "port 5100"
    assert fact_view_at(memory).resolve("Harbor").entities == ()
    again = import_openclaw(memory, path)
    assert (again.facts, again.withdrawn, again.superseded) == (0, 0, 0)
    change(path, "UPDATE relations SET subject = 'Berta' WHERE predicate = 'owns'")
    import_openclaw(memory, path)
    assert "owns Harbor Engine" in current(memory, "Berta")
    assert "owns Harbor Engine" not in current(memory, "Ada")
    change(path, "UPDATE relations SET object = 'port 4100' WHERE predicate = 'runs_on'")
    change(path, "UPDATE relations SET subject = 'Ada' WHERE predicate = 'owns'")
    import_openclaw(memory, path)
    assert "owns Harbor Engine" in current(memory, "Ada")
    assert "owns Harbor Engine" not in current(memory, "Berta")
    assert "runs_on port 4100" in current(memory, "Harbor Engine"), "changed back"
    assert "runs_on port 5100" not in current(memory, "Harbor Engine")


def test_one_database_does_not_withdraw_what_another_says(memory: Memory, path: Path, tmp_path: Path) -> None:
    import_openclaw(memory, path)
    other = tmp_path / "other" / "facts.db"
    other.parent.mkdir()
    shutil.copy(path, other)
    change(other, "DELETE FROM facts")
    assert import_openclaw(memory, other).withdrawn == 0
    assert "phone 2" in current(memory, "Ada")


def change(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


def current(memory: Memory, name: str) -> set[str]:
    kg = fact_view_at(memory)
    entity = kg.resolve(name).entity
    assert entity is not None
    found = kg.about(entity.row, valid_at=memory.clock.now_us(), direction="out")
    return {f"{fact.predicate} {fact.object}" for fact in found}
