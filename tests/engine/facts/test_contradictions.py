from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.care.verify import verify
from lamina_engine.chunks.reading import history
from lamina_engine.clock import US_PER_DAY
from lamina_engine.facts.contradictions import (
    Contradiction,
    believed_confidence,
    compare_rows,
    contradicting_values,
    contradictions_of,
    lower_confidence,
    record_contradictions,
)
from lamina_engine.facts.log import write
from lamina_engine.facts.questions import ask
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import fact_view_at
from lamina_engine.index.view import View
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill


def confidence(memory: Memory, *rows: int) -> list[float]:
    return [round(fact.confidence, 4) for fact in fact_view_at(memory).facts_at(rows)]


@pytest.mark.parametrize(
    ("before", "relation", "after"),
    [(1.0, "contradiction", 0.75), (0.4, "contradiction", 0.2), (0.1, "contradiction", 0.1), (1.0, "update", 0.85),
     (0.35, "update", 0.3), (0.3, "update", 0.3), (0.2, "update", 0.2)],
)  # fmt: skip
def test_amounts_and_floors(before: float, relation: str, after: float) -> None:
    assert lower_confidence(before, relation) == pytest.approx(after)


def test_a_second_value_of_a_functional_predicate_contradicts_the_first_exactly_once(memory: Memory) -> None:
    old = write(memory, [Draft("Keystone", "status", "beta", source="a.md")]).rows[0]
    new = write(memory, [Draft("Keystone", "status", "live", source="b.md")]).rows[0]
    for _ in range(2):  # and again: nothing happens
        assert compare_rows(memory, [old, new, new, -1]) == []
    (found,) = contradictions_of(memory.view())
    assert (found.old, found.new, found.relation, found.confidence) == (old, new, "contradiction", 1.0)
    assert [believed_confidence(memory.view(), row, 1.0) for row in (old, new)] == [0.75, 1.0]
    assert not found.stored


def test_it_is_shown_with_both_answers(memory: Memory) -> None:
    first = write(memory, [Draft("Keystone", "status", "beta")]).rows[0]
    second = write(memory, [Draft("Keystone", "status", "live")]).rows[0]
    (answer,) = ask(memory, "status of Keystone")
    assert (answer.object, answer.contradicted, answer.to_dict()["contradicted"]) == ("live", ("beta",), ["beta"])
    assert contradicting_values(memory.view(), [first, second]) == {first: ("live",), second: ("beta",)}


def test_several_values_of_other_predicates_do_not_contradict(memory: Memory) -> None:
    rows = write(memory, [Draft("Dana", "phone", "1"), Draft("Dana", "phone", "2"), Draft("Eve", "status", "x")]).rows
    assert compare_rows(memory, rows) == []


def test_a_dated_change_is_an_update(memory: Memory) -> None:
    now = memory.clock.now_us()
    old = write(memory, [Draft("Keystone", "status", "beta", valid_from=now - 90 * US_PER_DAY)]).rows[0]
    write(memory, [Draft("Keystone", "status", "live", valid_from=now - 30 * US_PER_DAY)])
    assert [each.relation for each in contradictions_of(memory.view())] == ["update"]
    assert believed_confidence(memory.view(), old, 1.0) == 0.85
    (answer,) = ask(memory, "status of Keystone", valid_at_us=now - 40 * US_PER_DAY)
    assert (answer.object, answer.confidence) == ("beta", 0.85)


@pytest.fixture
def pair(memory: Memory) -> tuple[Memory, int, int]:
    old, new = write(memory, [Draft("Dana", "likes", "tea"), Draft("Dana", "dislikes", "tea")]).rows
    return memory, old, new


@pytest.mark.parametrize(("sure", "left"), [(0.69, 1.0), (0.7, 0.75)])
def test_unsure_judgements_are_ignored(pair: tuple[Memory, int, int], sure: float, left: float) -> None:
    memory, old, new = pair
    record_contradictions(memory, [Contradiction(old, new, "contradiction", sure, "so")])
    assert confidence(memory, old) == [left]


def test_equal_judgements_count_once_and_split_ones_not_at_all(pair: tuple[Memory, int, int]) -> None:
    memory, old, new = pair
    said = Contradiction(old, new, "contradiction", 0.9, "so")
    assert record_contradictions(memory, [said, said._replace(relation="update")]) == []
    assert confidence(memory, old) == [1.0]
    assert len(record_contradictions(memory, [said, said])) == 1
    assert record_contradictions(memory, [said._replace(relation="update")]) == []
    assert record_contradictions(memory, [Contradiction(new, old, "contradiction", 0.9, "the other way round")]) == []
    assert confidence(memory, old, new) == [0.75, 1.0]


def test_the_past_knows_nothing_of_it(memory: Memory) -> None:
    old = write(memory, [Draft("Keystone", "status", "beta")]).rows[0]
    before = memory.view().snapshot
    stamp = int(before.numbers("facts", "recorded_at", np.array([old]))[0])
    write(memory, [Draft("Keystone", "status", "live")])
    view = memory.view()
    past = View(view.snapshot, view.tables, as_of_us=stamp)
    assert contradictions_of(past) == []
    assert contradicting_values(past, [old]) == {}


def test_a_vault_with_contradictions_is_whole(pair: tuple[Memory, int, int]) -> None:
    memory, old, new = pair
    record_contradictions(memory, [Contradiction(old, new, "contradiction", 0.9, "so")])
    memory.close()
    assert verify(memory.root, deep=True).ok


def test_an_event_speaks_of_no_chunk_but_its_own(memory: Memory) -> None:
    fill(memory, ["a", "b"])
    drafts = [Draft("Dana", "likes", "tea", source="a"), Draft("Dana", "dislikes", "tea", source="b")]
    old, new = write(memory, drafts).rows
    record_contradictions(memory, [Contradiction(old, new, "contradiction", 0.9, "b says so")])
    (found,) = contradictions_of(memory.view())
    assert found.reasoning == ""
    events = [event for event in history(memory.view(), "a") if event.kind == "contradict_fact"]
    assert len(events) == 1


def test_in_bulk_only_what_meets_is_noted(memory: Memory) -> None:
    drafts = [Draft(f"Thing {i}", "status", "new") for i in range(100)]
    write(memory, [*drafts, Draft("Thing 7", "status", "old", valid_from=memory.clock.now_us() - 400 * US_PER_DAY)])
    write(memory, [*drafts, Draft("Thing 9", "status", "gone")])
    noted = contradictions_of(memory.view())
    assert {fact_view_at(memory).facts_at([each.old])[0].subject for each in noted} == {"Thing 7", "Thing 9"}


def test_another_process_goes_on_where_this_one_was(memory: Memory) -> None:
    write(memory, [Draft("Keystone", "status", "beta")])
    other = Memory(memory.root, embedder="none")
    write(other, [Draft("Keystone", "status", "live")])
    other.close()
    write(memory, [Draft("Dana", "phone", "1")])
    assert len(contradictions_of(memory.view())) == 1
