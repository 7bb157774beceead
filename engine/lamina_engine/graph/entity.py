"""Documents that name the same rare things.

For each entity of a document at most twenty other documents that name it are looked at, newer ones first. A pair is
linked when the rarest entity they share has an idf of at least 3, with::

    idf    = ln((N + 1) / (df + 1))                         N, df: active documents, all and those that name it
    weight = min(1, 0.3 + 0.12 · greatest idf + min(0.15, 0.05 · (shared − 1)))

A shared entity has df ≥ 2, so below 60 documents there is no such link. The builder takes N at seven significant bits (1,000
stays 1,000; the idf is off by at most 1/64, the weight by 0.002): were it exact, each new document would move the weight of
every link a little, and each would be written again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.entities import entities_of
from lamina_engine.graph.log import Draft, Written, sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "entity"
RELATION: Final = "entity"
LEAST_IDF: Final = 3.0
OTHERS: Final = 20


def build(memory: Memory) -> Written:
    """Link documents by the rare things they name, through their representatives.

    Raises
    ------
    VaultReadOnly, VaultLocked, OSError
    """
    named, created = _documents(memory.view())
    return sync(memory, shared(named, created), origin=ORIGIN, relations=[RELATION], redacted=True)


def idf(documents: int, naming: int) -> float:
    """Return how rare an entity is: ln((N + 1) / (df + 1))."""
    return math.log((documents + 1) / (naming + 1))


def _rounded(documents: int) -> int:
    """Return a count at seven significant bits, rounded down."""
    spare = max(documents.bit_length() - 7, 0)
    return documents >> spare << spare


def weight(greatest: float, shared_entities: int) -> float:
    """Return the weight of a pair from the idf of its rarest shared entity, and how many they share."""
    return min(1.0, 0.3 + 0.12 * greatest + min(0.15, 0.05 * (shared_entities - 1)))


def shared(named: Mapping[str, frozenset[str]], created: Mapping[str, int]) -> list[Draft]:
    """Return the links between documents.

    Parameters
    ----------
    named : mapping of str to set of str
        Entities by document.
    created : mapping of str to int
        When each was written.
    """
    naming: dict[str, list[str]] = defaultdict(list)
    for document in sorted(named, key=lambda name: (-created[name], name)):
        for entity in named[document]:
            naming[entity].append(document)
    total = _rounded(len(named))
    rare = {entity: idf(total, len(documents)) for entity, documents in naming.items() if len(documents) > 1}
    rare = {entity: value for entity, value in rare.items() if value >= LEAST_IDF}
    pairs = {
        (document, other) if document < other else (other, document)
        for entity in rare
        for document in naming[entity]
        for other in _others(naming[entity], document)
    }
    return [_draft(first, second, named, rare) for first, second in sorted(pairs)]


def _others(documents: Sequence[str], document: str) -> list[str]:
    """Return the first documents but one."""
    return [other for other in documents[: OTHERS + 1] if other != document][:OTHERS]


def _draft(first: str, second: str, named: Mapping[str, frozenset[str]], rare: Mapping[str, float]) -> Draft:
    both = named[first] & named[second]
    rarest = min(both, key=lambda entity: (-rare.get(entity, 0.0), entity))
    note = f"{rarest} ({len(both)} shared)" if len(both) > 1 else rarest
    return Draft(first, second, RELATION, weight(rare[rarest], len(both)), note)


def _documents(view: View) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """Return what each document names, over all its chunks."""
    found = documents_of(view)
    texts = view.snapshot.values("chunks", "text", found.rows)
    tags = view.snapshot.values("chunks", "tags", found.rows)
    named: list[set[str]] = [set() for _ in found.ids]
    for document, text, tagged in zip(found.documents.tolist(), texts, tags, strict=True):
        named[document] |= entities_of(text, tagged or ())
    return (
        {name: frozenset(entities) for name, entities in zip(found.ids, named, strict=True)},
        dict(zip(found.ids, found.created_at.tolist(), strict=True)),
    )
