"""Contradictions between facts: events that are shown with answers and lower confidence.

Two values of a functional predicate contradict each other, or the newer one is an update; a language model may find the
same of facts in other words (see `lamina_engine.facts.judged`). Amounts and floors are ClawMem's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine.chunks import writing
from lamina_engine.facts.columns import FACT
from lamina_engine.facts.predicates import value_kind
from lamina_engine.facts.view import read_facts, read_states
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.facts.view import FactView
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import Fact

EVENT: Final = "contradict_fact"
"""Kind of the events; detail: ``old`` and ``new`` (rows of the facts log), ``relation``, ``confidence``, ``reasoning``."""
CONTRADICTION: Final = "contradiction"
UPDATE: Final = "update"
LOWERED: Final = {CONTRADICTION: (0.25, 0.2), UPDATE: (0.15, 0.3)}
"""By how much the older fact's confidence falls, and the floor below which it does not."""
LEAST_CONFIDENCE: Final = 0.7
"""Judgements that are less sure change nothing."""
_LOOKED_BACK: Final = 4_096
_FEW: Final = 64
_CHECKED: Final = "facts.checked"
"""Key of the number of rows of the facts log that were compared in this process."""
ONE_VALUE: Final = "it has one value at a time"
_DAY_US: Final = 86_400_000_000


class Contradiction(NamedTuple):
    """Two facts that contradict each other, or of which one updates the other."""

    old: int
    """Row of the fact that is believed less for it."""
    new: int
    relation: str
    """``contradiction`` or ``update``."""
    confidence: float
    reasoning: str
    recorded_at: int = 0
    stored: bool = False
    """True if the log holds the lowered confidence; else it is lowered when it is read (`believed`)."""


def lower_confidence(confidence: float, relation: str) -> float:
    """Return a fact's confidence less its relation's amount, at least the floor, never raised."""
    amount, floor = LOWERED[relation]
    return min(confidence, max(confidence - amount, floor))


def sync_contradictions(memory: Memory) -> list[Contradiction]:
    """Record contradictions of the facts written since the last call."""
    from lamina_engine.facts.view import fact_view

    view = memory.view()
    kg = fact_view(view)
    start = view.tables.cached(_CHECKED, lambda: max(0, kg.fact_rows - _LOOKED_BACK))
    rows = np.arange(start, kg.fact_rows, dtype=np.int64)
    rows = rows[_is_functional_fact(kg, rows)]
    if len(rows) > _FEW:  # in bulk most stand alone, which a few NumPy operations tell
        rows = rows[_is_repeated(kg, rows)]
    noted = compare_rows(memory, rows.tolist()) if len(rows) else []
    view = memory.view()
    view.tables.put_cached(_CHECKED, view.snapshot.rows("facts"))
    return noted


