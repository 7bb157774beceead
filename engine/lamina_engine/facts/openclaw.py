"""A ``facts.db`` of the openclaw graph layer: its facts, relations and aliases, read from the tables themselves.

Its full-text tables, which may be stale, are never asked. Missing unique keys and duplicate rows do no harm: a fact is
written once. Columns that only some versions have are taken where they are.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, LaminaError
from lamina_engine.facts import names
from lamina_engine.facts.book import book_at
from lamina_engine.facts.drafts import Draft, columns_of
from lamina_engine.facts.entities import Named, ensure
from lamina_engine.facts.log import write_columns
from lamina_engine.facts.predicates import Registry, predicate_name
from lamina_engine.facts.seeding import Seeded

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

ORIGIN: Final = "openclaw"
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "facts": ("entity", "key", "value"),
    "relations": ("subject", "predicate", "object"),
    "aliases": ("alias", "entity"),
}


def load(memory: Memory, path: Path) -> Seeded:
    """Read a ``facts.db`` into a vault; reading it again changes nothing.

    Parameters
    ----------
    memory : Memory
    path : Path
        A SQLite file. It is opened for reading alone.

    Returns
    -------
    Seeded
        With what could not be read among its ``problems``.

    Raises
    ------
    IngestError
        When it is no SQLite file, or has none of the tables.
    VaultReadOnly, VaultLocked, OSError
    """
    tables = _read(path)
    problems: list[str] = []
    drafts = [*_facts(tables["facts"], book_at(memory).registry), *_relations(tables["relations"])]
    made = ensure(memory, _entities(tables, problems), origin=ORIGIN)
    written = write_columns(memory, columns_of(drafts), origin=ORIGIN, skip_bad=True, repeat=False, label=path.name)
    relations = len(tables["relations"])
    return Seeded(
        made.entities + written.entities, made.added, written.added, min(relations, written.added), written.unchanged,
        written.superseded, tuple(problems + written.problems),
    )  # fmt: skip


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    if not path.is_file():
        raise IngestError(f"{path} is not a file; give an openclaw facts.db")
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second where its folder cannot be written
        try:
            with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
                database.text_factory = lambda raw: raw.decode("utf-8", "replace")
                return {table: _rows(database, table, needed) for table, needed in _known(database, path).items()}
        except sqlite3.OperationalError as error:
            failure: sqlite3.Error = error
        except sqlite3.DatabaseError as error:
            failure = error
            break
    raise IngestError(f"{path} cannot be read as SQLite: {failure}")


def _known(database: sqlite3.Connection, path: Path) -> Mapping[str, tuple[str, ...]]:
    there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if there.isdisjoint(_TABLES):
        raise IngestError(f"{path} has none of the tables {', '.join(_TABLES)}; give an openclaw facts.db")
    return _TABLES


def _rows(database: sqlite3.Connection, table: str, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    if not set(needed) <= set(columns):
        return []
    order = "rowid" if "id" not in columns else "id"
    found = database.execute(f"SELECT * FROM {table} ORDER BY {order}")
    return [dict(zip(columns, row, strict=True)) for row in found]


def _entities(tables: Mapping[str, list[dict[str, Any]]], problems: list[str]) -> Iterator[Named]:
    """Yield what the tables speak of, with categories as types, and aliases."""
    types: dict[str, str | None] = {}
    called: dict[str, str] = {}
    for table, column in (("facts", "entity"), ("relations", "subject"), ("aliases", "entity")):
        for row in tables[table]:
            name = _name(row[column])
            if name is None:
                continue
            key = names.caseless(name)
            called.setdefault(key, name)
            types.setdefault(key, None)
            if table == "facts" and row.get("category"):
                types[key] = _type(row["category"])  # of several the last row's, as its own export has it
    others: dict[str, list[str]] = {}
    for row in tables["aliases"]:
        entity, alias = _name(row["entity"]), _name(row["alias"])
        if entity is None or alias is None:
            problems.append(
                f"alias {row['alias']!r:.60} of {row['entity']!r:.60} is left out: a name is empty or too long"
            )
        else:
            others.setdefault(names.caseless(entity), []).append(alias)
    for key, name in called.items():
        yield Named(name, types[key], others.get(key, ()))


def _name(value: Any) -> str | None:
    try:
        return names.clean(value)
    except InvalidArgument:
        return None


def _type(value: Any) -> str | None:
    try:
        return names.clean_type(value)
    except InvalidArgument:
        return None


def _facts(rows: list[dict[str, Any]], registry: Registry) -> Iterator[Draft]:
    """Yield facts, the older first; of several values of a functional key each holds from when it was written."""
    rows = sorted(rows, key=lambda row: str(row.get("created_at") or ""))
    first: set[tuple[str, str]] = set()
    for row in rows:
        begin = None
        with contextlib.suppress(LaminaError):
            key = names.caseless(str(row["entity"])), predicate_name(row["key"])
            if registry.is_functional(key[1]):
                begin = _moment(row.get("created_at")) if key in first else None
                first.add(key)
        end = _moment(row.get("superseded_at"))
        if begin is not None and end is not None and end <= begin:
            begin = None
        yield Draft(
            row["entity"], row["key"], _value(row["value"]), category=_type(row.get("category")), source=row.get("source"),
            valid_from=begin, valid_to=end,
        )  # fmt: skip


def _relations(rows: list[dict[str, Any]]) -> Iterator[Draft]:
    for row in rows:
        weight = row.get("weight")
        yield Draft(
            row["subject"], row["predicate"], _value(row["object"]), kind="entity", category=_type(row.get("category")),
            source=row.get("source"), weight=1.0 if weight is None else weight,
        )  # fmt: skip


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) else value


def _moment(value: Any) -> int | None:
    """Return a moment of the file; SQLite writes UTC without saying so."""
    if not isinstance(value, str):
        return None
    try:
        return parse_instant(value, "UTC")
    except InvalidArgument:
        return None
