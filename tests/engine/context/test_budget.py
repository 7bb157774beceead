"""Counting, adaptive budgets, the greedy fill."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.context import budget
from lamina_engine.context.budget import (
    BOOTSTRAP_SHARES,
    BlockFill,
    adaptive_budget,
    cut_score_gap,
    density,
    half_budget,
    task_budget,
)
from lamina_engine.context.rendering import Item, render, render_item
from lamina_engine.context.tokens import count_tokens
from lamina_engine.settings import Injection
from tests.engine.context.blocks import parse

DEFAULTS = Injection()
_UNIT = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("best", "dense", "drift", "ref"),
    [
        (0.0, 0.0, 0.0, 500), (1.0, 1.0, 1.0, 1500), (0.8, 0.5, 0.5, 1150), (0.6, 0.0, 0.5, 900), (0.65, 1.0, 0.5, 1225),
        (0.7, 1 / 3, 0.25, 999), (0.95, 0.4, 0.5, 1195),
    ],
)  # fmt: skip
def test_golden_vectors(best: float, dense: float, drift: float, ref: int) -> None:
    assert adaptive_budget(best, dense, drift, DEFAULTS) == ref


@given(st.floats(-1.0, 2.0), _UNIT, _UNIT, st.integers(100, 2000), st.integers(0, 3000))
def test_a_budget_is_always_between_floor_and_ceiling(
    best: float, dense: float, drift: float, floor: int, more: int
) -> None:
    settings = Injection(budget_floor=floor, budget_ceiling=floor + more)
    got = adaptive_budget(best, dense, drift, settings)
    assert floor <= got <= floor + more
    assert floor <= half_budget(got, settings) <= got


def test_a_soft_gate_never_goes_below_the_floor() -> None:
    assert half_budget(750, DEFAULTS) == 500  # AI Memory: 375
    assert half_budget(1400, DEFAULTS) == 700


def test_density_is_the_share_of_near_results() -> None:
    assert density([]) == 0.0
    assert density([0.59, 0.6, 0.9, 0.1]) == 0.5


def test_a_task_gets_a_fifth_and_300_at_most() -> None:
    assert [task_budget(budget) for budget in (500, 1000, 1500, 5000)] == [100, 200, 300, 300]


def test_the_parts_of_a_bootstrap() -> None:
    assert {part: round(2500 * share) for part, share in BOOTSTRAP_SHARES.items()} == {
        "handoff": 800,
        "session": 800,
        "task": 200,
        "insights": 600,
        "changes": 600,
    }


def item(name: str, text: str, part: str = "search") -> Item:
    return Item(part, name, text, "note", "notes", "a.md", "2026-01-01", "1 day", "fresh")


EMPTY = count_tokens(render_item(item("x", "")))


def words(tokens: int) -> str:
    """Return a text that makes a rendered item of so many tokens more than an empty one has."""
    return " ".join(["cat"] * tokens)


def test_what_does_not_fit_is_passed_over_and_nothing_is_cut() -> None:
    most = count_tokens(render("turn", [item("x", "")])) + EMPTY + 100
    fill = BlockFill("turn", most)
    items = [item("a", words(60)), item("b", words(900)), item("c", words(30))]
    assert fill.take(items) <= most
    assert [each.id for each in fill.items] == ["a", "c"]
    text, tokens = fill.finish(["search"])
    assert tokens <= most
    assert parse(text) == [items[0], items[2]]


def test_nothing_comes_twice_by_id_or_by_content_or_in_the_session() -> None:
    fill = BlockFill("turn", 1000, {"seen"})
    fill.take(
        [
            item("a", "one"),
            item("a", "two"),
            item("b", "one "),
            item("seen", "three"),
            item("c", "  "),
            item("d", "four"),
        ]
    )
    assert [each.id for each in fill.items] == ["a", "d"]


def test_the_content_of_a_rejected_item_may_still_come() -> None:
    fill = BlockFill("turn", 1000)
    fill.take([item("a", words(80))], EMPTY + 50)
    fill.take([item("b", words(80))], EMPTY + 100)
    assert [each.id for each in fill.items] == ["b"]


def test_the_wrapper_counts_towards_the_budget() -> None:
    whole = render("turn", [item("a", "text")])
    for most in (count_tokens(whole) - 1, count_tokens(whole) + 2):
        fill = BlockFill("turn", most)
        fill.take([item("a", "text")])
        assert fill.finish(["search"])[1] <= most
    assert fill.items


def test_a_whole_of_more_tokens_than_its_parts_still_keeps_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    fill = BlockFill("turn", most := 2 * EMPTY + 60)
    fill.take([item("a", "one"), item("b", "two")])
    assert len(fill.items) == 2
    monkeypatch.setattr(budget, "count_tokens", lambda text: count_tokens(text) + 90 * (text.count("<memory") > 1))
    text, tokens = fill.finish(["search"])
    assert tokens <= most
    assert [each.id for each in parse(text)] == ["a"]


def test_what_is_taken_cut_stops_where_it_was_cut() -> None:
    long = "\n".join(f"# Part {n}\n\n{words(40)}." for n in range(9))
    fill = BlockFill("bootstrap", 1000)
    fill.take_cut([item("a", "first"), item("b", long), item("c", "third")], 2 * EMPTY + 200)
    assert [each.id for each in fill.items] == ["a", "b"]
    kept, note = fill.items[1].text.rsplit("\n", 1)
    assert long.startswith(kept)
    assert long[len(kept) :].lstrip().startswith("# Part")  # cut where a heading begins
    assert note == "[… cut; the rest: lamina get b]"


@pytest.mark.parametrize("text", ["word " * 400, "x" * 4_000, "数据" * 900, "One sentence. " * 200, "a\n\nb" * 500])
@pytest.mark.parametrize("room", [40, 90, 333])
def test_what_is_cut_fits_and_is_the_beginning(text: str, room: int) -> None:
    fill = BlockFill("bootstrap", 5000)
    assert fill.take_cut([item("a", text)], EMPTY + room) <= EMPTY + room
    (cut,) = fill.items
    assert text.startswith(cut.text.rsplit("\n", 1)[0])


def test_parts_stand_in_their_order() -> None:
    fill = BlockFill("turn", 1000)
    fill.take([item("a", "one")])
    fill.take([item("t", "two", "task")])
    assert [each.id for each in parse(fill.finish(["task", "search"])[0])] == ["t", "a"]
    assert set(fill.tokens) == {"task", "search"}


@pytest.mark.parametrize(
    ("scores", "ref"),
    [
        ([0.95, 0.90, 0.60, 0.50], [0, 1]), ([0.90, 0.80, 0.70], [0, 1, 2]), ([1.4, 1.0, 0.3], [0, 1]), ([0.0, 0.0], [0, 1]), ([], []),
        ([1.0, 1.0], [0, 1]),
    ],
)  # fmt: skip
def test_the_score_gap(scores: list[float], ref: list[int]) -> None:
    assert cut_score_gap(scores, 0.7) == ref
