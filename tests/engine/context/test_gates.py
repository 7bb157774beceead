from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.context.gates import drift, gate, is_command
from lamina_engine.settings import Injection

DEFAULTS = Injection()


@pytest.mark.parametrize(
    ("best", "collection", "ref"),
    [
        (0.40, "discussions", "hard_skip"), (0.50, "discussions", "soft_skip"), (0.57, "discussions", "soft_gate"),
        (0.70, "discussions", "full"), (0.57, "code-patterns", "full"), (0.62, "conventions", "soft_gate"),
        (0.66, "conventions", "full"), (0.57, "github", "soft_gate"), (0.61, "notes", "full"), (0.0, "", "hard_skip"),
    ],
)  # fmt: skip
def test_thresholds_go_by_the_collection_of_the_best(best: float, collection: str, ref: str) -> None:
    assert gate(best, collection, DEFAULTS) == ref


def test_thresholds_are_settings() -> None:
    assert gate(0.3, "discussions", Injection(hard_floor=0.1, threshold_discussions=0.2)) == "full"


def test_drift_of_equal_orthogonal_opposite_and_missing() -> None:
    a = np.array([1, 0], np.float32)
    assert drift(a, a) == 0.0
    assert drift(a, np.array([0, 1], np.float32)) == 1.0
    assert drift(a, -a) == 1.0
    assert drift(a, None) == drift(None, a) == drift(a, np.zeros(2, np.float32)) == 0.5
    assert drift(a, np.ones(3, np.float32)) == 0.5  # of another model


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [("/clear", True), ("/model opus now", True), ("/etc/hosts is wrong", False), ("a /clear", False), ("", False)],
)
def test_a_command_is_no_path(prompt: str, ref: bool) -> None:
    assert is_command(prompt) == ref
