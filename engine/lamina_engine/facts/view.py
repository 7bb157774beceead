"""Facts of one version of a vault, or of a past moment of it.

A fact is a row of the log. Its later changes (closed, retracted, another confidence) are further rows that name it; of those a
view sees, the last one holds. So a question of valid time and recorded time reads a few rows of one entity.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import names, resolve
from lamina_engine.facts.columns import FACT, RETRACT, FactColumns, fact_columns
from lamina_engine.facts.predicates import Registry, read_registry
from lamina_engine.facts.schema import DIRECTIONS, MAX_TIME, Direction, Entity, Mention, Resolution
from lamina_engine.index.state import INVALIDATED
from lamina_engine.index.view import View
from lamina_engine.results import Fact

if TYPE_CHECKING:
    from lamina_engine.columns import Reader
    from lamina_engine.memory import Memory
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

__all__ = ["Entity", "Fact", "FactView", "Mention", "Resolution", "fact_view", "fact_view_at"]


I64 = NDArray[np.int64]


class FactStates(NamedTuple):
    """Facts with their current validity and confidence."""

    rows: I64
    valid_from: I64
    valid_to: I64
    confidence: NDArray[np.float32]

    def select(self, mask: NDArray[np.bool_]) -> FactStates:
        """Return the facts of a mask."""
        return FactStates(self.rows[mask], self.valid_from[mask], self.valid_to[mask], self.confidence[mask])


@after_fork.track_property_locks
class FactView:
    """Facts at one version; as immutable as its view. See `fact_view`."""

    def __init__(self, view: View) -> None:
        snapshot, past = view.snapshot, view.as_of_us
        self.view, self.snapshot = view, snapshot
        self.name_index: resolve.NameIndex = resolve.name_index(view.tables, snapshot)
        """What entities are called."""
        facts, entities, aliases, predicates = (
            snapshot.rows(log) if past is None else snapshot.watermark(log, past)
            for log in ("facts", "entities", "aliases", "predicates")
        )
        self.fact_rows = facts
        """Rows of the facts log that it sees."""
        self.entity_rows = entities
        """Rows of the entities log that it sees."""
        self.alias_rows = aliases
        """Rows of the aliases log that it sees."""
        self.predicate_rows = predicates
        """Rows of the predicates log that it sees."""
        self._entities: dict[int, Entity] = {}

    @cached_property
    def tables(self) -> FactColumns:
        """Columns of the facts log, read when first needed."""
        return fact_columns(self.view.tables, self.snapshot)

    @cached_property
    def registry(self) -> Registry:
        """Predicates."""
        return read_registry(self.snapshot, self.predicate_rows)

    # ------------------------------------------------------------------ entities

    @cached_property
    def parents(self) -> dict[int, int]:
        """Entities that were merged, by row, with the entity they were merged into."""
        found: dict[int, int] = {}
        for row, entity, into in self.name_index.merges:
            end = into
            while end in found:
                end = found[end]
            # no Lamina merges in a circle, twice, or what is no entity; such a row of a tampered log is passed over
            fits = end != entity and entity not in found and self.is_entity(entity) and self.is_entity(into)
            if row < self.entity_rows and fits:
                found[entity] = into
        return found

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for entity in self.parents:
            found.setdefault(self.root(entity), []).append(entity)
        return found

    def root(self, row: int) -> int:
        """Return the entity that an entity was merged into, else itself."""
        parents = self.parents
        while row in parents:
            row = parents[row]
        return row

    def members(self, row: int) -> list[int]:
        """Return the rows of an entity: its own, and those merged into it."""
        return [row, *self._children.get(row, ())] if self.parents else [row]

    @property
    def entities(self) -> int:
        """Number of entities."""
        kinds = self.name_index.kind.values[: self.entity_rows]
        return int(np.count_nonzero(kinds == self.name_index.kinds.code(resolve.ENTITY))) - len(self.parents)

    def is_entity(self, row: int) -> bool:
        """Return whether a row of the entities log is an entity of this view."""
        kinds = self.name_index.kind.values
        return 0 <= row < self.entity_rows and int(kinds[row]) == self.name_index.kinds.code(resolve.ENTITY)

    def entity_texts(self, row: int) -> tuple[str, str, str]:
        """Return the present name, canonical id and type of an entity."""
        name, identity, kind = self._entity_texts.at(self.root(row))
        return name, identity, kind

    def name(self, row: int) -> str:
        """Return the present name of an entity."""
        return self.entity_texts(row)[0]

    def identity(self, row: int) -> str:
        """Return the present canonical id of an entity."""
        return self.entity_texts(row)[1]

    def type(self, row: int) -> str:
        """Return the present type of an entity."""
        return self.entity_texts(row)[2]

    @cached_property
    def _entity_texts(self) -> RowReader:
        return RowReader(self.snapshot.segments("entities"), ("name", "id", "type"))

    @cached_property
    def fact_texts(self) -> RowReader:
        """Reader of facts' texts."""
        return fact_text_reader(self.snapshot)

    def kind_of_value(self, fact: Fact) -> str:
        """Return the type of the entity at a fact's other end; empty for a literal."""
        ends = self.tables.subject if fact.direction == "in" else self.tables.target
        row = int(ends.values[fact.row])
        return "" if row < 0 else self.type(row)

    def entity(self, row: int) -> Entity:
        """Return an entity by row; of a merged one the entity it was merged into."""
        row = self.root(row)
        found = self._entities.get(row)
        if found is None:
            merged = self.members(row)[1:]
            name, identity, kind = self.entity_texts(row)
            others = [self._entity_texts.at(other) for other in merged]
            aliases = tuple(
                alias for alias in dict.fromkeys([o[0] for o in others] + self._aliases(row)) if alias != name
            )
            found = self._entities[row] = Entity(
                row, identity, name, kind, aliases, tuple(other[1] for other in others)
            )
        return found

    def _aliases(self, row: int) -> list[str]:
        rows = [self.name_index.by_entity.of(member, self.alias_rows) for member in self.members(row)]
        ordered = np.sort(np.concatenate(rows))
        written = self.snapshot.values("aliases", "alias", ordered)
        # of several rows about one alias the last stands
        active = dict(zip(written, self.snapshot.values("aliases", "active", ordered), strict=True))
        return [alias for alias, stands in active.items() if stands]

    def entity_by_id(self, identity: str) -> Entity | None:
        """Return the entity of a canonical id, or None; merged ones resolve."""
        row = resolve.row_of_id(self, identity)
        return None if row < 0 else self.entity(row)

    def resolve(
        self, name: str, *, type: str | None = None, part: bool = False, prefix: bool = False, edits: bool = False
    ) -> Resolution:
        """Return the entities of a name; see `lamina_engine.facts.resolve.resolve`."""
        return resolve.resolve(self, name, type=type, part=part, prefix=prefix, edits=edits)

    def list_entities(self, type: str | None = None) -> list[Entity]:
        """Return the entities, of one type or of all, by name and id. O(entities)."""
        kind = None if type is None else names.clean_type(type)
        rows = [row for row in range(self.entity_rows) if self.is_entity(row) and row not in self.parents]
        found = [self.entity(row) for row in rows if kind is None or self.type(row) == kind]
        return sorted(found, key=lambda entity: (names.caseless(entity.name), entity.id))

    def scan(self, text: str) -> list[Mention]:
        """Return the entities named in a text; see `lamina_engine.facts.resolve.find_mentions`."""
        return resolve.find_mentions(self, text)

    # ------------------------------------------------------------------ facts

    def about(
        self, row: int, *, valid_at: int | None, direction: Direction = "both", predicates: Collection[str] | None = None
    ) -> list[Fact]:  # fmt: skip
        """Return the facts of an entity: as subject, then as object; by predicate, then by start.

        Without ``valid_at`` all that were not retracted. ``predicates`` are as seen from the entity: ``owned_by`` also finds what
        is stored as ``owns`` of the other. O(log facts + facts of the entity).
        """
        if direction not in DIRECTIONS:
            raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(DIRECTIONS)}")
        row = self.root(row)
        found: list[Fact] = []
        members = self.members(row)
        if direction != "in":
            rows = _rows_of_members(self.tables.by_subject.of, members, self.fact_rows)
            found += _read_sorted(self, _with_predicates(self, rows, predicates, inward=False), valid_at, "out")
        if direction != "out":
            rows = _rows_of_members(self.tables.by_target.of, members, self.fact_rows)
            if direction == "both" and len(rows):  # a fact of an entity about itself is told once
                own = self.tables.subject.values[rows]
                rows = rows[own != members[0]] if len(members) == 1 else rows[~np.isin(own, members)]
            found += _read_sorted(self, _with_predicates(self, rows, predicates, inward=True), valid_at, "in")
        return found

    def facts_at(self, rows: Sequence[int]) -> list[Fact]:
        """Return facts by row, in the order given; other rows raise InvalidArgument."""
        by_row = {fact.row: fact for fact in read_facts(self, read_states(self, np.array(rows, np.int64)), "out")}
        missing = [row for row in rows if row not in by_row]
        if missing:
            raise InvalidArgument(
                f"row {missing[0]} is not a fact; give the id of a fact that an answer or `about` returned"
            )
        return [by_row[row] for row in rows]

    def is_current(self, rows: I64, valid_at: int | None) -> NDArray[np.bool_]:
        """Return, by row, whether it is a fact that holds at a moment, or at any."""
        return np.isin(rows, read_states_at(self, rows, valid_at).rows)

    def predicate_names(self) -> list[str]:
        """Return the predicates that facts have, in order of first appearance. O(facts)."""
        rows = np.flatnonzero(self.tables.subject.values[: self.fact_rows] >= 0)
        names = self.tables.predicates.names
        return [names[code] for code in np.unique(self.tables.predicate.values[rows]).tolist()]

    def count_current(self, valid_at: int) -> int:
        """Return the number of facts that hold at a moment. O(facts)."""
        return int(np.count_nonzero(self.is_current(np.arange(self.fact_rows), valid_at)))

    def find(
        self, *, subject: int | None = None, predicate: str | None = None, object: int | str | None = None,
        valid_at: int | None = None,
    ) -> list[Fact]:  # fmt: skip
        """Return facts by subject, predicate and object, in log order; inverses are not searched.

        O(facts of the subject, else of the object); O(facts) without either.
        """
        tables = self.tables
        if subject is not None:
            rows = _rows_of_members(tables.by_subject.of, self.members(self.root(subject)), self.fact_rows)
        elif isinstance(object, int):
            rows = _rows_of_members(tables.by_target.of, self.members(self.root(object)), self.fact_rows)
        else:
            rows = np.flatnonzero(tables.subject.values[: self.fact_rows] >= 0)  # what was forgotten has none
        if predicate is not None:
            rows = rows[tables.predicate.values[rows] == tables.predicates.code(predicate)]
        if isinstance(object, int):
            rows = rows[np.isin(tables.target.values[rows], self.members(self.root(object)))]
        found = read_facts(self, _holding_at(_apply_amendments(self, rows), valid_at), "out")
        return [
            fact for fact in found if not isinstance(object, str) or (fact.object_id is None and fact.object == object)
        ]

    def texts(self, start: int, stop: int) -> list[tuple[int, str, str, str]]:
        """Return (row, subject, predicate, object) of all facts in a range of rows.

        Subjects have their present names: an index that outlives a merge keeps the former name.
        """
        stop = max(start, min(stop, self.fact_rows))
        tables = self.tables
        rows = np.arange(start, stop)
        rows = rows[tables.kind.values[rows] == tables.kinds.code(FACT)]
        subjects, targets = tables.subject.values[rows].tolist(), tables.target.values[rows].tolist()
        called = _entity_names(self, {*subjects, *targets} - {-1})
        objects: list[str | None] = []  # of all rows in the range: whole columns are read in a tenth of the time
        for segment in self.snapshot.segments("facts"):
            first = max(start - segment.start, 0)
            if first < segment.rows and segment.start < stop:
                objects += segment.texts("object", first, stop - segment.start)
        predicates = tables.predicates.names
        return [
            (row, called[subject], predicates[code], called[target] if target >= 0 else objects[row - start] or "")
            for row, subject, code, target in zip(
                rows.tolist(), subjects, tables.predicate.values[rows].tolist(), targets, strict=True
            )
        ]


