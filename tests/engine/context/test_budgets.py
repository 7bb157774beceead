"""Golden vectors of AI Memory's adaptive budget, and what it got wrong: half a budget may not go below the floor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.context.budgets import BOOTSTRAP_SHARES, adaptive_budget, density, half_budget, task_budget
from lamina_engine.settings import Injection

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
        "insights": 600,
        "changes": 600,
    }
