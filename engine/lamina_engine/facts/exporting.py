"""Facts out of a vault and into another: as a graph for the viewer, and as JSON lines that hold all that is known now.

JSON lines: predicates that were declared, entities with their aliases, and facts with their validity, in the order in which
they were written. Exporting, importing into an empty vault and exporting again gives the same bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from lamina_engine.atomic_write import atomic_write
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.about import made, settle
from lamina_engine.facts.book import Book, book_at
from lamina_engine.facts.drafts import Draft, columns_of
from lamina_engine.facts.entities import Named, ensure
from lamina_engine.facts.log import write_columns
from lamina_engine.facts.predicates import KINDS, Kind, declare, declared
from lamina_engine.facts.shapes import MIN_TIME, Fact

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

Text = Annotated[str, Meta(min_length=1)]


class PredicateLine(Struct, frozen=True, tag_field="record", tag="predicate"):
    """A predicate that was declared."""

    name: Text
    object: str = "any"
    functional: bool = False
    inverse: str | None = None


class EntityLine(Struct, frozen=True, tag_field="record", tag="entity"):
    """An entity with its other names."""

    name: Text
    type: Text
    id: str = ""
    aliases: list[str] = []


class FactLine(Struct, frozen=True, tag_field="record", tag="fact"):
    """A fact; subject and object are canonical ids where they are entities."""

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
    """Write predicates, entities and facts as JSON lines; return how many facts. The file appears whole or not at all.

    Facts that were closed are among them; those that were retracted are not.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    book = book_at(memory)
    facts = _all(book)
    lines = itertools.chain(_predicates(book), _entities(book), (_fact_line(fact) for fact in facts))
    _write(path, (msgspec.json.encode(line) + b"\n" for line in lines))
    return len(facts)


def export_graph(memory: Memory, path: Path) -> int:
    """Write what holds now as one JSON document for the viewer; return how many facts it has.

    ``nodes`` are entities, ``edges`` the facts between them, ``facts`` those with literals by entity. A node's id is its
    name, or its canonical id where several have that name.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    book, now = book_at(memory), memory.clock.now_us()
    document = graph(book, now)
    _write(path, [msgspec.json.format(msgspec.json.encode(document), indent=2), b"\n"])
    return sum(len(facts) for facts in document["facts"].values()) + len(document["edges"])


def graph(book: Book, valid_at: int) -> dict[str, Any]:
    """Return what holds at a moment as ``nodes``, ``edges``, ``facts`` and ``stats``, each in a fixed order."""
    entities = {entity.id: entity for entity in map(book.entity, _standing(book))}
    count: dict[str, int] = {}
    for entity in entities.values():
        count[entity.name] = count.get(entity.name, 0) + 1
    shown = {key: entity.name if count[entity.name] == 1 else key for key, entity in entities.items()}
    edges, facts = set(), dict[str, list[dict[str, str]]]()
    for fact in _all(book, valid_at):
        if fact.object_id is not None:
            edges.add((shown[fact.subject_id], shown[fact.object_id], fact.predicate))
        else:
            facts.setdefault(shown[fact.subject_id], []).append({"key": fact.predicate, "value": fact.object})
    return {
        "nodes": sorted(
            ({"id": shown[key], "category": entity.type} for key, entity in entities.items()), key=lambda node: node["id"]
        ),
        "edges": [
            {"source": source, "target": target, "predicate": predicate} for source, target, predicate in sorted(edges)
        ],
        "facts": {
            name: sorted(facts[name], key=lambda fact: (fact["key"], fact["value"])) for name in sorted(facts)
        },
        "stats": {
            "entities": len(entities), "relations": len(edges), "facts": sum(map(len, facts.values())),
            "aliases": sum(len(entity.aliases) for entity in entities.values()),
        },
    }  # fmt: skip


def is_fact_file(path: Path) -> bool:
    """Tell whether a file begins like one that `export_facts` wrote."""
    try:
        with path.open("rb") as file:
            first = msgspec.json.decode(file.readline())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(first, dict) and first.get("record") in ("predicate", "entity", "fact")


def import_facts(memory: Memory, path: Path) -> int:
    """Read what `export_facts` wrote into a vault; return how many facts are new.

    Raises
    ------
    InvalidArgument
        For the first line that is none of an export; nothing is written then.
    AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
    """
    lines = [*_read(path)]
    for line in lines:
        if isinstance(line, PredicateLine):
            declare(memory, line.name, functional=line.functional, inverse=line.inverse, object=_kind(line.object))
    entities = [line for line in lines if isinstance(line, EntityLine)]
    made = ensure(memory, [Named(line.name, line.type, line.aliases) for line in entities], origin="import")
    book = book_at(memory)
    ids = {line.id: book.identity(row) for line, row in zip(entities, made.rows, strict=True) if line.id}
    added = 0
    facts = (line for line in lines if isinstance(line, FactLine))
    for origin, same in itertools.groupby(facts, key=lambda line: line.origin):
        drafts = [_draft(line, ids) for line in same]
        added += write_columns(memory, columns_of(drafts), origin=origin).added
    return added


def _kind(text: str) -> Kind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise InvalidArgument(f"object={text!r} must be one of {', '.join(KINDS)}")


def _draft(line: FactLine, ids: Mapping[str, str]) -> Draft:
    begin = MIN_TIME if line.valid_from is None else parse_instant(line.valid_from, what="valid_from")
    end = None if line.valid_to is None else parse_instant(line.valid_to, what="valid_to")
    kind: Any = line.kind
    return Draft(
        ids.get(line.subject, line.subject), line.predicate, ids.get(line.object, line.object), kind,
        category=line.category, source=line.chunk or line.source, confidence=line.confidence, weight=line.weight,
        valid_from=begin, valid_to=end,
    )  # fmt: skip


def _read(path: Path) -> Iterator[Line]:
    decoder = msgspec.json.Decoder(Line)
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if text.isspace():
                continue
            try:
                yield decoder.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InvalidArgument(
                    f"{path}:{number} is no line of exported facts ({error}); give what `lamina export` wrote"
                ) from error


def _predicates(book: Book) -> Iterator[PredicateLine]:
    """Yield what the vault says of predicates beyond what is built in; of two inverses the one that was declared."""
    for predicate in declared(book.snapshot, book.predicate_rows):
        yield PredicateLine(predicate.name, predicate.object, predicate.functional, predicate.inverse)


def _entities(book: Book) -> Iterator[EntityLine]:
    for row in _standing(book):
        entity = book.entity(row)
        yield EntityLine(entity.name, entity.type, entity.id, list(entity.aliases))


def _standing(book: Book) -> list[int]:
    """Return the rows of entities that were merged into no other, in the order they were made."""
    return [row for row in range(book.entity_rows) if book.is_entity(row) and row not in book.parents]


def _all(book: Book, valid_at: int | None = None) -> list[Fact]:
    """Return every fact that was not retracted, in the order of the log; only what holds at a moment, where one is given."""
    rows = np.arange(book.facts)
    return made(book, settle(book, rows if valid_at is None else rows[book.standing(rows, valid_at)]), "out")


def _fact_line(fact: Fact) -> FactLine:
    return FactLine(
        fact.subject_id, fact.predicate, fact.object if fact.object_id is None else fact.object_id,
        "literal" if fact.object_id is None else "entity", fact.category, fact.source, fact.chunk, fact.confidence,
        fact.weight, format_instant(fact.valid_from), format_instant(fact.valid_to), fact.origin,
    )  # fmt: skip


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with atomic_write(path) as aside, aside.open("wb") as file:
        for part in parts:
            file.write(part)
