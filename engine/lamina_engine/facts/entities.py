"""Entities: creation, aliases and merges, one row of a log each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import names
from lamina_engine.facts.interning import EntityInterner
from lamina_engine.facts.log import USER, FactsWritten, entity_row
from lamina_engine.facts.mending import mend_merged
from lamina_engine.facts.resolve import MERGE, sync_names
from lamina_engine.facts.view import Entity, FactView, fact_view

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction


def add_entity(
    memory: Memory, name: str, type: str | None = None, aliases: Sequence[str] = (), *, origin: str = USER
) -> Entity:
    """Create an entity, or return the existing one, and give it aliases."""
    written = ensure_entities(memory, [EntityDraft(name, type, aliases)], origin=origin)
    return fact_view(memory.view()).entity(written.rows[0])


class EntityDraft(NamedTuple):
    """Entity to create where it does not exist, with its aliases."""

    name: str
    type: str | None = None
    aliases: Sequence[str] = ()


def ensure_entities(memory: Memory, entities: Iterable[EntityDraft], *, origin: str = USER) -> FactsWritten:
    """Create missing entities and aliases in one commit; existing ones stay.

    Aliases are added after all entities, so their order does not matter.
    """
    checked = [
        EntityDraft(
            memory.redact(names.clean(each.name)),
            None if each.type is None else names.clean_type(each.type),
            tuple(memory.redact(names.clean(alias, "alias")) for alias in each.aliases),
        )
        for each in entities
    ]
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        interner = EntityInterner(kg, memory.config.name, [each.name for each in checked])
        rows = [interner.row(each.name, each.type) for each in checked]
        interner.append(transaction, origin)
        given = [
            (alias, row)
            for each, row in zip(checked, rows, strict=True)
            for alias in each.aliases
            if names.caseless(alias) != names.caseless(each.name)
        ]
        added = _append_aliases(transaction, kg, given, origin)
    sync_names(memory)
    return FactsWritten(rows=rows, added=added, unchanged=len(given) - added, entities=interner.new_count)


def add_alias(memory: Memory, alias: str, entity: str, *, type: str | None = None) -> Entity:
    """Add an alias to an entity; an alias of several entities is ambiguous."""
    text = memory.redact(names.clean(alias, "alias"))
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        row = entity_row(kg, entity, type)
        if kg.name(row) == text:
            raise InvalidArgument(f"alias={text!r} is the entity's own name; an alias is another one")
        _append_aliases(transaction, kg, [(text, row)], USER)
    return fact_view(memory.view()).entity(row)


def remove_alias(memory: Memory, alias: str, entity: str | None = None, *, origin: str = USER) -> int:
    """Remove an alias in any case, from one entity or from all; return the number of entities."""
    text = names.clean(alias, "alias")
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        owner = None if entity is None else entity_row(kg, entity)
        found = [
            (written, row)
            for written, row, _ in _active_aliases(kg, text)
            if owner is None or kg.root(row) == kg.root(owner)
        ]
        _append_alias_rows(transaction, found, origin, active=False)
    return len({row for _, row in found})


def merge_entities(memory: Memory, entity: str, into: str) -> Entity:
    """Merge an entity into another, which takes over its names, aliases and facts.

    Of two values of a functional predicate the one stated later ends the other, see `insert_interval`; equal facts are kept
    once.
    """
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        first, second = entity_row(kg, entity), entity_row(kg, into)
        if first == second:
            raise InvalidArgument(f"{entity!r} and {into!r} are one entity already, {kg.identity(first)}")
        row = {
            "kind": [MERGE], "entity": [first], "into": [second], "id": [""], "name": [""], "type": [""], "chunk": [None],
            "origin": [USER],
        }  # fmt: skip
        transaction.append("entities", row, transaction.stamps(1))
        mend_merged(transaction, kg, first, second, tz=memory.config.tz)
    return fact_view(memory.view()).entity(second)


# ---------------------------------------------------------------------- aliases


def _active_aliases(kg: FactView, text: str) -> list[tuple[str, int, bool]]:
    """Return (alias as written, entity, exact match) of the active aliases equal without case."""
    rows = kg.name_index.aliases.all_rows(names.key(text))
    rows = np.sort(rows[rows < kg.alias_rows])
    stands: dict[tuple[str, int], bool] = {}
    for record in kg.snapshot.records("aliases", rows, ("alias", "entity", "active")):
        if names.caseless(record["alias"]) == names.caseless(text):
            stands[record["alias"], record["entity"]] = record["active"]
    return [(alias, row, alias == text) for (alias, row), active in stands.items() if active]


def _append_aliases(transaction: Transaction, kg: FactView, given: Iterable[tuple[str, int]], origin: str) -> int:
    """Append aliases that do not exist yet; return their number."""
    pairs = list(dict.fromkeys(given))
    exists = kg.name_index.aliases.lookup(names.keys([text for text, _ in pairs]), n_rows=kg.alias_rows) >= 0
    new = [
        (text, row)
        for (text, row), is_known in zip(pairs, exists.tolist(), strict=True)
        if not is_known
        or not any(same and kg.root(owner) == kg.root(row) for _, owner, same in _active_aliases(kg, text))
    ]
    _append_alias_rows(transaction, new, origin, active=True)
    return len(new)


def _append_alias_rows(transaction: Transaction, rows: Sequence[tuple[str, int]], origin: str, *, active: bool) -> None:
    if rows:
        transaction.append(
            "aliases",
            {
                "alias": [alias for alias, _ in rows], "entity": [row for _, row in rows], "active": [active] * len(rows),
                "origin": [origin] * len(rows),
            },
            transaction.stamps(len(rows)),
        )  # fmt: skip