def fact_view(view: View) -> FactView:
    """Return the facts of a view; the first call in a process reads the logs, O(rows)."""
    return view.cached("facts.view", lambda: FactView(view))


def fact_view_at(memory: Memory, as_of_us: int | None = None) -> FactView:
    """Return a vault's present facts, or those of a past moment of recorded time."""
    view = memory.view()
    return fact_view(view if as_of_us is None else view.at(as_of_us))


def _rows_of_members(groups: Callable[[int, int], I64], members: Sequence[int], below: int) -> I64:
    if len(members) == 1:
        return groups(members[0], below)
    return np.sort(np.concatenate([groups(member, below) for member in members]))


def _with_predicates(kg: FactView, rows: I64, predicates: Collection[str] | None, *, inward: bool) -> I64:
    """Return the rows of some predicates; amendments have the predicate of their fact."""
    if predicates is None or not len(rows):
        return rows
    registry = kg.registry
    stored = {registry.inverse(name) for name in predicates} if inward else set(predicates)
    codes = [kg.tables.predicates.code(name) for name in stored if name is not None]
    return rows[np.isin(kg.tables.predicate.values[rows], codes)]


def _read_sorted(kg: FactView, rows: I64, valid_at: int | None, direction: Literal["out", "in"]) -> list[Fact]:
    if not len(rows):
        return []
    found = read_facts(kg, _holding_at(_apply_amendments(kg, rows), valid_at), direction)
    found.sort(key=lambda fact: (fact.is_doubted, fact.key, fact.valid_from_us or MISSING_US, fact.value, fact.row))
    return found


