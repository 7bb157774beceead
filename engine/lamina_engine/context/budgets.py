"""How many tokens there are: for a turn by how good and how new what was found is, and for the parts of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina_engine.settings import Injection

NEAR: Final = 0.6
"""Confidence from which a result counts as dense company: one threshold, whatever the collection."""
BOOTSTRAP_SHARES: Final = {"handoff": 800 / 2500, "insights": 600 / 2500, "changes": 600 / 2500}
"""Of a bootstrap's budget, by part; what is left, 500 of 2,500, and what a part does not use, go to the next ones."""
TASK_SHARE: Final = 0.2
TASK_MOST: Final = 300
"""The active task gets so much of a turn's budget, at most."""


def adaptive_budget(best: float, dense: float, drift: float, settings: Injection) -> int:
    """Return a turn's budget: floor + (ceiling − floor) · (0.5 · quality + 0.3 · density + 0.2 · drift), truncated.

    Parameters
    ----------
    best : float
        Confidence of the best result; cut to [0, 1].
    dense : float
        Share of the results with a confidence of `NEAR` at least.
    drift : float
        How far the topic moved since the turn before, 0 to 1.
    settings : Injection
        Floor, ceiling and the three weights.

    Returns
    -------
    int
        Always within [floor, ceiling].

    References
    ----------
    .. [1] AI Memory 2.2, injection: "adaptive budget".
    """
    quality = min(max(best, 0.0), 1.0)
    weighted = settings.quality_weight * quality + settings.density_weight * dense + settings.drift_weight * drift
    budget = settings.budget_floor + int((settings.budget_ceiling - settings.budget_floor) * weighted)
    return min(max(budget, settings.budget_floor), settings.budget_ceiling)


def half_budget(budget: int, settings: Injection) -> int:
    """Return what a turn gets whose best result is almost good enough: half, and never less than the floor."""
    return max(settings.budget_floor, budget // 2)


def density(confidences: Sequence[float]) -> float:
    """Return the share of results with a confidence of `NEAR` at least; 0 for none."""
    return sum(value >= NEAR for value in confidences) / len(confidences) if confidences else 0.0


def task_budget(budget: int) -> int:
    """Return the part of a turn's budget that the active task may use; what it leaves goes to the search."""
    return min(TASK_MOST, int(budget * TASK_SHARE))
