"""Age is weighed in at the speed of memory: the kernel against NumPy, in float64 and in float32."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import HALF_LIFE_DAYS, TWO_YEARS_S
from bench.timing import whole
from lamina_kernels.decay import blend, blend_numpy, half_life_decay, half_life_decay_numpy

WEIGHT = 0.7
UNIT = "million scores/s"


class Columns(NamedTuple):
    """n rows in float32, and the result's memory."""

    semantic: NDArray[np.float32]
    age_s: NDArray[np.float32]
    inverse_half_life: NDArray[np.float32]
    out: NDArray[np.float32]


@pytest.fixture(scope="module")
def columns(pytestconfig: pytest.Config) -> Columns:
    n = scores(pytestconfig)
    rng = np.random.default_rng(11)
    half_life_s = rng.choice(HALF_LIFE_DAYS, n) * 86_400.0
    return Columns(
        rng.random(n, np.float32), rng.uniform(0, TWO_YEARS_S, n).astype(np.float32),
        (1.0 / half_life_s).astype(np.float32), np.empty(n, np.float32),
    )  # fmt: skip


def scores(config: pytest.Config) -> int:
    """A million, or few without timing."""
    return 1_000_000 if config.getoption("benchmark_enable") else 10_000


def bench_blend_kernel(benchmark: BenchmarkFixture, columns: Columns) -> None:
    semantic, age_s, inverse, out = columns
    blend(semantic, age_s, inverse, WEIGHT, out)
    ref = blend_numpy(semantic, age_s, inverse, WEIGHT)
    np.testing.assert_allclose(out, ref, atol=2e-7, rtol=0)
    _time(benchmark, lambda: blend(semantic, age_s, inverse, WEIGHT, out), columns, "Lamina blend", "float32")


def bench_blend_float64(benchmark: BenchmarkFixture, columns: Columns) -> None:
    semantic, age_s, inverse = (column.astype(np.float64) for column in columns[:3])

    def work() -> NDArray[np.float64]:
        return WEIGHT * semantic + (1.0 - WEIGHT) * 0.5 ** (age_s * inverse)

    np.testing.assert_allclose(work(), blend_numpy(*columns[:3], WEIGHT), atol=1e-12, rtol=0)
    _time(benchmark, work, columns, "NumPy float64", "0.5 ** x")


def bench_blend_float32(benchmark: BenchmarkFixture, columns: Columns) -> None:
    semantic, age_s, inverse, out = columns

    def work() -> NDArray[np.float32]:
        np.multiply(age_s, inverse, out=out)
        np.negative(out, out=out)
        np.exp2(out, out=out)
        np.multiply(out, np.float32(1.0 - WEIGHT), out=out)
        np.add(out, semantic * np.float32(WEIGHT), out=out)
        return out

    np.testing.assert_allclose(work(), blend_numpy(*columns[:3], WEIGHT), atol=5e-6, rtol=0)
    _time(benchmark, work, columns, "NumPy float32", "exp2, in place")


@pytest.mark.parametrize("ours", [True, False], ids=["kernel", "numpy"])
def bench_half_life(benchmark: BenchmarkFixture, columns: Columns, ours: bool) -> None:
    age_s, half_life_s = columns.age_s.astype(np.float64), 1.0 / columns.inverse_half_life.astype(np.float64)
    out = np.empty_like(age_s)
    half_life_decay(age_s, half_life_s, out)
    np.testing.assert_allclose(out, half_life_decay_numpy(age_s, half_life_s), rtol=1e-12)
    work = (lambda: half_life_decay(age_s, half_life_s, out)) if ours else (lambda: np.power(0.5, age_s / half_life_s))
    whole(
        benchmark, work, age_s.size / 1e6, group="Half-life decay in float64", unit=UNIT, items=age_s.size,
        system="Lamina half_life_decay" if ours else "NumPy", settings="exact to rounding",
    )  # fmt: skip


def _time(benchmark: BenchmarkFixture, work: Any, columns: Columns, system: str, settings: str) -> None:
    n = columns.out.size
    whole(
        benchmark, work, n / 1e6, group="Score and age, blended", unit=UNIT, items=n, system=system, settings=settings
    )
