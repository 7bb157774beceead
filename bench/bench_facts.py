"""Exact answers in well under a millisecond: facts of a million rows beside SQLite with the schema of the source system.

One invented world for both: a fifth as many entities as facts, a tenth as many aliases. What SQLite answers is compared with
what Lamina answers before either is timed. Sizes are facts.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.timing import describe as note_time
from bench.timing import over, repeat
from lamina_engine.clock import parse_instant
from lamina_engine.facts.entities import EntityDraft, ensure_entities
from lamina_engine.facts.log import write_columns
from lamina_engine.facts.search import sync_index
from lamina_engine.facts.view import FactView, fact_view_at
from lamina_engine.memory import Memory

ABOUT, THEN, SCAN, ADD = (
    "What is said of an entity",
    "The same at a moment",
    "Aliases in a question",
    "Facts added in one call",
)
ASKED: Final = 300
MOST_ALIASES_IN_SQLITE: Final = 10_000
_SYLLABLES: Final = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
_SCHEMA: Final = """
CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    category TEXT NOT NULL, source TEXT, created_at TEXT DEFAULT (datetime('now')));
CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, predicate TEXT NOT NULL,
    object TEXT NOT NULL, weight REAL DEFAULT 1.0, source TEXT, UNIQUE(subject, predicate, object));
CREATE TABLE aliases (id INTEGER PRIMARY KEY AUTOINCREMENT, alias TEXT NOT NULL COLLATE NOCASE, entity TEXT NOT NULL,
    UNIQUE(alias, entity));
CREATE INDEX facts_entity ON facts(entity);
CREATE INDEX relations_subject ON relations(subject);
CREATE INDEX relations_object ON relations(object);
"""
_TEXT: Final = """
CREATE VIRTUAL TABLE facts_fts USING fts5(entity, key, value, content=facts, content_rowid=id);
CREATE TRIGGER facts_ai AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts(rowid, entity, key, value) VALUES (new.id, new.entity, new.key, new.value);
END;
CREATE VIRTUAL TABLE relations_fts USING fts5(subject, predicate, object, content=relations, content_rowid=id);
CREATE TRIGGER relations_ai AFTER INSERT ON relations BEGIN
    INSERT INTO relations_fts(rowid, subject, predicate, object) VALUES (new.id, new.subject, new.predicate, new.object);
