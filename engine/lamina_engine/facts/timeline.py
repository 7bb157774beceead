"""Validity intervals: the effect of a new value on existing ones, and the plan of a write.

Intervals are half-open. A value holds from its start to the next one's; the value there ends at that instant, and resumes where
the new one has an end. So a functional predicate has one value at every instant, and no statement about another time is
lost. Two facts meet where they are the same triple, seen from either end, or values of one functional predicate of one
subject. Most rows of a large write meet nothing; those that do are resolved one by one, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from lamina_engine.columns import numbers
from lamina_engine.facts.columns import CLOSE, FACT, RETRACT
from lamina_engine.facts.predicates import value_kind
from lamina_engine.facts.schema import MAX_TIME, MIN_TIME
from lamina_engine.facts.view import FactStates, read_states

if TYPE_CHECKING:
    from lamina_engine.facts.columns import RowGroups
    from lamina_engine.facts.schema import DraftColumns
    from lamina_engine.facts.view import FactView


class Interval(Struct, frozen=True, gc=False):
    """Value over an interval."""

    row: int
    """Of the fact that says so; -1 for one that is not written yet."""
    value: object
    begin: int
    end: int


class Insertion(Struct, frozen=True, gc=False):
    """Interval to write, and the existing ones it ends and resumes."""

    row: int
    """Fact that says it already; -1 where ``begin`` and ``end`` are to be written."""
    begin: int
    end: int
    ended: Interval | None = None
    """What ends at ``begin``."""
    resumed: Interval | None = None
    """The rest of that, after ``end``."""


def insert_interval(
    there: Iterable[Interval], value: object, begin: int | None, end: int | None, today: int, *, functional: bool
) -> Insertion:
    """Return the effect of a value that holds from ``begin`` to ``end``.

    Without ``begin`` it holds since forever where nothing was stated before, else from ``today`` on. ``existing`` are values of a
    functional predicate, which do not overlap, or the intervals of one value.
    """
    intervals = [interval for interval in there if interval.begin < interval.end]
    if begin is None:
        begin = today if intervals and (end is None or end > today) else MIN_TIME
    stop = MAX_TIME if end is None else end
    covering = next((interval for interval in intervals if interval.begin <= begin < interval.end), None)
    if covering is not None and covering.value == value:
        if functional or stop <= covering.end:
            return Insertion(covering.row, covering.begin, covering.end)
        begin, covering = covering.end, None  # stated again after it was closed
    following = min((interval.begin for interval in intervals if interval.begin > begin), default=MAX_TIME)
    touching = next((interval for interval in intervals if interval.begin == begin and interval.value == value), None)
    if touching is not None:
        return Insertion(touching.row, touching.begin, touching.end)
    resumed = None
    if covering is not None and stop < covering.end:
        resumed = replace(covering, row=-1, begin=stop)
    return Insertion(-1, begin, min(stop, following), covering, resumed)


I64 = NDArray[np.int64]
Pair = tuple[int, int]
"""An entity and the number of a predicate."""


class FactValue(Struct, frozen=True, gc=False):
    """Value in the form in which it is compared."""

    owner: int
    """Row of the entity."""
    name: str
    """Of the predicate."""
    held: int | str
    """Row of an entity, or a text."""
    functional: bool
    """Whether the owner has one value of it at a time."""
    kind: str = ""
    """Kind of value that ends another; see `lamina_engine.facts.predicates.value_kind`."""

    @property
    def group(self) -> tuple[object, ...]:
        """Key of values compared with each other: all of a functional one and a kind, or equal ones."""
        return (self.owner, self.name, self.kind if self.functional else self.held, self.functional)


def read_intervals(kg: FactView, values: Iterable[FactValue]) -> list[list[Interval]]:
    """Return the vault's intervals of each value's group. O(values + facts of their entities).

    Values of one group share a list. All are looked up at once: one by one takes ten times as long.
    """
    groups: dict[tuple[object, ...], list[Interval]] = {}
    queries: list[tuple[FactValue, list[Interval]]] = []
    found: list[list[Interval]] = []
    for value in values:
        group = value.group
        existing = groups.get(group)
        if existing is None:
            existing = groups[group] = []
            if value.owner < kg.entity_rows:  # a new entity has no facts
                queries.append((value, existing))
        found.append(existing)
    if queries:
        pairs = [_pairs(kg, value) for value, _ in queries]
        outgoing = {pair for own, other, _ in pairs for pair in (own, other) if pair is not None}
        facts = _IntervalReader(kg, outgoing, {other_end for *_, other_end in pairs if other_end is not None})
        for (value, existing), (own, other, other_end) in zip(queries, pairs, strict=True):
            existing += facts.intervals(value, own, other, other_end)
    return found


def _pairs(kg: FactView, value: FactValue) -> tuple[Pair, Pair | None, Pair | None]:
    """Return the pairs with a value's facts: of its owner, inverse, and to its owner."""
    predicates, inverse = kg.tables.predicates, kg.registry.inverse(value.name)
    own = (value.owner, predicates.code(value.name))
    if inverse is None:
        return own, None, None
    if value.functional:
        return own, None, (value.owner, predicates.code(inverse))
    if isinstance(value.held, int) and value.held < kg.entity_rows:
        return own, (value.held, predicates.code(inverse)), None
    return own, None, None


