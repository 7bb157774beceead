"""Facts in both times against a calendar painted day by day."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.clock import US_PER_DAY, parse_instant
from lamina_engine.facts import timeline
from lamina_engine.facts.log import close, write
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import FactView, fact_view_at
from lamina_engine.memory import Memory
from tests.conftest import MEMORY
from tests.engine.store.faults import Quick
from tests.oracles.facts import BETWEEN_ENTITIES, DAYS, FUNCTIONAL, TURNED, Op, replay

FIRST_DAY = parse_instant("2026-01-01")
PEOPLE = ("Ann", "Bob", "Cleo")
VALUES = ("red", "green", "blue")


def instant(cell: int) -> int:
    return FIRST_DAY + (cell - 1) * US_PER_DAY


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...] = ("add", "add", "add", "close")) -> list[Op]:
    days = sorted(draw(st.lists(st.integers(1, DAYS - 2), max_size=10)))
    history = []
    for today in days:
        names = ["status", "status", "phone", "parent_of", "child_of", "works_at", "employs", "owns", "owned_by"]
        predicate = draw(st.sampled_from(names))
        subject = draw(st.sampled_from(PEOPLE))
        others = PEOPLE if predicate in BETWEEN_ENTITIES else VALUES
        object = draw(st.sampled_from([name for name in others if name != subject]))
        kind = draw(st.sampled_from(kinds))
        begin = draw(st.one_of(st.none(), st.none(), st.integers(1, DAYS - 2))) if kind == "add" else None
        end = draw(st.one_of(st.none(), st.none(), st.integers(2 if begin is None else begin + 1, DAYS - 1)))
        history.append(Op(kind, subject, predicate, object, begin, end, today))
    return history


def draft(op: Op) -> Draft:
    begin, end = (None if cell is None else instant(cell) for cell in (op.begin, op.end))
    return Draft(op.subject, op.predicate, op.object, valid_from=begin, valid_to=end)


def said(kg: FactView, cell: int) -> set[tuple[str, str, str]]:
    """What `about` tells of everybody on a day, each fact from one end."""
    when = instant(cell) + US_PER_DAY // 2
    found = set()
    for name in PEOPLE:
        entity = kg.resolve(name).entity
        for fact in kg.about(entity.row, valid_at=when) if entity is not None else ():
            ends = (fact.subject, fact.predicate, fact.object)
            found.add((ends[2], TURNED[ends[1]], ends[0]) if ends[1] in TURNED else ends)
    return found


def play(memory: Memory, clock: FixedClock, op: Op) -> bool:
    """Say it; return whether it was taken."""
    ahead = instant(op.today) + US_PER_DAY // 2 - clock.now_us()
    if ahead > 0:
        clock.advance(ahead / 1e6)
    if op.kind == "add":
        write(memory, [draft(op)], index=False)
        return True
    kg = fact_view_at(memory)
    if kg.resolve(op.subject).entity is None:
        return False
    try:
        close(memory, op.subject, op.predicate, op.object, valid_to=None if op.end is None else instant(op.end))
    except ValueError:  # it had not begun by then
        return False
    return True


@settings(max_examples=25)
@given(history=histories(), data=st.data())
def test_both_times_equal_a_replay(history: list[Op], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        clock = FixedClock("2026-01-01")
        memory = Memory(Path(folder) / "vault", create=True, clock=clock, embedder="none", files=Quick())
        taken: list[Op] = []
        known: list[tuple[int, int]] = []
        for op in history:
            if play(memory, clock, op):
                taken.append(op)
            known.append((memory.store.snapshot().manifest.last_us, len(taken)))
        for cell in range(DAYS):
            assert said(fact_view_at(memory), cell) == replay(taken, cell)
        for _ in range(3 if known else 0):
            moment, count = data.draw(st.sampled_from(known))
            cell = data.draw(st.integers(0, DAYS - 1))
            assert said(fact_view_at(memory, moment), cell) == replay(taken[:count], cell)
        memory.close()


@settings(max_examples=25)
@given(history=histories(kinds=("add",)))
def test_on_every_day_a_functional_predicate_has_one_value_from_the_first_on(history: list[Op]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        clock = FixedClock("2026-01-01")
        memory = Memory(Path(folder) / "vault", create=True, clock=clock, embedder="none", files=Quick())
        for op in history:
            play(memory, clock, op._replace(predicate="status", begin=None, end=None))
        for name in {op.subject for op in history}:
            kg = fact_view_at(memory)
            entity = kg.resolve(name).entity
            assert entity is not None
            for cell in range(DAYS):
                facts = kg.about(entity.row, valid_at=instant(cell), direction="out", predicates={"status"})
                assert len(facts) == 1
        memory.close()


@settings(max_examples=25)
@given(history=histories(kinds=("add",)), cut=st.integers(0, 14), few=st.sampled_from([0, 64]))
def test_one_call_says_what_single_calls_say(history: list[Op], cut: int, few: int) -> None:
    history = [op._replace(today=5) for op in history]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, pytest.MonkeyPatch.context() as patch:
        books = []
        for name, calls in (("one", [[op] for op in history]), ("all", [history[:cut], history[cut:]])):
            patch.setattr(timeline, "_FEW_ROWS", few)
            memory = Memory(
                Path(folder) / name, create=True, clock=FixedClock(instant(5) / 1e6), embedder="none", files=Quick()
            )
            for call in calls:
                write(memory, [draft(op) for op in call], index=False)
            kg = fact_view_at(memory)
            books.append([said(kg, cell) for cell in range(DAYS)])
            memory.close()
        assert books[0] == books[1]
        assert books[0] == [replay(history, cell) for cell in range(DAYS)]


def test_functional_predicates_of_the_oracle_are_functional_here(memory: Memory) -> None:
    registry = fact_view_at(memory).registry
    assert all(registry.is_functional(name) for name in FUNCTIONAL)
    assert all(registry.inverse(name) == other for name, other in TURNED.items())