def _apply_amendments(kg: FactView, rows: I64) -> FactStates:
    """Return the states of facts among ascending rows that include all their amendments."""
    tables = kg.tables
    amends = tables.amends.values[rows]
    is_fact = amends < 0
    facts = rows[is_fact]
    states = FactStates(
        facts, tables.valid_from.values[facts], tables.valid_to.values[facts], tables.confidence.values[facts]
    )
    if len(facts) == len(rows):
        return states
    return _apply_last(kg, states, rows[~is_fact], amends[~is_fact])


def _apply_last(kg: FactView, states: FactStates, rows: I64, amends: I64) -> FactStates:
    """Apply the last amendment of each fact; leave out retracted ones."""
    tables, facts = kg.tables, states.rows
    at = np.searchsorted(facts, amends)
    present = at < len(facts)
    present[present] = facts[at[present]] == amends[present]
    at, rows = at[present], rows[present]
    last = np.full(len(facts), -1, np.int64)
    last[at] = rows  # of several the last stands: they ascend
    touched = np.flatnonzero(last >= 0)
    newest = last[touched]
    states.valid_from[touched] = tables.valid_from.values[newest]
    states.valid_to[touched] = tables.valid_to.values[newest]
    states.confidence[touched] = tables.confidence.values[newest]
    retracted = touched[tables.kind.values[newest] == tables.kinds.code(RETRACT)]
    if not len(retracted):
        return states
    kept = np.ones(len(facts), np.bool_)
    kept[retracted] = False
    return states.select(kept)