class _IntervalReader:
    """Facts of some pairs of entity and predicate."""

    def __init__(self, kg: FactView, outgoing: set[Pair], incoming: set[Pair]) -> None:
        self._kg, tables = kg, kg.tables
        outward = _rows_of_pairs(kg, tables.by_subject, outgoing, tables.subject.values)
        inward = _rows_of_pairs(kg, tables.by_target, incoming, tables.target.values)
        found = read_states(kg, np.concatenate([outward, inward]))
        rows = found.rows
        self._rows, self._begins, self._ends = rows.tolist(), found.valid_from.tolist(), found.valid_to.tolist()
        self._subjects, self._targets = (
            root_rows(kg, column.values[rows]).tolist() for column in (tables.subject, tables.target)
        )
        self._texts = _read_literals(kg, found, np.array(self._targets, np.int64))
        self._by_subject: dict[Pair, list[int]] = {}
        self._by_target: dict[Pair, list[int]] = {}
        codes = tables.predicate.values[rows].tolist()
        for at, pair in enumerate(zip(self._subjects, codes, strict=True)):
            self._by_subject.setdefault(pair, []).append(at)
        if incoming:
            for at, pair in enumerate(zip(self._targets, codes, strict=True)):
                self._by_target.setdefault(pair, []).append(at)

    def intervals(self, value: FactValue, own: Pair, other: Pair | None, other_end: Pair | None) -> list[Interval]:
        """Return the intervals of a value's group."""
        mine = self._by_subject.get(own, [])
        its = [at for at in self._by_subject.get(other, []) if self._targets[at] == value.owner] if other else []
        its += self._by_target.get(other_end, []) if other_end else []
        found = [self._interval(at, self._texts[at] if self._targets[at] < 0 else self._targets[at]) for at in mine]
        found += [self._interval(at, self._subjects[at]) for at in sorted(set(its).difference(mine))]
        if value.functional:
            return [each for each in found if self._kind(value.name, each.value) == value.kind]
        return [each for each in found if each.value == value.held and type(each.value) is type(value.held)]

    def _kind(self, predicate: str, value: object) -> str:
        return value_kind(predicate, self._kg.name(value) if isinstance(value, int) else str(value))

    def _interval(self, at: int, value: object) -> Interval:
        return Interval(self._rows[at], value, self._begins[at], self._ends[at])


def _rows_of_pairs(kg: FactView, groups: RowGroups, pairs: set[Pair], entities: I64) -> I64:
    """Return the rows of the log with some pairs of entity and predicate."""
    if not pairs:
        return np.empty(0, np.int64)
    members = [member for entity in {entity for entity, _ in pairs} for member in kg.members(entity)]
    rows = groups.of_all(np.array(members, np.int64), kg.fact_rows)
    width = len(kg.tables.predicates.names) + 1
    codes = np.array([entity * width + code for entity, code in pairs if code >= 0], np.int64)
    return rows[np.isin(root_rows(kg, entities[rows]) * width + kg.tables.predicate.values[rows], codes)]


def root_rows(kg: FactView, entities: I64) -> I64:
    """Return the entities into which entities were merged; -1 stays."""
    if not kg.parents:
        return entities
    merged = np.flatnonzero(np.isin(entities, np.array(list(kg.parents), np.int64)))
    out = entities.copy()
    out[merged] = [kg.root(entity) for entity in entities[merged].tolist()]
    return out


def _read_literals(kg: FactView, found: FactStates, targets: I64) -> Sequence[object]:
    """Return the literals of facts; None for an entity."""
    out = np.full(len(targets), None, object)
    literal = np.flatnonzero(targets < 0)
    out[literal] = kg.snapshot.values("facts", "object", found.rows[literal])
    texts: list[object] = out.tolist()
    return texts


