"""Entities: creation, aliases and merges, one row of a log each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import names
from lamina_engine.facts.columns import CLOSE, RETRACT
from lamina_engine.facts.interning import EntityInterner
from lamina_engine.facts.log import USER, FactsWritten, amend, entity_row
from lamina_engine.facts.resolve import MERGE, sync_names
from lamina_engine.facts.schema import MAX_TIME, MIN_TIME
from lamina_engine.facts.timeline import Interval, insert_interval
from lamina_engine.facts.view import Entity, FactView, fact_view, read_facts, read_states

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import Fact
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


def add_alias(memory: Memory, alias: str, entity: str, *, type: str | None = None, origin: str = USER) -> Entity:
    """Add an alias to an entity; an alias of several entities is ambiguous."""
    text = memory.redact(names.clean(alias, "alias"))
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        row = entity_row(kg, entity, type)
        if kg.name(row) == text:
            raise InvalidArgument(f"alias={text!r} is the entity's own name; an alias is another one")
        _append_aliases(transaction, kg, [(text, row)], origin)
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


def merge_entities(memory: Memory, entity: str, into: str, *, origin: str = USER) -> Entity:
    """Merge an entity into another, which takes over its names, aliases and facts.

    Of two values of a functional predicate the one stated later holds from its start on; equal facts are kept once.
    """
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        first, second = entity_row(kg, entity), entity_row(kg, into)
        if first == second:
            raise InvalidArgument(f"{entity!r} and {into!r} are one entity already, {kg.identity(first)}")
        row = {
            "kind": [MERGE], "entity": [first], "into": [second], "id": [""], "name": [""], "type": [""], "chunk": [None],
            "origin": [origin],
        }  # fmt: skip
        transaction.append("entities", row, transaction.stamps(1))
        _resolve_merged_facts(transaction, kg, first, second, origin)
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


# ---------------------------------------------------------------------- merging


def _resolve_merged_facts(transaction: Transaction, kg: FactView, first: int, second: int, origin: str) -> None:
    """End facts that conflict once two entities are one."""
    tables = kg.tables
    members = [*kg.members(first), *kg.members(second)]
    rows = np.concatenate(
        [groups.of(member, kg.fact_rows) for groups in (tables.by_subject, tables.by_target) for member in members]
    )
    states = read_states(kg, rows)
    facts = read_facts(kg, states, "out")
    entities = {kg.identity(row) for row in (first, second)}
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        key, _ = _comparison_key(kg, fact, entities)
        groups.setdefault(key, []).append(fact)
    changed = [pair for group in groups.values() if len(group) > 1 for pair in _shortened_facts(kg, group, entities)]
    changed.sort(key=lambda pair: pair[0].row)
    ends = [
        (fact, end) for fact, end in changed if end > (MIN_TIME if fact.valid_from_us is None else fact.valid_from_us)
    ]
    amend(transaction, kg, [fact for fact, _ in ends], CLOSE, origin, ends=[end for _, end in ends])
    kept = {fact.row for fact, _ in ends}
    amend(transaction, kg, [fact for fact, _ in changed if fact.row not in kept], RETRACT, origin)


def _comparison_key(kg: FactView, fact: Fact, merged: set[str]) -> tuple[tuple[object, ...], object]:
    """Return the key under which a fact is compared once entities are merged, and its value."""
    registry, one = kg.registry, min(merged)
    subject: object = one if fact.subject_id in merged else fact.subject_id
    target: object = ("literal", fact.object) if fact.object_id is None else fact.object_id
    target = one if target in merged else target
    predicate, inverse = fact.predicate, registry.inverse(fact.predicate)
    is_reversed = fact.object_id is not None and registry.is_reversed(predicate)
    if inverse == predicate and fact.object_id is not None and not registry.is_functional(predicate):
        is_reversed = str(target) < str(subject)
    if is_reversed and inverse is not None:
        subject, predicate, target = target, inverse, subject
    if registry.is_functional(predicate):
        return (subject, predicate), target
    return (subject, predicate, target), target


def _shortened_facts(kg: FactView, group: Sequence[Fact], merged: set[str]) -> list[tuple[Fact, int]]:
    """Return the facts of a group that now end earlier, with their new ends."""
    intervals: list[Interval] = []
    by_row = {fact.row: fact for fact in group}
    key = _comparison_key(kg, group[0], merged)[0]
    for fact in sorted(group, key=lambda each: each.row):
        begin = MIN_TIME if fact.valid_from_us is None else fact.valid_from_us
        value = _comparison_key(kg, fact, merged)[1]
        outcome = insert_interval(intervals, value, begin, fact.valid_to_us, MIN_TIME, functional=len(key) == 2)
        if outcome.row != -1:
            intervals.append(Interval(fact.row, value, begin, begin))
            continue
        if outcome.ended is not None:
            intervals.remove(outcome.ended)
            intervals.append(replace(outcome.ended, end=outcome.begin))
        intervals.append(Interval(fact.row, value, begin, outcome.end if outcome.begin == begin else begin))
    return [
        (by_row[each.row], each.end)
        for each in intervals
        if each.end != (MAX_TIME if by_row[each.row].valid_to is None else by_row[each.row].valid_to)
    ]
