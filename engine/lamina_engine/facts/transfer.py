"""Import and export of facts: JSON lines, the viewer's graph, and openclaw's ``facts.db``.

JSON lines hold declared predicates, entities with aliases, and facts with validity, in log order. Exporting, importing into an
empty vault and exporting again gives the same bytes. Of a ``facts.db`` only its tables are read, never its full-text tables,
which may be stale; missing unique keys, duplicate rows and columns of other versions do no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta, Struct

from lamina_engine.atomic_write import atomic_write
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, LaminaError
from lamina_engine.facts import names
from lamina_engine.facts.entities import EntityDraft, ensure_entities, remove_alias
from lamina_engine.facts.log import retract, write_columns
from lamina_engine.facts.mending import comparison_key
from lamina_engine.facts.predicates import KINDS, Kind, Registry, declare, predicate_name, read_declared
from lamina_engine.facts.schema import MIN_TIME, Draft, to_columns
from lamina_engine.facts.seeding import SeedReport
from lamina_engine.facts.view import FactView, fact_view_at, read_facts, read_states, rows_of_origin
from lamina_engine.json_lines import read_json_lines, read_tag, write_json_lines
from lamina_engine.results import Fact

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

Text = Annotated[str, Meta(min_length=1)]


class PredicateLine(Struct, frozen=True, tag_field="record", tag="predicate"):
    """Declared predicate."""

    name: Text
    object: str = "any"
    functional: bool = False
    inverse: str | None = None


class EntityLine(Struct, frozen=True, tag_field="record", tag="entity"):
    """Entity with its aliases."""

    name: Text
    type: Text
    id: str = ""
    aliases: list[str] = []


class FactLine(Struct, frozen=True, tag_field="record", tag="fact"):
    """Fact; subject and object are canonical ids where they are entities."""

    subject: Text
    predicate: Text
    object: Text
    kind: str = "literal"
    category: str | None = None
    source: str | None = None
    chunk: str | None = None
    confidence: float = 1.0
    weight: float = 1.0
    valid_from: str | None = None
    valid_to: str | None = None
    origin: str = "import"


Line = PredicateLine | EntityLine | FactLine


def export_facts(memory: Memory, path: Path) -> int:
    """Write predicates, entities and facts as JSON lines; return the number of facts.

    Closed facts are included, retracted ones are not.
    """
    lines = list(fact_lines(memory))
    write_json_lines(path, lines)
    return sum(isinstance(line, FactLine) for line in lines)


def fact_lines(memory: Memory) -> Iterator[Line]:
    """Yield predicates, entities and facts, each after what it names."""
    kg = fact_view_at(memory)
    return itertools.chain(_predicate_lines(kg), _entity_lines(kg), map(_fact_line, _all_facts(kg)))


def export_graph(memory: Memory, path: Path) -> int:
    """Write the facts that hold now as one JSON document for the viewer; return their number.

    ``nodes`` are entities, ``edges`` the facts between them, ``facts`` those with literals by entity. A node's id is its name, or its
    canonical id where several have that name.
    """
    kg, now = fact_view_at(memory), memory.clock.now_us()
    document = graph(kg, now)
    with atomic_write(path) as aside:
        aside.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    return sum(len(facts) for facts in document["facts"].values()) + len(document["edges"])


def graph(kg: FactView, valid_at: int | None) -> dict[str, Any]:
    """Return a moment's facts as ``nodes``, ``edges``, ``facts`` and ``stats``, in fixed order.

    Without a moment, facts of all times, each with ``valid_from`` and ``valid_to`` where it has them.
    """
    entities = {entity.id: entity for entity in map(kg.entity, _entity_rows(kg))}
    count: dict[str, int] = {}
    for entity in entities.values():
        count[entity.name] = count.get(entity.name, 0) + 1
    shown = {key: entity.name if count[entity.name] == 1 else key for key, entity in entities.items()}
    edges, facts = dict[tuple[object, ...], dict[str, str]](), dict[str, list[dict[str, str]]]()
    for fact in _all_facts(kg, valid_at):
        span = {} if valid_at is not None else _span(fact)
        subject = shown[fact.subject_id]
        if fact.object_id is not None:
            other = shown[fact.object_id]
            edge = {"source": subject, "target": other, "predicate": fact.predicate, **span}
            edges[subject, other, fact.predicate, *span.items()] = edge
        else:
            facts.setdefault(subject, []).append({"key": fact.predicate, "value": fact.object, **span})
    return {
        "nodes": sorted(
            ({"id": shown[key], "category": entity.type} for key, entity in entities.items()), key=lambda node: node["id"]
        ),
        "edges": [edges[key] for key in sorted(edges)],
        "facts": {
            name: sorted(facts[name], key=lambda fact: (fact["key"], fact["value"])) for name in sorted(facts)
        },
        "stats": {
            "entities": len(entities), "relations": len(edges), "facts": sum(map(len, facts.values())),
            "aliases": sum(len(entity.aliases) for entity in entities.values()),
        },
    }  # fmt: skip


def _span(fact: Fact) -> dict[str, str]:
    moments = {"valid_from": format_instant(fact.valid_from_us), "valid_to": format_instant(fact.valid_to_us)}
    return {name: moment for name, moment in moments.items() if moment is not None}


def around(document: dict[str, Any], center: str, hops: int, limit: int) -> dict[str, Any]:
    """Return a node and those within some hops of it, nearest first, then by id."""
    near: dict[str, set[str]] = {node["id"]: set() for node in document["nodes"]}
    for edge in document["edges"]:
        near[edge["source"]].add(edge["target"])
        near[edge["target"]].add(edge["source"])
    inside, rim = {center}, {center}
    for _ in range(hops):
        reached = sorted(set().union(*(near[name] for name in rim)) - inside)[: limit - len(inside)]
        rim = set(reached)
        inside |= rim
    return {
        "nodes": [node for node in document["nodes"] if node["id"] in inside],
        "edges": [each for each in document["edges"] if each["source"] in inside and each["target"] in inside],
        "facts": {name: facts for name, facts in document["facts"].items() if name in inside},
        "stats": document["stats"],
    }


def is_fact_file(path: Path) -> bool:
    """Return whether a file begins like one of `export_facts`."""
    return read_tag(path) in ("predicate", "entity", "fact")


def import_facts(memory: Memory, path: Path) -> int:
    """Import a file of `export_facts`, unless a line is bad; return the number of new facts."""
    lines: list[Line] = [
        *read_json_lines(path, Line, what="a line of exported facts", instead="give what `lamina export` wrote")  # type: ignore[arg-type]
    ]
    reader = FactImport(memory)
    reader.read(lines)
    return reader.added


class FactImport:
    """Import of exported facts, part by part: what a part names must come with it or before it."""

    def __init__(self, memory: Memory) -> None:
        self.added = 0
        self._memory = memory
        self._ids: dict[str, str] = {}
        """Canonical id here of each exported one."""

    def read(self, lines: Sequence[Line]) -> None:
        """Write some lines."""
        memory = self._memory
        for line in lines:
            if isinstance(line, PredicateLine):
                declare(
                    memory, line.name, functional=line.functional, inverse=line.inverse, object=_kind_of(line.object)
                )
        entities = [line for line in lines if isinstance(line, EntityLine)]
        if entities:
            drafts = [EntityDraft(line.name, line.type, line.aliases) for line in entities]
            made = ensure_entities(memory, drafts, origin="import")
            kg = fact_view_at(memory)
            self._ids |= {line.id: kg.identity(row) for line, row in zip(entities, made.rows, strict=True) if line.id}
        facts = (line for line in lines if isinstance(line, FactLine))
        for origin, same in itertools.groupby(facts, key=lambda line: line.origin):
            columns = to_columns([_draft_of_line(line, self._ids) for line in same])
            self.added += write_columns(memory, columns, origin=origin).added


def _kind_of(text: str) -> Kind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise InvalidArgument(f"object={text!r} must be one of {', '.join(KINDS)}")


def _draft_of_line(line: FactLine, ids: Mapping[str, str]) -> Draft:
    begin = MIN_TIME if line.valid_from is None else parse_instant(line.valid_from, what="valid_from")
    end = None if line.valid_to is None else parse_instant(line.valid_to, what="valid_to")
    kind: Any = line.kind
    return Draft(
        ids.get(line.subject, line.subject), line.predicate, ids.get(line.object, line.object), kind,
        category=line.category, source=line.chunk or line.source, confidence=line.confidence, weight=line.weight,
        valid_from=begin, valid_to=end,
    )  # fmt: skip


def _predicate_lines(kg: FactView) -> Iterator[PredicateLine]:
    """Yield the vault's own predicates; of two inverses the declared one."""
    for predicate in read_declared(kg.snapshot, kg.predicate_rows):
        yield PredicateLine(predicate.name, predicate.object, predicate.functional, predicate.inverse)