BEFORE, ITSELF, AFTER = 0, 1, 2
"""Places of rows beside the one of the same draft."""
FIRST_TOKEN: Final = -2
"""A row that is not written yet is known by -2 - its place in the list of drafts and extras."""


class ExtraRow(Struct, frozen=True, gc=False):
    """Row beside a draft's: the end of a fact, or a fact resumed after an interruption."""

    draft: int
    place: int
    kind: str
    amends: int
    """Row or token of the fact that it ends; -1 for one that goes on."""
    copied: int
    """Row or token of the fact whose subject, predicate, object, ... it has."""
    begin: int
    end: int


class WritePlan:
    """Plan of a write: new facts, existing ones, and those ended."""

    def __init__(
        self,
        kg: FactView,
        columns: DraftColumns,
        subjects: Sequence[int],
        targets: Sequence[int],
        today: int,
        *,
        repeat: bool,
    ) -> None:
        self.kg, self.columns, self._today, self._repeat = kg, columns, today, repeat
        self.subjects, self.targets = subjects, targets
        self.good = [row for row in range(columns.n) if row not in columns.bad]
        self.begins = [None if begin == MIN_TIME else begin for begin in columns["valid_from"]]
        """None: since forever."""
        self.ends: list[int | None] = list(columns["valid_to"])
        """None: open."""
        self.found = list(range(FIRST_TOKEN, FIRST_TOKEN - columns.n, -1))
        """Row of each draft's fact: its token where it is to be written."""
        self.extras: list[ExtraRow] = []
        self.added = len(self.good)
        self.unchanged = self.superseded = 0
        registry = kg.registry
        self._is_reversed = {name: registry.is_reversed(name) for name in dict.fromkeys(columns["predicate"])}
        values = {row: self._value(row) for row in self._meeting()}
        for (row, value), group in zip(values.items(), read_intervals(kg, values.values()), strict=True):
            self._resolve_row(row, value, group)

    # ------------------------------------------------------------------ which rows meet others

    def _meeting(self) -> list[int]:
        """Return the rows that may meet a fact of the vault or of this write, in order."""
        if len(self.good) <= _FEW_ROWS:
            return self.good
        good = np.array(self.good, np.int64)
        registry = self.kg.registry
        predicates, code = _encode(self.columns["predicate"], good)
        subject = np.array(self.subjects, np.int64)[good]
        target = np.array(self.targets, np.int64)[good]
        two_ways = np.array([registry.inverse(name) is not None for name in predicates])[code]
        functional = np.array([registry.is_functional(name) for name in predicates])[code]
        group = subject * len(predicates) + code
        _, literal = _encode(self.columns["object"], good, named=False)
        value = np.where(target >= 0, target, -2 - literal)
        coded = np.where(functional, -1, value) + int(literal.max(initial=0)) + 3
        width = int(coded.max()) + 1
        if int(group.max()) >= _MAX_KEY // width:
            group = np.unique(group, return_inverse=True)[1]
        triple = group * width + coded
        meets = _occurs_twice(triple) | self._repeated_both_ways(two_ways, subject, code, target, predicates)
        meets |= self._in_vault(subject, target, code, predicates, two_ways)
        found: list[int] = good[meets].tolist()
        return found

    def _repeated_both_ways(
        self, two_ways: NDArray[np.bool_], subject: I64, code: I64, target: I64, predicates: Sequence[str]
    ) -> NDArray[np.bool_]:
        """Return, for rows with an inverse, whether the same pair of entities occurs again."""
        out = np.zeros(len(subject), np.bool_)
        rows = np.flatnonzero(two_ways & (target >= 0))
        if not len(rows):
            return out
        registry = self.kg.registry
        pairs = [min(name, registry.inverse(name) or name) for name in predicates]
        family = np.array([pairs.index(name) for name in pairs], np.int64)[code[rows]]
        low, high = np.minimum(subject[rows], target[rows]), np.maximum(subject[rows], target[rows])
        functional = np.array(
            [registry.is_functional(name) or registry.is_functional(registry.inverse(name) or "") for name in predicates]
        )[code[rows]]  # fmt: skip
        ends = low * (int(high.max()) + 1) + high
        out[rows] = _occurs_twice(ends * len(predicates) + family) | functional
        return out

    def _in_vault(
        self, subject: I64, target: I64, code: I64, predicates: Sequence[str], two_ways: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return, by row, whether the vault has its subject and predicate, either way round."""
        kg, tables = self.kg, self.kg.tables
        out = np.zeros(len(subject), np.bool_)
        if not kg.fact_rows:
            return out
        own = np.array([tables.predicates.code(name) for name in predicates], np.int64)
        inverse = [kg.registry.inverse(name) for name in predicates]
        other = np.array([-1 if name is None else tables.predicates.code(name) for name in inverse], np.int64)
        ends = np.unique(np.concatenate([subject, target[two_ways & (target >= 0)]]))
        members = [member for row in ends.tolist() if row < kg.entity_rows for member in kg.members(row)]
        rows = tables.by_subject.of_all(np.array(members, np.int64), kg.fact_rows)
        owner = root_rows(kg, tables.subject.values[rows])
        width = len(tables.predicates.names) + 1
        there = np.unique(owner * width + tables.predicate.values[rows])
        out |= (own[code] >= 0) & np.isin(subject * width + own[code], there)
        return out | ((other[code] >= 0) & (target >= 0) & np.isin(target * width + other[code], there))

    # ------------------------------------------------------------------ one row after the other

    def _value(self, row: int) -> FactValue:
        """Return a row's value in the form in which it is compared."""
        columns, registry = self.columns, self.kg.registry
        predicate, subject, target = columns["predicate"][row], self.subjects[row], self.targets[row]
        kind = value_kind(predicate, columns["object"][row])
        if target < 0:
            return FactValue(subject, predicate, columns["object"][row], registry.is_functional(predicate), kind)
        is_reversed, inverse = self._is_reversed[predicate], registry.inverse(predicate)
        if inverse == predicate and not registry.is_functional(predicate):
            is_reversed = target < subject  # without a direction: the smaller number comes first
        if is_reversed and inverse is not None:
            return FactValue(target, inverse, subject, registry.is_functional(inverse))
        return FactValue(subject, predicate, target, registry.is_functional(predicate), kind)

    def _resolve_row(self, row: int, value: FactValue, group: list[Interval]) -> None:
        columns, held, functional = self.columns, value.held, value.functional
        begin, end = columns["valid_from"][row], columns["valid_to"][row]
        before = (
            None if self._repeat or begin is not None else next((each for each in group if each.value == held), None)
        )
        if before is not None:
            outcome = Insertion(before.row, before.begin, before.end)
        else:
            outcome = insert_interval(group, held, begin, end, self._today, functional=functional)
        if outcome.row != -1:
            self.found[row] = outcome.row
            self.unchanged += 1
            self.added -= 1
            return
        self.begins[row] = None if outcome.begin == MIN_TIME else outcome.begin
        self.ends[row] = None if outcome.end == MAX_TIME else outcome.end
        if outcome.ended is not None:
            self._end(row, group, outcome.ended, outcome.begin)
        group.append(Interval(self.found[row], held, outcome.begin, outcome.end))
        if outcome.resumed is not None and outcome.ended is not None:
            token = FIRST_TOKEN - columns.n - len(self.extras)
            self.extras.append(
                ExtraRow(row, AFTER, FACT, -1, outcome.ended.row, outcome.resumed.begin, outcome.resumed.end)
            )
            group.append(replace(outcome.resumed, row=token))

    def _end(self, row: int, group: list[Interval], ended: Interval, at: int) -> None:
        self.superseded += 1
        group.remove(ended)
        group.append(replace(ended, end=at))
        kind = CLOSE if at > MIN_TIME else RETRACT
        self.extras.append(ExtraRow(row, BEFORE, kind, ended.row, ended.row, ended.begin, at))


_FEW_ROWS: Final = 64
"""Below, every row is settled: telling them apart would cost more."""
_MAX_KEY: Final = 1 << 62


def _encode(column: Sequence[str], rows: I64, *, named: bool = True) -> tuple[list[str], I64]:
    """Return the different values of a column's rows (where ``named``), and each row's code."""
    import pyarrow as pa

    values = column if len(rows) == len(column) else [column[row] for row in rows.tolist()]
    coded = pa.array(values, pa.string()).dictionary_encode()
    return coded.dictionary.to_pylist() if named else [], numbers(coded.indices).astype(np.int64)


def _occurs_twice(values: I64) -> NDArray[np.bool_]:
    """Return, by row, whether a value occurs more than once."""
    ordered = np.sort(values)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(several):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(several, values), len(several) - 1)
    repeated: NDArray[np.bool_] = several[at] == values
    return repeated
