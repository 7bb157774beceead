"""Forgetting by a query: findings, seeds-b row 41 of 003."""

from __future__ import annotations

from typing import Any

import pytest

from lamina import InvalidArgument, Vault


@pytest.fixture
def told(vault: Vault) -> Vault:
    for name, text in (
        ("pay", "Anna's salary is 4,000 euros."), ("again", "The salary of Anna was raised."), ("cake", "Plum cake."),
    ):  # fmt: skip
        vault.add(text, id=name, project="p" if name != "again" else "q")
    return vault


def test_the_dry_run_shows_what_is_alike_with_scores(told: Vault) -> None:
    report = told.forget(query="salary of Anna", threshold=0.3)
    assert report.dry_run
    assert set(report.ids) == {"pay", "again"}
    assert list(report.likeness) == sorted(report.likeness, reverse=True)
    assert report.likeness[-1] >= 0.3
    assert report.median == pytest.approx(sum(report.likeness) / 2)
    assert told.stats()["chunks"] == 3
    assert told.forget(query="salary of Anna", threshold=0.3, where={"project": "q"}).ids == ("again",)


def test_nothing_alike_forgets_nothing(told: Vault) -> None:
    report = told.forget(None, False, query="the orbit of Neptune")
    assert (report.chunks, report.ids, report.likeness, report.median) == (0, (), (), None)
    assert told.stats()["chunks"] == 3


def test_it_forgets_when_told(told: Vault) -> None:
    told.forget(None, False, query="salary of Anna", threshold=0.3)
    assert [chunk.id for chunk in told.list()] == ["cake"]


@pytest.mark.parametrize(
    "options", [{"query": ""}, {"query": 3}, {"query": "x", "threshold": 0}, {"query": "x", "threshold": 2}, {"query": "x", "ids": "a"}]
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(told: Vault, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        told.forget(**options)
