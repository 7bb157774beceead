from __future__ import annotations

import pytest

from lamina_engine.context.fill import Fill, without_gap
from lamina_engine.context.rendering import Item, parse, render, render_item
from lamina_engine.context.tokens import Counter
from lamina_engine.recall.pack import count_tokens

COUNTER = Counter("estimate", count_tokens)


def item(name: str, text: str, part: str = "search") -> Item:
    return Item(part, name, text, "note", "notes", "a.md", "2026-01-01", "1 day", "fresh")


def words(tokens: int) -> str:
    """Return a text that makes a rendered item of so many tokens."""
    empty = count_tokens(render_item(item("x", "")))
    return "w" * (4 * (tokens - empty))


def test_what_does_not_fit_is_passed_over_and_nothing_is_cut() -> None:
    wrapper = count_tokens(render("turn", [item("x", "")])) - count_tokens(render_item(item("x", "")))
    fill = Fill("turn", wrapper + 100, COUNTER)
    items = [item("a", words(60)), item("b", words(900)), item("c", words(38))]
    assert fill.take(items) <= 100
    assert [each.id for each in fill.items] == ["a", "c"]
    text, tokens = fill.finish(["search"])
    assert tokens <= wrapper + 100
    assert parse(text) == [items[0], items[2]]


def test_nothing_comes_twice_by_id_or_by_content_or_in_the_session() -> None:
    fill = Fill("turn", 1000, COUNTER, {"seen"})
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
    fill = Fill("turn", 1000, COUNTER)
    fill.take([item("a", words(80))], 50)
    fill.take([item("b", words(80))], 100)
    assert [each.id for each in fill.items] == ["b"]


def test_the_wrapper_counts_towards_the_budget() -> None:
    whole = render("turn", [item("a", "text")])
    for budget in (count_tokens(whole) - 1, count_tokens(whole) + 2):
        fill = Fill("turn", budget, COUNTER)
        fill.take([item("a", "text")])
        assert fill.finish(["search"])[1] <= budget
    assert fill.items


def test_a_counter_that_sees_more_in_the_whole_still_keeps_the_budget() -> None:
    greedy = Counter("greedy", lambda text: count_tokens(text) + (50 if text.count("<memory") > 1 else 0))
    fill = Fill("turn", 120, greedy)
    fill.take([item("a", "one"), item("b", "two")])
    assert len(fill.items) == 2
    text, tokens = fill.finish(["search"])
    assert tokens <= 120
    assert [each.id for each in parse(text)] == ["a"]


def test_parts_stand_in_their_order() -> None:
    fill = Fill("turn", 1000, COUNTER)
    fill.take([item("a", "one")])
    fill.take([item("t", "two", "task")])
    assert [each.id for each in parse(fill.finish(["task", "search"])[0])] == ["t", "a"]
    assert set(fill.tokens) == {"task", "search"}


@pytest.mark.parametrize(
    ("scores", "ref"),
    [
        ([0.95, 0.90, 0.60, 0.50], [0, 1]), ([0.90, 0.80, 0.70], [0, 1, 2]), ([1.0, 0.5, 0.3], [0, 1]), ([0.0, 0.0], [0, 1]), ([], []),
        ([1.0, 1.0], [0, 1]),
    ],
)  # fmt: skip
def test_the_score_gap(scores: list[float], ref: list[int]) -> None:
    assert without_gap(scores, 0.7) == ref
