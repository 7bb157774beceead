"""Candidates of another vector store, ranked by a vault: findings, seeds-a row 39 (seed 000)."""

from __future__ import annotations

from typing import Any

import pytest

from lamina import InvalidArgument, Vault
from lamina_engine.recall.explain import recompute


@pytest.fixture
def stored(vault: Vault) -> Vault:
    for name, text, day in (("a", "the pool ran dry", 1), ("b", "the cache was cold", 20), ("c", "plum cake", 27)):
        vault.add(text, id=name, created_at=f"2026-02-{day:02}", project="p" if name != "c" else "q")
    return vault


def test_the_task_formula_over_distances_of_another_store(stored: Vault) -> None:
    given = [("a", 0.2), ("b", 0.4), ("c", 1.4), ("gone", 0.1)]
    hits = stored.recall("why is it slow", candidates=given, profile="task")
    assert {hit.id for hit in hits} == {"a", "b", "c"}
    assert hits.unknown == ("gone",)
    assert hits.explain()["unknown"] == ["gone"]
    for hit in hits:
        likeness = {"a": 0.8, "b": 0.6, "c": 0.0}[hit.id]
        assert hit.terms["semantic"] == pytest.approx(likeness, abs=1e-12)
        assert hit.score == pytest.approx(0.7 * likeness + 0.3 * hit.terms["recency"], abs=1e-9)
        assert hit.score == pytest.approx(recompute(hit.terms), abs=1e-9)


def test_only_candidates_are_found_and_filters_hold(stored: Vault) -> None:
    given = [("b", 0.3), ("c", 0.1)]
    assert {hit.id for hit in stored.recall("the pool ran dry", candidates=given)} == {"b", "c"}
    assert [hit.id for hit in stored.recall("x", candidates=given, where={"project": "p"})] == ["b"]
    assert list(stored.recall("the pool", candidates=[])) == []


def test_links_may_bring_more(stored: Vault) -> None:
    stored.link("b", "a", "related_to")
    hits = stored.recall("x", candidates=[("b", 0.3)], profile="task")
    assert [hit.id for hit in hits] == ["b", "a"]


def test_an_id_given_twice_counts_once_and_no_distance_is_no_likeness(stored: Vault) -> None:
    given: list[Any] = [("a", 0.9), ("a", 0.2), ("b", None), ("c", float("nan"))]
    hits = {hit.id: hit.terms["semantic"] for hit in stored.recall("x", candidates=given, profile="task")}
    assert hits == pytest.approx({"a": 0.8, "b": 0.0, "c": 0.0})


@pytest.mark.parametrize("given", ["a", 3, ["a"], [("a", "near")], [(1, 0.5)], [("a", 0.1, 2)]])
def test_what_is_no_pair_is_refused(stored: Vault, given: Any) -> None:
    with pytest.raises(InvalidArgument, match="candidates"):
        stored.recall("x", candidates=given)
