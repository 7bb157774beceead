"""Age, blend and order of a whole vault by one call, against the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import HALF_LIFE_DAYS, TWO_YEARS_S
from bench.timing import whole
from lamina_kernels.scoring import Formula, score_rows_kernel, score_rows_numpy

K = 10
NOW_S = 1.772e9
WEIGHT = 0.7
UNIT = "million scores/s"


@pytest.mark.parametrize("system", ["kernel", "twin", "numpy"])
def bench_score_rows(benchmark: BenchmarkFixture, pytestconfig: pytest.Config, system: str) -> None:
    n = 1_000_000 if pytestconfig.getoption("benchmark_enable") else 10_000
    rng = np.random.default_rng(11)
    semantic, factor = rng.random(n), np.ones(n)
    half_life_days = rng.choice(HALF_LIFE_DAYS, n).astype(np.float64)
    age_s = rng.uniform(0, TWO_YEARS_S, n)
    created_us, boosts = ((NOW_S - age_s) * 1e6).astype(np.int64), np.empty((0, n))
    formula = Formula(semantic_weight=WEIGHT, aged_s=NOW_S)
    score, order = np.empty(n), np.empty(K, np.int64)

    def kernel() -> Any:
        score_rows_kernel(semantic, factor, created_us, half_life_days, boosts, formula, score, order)
        return score

    def twin() -> Any:
        return score_rows_numpy(semantic, factor, created_us, half_life_days, boosts, formula, K).score

    def plain() -> Any:
        age = np.maximum(NOW_S - created_us / 1e6, 0.0)
        scores = WEIGHT * semantic + (1.0 - WEIGHT) * 0.5 ** (age / (half_life_days * 86_400.0))
        best = np.argpartition(-scores, K)[:K]
        assert len(best[np.argsort(-scores[best])]) == K
        return scores

    works = {
        "kernel": ("Lamina score_rows", kernel, "the same bytes everywhere"),
        "twin": (
            "its NumPy twin",
            twin,
            "the same bytes everywhere",
        ),
        "numpy": ("NumPy", plain, "0.5 ** x, argpartition"),
    }
    name, work, settings = works[system]
    np.testing.assert_allclose(work(), plain(), rtol=1e-12)
    whole(
        benchmark, work, n / 1e6, group=f"Scores and age blended, {K} best", unit=UNIT, items=n, system=name,
        settings=settings,
    )  # fmt: skip