def _entity_lines(kg: FactView) -> Iterator[EntityLine]:
    for row in _entity_rows(kg):
        entity = kg.entity(row)
        yield EntityLine(entity.name, entity.type, entity.id, list(entity.aliases))


def _entity_rows(kg: FactView) -> list[int]:
    """Return the rows of unmerged entities, in log order."""
    return [row for row in range(kg.entity_rows) if kg.is_entity(row) and row not in kg.parents]


def _all_facts(kg: FactView, valid_at: int | None = None) -> list[Fact]:
    """Return all facts in log order that were not retracted, or that hold at a moment."""
    rows = np.arange(kg.fact_rows)
    return read_facts(kg, read_states(kg, rows if valid_at is None else rows[kg.is_current(rows, valid_at)]), "out")


def _fact_line(fact: Fact) -> FactLine:
    return FactLine(
        fact.subject_id, fact.predicate, fact.object if fact.object_id is None else fact.object_id,
        "literal" if fact.object_id is None else "entity", fact.category, fact.source, fact.chunk, fact.confidence,
        fact.weight, format_instant(fact.valid_from_us), format_instant(fact.valid_to_us), fact.origin,
    )  # fmt: skip


OPENCLAW: Final = "openclaw"
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "facts": ("entity", "key", "value"),
    "relations": ("subject", "predicate", "object"),
    "aliases": ("alias", "entity"),
}


