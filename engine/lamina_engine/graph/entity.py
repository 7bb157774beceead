"""Entity links: pairs of documents that name the same rare thing.

The things are those that the vault's facts know. An entity that a chunk told of first is mentioned by the others
(`lamina_engine.graph.mentions`); these links are for those that came without one, from an import or a seed file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.graph.corpus import round_count, texts_of
from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.naming import Name, NameFinder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "entity"
RELATION: Final = "entity"
LEAST_IDF: Final = 3.0
OTHERS: Final = 20
UNSPECIFIC: Final = ("concept",)
"""Types of entities that are values of facts more often than things."""


def build(memory: Memory) -> LinkCounts:
    """Link documents by the known things they name, through their representatives."""
    named, created = _documents(memory.view())
    return sync(memory, shared(named, created), origin=ORIGIN, relations=[RELATION], redacted=True)


def idf(documents: int, naming: int) -> float:
    """Return how rare an entity is: ln((N + 1) / (df + 1))."""
    return math.log((documents + 1) / (naming + 1))


def weight(greatest: float, shared_entities: int) -> float:
    """Return a pair's weight from its greatest idf and the number of shared entities."""
    return min(1.0, 0.3 + 0.12 * greatest + min(0.15, 0.05 * (shared_entities - 1)))


def shared(named: Mapping[str, frozenset[str]], created: Mapping[str, int]) -> list[Draft]:
    """Return the links between documents."""
    naming: dict[str, list[str]] = defaultdict(list)
    for document in sorted(named, key=lambda name: (-created[name], name)):
        for entity in named[document]:
            naming[entity].append(document)
    total = round_count(len(named), bits=7)
    rare = {entity: idf(total, len(documents)) for entity, documents in naming.items() if len(documents) > 1}
    rare = {entity: value for entity, value in rare.items() if value >= LEAST_IDF}
    pairs = {
        (document, other) if document < other else (other, document)
        for entity in rare
        for document in naming[entity]
        for other in _others(naming[entity], document)
    }
    return [_entity_draft(first, second, named, rare) for first, second in sorted(pairs)]


def _others(documents: Sequence[str], document: str) -> list[str]:
    """Return the first documents but one."""
    return [other for other in documents[: OTHERS + 1] if other != document][:OTHERS]


def _entity_draft(first: str, second: str, named: Mapping[str, frozenset[str]], rare: Mapping[str, float]) -> Draft:
    both = named[first] & named[second]
    rarest = min(both, key=lambda entity: (-rare.get(entity, 0.0), entity))
    note = f"{rarest} ({len(both)} shared)" if len(both) > 1 else rarest
    return Draft(first, second, RELATION, weight(rare[rarest], len(both)), note)


def _documents(view: View) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """Return the entities of each document, over all its chunks."""
    names = dict.fromkeys(Name(name) for name, chunk in known_entities(view) if chunk is None)
    if not names:
        return {}, {}
    found = documents_of(view)
    named: list[set[str]] = [set() for _ in found.ids]
    finder = NameFinder(texts_of(view), names)
    for name in names:
        for row in finder.rows_of(name):
            named[found.documents[np.searchsorted(found.rows, row)]].add(name.text)
    return (
        {name: frozenset(entities) for name, entities in zip(found.ids, named, strict=True)},
        dict(zip(found.ids, found.created_at.tolist(), strict=True)),
    )


def known_entities(view: View) -> list[tuple[str, str | None]]:
    """Return names and aliases of known things, each with the chunk that told of it first."""
    snapshot = view.snapshot
    stops = [snapshot.watermark(log, view.as_of_us) for log in ("entities", "aliases")]
    if not stops[0]:
        return []
    columns = ("kind", "entity", "into", "name", "type", "chunk")
    entities = snapshot.records("entities", np.arange(stops[0]), columns)
    merged = {each["entity"]: each["into"] for each in entities if each["kind"] == "merge"}
    known = {
        row: each["chunk"]
        for row, each in enumerate(entities)
        if each["kind"] == "entity" and each["name"] and each["type"] not in UNSPECIFIC
    }
    aliases: dict[tuple[str, int], bool] = {}
    for each in snapshot.records("aliases", np.arange(stops[1]), ("alias", "entity", "active")) if stops[1] else ():
        aliases[each["alias"], each["entity"]] = each["active"]
    found = [(entities[row]["name"], chunk) for row, chunk in known.items() if row not in merged]
    found += [(alias, known[row]) for (alias, row), active in aliases.items() if active and row in known]
    return [(name, chunk) for name, chunk in found if name]
