"""Ends of facts that conflict after entities became one, or a predicate functional.

The facts of a group are replayed in the order in which they were written, as if what is known now had been known then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine.facts.columns import CLOSE, RETRACT
from lamina_engine.facts.log import USER, amend, start_of_day
from lamina_engine.facts.predicates import Registry, value_kind
from lamina_engine.facts.schema import MAX_TIME, MIN_TIME
from lamina_engine.facts.timeline import Interval, insert_interval
from lamina_engine.facts.view import FactView, read_facts, read_states

if TYPE_CHECKING:
    from lamina_engine.results import Fact
    from lamina_engine.store.transaction import Transaction


class ComparisonKey(NamedTuple):
    """Group in which a fact is compared with others, and its value there."""

    group: tuple[object, ...]
    value: object
    functional: bool


def mend_merged(transaction: Transaction, kg: FactView, first: int, second: int, *, tz: str) -> int:
    """End the facts that conflict once two entities are one; return the number of facts changed."""
    tables = kg.tables
    members = [*kg.members(first), *kg.members(second)]
    rows = np.concatenate(
        [groups.of(member, kg.fact_rows) for groups in (tables.by_subject, tables.by_target) for member in members]
    )
    facts = read_facts(kg, read_states(kg, rows), "out")
    merged = {kg.identity(row) for row in (first, second)}
    return _mend(transaction, kg, [(fact, comparison_key(kg.registry, fact, merged)) for fact in facts], tz)


def mend_predicate(transaction: Transaction, kg: FactView, registry: Registry, name: str, *, tz: str) -> int:
    """End the values of a predicate that others follow; return the number of facts changed.

    The registry has it as functional already.
    """
    names = {name, registry.inverse(name)}
    facts = [fact for each in sorted(filter(None, names)) for fact in kg.find(predicate=each)]
    return _mend(transaction, kg, [(fact, comparison_key(registry, fact)) for fact in facts], tz)


def _mend(transaction: Transaction, kg: FactView, keyed: Iterable[tuple[Fact, ComparisonKey]], tz: str) -> int:
    groups: dict[tuple[object, ...], list[tuple[Fact, ComparisonKey]]] = {}
    for fact, key in keyed:
        groups.setdefault(key.group, []).append((fact, key))
    changed = [change for group in groups.values() if len(group) > 1 for change in _replay(group, tz)]
    changed.sort(key=lambda change: change[0].row)
    held = [(fact, begin, end) for fact, begin, end in changed if begin < end]
    amend(
        transaction, kg, [fact for fact, _, _ in held], CLOSE, USER, begins=[begin for _, begin, _ in held],
        ends=[end for _, _, end in held],
    )  # fmt: skip
    amend(transaction, kg, [fact for fact, begin, end in changed if begin >= end], RETRACT, USER)
    return len(changed)


def comparison_key(registry: Registry, fact: Fact, merged: Collection[str] = ()) -> ComparisonKey:
    """Return how a fact is compared, once entities are merged."""
    one = min(merged, default="")
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
        return ComparisonKey((subject, predicate, value_kind(predicate, fact.object)), target, True)
    return ComparisonKey((subject, predicate, target), target, False)


def _replay(group: Sequence[tuple[Fact, ComparisonKey]], tz: str) -> list[tuple[Fact, int, int]]:
    """Return the facts of a group that hold at other times now, with their begins and ends."""
    intervals: list[Interval] = []
    for fact, key in sorted(group, key=lambda each: each[0].row):
        begin, value = fact.valid_from_us, key.value
        if begin is None and fact.valid_to_us is not None:
            begin = MIN_TIME  # it is over already, and was so since ever
        today = start_of_day(fact.recorded_at_us, tz)
        outcome = insert_interval(intervals, value, begin, fact.valid_to_us, today, functional=key.functional)
        if outcome.row != -1:  # said before: once is enough
            intervals.append(Interval(fact.row, value, MIN_TIME, MIN_TIME))
            continue
        if outcome.ended is not None:
            intervals.remove(outcome.ended)
            intervals.append(replace(outcome.ended, end=outcome.begin))
        intervals.append(Interval(fact.row, value, outcome.begin, outcome.end))
    facts = {fact.row: fact for fact, _ in group}
    return [
        (facts[each.row], each.begin, each.end)
        for each in intervals
        if (each.begin, each.end) != _bounds(facts[each.row])
    ]


def _bounds(fact: Fact) -> tuple[int, int]:
    return (
        MIN_TIME if fact.valid_from_us is None else fact.valid_from_us,
        MAX_TIME if fact.valid_to_us is None else fact.valid_to_us,
    )
