from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from lamina_engine.errors import IngestError
from lamina_engine.facts.book import book_at
from lamina_engine.facts.openclaw import load
from lamina_engine.facts.questions import ask
from lamina_engine.memory import Memory

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
    found = load(memory, path)
    assert (found.facts, found.unchanged, found.superseded) == (7, 1, 1)
    assert len(found.problems) == 3
    again = load(memory, path)
    assert (again.facts, again.entities, again.aliases) == (0, 0, 0)
    book = book_at(memory)
    engine = book.resolve("harbor").entity
    assert engine is not None
    assert engine.type == "project"
    told = [
        (fact.key, fact.value, fact.source, fact.weight)
        for fact in book.about(engine.row, valid_at=memory.clock.now_us())
    ]
    assert told == [
        ("runs_on", "port 4100", "facts.db", 1.0), ("status", "beta", "facts.db", 1.0), ("type", "service", "harbor.md", 1.0),
        ("owned_by", "Ada", "USER.md", 0.25),
    ]  # fmt: skip
    ada = book.resolve("Ada").entity
    assert ada is not None
    assert [fact.value for fact in book.about(ada.row, valid_at=None, predicates={"phone"})] == ["1", "2"]
    assert book.resolve("MUM").ambiguous


def test_a_relation_stays_one_where_its_object_is_nothing_known(memory: Memory, path: Path) -> None:
    load(memory, path)
    first = next(iter(ask(memory, "what does Harbor Engine run on?")))
    assert (first.predicate, first.object, first.score) == ("runs_on", "port 4100", 90.0)


def test_later_versions_of_the_schema(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE facts (entity, key, value, category, superseded_at, importance)")
        database.execute("INSERT INTO facts VALUES ('Ada', 'role', 'captain', 'person', '2026-01-05 00:00:00', 0.5)")
        database.commit()
    assert load(memory, path).facts == 1
    book = book_at(memory)
    (fact,) = book.find()
    assert fact.valid_to is not None
    assert book.find(valid_at=memory.clock.now_us()) == []


def test_what_is_no_such_file(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="not a file"):
        load(memory, tmp_path / "nowhere.db")
    text = tmp_path / "text.db"
    text.write_text("no database" * 100)
    with pytest.raises(IngestError, match="SQLite"):
        load(memory, text)
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE things (a)")
        database.commit()
    with pytest.raises(IngestError, match="none of the tables"):
        load(memory, other)
