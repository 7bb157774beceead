from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.graph import leads
from lamina_engine.graph.registry import Registry, Relation
from lamina_engine.graph.walks import propagate, traverse
from lamina_engine.index import nodes
from lamina_engine.memory import Memory
from tests.engine.graph.filling import DAY_0, fill, tie


def test_the_first_by_score_then_newer_then_by_id(memory: Memory) -> None:
    fill(memory, list("dcba"), created_at=[DAY_0, DAY_0, DAY_0, DAY_0 - 1])
    view, rows = memory.view(), np.arange(4)
    names = np.array(list("dcba"))

    def first(scores: list[float], k: int) -> str:
        return "".join(sorted(names[leads.among_first(view, rows, np.array(scores), k)]))

    assert first([0.5, 0.5, 0.5, 0.5], 2) == "bc"
    assert first([0.5, 0.5, 0.5, 0.5], 3) == "bcd"
    assert first([0.5, 0.5, 0.5, 0.6], 2) == "ab"
    assert first([0.1, 0.2, 0.3, 0.4], 9) == "abcd"


def test_starts_are_best_first_equal_ones_by_id_and_those_without_links_apart(memory: Memory) -> None:
    fill(memory, list("dcba"))
    tie(memory, "d>c b>c")
    view = memory.view()
    begin = leads.starts(view, np.arange(4), np.array([0.5, 0.9, 0.5, 0.7]), invalidated=True)
    graph = nodes.state_of(view).graph
    assert begin.nodes.tolist() == graph.node_of(["c", "b", "d"]).tolist()
    assert (begin.scores.tolist(), begin.lone.tolist(), begin.lone_scores.tolist()) == ([0.9, 0.5, 0.5], [3], [0.7])


def test_of_two_versions_of_a_chunk_the_last_counts(memory: Memory) -> None:
    fill(memory, list("ab"))
    fill(memory, ["a"], texts=["another text of a"])
    rows, scores = leads.current(memory.view(), np.array([0, 1, 2]), np.array([0.1, 0.2, 0.3]))
    assert (rows.tolist(), scores.tolist()) == ([2, 1], [0.3, 0.2])


@pytest.mark.parametrize("budget", range(1, 7))
def test_starts_without_links_use_up_the_budget_too(memory: Memory, budget: int) -> None:
    fill(memory, list("abcxyz"))
    tie(memory, "a>b b>c")
    view = memory.view()
    given = {"a": 0.1, "x": 0.9, "y": 0.8, "z": 9.0}
    ref = {each.id for each in traverse(view, given, intent="why", budget=budget) if each.via}
    rows = view.rows_of_ids(list(given))
    begin = leads.starts(view, rows, np.array(list(given.values())), invalidated=True)
    walk = leads.walk(view, begin, intent="why", depth=2, beam_width=5, budget=budget)
    found = leads.rows_led(view, walk, begin, budget)
    assert set(view.snapshot.values("chunks", "id", found[found >= 0])) == ref
    assert len(propagate(view, given, intent="why", budget=budget)) <= budget


def test_a_contradiction_marks_all_that_lies_behind_it(memory: Memory) -> None:
    fill(memory, list("abcde"))
    tie(memory, "a>b", "contradicts")
    tie(memory, "b>c a>d")
    tie(memory, "d>e", "contradicts")
    view = memory.view()
    begin = leads.starts(view, view.rows_of_ids(["a"]), np.ones(1), invalidated=True)
    walk = leads.walk(view, begin, intent="why", depth=3, beam_width=9, budget=9)
    state = nodes.state_of(view)
    names = view.snapshot.values("chunks", "id", state.rows[walk.nodes])
    assert dict(zip(names, leads.contradicted(view, walk).tolist(), strict=True)) == dict(
        zip("abcde", [0, 1, 1, 0, 1], strict=True)
    )
    assert [step.target for step in leads.path_to(view, walk, names.index("c"))] == ["b", "c"]
    assert leads.path_to(view, walk, 0) == ()


def test_a_relation_registered_later_is_walked_its_way(memory: Memory) -> None:
    fill(memory, list("ab"))
    registry = Registry()
    registry.register(Relation("inspired", "task", False, True, False, "a test"))
    tie(memory, "a>b")
    view = memory.view()
    before = leads._plan(("inspired_by",), "why", registry, len(registry))
    registry.register(Relation("inspired_by", "task", False, False, True, "a test"))
    after = leads._plan(("inspired_by",), "why", registry, len(registry))
    assert (before.outward[0], before.inward[0], after.outward[0], after.inward[0]) == (1, 0, 0, 1)
    assert [each.id for each in traverse(view, ["a"], registry=registry)] == ["b", "a"]