def _is_functional_fact(kg: FactView, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return, by row, whether it is a fact of a functional predicate."""
    tables = kg.tables
    codes = [code for code, name in enumerate(tables.predicates.names) if kg.registry.is_functional(name)]
    facts: NDArray[np.bool_] = tables.kind.values[rows] == tables.kinds.code(FACT)
    return facts & np.isin(tables.predicate.values[rows], codes)


def _is_repeated(kg: FactView, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return, by row, whether another fact has its subject and predicate. O(facts)."""
    tables = kg.tables
    everything = np.arange(kg.fact_rows, dtype=np.int64)
    everything = everything[_is_functional_fact(kg, everything)]
    width = len(tables.predicates.names)
    keys = tables.subject.values[everything] * width + tables.predicate.values[everything]
    unique, counts = np.unique(keys, return_counts=True)
    mine = tables.subject.values[rows] * width + tables.predicate.values[rows]
    several: NDArray[np.bool_] = counts[np.searchsorted(unique, mine)] > 1
    return several


def compare_rows(memory: Memory, rows: Sequence[int]) -> list[Contradiction]:
    """Record contradictions of facts with other values of their functional predicates."""
    from lamina_engine.facts.view import fact_view

    kg = fact_view(memory.view())
    numbers = np.unique(np.array([row for row in rows if 0 <= row < kg.fact_rows], np.int64))
    numbers = numbers[_is_functional_fact(kg, numbers)]
    facts = kg.facts_at(numbers[kg.is_current(numbers, None)].tolist()) if len(numbers) else []
    return record_contradictions(
        memory, [pair for fact in facts for pair in _functional_conflicts(kg, fact)], store=False
    )


def _functional_conflicts(kg: FactView, fact: Fact) -> Iterable[Contradiction]:
    if not kg.registry.is_functional(fact.predicate):
        return
    subject = kg.entity_by_id(fact.subject_id)
    others = kg.find(subject=subject.row, predicate=fact.predicate) if subject is not None else []
    for other in others:
        same = other.object_id == fact.object_id and other.object == fact.object
        apart = value_kind(fact.predicate, other.object) != value_kind(fact.predicate, fact.object)
        if other.row >= fact.row or same or apart or not _touch(other, fact):
            continue
        relation = UPDATE if _is_dated(fact) else CONTRADICTION
        yield Contradiction(other.row, fact.row, relation, 1.0, ONE_VALUE)


def _touch(old: Fact, new: Fact) -> bool:
    """Return whether two facts hold at one moment, or one ends where the other begins."""
    begins = old.valid_from is None or new.valid_to is None or old.valid_from <= new.valid_to
    ends = new.valid_from is None or old.valid_to is None or new.valid_from <= old.valid_to
    return begins and ends


def _is_dated(fact: Fact) -> bool:
    """Return whether a fact's start was given: another day than the one it was written on."""
    return fact.valid_from_us is not None and fact.valid_from_us // _DAY_US != fact.recorded_at_us // _DAY_US


def record_contradictions(
    memory: Memory, found: Iterable[Contradiction], *, origin: str = "contradiction", store: bool = True
) -> list[Contradiction]:
    """Record contradictions, each pair once, and lower the older facts' confidence.

    With ``store`` the lowered confidence is written to the facts log; without, `believed_confidence` lowers it on reading, so
    the log stays as its sources wrote it, and is exported and forgotten with them. Judgements below `LEAST_CONFIDENCE` and
    pairs with two different relations are skipped.
    """
    from lamina_engine.facts.log import amend_confidence
    from lamina_engine.facts.view import fact_view

    view = memory.view()
    recorded = {(each.old, each.new) for each in contradictions_of(view)}
    new = [
        each
        for each in _consistent(found)
        if (each.old, each.new) not in recorded and (each.new, each.old) not in recorded
    ]
    if not new:
        return []
    kg = fact_view(view)
    facts = {fact.row: fact for fact in kg.facts_at(sorted({row for each in new for row in each[:2]}))}
    confidence = {each.old: facts[each.old].confidence for each in new}
    for each in new:
        confidence[each.old] = lower_confidence(confidence[each.old], each.relation)
    changed = {} if not store else {row: value for row, value in confidence.items() if value < facts[row].confidence}
    if changed:
        amend_confidence(memory, changed, origin=origin)
    new = [each._replace(stored=store) for each in new]
    _append_events(memory, new, facts)
    return new


def _consistent(found: Iterable[Contradiction]) -> list[Contradiction]:
    kept: dict[tuple[int, int], Contradiction] = {}
    split: set[tuple[int, int]] = set()
    for each in found:
        if each.relation not in LOWERED or each.confidence < LEAST_CONFIDENCE or each.old == each.new:
            continue
        before = kept.setdefault((each.old, each.new), each)
        if before.relation != each.relation:
            split.add((each.old, each.new))
    return [each for pair, each in kept.items() if pair not in split]


def _append_events(memory: Memory, new: Sequence[Contradiction], facts: dict[int, Fact]) -> None:
    """Append an event about the chunk of each older fact (about none, where no chunk states it)."""
    chunks = [facts[each.old].chunk or "" for each in new]
    details = [
        msgspec.json.encode(
            {"old": each.old, "new": each.new, "relation": each.relation, "confidence": each.confidence,
             "reasoning": _reasoning(memory, each, facts), "stored": each.stored}
        ).decode()
        for each in new
    ]  # fmt: skip
    with memory.write() as (transaction, view):
        rows = view.rows_of_ids(chunks)
        stamps = transaction.stamps(len(new))
        writing.add_events(transaction, EVENT, chunks, rows, stamps, [None] * len(new), details)


def _reasoning(memory: Memory, each: Contradiction, facts: dict[int, Fact]) -> str:
    """Return the reasoning where one chunk states both facts: an event goes with one chunk."""
    chunks = {facts[each.old].chunk, facts[each.new].chunk} - {None}
    free = each.reasoning == ONE_VALUE or len(chunks) < 2
    return memory.redact(each.reasoning) if free else ""


# ---------------------------------------------------------------------- reading


class _Recorded(NamedTuple):
    """Contradictions of a version, by the facts they concern."""

    noted: list[Contradiction]
    beside: dict[int, list[int]]
    """By row of a fact, the facts that contradict it."""
    lowering: dict[int, list[Contradiction]]
    """By row of a fact, what lowers its confidence where it is read."""


def contradictions_of(view: View) -> list[Contradiction]:
    """Return the contradictions of a view, oldest first."""
    return _read_view(view).noted


def contradicting_values(view: View, rows: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return, by row of a fact, the values that contradict it; rows without any are left out."""
    from lamina_engine.facts.view import fact_view

    beside = _read_view(view).beside
    conflicts = {row: beside[row] for row in rows if row in beside}
    if not conflicts:
        return {}
    kg = fact_view(view)
    all_rows = np.array(sorted({other for others in conflicts.values() for other in others}), np.int64)
    facts = {fact.row: fact.object for fact in read_facts(kg, read_states(kg, all_rows), "out")}
    found = {
        row: tuple(dict.fromkeys(facts[other] for other in others if other in facts))
        for row, others in conflicts.items()
    }
    return {row: values for row, values in found.items() if values}


def believed_confidence(view: View, row: int, confidence: float) -> float:
    """Return a fact's confidence, lowered by each contradiction that the log does not store."""
    for each in _read_view(view).lowering.get(row, ()):
        confidence = lower_confidence(confidence, each.relation)
    return confidence


def _read_view(view: View) -> _Recorded:
    return view.cached("facts.contradictions", lambda: _read_recorded(view))


def _read_recorded(view: View) -> _Recorded:
    found = _Recorded(list(_events(view)), {}, {})
    for each in found.noted:
        found.beside.setdefault(each.old, []).append(each.new)
        found.beside.setdefault(each.new, []).append(each.old)
        if not each.stored:
            found.lowering.setdefault(each.old, []).append(each)
    return found


def _events(view: View) -> Iterable[Contradiction]:
    stop = view.snapshot.rows("events") if view.as_of_us is None else view.snapshot.watermark("events", view.as_of_us)
    rows = view.snapshot.rows_with("events", "kind", (EVENT,))
    for record in view.snapshot.records("events", rows[rows < stop], ("detail", "recorded_at")):
        if record["detail"] is not None:  # of a chunk that was forgotten
            detail: dict[str, Any] = read_json(record["detail"])
            yield Contradiction(**detail, recorded_at=record["recorded_at"])
