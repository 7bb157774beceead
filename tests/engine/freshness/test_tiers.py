from __future__ import annotations

import pytest

from lamina_engine.errors import InvalidConfig
from lamina_engine.freshness import tiers
from lamina_engine.freshness.tiers import (
    MULTIPLIERS,
    Thresholds,
    multiplier,
    read_settings,
    tier_of_age,
    tier_of_commits,
)


def test_golden_bounds_of_commits() -> None:
    got = {commits: tier_of_commits(commits) for commits in (0, 2, 3, 9, 10, 24, 25, 26)}
    assert got == {
        0: "fresh", 2: "fresh", 3: "aging", 9: "aging", 10: "stale", 24: "stale", 25: "expired", 26: "expired",
    }  # fmt: skip


def test_ages_without_a_file_go_by_half_lives() -> None:
    got = [tier_of_age(days, 30.0) for days in (0.0, 29.9, 30.0, 59.9, 60.0, 119.9, 120.0, 9e9)]
    assert got == ["fresh", "fresh", "aging", "aging", "stale", "stale", "expired", "expired"]


@pytest.mark.parametrize("given", [(3, 3, 25), (10, 3, 25), (3, 10, 10), (0, 10, 25), (3, 501, 900), (3, 10, 1001)])
def test_thresholds_out_of_order_or_bounds_are_refused(given: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidConfig, match="threshold"):
        Thresholds(*given)
    environ = dict(zip(("AGING", "STALE", "EXPIRED"), map(str, given), strict=True))
    named = {f"FRESHNESS_COMMIT_THRESHOLD_{name}": text for name, text in environ.items()}
    with pytest.raises(InvalidConfig):
        read_settings({**named, "FRESHNESS_ENABLED": "false"})


def test_bounds_themselves_are_accepted() -> None:
    assert tier_of_commits(1, Thresholds(1, 2, 3)) == "aging"
    assert tier_of_commits(999, Thresholds(100, 500, 1000)) == "stale"


def test_multipliers_are_those_of_the_table() -> None:
    assert dict(MULTIPLIERS) == {
        "fresh": 1.0, "aging": 0.9, "stale": 0.7, "expired": 0.5, "unverified": 1.0, "unknown": 0.8,
    }  # fmt: skip
    assert (multiplier(None), multiplier("aging"), multiplier("never heard of")) == (1.0, 0.9, 0.8)
    assert 0.8 * multiplier("aging") == pytest.approx(0.72)


def test_the_environment_sets_switch_thresholds_and_multipliers() -> None:
    assert read_settings({}) == tiers.FreshnessSettings()
    got = read_settings(
        {"FRESHNESS_ENABLED": "False", "FRESHNESS_COMMIT_THRESHOLD_STALE": "12", "FRESHNESS_PENALTY_STALE": "0.5",
         "FRESHNESS_PENALTY_AGING": " "}
    )  # fmt: skip
    assert not got.enabled
    assert got.thresholds == Thresholds(3, 12, 25)
    assert (got.multipliers["stale"], got.multipliers["aging"]) == (0.5, 0.9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FRESHNESS_ENABLED", "maybe"),
        ("FRESHNESS_COMMIT_THRESHOLD_AGING", "-1"),
        ("FRESHNESS_COMMIT_THRESHOLD_AGING", "3.0"),
        ("FRESHNESS_PENALTY_UNKNOWN", "1.01"),
        ("FRESHNESS_PENALTY_UNKNOWN", "much"),
        ("FRESHNESS_PENALTY_UNKNOWN", "nan"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        read_settings({name: text})
