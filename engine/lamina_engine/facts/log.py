"""Writes to the facts log: facts, ends, retractions and confidences, all appended.

A write interns its names, plans row by row what is new, what exists and what ends, and appends it all in one commit. Rows that
meet no other fact are found with a few NumPy operations and need no decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.chunks.identities import find_row
from lamina_engine.clock import US_PER_S, format_instant, zone
from lamina_engine.errors import AmbiguousEntity, EntityNotFound, InvalidArgument, LaminaError
from lamina_engine.facts import resolve
from lamina_engine.facts.columns import CLOSE, CONFIDENCE, FACT, RETRACT
from lamina_engine.facts.interning import EntityInterner, intern_ends
from lamina_engine.facts.predicates import predicate_name
from lamina_engine.facts.schema import MAX_TIME, MIN_TIME, Draft, DraftColumns, check_columns, to_columns
from lamina_engine.facts.timeline import FIRST_TOKEN, ITSELF, WritePlan
from lamina_engine.facts.view import FactView, fact_view, read_states
from lamina_engine.results import Fact
from lamina_engine.store.transaction import LogWriter

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

I64 = NDArray[np.int64]
Column = NDArray[Any]
USER: Final = "user"


@dataclass(slots=True)
class FactsWritten:
    """Outcome of a write of facts."""

    rows: list[int] = field(default_factory=list)
    """Row of each fact, also where it was there already; -1 for one that was left out."""
    added: int = 0
    unchanged: int = 0
    superseded: int = 0
    """Facts that ended because another value began."""
    entities: int = 0
    """New ones."""
    problems: list[str] = field(default_factory=list)


def write(
    memory: Memory, drafts: Iterable[Draft], *, origin: str = USER, strict: bool = False, skip_bad: bool = False,
    index: bool = True, repeat: bool = True,
) -> FactsWritten:  # fmt: skip
    """Write facts durably in one commit; see `write_columns`."""
    columns = to_columns(drafts)
    return write_columns(memory, columns, origin=origin, strict=strict, skip_bad=skip_bad, index=index, repeat=repeat)


def write_columns(
    memory: Memory, given: Mapping[str, Sequence[Any]], *, origin: str = USER, strict: bool = False, skip_bad: bool = False,
    index: bool = True, repeat: bool = True, label: str | None = None,
) -> FactsWritten:  # fmt: skip
    """Write facts given by column (see `Draft`) in one commit.

    An existing fact is left alone, with its confidence and source. A value of a functional predicate ends the one before it on
    the day (or at the instant) from which it holds. With ``skip_bad`` unusable facts are left out and reported; else the first
    is an error and nothing is written. Without ``repeat``, a fact without a start that has ended counts as existing: so files
    that are read again revive nothing.
    """
    writer = _FactWriter(
        memory, given, origin, label or origin, strict=strict, skip_bad=skip_bad, index=index, repeat=repeat
    )
    return writer.write()


class _FactPlan(NamedTuple):
    columns: DraftColumns
    chunks: list[str | None]
    sources: list[str]
    interner: EntityInterner
    rows: WritePlan


class _FactWriter(LogWriter[_FactPlan, FactsWritten]):
    """Writes facts that come by column; see `write_columns`."""

    def __init__(
        self, memory: Memory, given: Mapping[str, Sequence[Any]], origin: str, label: str, *, strict: bool, skip_bad: bool,
        index: bool, repeat: bool,
    ) -> None:  # fmt: skip
        super().__init__(memory)
        if not isinstance(origin, str) or not origin.strip():
            raise InvalidArgument(f"origin={origin!r} must be a name, such as 'user'")
        self._given, self._origin, self._label = given, origin, label
        self._strict, self._skip_bad, self._index, self._repeat = strict, skip_bad, index, repeat

    def plan(self, view: View) -> _FactPlan:
        """Check the columns, resolve their names and decide row by row what is new and what it ends."""
        kg = fact_view(view)
        columns = check_columns(self.memory, self._given, kg.registry, strict=self._strict)
        if columns.bad and not self._skip_bad:
            raise InvalidArgument(columns.error_message(*min(columns.bad.items())))
        chunks, sources = _sources(view, columns["source"], self._label)
        interner, subjects, targets = intern_ends(kg, self.memory.config.name, columns, chunks, skip_bad=self._skip_bad)
        rows = WritePlan(kg, columns, subjects, targets, start_of_today(self.memory), repeat=self._repeat)
        return _FactPlan(columns, chunks, sources, interner, rows)

    def append(self, transaction: Transaction, view: View, plan: _FactPlan) -> FactsWritten:
        """Append new entities, then facts and what they end."""
        plan.interner.append(transaction, self._origin)
        rows = append_plan(plan.rows, transaction, plan.sources, plan.chunks, self._origin)
        return FactsWritten(
            rows, plan.rows.added, plan.rows.unchanged, plan.rows.superseded, plan.interner.new_count,
            [plan.columns.error_message(row, why) for row, why in sorted(plan.columns.bad.items())],
        )  # fmt: skip

    def sync_index(self, counts: FactsWritten) -> None:
        """Sync the names of entities and, where facts were added, their full text."""
        from lamina_engine.facts.search import sync_index

        resolve.sync_names(self.memory)
        if self._index and counts.added:
            sync_index(self.memory)


def _sources(view: View, given: Sequence[Any], label: str) -> tuple[list[str | None], list[str]]:
    """Return each row's chunk and source: the chunk's source, the given one, or the label."""
    unique = [text for text in dict.fromkeys(given) if isinstance(text, str)]
    rows = dict(zip(unique, view.rows_of_ids(unique).tolist(), strict=True)) if view.rows else dict.fromkeys(unique, -1)
    for text in unique:
        if text.startswith("#") and view.rows:
            try:
                rows[text] = find_row(view, text)
            except LaminaError:  # a label that looks like a short id
                rows[text] = -1
    by_text = {text: row for text, row in rows.items() if row >= 0}
    at = np.array(list(by_text.values()), np.int64)
    chunks = dict(zip(by_text, view.snapshot.values("chunks", "id", at), strict=True))
    files = dict(zip(by_text, view.snapshot.values("chunks", "source", at), strict=True))
    named: dict[Any, str] = {text: files[text] or chunks[text] if text in chunks else text for text in unique}
    chunk_of: list[str | None] = list(map(chunks.get, given)) if chunks else [None] * len(given)
    source_of = list(map(named.get, given, repeat(label)))
    return chunk_of, source_of


def start_of_today(memory: Memory) -> int:
    """Return the start of the present day in the vault's zone, us UTC."""
    return start_of_day(memory.clock.now_us(), memory.config.tz)