def _holding_at(states: FactStates, valid_at: int | None) -> FactStates:
    if valid_at is None:
        return states
    holds = (states.valid_from <= valid_at) & (states.valid_to > valid_at)
    return states if holds.all() else states.select(holds)


def read_states(kg: FactView, rows: I64) -> FactStates:
    """Return the states of the facts among some rows, ascending, without retracted ones."""
    rows = unique_rows(rows[(rows >= 0) & (rows < kg.fact_rows)])
    kinds = kg.tables.kind.values[rows]
    rows = rows[kinds == kg.tables.kinds.code(FACT)]
    later = kg.tables.by_fact.of_all(rows, kg.fact_rows)
    return _apply_amendments(kg, np.sort(np.concatenate([rows, later])) if len(later) else rows)


def rows_of_origin(kg: FactView, origin: str) -> list[int]:
    """Return the rows of the facts that something wrote, without retracted ones."""
    rows = kg.snapshot.rows_with("facts", "origin", (origin,))
    rows = rows[rows < kg.fact_rows]
    kept: list[int] = rows[kg.is_current(rows, None)].tolist() if len(rows) else []
    return kept


def unique_rows(rows: I64) -> I64:
    """Return sorted distinct rows; for a few, as most are, faster than `np.unique`."""
    rows = np.sort(rows)
    return rows if len(rows) < 2 else rows[np.concatenate([[True], rows[1:] != rows[:-1]])]