def import_openclaw(memory: Memory, path: Path) -> SeedReport:
    """Import a ``facts.db`` of openclaw's graph layer.

    Read again, it changes nothing; where its rows changed, what it no longer holds is withdrawn.
    """
    tables = _read_database(path)
    problems: list[str] = []
    registry, origin = fact_view_at(memory).registry, _origin_of(path)
    drafts = [*_fact_drafts(tables["facts"], registry), *_relation_drafts(tables["relations"], registry)]
    entities = list(_openclaw_entities(tables, problems))
    made = ensure_entities(memory, entities, origin=origin)
    written = write_columns(memory, to_columns(drafts), origin=origin, skip_bad=True, repeat=False, label=path.name)
    withdrawn = retract(memory, _unlisted_rows(fact_view_at(memory), origin, written.rows), origin=origin)
    if withdrawn:  # a value that ended because of a row that is gone stands again
        again = _interrupted(memory, drafts, written.rows)
        written.added += write_columns(memory, to_columns(again), origin=origin, skip_bad=True, label=path.name).added
    withdrawn += _withdraw_aliases(memory, entities, origin)
    relations = len(tables["relations"])
    return SeedReport(
        made.entities + written.entities, made.added, written.added, min(relations, written.added), written.unchanged,
        written.superseded, withdrawn, tuple(problems + written.problems),
    )  # fmt: skip


def _origin_of(path: Path) -> str:
    """Return the origin of what a database holds: what leaves one is not withdrawn for another."""
    return f"{OPENCLAW}:{hashlib.blake2b(path.resolve().as_posix().encode(), digest_size=4).hexdigest()}"


def _unlisted_rows(kg: FactView, origin: str, listed: Sequence[int]) -> list[int]:
    """Return the open facts that a database held when it was last read, and no longer holds."""
    found = kg.facts_at(rows_of_origin(kg, origin))
    return [fact.row for fact in found if fact.valid_to_us is None and fact.row not in set(listed)]


def _interrupted(memory: Memory, drafts: Sequence[Draft], rows: Sequence[int]) -> list[Draft]:
    """Return the newest listed values of functional predicates that ended without another."""
    kg, now = fact_view_at(memory), memory.clock.now_us()
    listed = [(draft, row) for draft, row in zip(drafts, rows, strict=True) if row >= 0 and draft.valid_to is None]
    known = np.unique(np.array([row for _, row in listed], np.int64))
    facts = {fact.row: fact for fact in kg.facts_at(known[kg.is_current(known, None)].tolist())}
    newest: dict[tuple[object, ...], Draft] = {}
    for draft, row in listed:
        key = comparison_key(kg.registry, facts[row]) if row in facts else None
        if key is not None and key.functional:
            newest[key.group] = draft
    stated = [
        fact for name in {fact.predicate for fact in facts.values()} for fact in kg.find(predicate=name, valid_at=now)
    ]
    standing = {comparison_key(kg.registry, fact).group for fact in stated}
    return [draft for key, draft in newest.items() if key not in standing]


def _withdraw_aliases(memory: Memory, entities: Sequence[EntityDraft], origin: str) -> int:
    """Remove the aliases that a database no longer has; return their number."""
    kg = fact_view_at(memory)
    listed = {(names.caseless(alias), names.caseless(each.name)) for each in entities for alias in each.aliases}
    rows = np.arange(kg.alias_rows)
    newest: dict[tuple[str, int], tuple[bool, str]] = {}
    for record in kg.snapshot.records("aliases", rows, ("alias", "entity", "active", "origin")):
        newest[record["alias"], record["entity"]] = record["active"], record["origin"]
    gone = [
        (alias, kg.identity(entity))
        for (alias, entity), (active, by) in newest.items()
        if active and by == origin and (names.caseless(alias), names.caseless(kg.name(entity))) not in listed
    ]
    return sum(remove_alias(memory, alias, entity, origin=origin) for alias, entity in gone)