END;
"""


class World(NamedTuple):
    """Facts by column, and aliases."""

    n: int
    entities: list[str]
    columns: dict[str, list[str]]
    aliases: list[tuple[str, str]]
    asked: list[str]
    questions: list[str]


def world(n: int) -> World:
    rng = random.Random(11)
    entities = [_name(at) for at in range(max(2, n // 5))]
    columns: dict[str, list[str]] = {"subject": [], "predicate": [], "object": [], "source": []}
    for at in range(n):
        subject, turn = entities[at % len(entities)], at // len(entities) % 5
        predicate, value = (
            ("status", rng.choice(("alpha", "beta", "live"))),
            ("phone", f"555 {rng.randrange(10**7):07d}"),
            ("uses", rng.choice(entities)),
            ("email", f"{subject.lower()}@example.org"),
            ("purpose", f"port {rng.randrange(65_536)}"),
        )[turn]
        for name, text in zip(columns, (subject, predicate, value, f"notes/{at % 5_000}.md"), strict=True):
            columns[name].append(text)
    aliases = [
        (f"the {rng.choice(_SYLLABLES)} {_name(at)[::-1]}", rng.choice(entities)) for at in range(max(1, n // 10))
    ]
    asked = [rng.choice(entities) for _ in range(ASKED)]
    questions = [
        f"When did {name} last talk to {rng.choice(aliases)[0]} about the new server in the office?"
        for name in asked[:50]
    ]
    return World(n, entities, columns, aliases, asked, questions)


def _name(number: int) -> str:
    at, found = number, ""
    for _ in range(4):
        found += _SYLLABLES[at % 80]
        at //= 80
    return found.capitalize()


class Filled(NamedTuple):
    """The world in both systems."""

    world: World
    memory: Memory
    database: sqlite3.Connection

    @property
    def kg(self) -> FactView:
        return fact_view_at(self.memory)


@pytest.fixture(scope="module")
def filled(size: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("facts")
    made = world(size)
    memory = Memory(folder / "vault", create=True, embedder="none")
    fill_lamina(memory, made, index=False)
    ensure_entities(memory, [EntityDraft(entity, None, [alias]) for alias, entity in made.aliases])
    sync_index(memory)
    database = sqlite3.connect(folder / "facts.db")
    fill_sqlite(database, made, text=True)
    database.executemany("INSERT OR IGNORE INTO aliases (alias, entity) VALUES (?, ?)", made.aliases)
    yield Filled(made, memory, database)
    memory.close()
    database.close()
    shutil.rmtree(folder, ignore_errors=True)


def fill_lamina(memory: Memory, made: World, *, index: bool) -> None:
    write_columns(memory, made.columns, index=index)


def fill_sqlite(database: sqlite3.Connection, made: World, *, text: bool) -> None:
    database.executescript(f"PRAGMA journal_mode=WAL;{_SCHEMA}{_TEXT if text else ''}")
    rows = list(zip(*made.columns.values(), strict=True))
    with database:
        database.executemany(
            "INSERT INTO facts (entity, key, value, category, source) VALUES (?, ?, ?, 'project', ?)",
            [row for row in rows if row[1] != "uses"],
        )
        database.executemany(
            "INSERT OR IGNORE INTO relations (subject, predicate, object, source) VALUES (?, ?, ?, ?)",
            [row for row in rows if row[1] == "uses"],
        )


def lamina_about(filled: Filled, name: str, when: int) -> set[tuple[str, str]]:
    kg = filled.kg
    entity = kg.resolve(name).entity
    return set() if entity is None else {(f.predicate, f.value) for f in kg.about(entity.row, valid_at=when)}


def sqlite_about(database: sqlite3.Connection, name: str) -> set[tuple[str, str]]:
    facts = database.execute("SELECT key, value FROM facts WHERE entity = ?", (name,)).fetchall()
    out = database.execute("SELECT predicate, object FROM relations WHERE subject = ?", (name,)).fetchall()
    into = database.execute("SELECT predicate, subject FROM relations WHERE object = ?", (name,)).fetchall()
    return {*facts, *out, *into}


@pytest.mark.parametrize("system", ["lamina", "sqlite"])
def test_about(benchmark: BenchmarkFixture, filled: Filled, size: int, system: str) -> None:
    now = filled.memory.clock.now_us()
    for name in filled.world.asked[:20]:
        assert lamina_about(filled, name, now) == sqlite_about(filled.database, name)
    if system == "sqlite":
        over(
            benchmark,
            lambda name: sqlite_about(filled.database, name),
            filled.world.asked,
            group=ABOUT,
            system=system,
            size=size,
        )
        return
    kg = filled.kg
    rows = [_row(kg, name) for name in filled.world.asked]
    over(benchmark, lambda row: kg.about(row, valid_at=now), rows, group=ABOUT, system=system, size=size)


def test_valid_at(benchmark: BenchmarkFixture, filled: Filled, size: int) -> None:
    kg, then = filled.kg, parse_instant("2001-01-01")
    rows = [_row(kg, name) for name in filled.world.asked]
    over(benchmark, lambda row: kg.about(row, valid_at=then), rows, group=THEN, system="lamina", size=size)


@pytest.mark.parametrize("system", ["lamina", "sqlite"])
def test_scanning(benchmark: BenchmarkFixture, filled: Filled, size: int, system: str) -> None:
    kg, questions = filled.kg, filled.world.questions
    assert all(len(kg.scan(question)) >= 2 for question in questions)
    if system == "lamina":
        over(benchmark, kg.scan, questions, group=SCAN, system=system, size=size, settings=f"{size // 10:,} aliases")
        return
    if len(filled.world.aliases) > MOST_ALIASES_IN_SQLITE:
        pytest.skip(f"a loop of expressions over {len(filled.world.aliases):,} aliases takes too long")
    over(
        benchmark, lambda question: regexes(filled.database, question), questions[:5], group=SCAN,
        system="a loop of expressions", size=size, settings=f"{size // 10:,} aliases",
    )  # fmt: skip


def regexes(database: sqlite3.Connection, question: str) -> list[str]:
    """Find aliases as the source system does: one after the other, in the question."""
    found, lower = [], question.lower()
    for alias, entity in database.execute("SELECT alias, entity FROM aliases"):
        low = alias.lower()
        if (" " in low and low in lower) or re.search(rf"\b{re.escape(low)}\b", lower):
            found.append(entity)
    return found


@pytest.mark.parametrize("system", ["lamina", "lamina, text later", "sqlite", "sqlite, text later"])
def test_adding(benchmark: BenchmarkFixture, tmp_path: Path, size: int, system: str) -> None:
    made, folders = world(size), iter(range(1_000))

    def fill() -> int:
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        later = system.endswith("later")
        if system.startswith("lamina"):
            memory = Memory(folder / "vault", create=True, embedder="none")
            fill_lamina(memory, made, index=not later)
            count = fact_view_at(memory).fact_rows
            memory.close()
        else:
            database = sqlite3.connect(folder / "facts.db")
            fill_sqlite(database, made, text=not later)
            count = sum(database.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("facts", "relations"))
            database.close()
        shutil.rmtree(folder)
        return count

    got = repeat(benchmark, fill, rounds=3 if size <= 100_000 else 1, warm=1 if benchmark.enabled else 0)
    assert got == size
    more: dict[str, Any] = {"amount": size, "unit": "facts/s"}
    note_time(benchmark, group=ADD, system=system, kind="rate", size=size, **more)


def _row(kg: FactView, name: str) -> int:
    entity = kg.resolve(name).entity
    assert entity is not None
    return entity.row