def read_states_at(kg: FactView, rows: I64, valid_at: int | None) -> FactStates:
    """Return the states of the facts among some rows that hold at a moment, or at any."""
    return _holding_at(read_states(kg, rows), valid_at)


# ---------------------------------------------------------------------- rows into facts

_TEXT_COLUMNS: Final = ("object", "category", "source", "chunk", "origin")
_NUMBER_COLUMNS: Final = ("weight", "recorded_at")


def read_facts(kg: FactView, found: FactStates, direction: Literal["out", "in"]) -> list[Fact]:
    """Return facts with their texts, in the order of the rows."""
    tables, registry, texts = kg.tables, kg.registry, kg.fact_texts
    subjects, targets = tables.subject.values[found.rows].tolist(), tables.target.values[found.rows].tolist()
    codes = tables.predicate.values[found.rows].tolist()
    ends: dict[int, tuple[str, str, str]] = {}
    facts = []
    doubts = _doubts(kg, found.rows) if kg.view.state.invalidations else {}
    for row, subject, target, code, begins, stops, confidence in zip(
        found.rows.tolist(), subjects, targets, codes, found.valid_from.tolist(), found.valid_to.tolist(),
        found.confidence.tolist(), strict=True,
    ):  # fmt: skip
        object, category, source, chunk, origin, weight, recorded = texts.at(row)
        for end in (subject, target):
            if end >= 0 and end not in ends:
                ends[end] = kg.entity_texts(end)
        name, identity, kind = ends[subject]
        other, other_id, _ = ends[target] if target >= 0 else (object or "", None, "")
        predicate = tables.predicates.names[code]
        facts.append(
            Fact(
                row, name, identity, predicate, other, other_id, category or kind, source, chunk, confidence, weight,
                None if begins == MISSING_US else begins, None if stops == MAX_TIME else stops, recorded, origin,
                direction, predicate if direction == "out" else registry.inverse(predicate) or predicate,
                *doubts.get(chunk, _NO_DOUBT),
            )
        )  # fmt: skip
    return facts


_NO_DOUBT: Final = ("active", None)


def _doubts(kg: FactView, rows: I64) -> dict[str | None, tuple[str, str | None]]:
    """Return, of the chunks that state some facts, the invalidated ones with the newest reason."""
    from lamina_engine.chunks.reading import reasons_at

    view = kg.view
    chunks = sorted({chunk for chunk in kg.snapshot.values("facts", "chunk", rows) if chunk is not None})
    at = view.rows_of_ids(chunks)
    wrong = [i for i, row in enumerate(at.tolist()) if row >= 0 and view.state.status[row] == INVALIDATED]
    reasons = reasons_at(view, at[wrong])
    return {chunks[i]: ("invalidated", reason) for i, reason in zip(wrong, reasons, strict=True)}


class RowReader:
    """Reader of single rows of a log: columns of any type, then numbers without nulls."""

    def __init__(self, segments: Sequence[Segment], names: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self._segments, self._names, self._numbers = segments, names, numbers
        self._starts = [segment.start for segment in segments]
        self._readers: dict[int, list[Reader]] = {}

    def at(self, row: int) -> list[Any]:
        """Return the columns of a row."""
        part = bisect_right(self._starts, row) - 1
        readers = self._readers.get(part)
        if readers is None:
            segment = self._segments[part]
            readers = [segment.reader(name) for name in self._names]
            readers += [segment.numbers(name).data.__getitem__ for name in self._numbers]
            self._readers[part] = readers
        at = row - self._starts[part]
        return [read(at) for read in readers]


def fact_text_reader(snapshot: Snapshot) -> RowReader:
    """Return the reader of facts' texts, in the columns that `read_facts` needs."""
    return RowReader(snapshot.segments("facts"), _TEXT_COLUMNS, _NUMBER_COLUMNS)


def _entity_names(kg: FactView, rows: Iterable[int]) -> dict[int, str]:
    ordered = sorted(rows)
    roots = np.array([kg.root(row) for row in ordered] if kg.parents else ordered, np.int64)
    return dict(zip(ordered, kg.snapshot.values("entities", "name", roots), strict=True))