def _read_database(path: Path) -> dict[str, list[dict[str, Any]]]:
    if not path.is_file():
        raise IngestError(f"{path} is not a file; give an openclaw facts.db")
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second where its folder cannot be written
        try:
            with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
                database.text_factory = lambda raw: raw.decode("utf-8", "replace")
                return {
                    table: _table_rows(database, table, needed)
                    for table, needed in _check_tables(database, path).items()
                }
        except sqlite3.OperationalError as error:
            failure: Exception = error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a damaged name is told in bytes that are no text
            failure = error
            break
    raise IngestError(f"{path} cannot be read as SQLite: {failure}")


def _check_tables(database: sqlite3.Connection, path: Path) -> Mapping[str, tuple[str, ...]]:
    there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if there.isdisjoint(_TABLES):
        raise IngestError(f"{path} has none of the tables {', '.join(_TABLES)}; give an openclaw facts.db")
    return _TABLES


def _table_rows(database: sqlite3.Connection, table: str, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    if not set(needed) <= set(columns):
        return []
    order = "rowid" if "id" not in columns else "id"
    found = database.execute(f"SELECT * FROM {table} ORDER BY {order}")
    return [dict(zip(columns, row, strict=True)) for row in found]


def _openclaw_entities(tables: Mapping[str, list[dict[str, Any]]], problems: list[str]) -> Iterator[EntityDraft]:
    """Yield the entities of the tables, with categories as types, and aliases."""
    types: dict[str, str | None] = {}
    called: dict[str, str] = {}
    for table, column in (("facts", "entity"), ("relations", "subject"), ("aliases", "entity")):
        for row in tables[table]:
            name = _clean_name(row[column])
            if name is None:
                continue
            key = names.caseless(name)
            called.setdefault(key, name)
            types.setdefault(key, None)
            if table == "facts" and row.get("category"):
                types[key] = _clean_type(row["category"])  # of several the last row's, as its own export has it
    others: dict[str, list[str]] = {}
    for row in tables["aliases"]:
        entity, alias = _clean_name(row["entity"]), _clean_name(row["alias"])
        if entity is None or alias is None:
            problems.append(
                f"alias {row['alias']!r:.60} of {row['entity']!r:.60} is left out: a name is empty or too long"
            )
        else:
            others.setdefault(names.caseless(entity), []).append(alias)
    for key, name in called.items():
        yield EntityDraft(name, types[key], others.get(key, ()))


def _clean_name(value: Any) -> str | None:
    with contextlib.suppress(InvalidArgument):
        return names.clean(value)
    return None


def _clean_type(value: Any) -> str | None:
    with contextlib.suppress(InvalidArgument):
        return names.clean_type(value)
    return None


def _fact_drafts(rows: list[dict[str, Any]], registry: Registry) -> Iterator[Draft]:
    """Yield facts, oldest first; values of a functional key hold from when they were written."""
    rows = sorted(rows, key=lambda row: str(row.get("created_at") or ""))
    first: set[tuple[str, str]] = set()
    for row in rows:
        begin = None
        with contextlib.suppress(LaminaError):
            key = names.caseless(str(row["entity"])), predicate_name(row["key"])
            if registry.is_functional(key[1]):
                begin = _to_instant(row.get("created_at")) if key in first else None
                first.add(key)
        end = _to_instant(row.get("superseded_at"))
        if begin is not None and end is not None and end <= begin:
            begin = None
        yield Draft(
            row["entity"], row["key"], _to_text(row["value"]), category=_clean_type(row.get("category")), source=row.get("source"),
            valid_from=begin, valid_to=end,
        )  # fmt: skip


def _relation_drafts(rows: list[dict[str, Any]], registry: Registry) -> Iterator[Draft]:
    """Yield relations, as `_fact_drafts` does facts."""
    weights = [1.0 if row.get("weight") is None else row["weight"] for row in rows]
    keyed = [
        {**row, "entity": row["subject"], "key": row["predicate"], "value": row["object"], "weight": weight}
        for row, weight in zip(rows, weights, strict=True)
    ]
    keyed.sort(key=lambda row: str(row.get("created_at") or ""))
    for row, draft in zip(keyed, _fact_drafts(keyed, registry), strict=True):
        yield draft._replace(kind="entity", weight=row["weight"])


def _to_text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) else value


def _to_instant(value: Any) -> int | None:
    """Return an instant of the file; SQLite writes UTC without a zone."""
    with contextlib.suppress(InvalidArgument):
        return parse_instant(value, "UTC") if isinstance(value, str) else None
    return None