def start_of_day(us: int, tz: str) -> int:
    """Return the start of an instant's day in a zone, us UTC."""
    from datetime import datetime

    here = zone(tz)
    moment = datetime.fromtimestamp(us // US_PER_S, here)
    begin = datetime(moment.year, moment.month, moment.day, tzinfo=here)
    return round(begin.timestamp()) * US_PER_S


# ---------------------------------------------------------------------- what becomes of facts


def close(
    memory: Memory, subject: str, predicate: str, object: str | None = None, *, valid_to: int | None = None,
    origin: str = USER,
) -> int:  # fmt: skip
    """End open facts at ``valid_to`` (today by default); return their number."""
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        found = [fact for fact in _find_stated(kg, subject, predicate, object) if fact.valid_to_us is None]
        ends = []
        for fact in found:
            end = max(start_of_today(memory), fact.valid_from_us or MIN_TIME + 1) if valid_to is None else valid_to
            if fact.valid_from_us is not None and end < fact.valid_from_us:
                raise InvalidArgument(
                    f"valid_to={format_instant(end)} is before {fact.subject} {fact.predicate} {fact.object} began "
                    f"({format_instant(fact.valid_from_us)}); retract what never was so"
                )
            ends.append(end)
        amend(transaction, kg, found, CLOSE, origin, ends=ends)
    return len(found)


def retract(memory: Memory, rows: Sequence[int], *, origin: str = USER) -> int:
    """Retract facts, so that they hold at no moment; return the number changed."""
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        distinct = np.unique(np.array(rows, np.int64))
        is_fact = distinct < kg.fact_rows
        is_fact[is_fact] = kg.tables.subject.values[distinct[is_fact]] >= 0
        if not is_fact.all():
            raise InvalidArgument(
                f"no fact has the id {distinct[~is_fact][0]}; give those of facts that an answer or `about` returned"
            )
        found = kg.facts_at(distinct[kg.is_current(distinct, None)].tolist())
        amend(transaction, kg, found, RETRACT, origin)
    return len(found)


def amend_confidence(memory: Memory, confidence: Mapping[int, float], *, origin: str = USER) -> int:
    """Update fact confidences by row; return the number changed."""
    for row, value in confidence.items():
        if not 0.0 <= value <= 1.0:
            raise InvalidArgument(f"confidence={value!r} of fact {row} must be a number from 0 to 1")
    with memory.write() as (transaction, view):
        kg = fact_view(view)
        found = [
            fact
            for fact in kg.facts_at(sorted(confidence))
            if fact.confidence != float(np.float32(confidence[fact.row]))
        ]
        amend(transaction, kg, found, CONFIDENCE, origin, confidence=[confidence[fact.row] for fact in found])
    return len(found)


def amend(
    transaction: Transaction, kg: FactView, facts: Sequence[Fact], kind: str, origin: str, *,
    begins: Sequence[int] | None = None, ends: Sequence[int] | None = None, confidence: Sequence[float] | None = None,
) -> None:  # fmt: skip
    """Append rows that amend facts: their interval, retraction or confidence."""
    if not facts:
        return
    rows = np.array([fact.row for fact in facts], np.int64)
    tables, n = kg.tables, len(facts)
    if begins is None:
        begins = [MIN_TIME if fact.valid_from_us is None else fact.valid_from_us for fact in facts]
    if ends is None:
        ends = [MAX_TIME if fact.valid_to_us is None else fact.valid_to_us for fact in facts]
    transaction.append(
        "facts",
        {
            "kind": [kind] * n,
            "amends": rows,
            "subject": tables.subject.values[rows],
            "predicate": [fact.predicate for fact in facts],
            "target": tables.target.values[rows],
            "object": [None] * n,
            "category": [None] * n,
            "source": [origin] * n,
            "chunk": [fact.chunk for fact in facts],
            "confidence": [fact.confidence for fact in facts] if confidence is None else list(confidence),
            "weight": [fact.weight for fact in facts],
            "valid_from": [None if begin == MIN_TIME else begin for begin in begins],
            "valid_to": [None if end == MAX_TIME else end for end in ends],
            "origin": [origin] * n,
        },
        transaction.stamps(n),
    )


def _find_stated(kg: FactView, subject: str, predicate: str, object: str | None) -> list[Fact]:
    """Return facts of a subject, a predicate and maybe an object, in either direction."""
    row = entity_row(kg, subject)
    name = predicate_name(predicate)
    found = kg.find(subject=row, predicate=name)
    inverse = kg.registry.inverse(name)
    turned = kg.find(predicate=inverse, object=row) if inverse is not None else []
    if object is None:
        return [*found, *(fact for fact in turned if fact.row not in {each.row for each in found})]
    text = object.strip()
    values = {entity.id for entity in kg.resolve(text).entities} if text else set()
    mine = [fact for fact in found if (fact.object_id in values if fact.object_id else fact.object == text)]
    return [*mine, *(fact for fact in turned if fact.subject_id in values and fact not in mine)]


_LISTED: Final = 10


def entity_row(kg: FactView, name: str, type: str | None = None, *, part: bool = False) -> int:
    """Return the row of the one entity of a name, or of a part of one; an error else."""
    found = kg.resolve(name, type=type, part=part)
    if found.ambiguous:
        ids = ", ".join(entity.id for entity in found.entities[:_LISTED])
        more = f" and {len(found.entities) - _LISTED} more" if len(found.entities) > _LISTED else ""
        raise AmbiguousEntity(f"{name!r} may be any of {ids}{more}; give one of these ids, or a type")
    if found.entity is None:
        raise EntityNotFound(
            f"no entity is called {name!r}; a fact about it (`lamina facts add`), or vault.facts.add_entity, makes one"
        )
    return found.entity.row


_PLACES_PER_DRAFT: Final = 3
_NUMBER_TYPES: Final = {"subject": np.int64, "target": np.int64, "confidence": np.float64, "weight": np.float64}


def append_plan(
    plan: WritePlan, transaction: Transaction, sources: Sequence[str], chunks: Sequence[str | None], origin: str
) -> list[int]:
    """Append the rows of a plan; return each draft's row, -1 for one left out.

    New facts keep their order, each between the facts it ends and those that resume. All by column: a million facts are ordered by
    a few NumPy operations.
    """
    found = np.array(plan.found, np.int64)
    drafts = np.array(plan.good, np.int64)
    drafts = drafts[found[drafts] == FIRST_TOKEN - drafts]
    of_extras = np.array([extra.draft for extra in plan.extras], np.int64)
    places = np.array([extra.place for extra in plan.extras], np.int64)
    keys = np.concatenate([drafts * _PLACES_PER_DRAFT + ITSELF, of_extras * _PLACES_PER_DRAFT + places])
    order = np.argsort(keys, kind="stable")
    rows = np.empty(len(order), np.int64)
    rows[order] = transaction.rows("facts") + np.arange(len(order))
    by_token = np.full(plan.columns.n + len(of_extras), -1, np.int64)
    by_token[drafts], by_token[plan.columns.n :] = rows[: len(drafts)], rows[len(drafts) :]
    if len(drafts):
        plain = _draft_columns(plan, sources, chunks)
        values = {name: column[drafts] for name, column in plain.items()}
        values["kind"], values["amends"] = np.full(len(drafts), FACT, object), np.full(len(drafts), -1)
        if plan.extras:
            extras = _extra_columns(plan, plain, by_token)
            values = {name: np.concatenate([column, extras[name]])[order] for name, column in values.items()}
        stamps = transaction.stamps(len(drafts))[np.searchsorted(drafts, keys[order] // _PLACES_PER_DRAFT)]
        values["origin"] = np.full(len(order), origin, object)
        single = len(order) == 1  # which the log takes fastest as lists
        transaction.append("facts", {name: each.tolist() if single else each for name, each in values.items()}, stamps)
    found = np.where(found <= FIRST_TOKEN, by_token[np.maximum(FIRST_TOKEN - found, 0)], found)
    found[list(plan.columns.bad)] = -1
    resolved: list[int] = found.tolist()
    return resolved


def _draft_columns(plan: WritePlan, sources: Sequence[str], chunks: Sequence[str | None]) -> dict[str, Column]:
    """Return the drafts' values by column of the log."""
    columns = plan.columns
    given = {
        "subject": plan.subjects, "predicate": columns["predicate"], "target": plan.targets, "object": columns["object"],
        "category": columns["category"], "source": sources, "chunk": chunks, "confidence": columns["confidence"],
        "weight": columns["weight"], "valid_from": plan.begins, "valid_to": plan.ends,
    }  # fmt: skip
    found: dict[str, Column] = {}
    for name, column in given.items():
        if name in _NUMBER_TYPES and not columns.bad:
            found[name] = np.array(column, _NUMBER_TYPES[name])
        else:  # what is bad is no number, and is not taken
            found[name] = np.empty(columns.n, object)
            found[name][:] = column
    found["object"][np.array(plan.targets, np.int64) >= 0] = None
    return found


def _extra_columns(plan: WritePlan, plain: dict[str, Column], by_token: I64) -> dict[str, Column]:
    """Return the extra rows by column: ends of facts, and facts resumed after an interruption."""
    extras = plan.extras
    drafts = np.array([extra.draft for extra in extras], np.int64)
    amends = np.array([extra.amends for extra in extras], np.int64)
    kinds = np.array([extra.kind for extra in extras], object)
    copied = np.array([_copied_row(plan, extra.copied) for extra in extras], np.int64)
    of_draft = FIRST_TOKEN - copied
    found = {name: column[np.maximum(of_draft, 0)] for name, column in plain.items()}
    _copy_from_vault(plan, found, np.flatnonzero(copied > FIRST_TOKEN), copied)
    ending = kinds != FACT  # what it ends is told by its number; who ends it is told here
    for name, column in found.items():
        if name in ("object", "category"):
            column[ending] = None
        elif name in ("source", "chunk"):
            column[ending] = plain[name][drafts[ending]]
    found["valid_from"] = np.array([None if extra.begin == MIN_TIME else extra.begin for extra in extras], object)
    found["valid_to"] = np.array([None if extra.end == MAX_TIME else extra.end for extra in extras], object)
    amended = np.where(amends <= FIRST_TOKEN, by_token[np.maximum(FIRST_TOKEN - amends, 0)], amends)
    return found | {"kind": kinds, "amends": amended}


def _copied_row(plan: WritePlan, row: int) -> int:
    """Return the row or draft token whose values an extra row repeats."""
    first = FIRST_TOKEN - plan.columns.n
    while row <= first:
        row = plan.extras[first - row].copied
    return row


def _copy_from_vault(plan: WritePlan, found: dict[str, Column], places: I64, copied: I64) -> None:
    """Fill in values of the vault's facts at some places."""
    if not len(places):
        return
    rows = copied[places]
    records = plan.kg.snapshot.records("facts", rows, tuple(found))
    for name, column in found.items():
        column[places] = [record[name] for record in records]
    now = read_states(plan.kg, rows)
    found["confidence"][places] = now.confidence[np.searchsorted(now.rows, rows)]
