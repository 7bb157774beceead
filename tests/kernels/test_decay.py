from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import decay
from lamina_kernels.layouts import F32, F64
from tests.oracles import decay as oracle

DAY = 86_400.0
# semantic, age in days, half-life in days, fused at weight 0.7: the golden numbers of the decay formula
GOLDEN = [
    (0.8, 0.0, 14.0, 0.86),
    (0.8, 14.0, 14.0, 0.71),
    (0.8, 28.0, 14.0, 0.635),
    (0.9, 7.0, 7.0, 0.78),
    (0.75, 45.0, 30.0, 0.631066),
    (0.5, 180.0, 180.0, 0.50),
    (0.95, 365.0, 60.0, 0.669424),
    (0.7, 1.0, 7.0, 0.761717),
    (0.8, -5.0, 14.0, 0.86),
    (0.8, 0.5, 14.0, 0.852665),
]
Path = Callable[[F64, F64], F64]
ages = st.one_of(st.floats(-1e9, 1e11), st.sampled_from([0.0, np.nan, np.inf, -np.inf]))
periods = st.one_of(st.floats(1.0, 1e10), st.just(np.inf))


def half_life_kernel(age_s: F64, half_life_s: F64) -> F64:
    out = np.full(age_s.size, -1.0)
    decay.half_life_decay(age_s, half_life_s, out)
    return out


def time_constant_kernel(age_s: F64, time_constant_s: F64) -> F64:
    out = np.full(age_s.size, -1.0)
    decay.time_constant_decay(age_s, time_constant_s, out)
    return out


def blend_kernel(semantic: F32, age_s: F32, inverse_half_life: F32, weight: float) -> F32:
    out = np.full(semantic.size, -1.0, np.float32)
    decay.blend(semantic, age_s, inverse_half_life, weight, out)
    return out


@pytest.mark.parametrize("path", [decay.half_life_decay_numpy, half_life_kernel])
@given(rows=st.lists(st.tuples(ages, periods), max_size=20))
def test_half_life_equals_oracle(path: Path, rows: list[tuple[float, float]]) -> None:
    columns = np.array(rows, np.float64).reshape(-1, 2)
    got = path(columns[:, 0].copy(), columns[:, 1].copy())
    ref = [oracle.half_life(age, half_life) for age, half_life in rows]
    np.testing.assert_allclose(got, ref, rtol=1e-12, atol=1e-300)  # pow differs by a last bit between libraries


@pytest.mark.parametrize("path", [decay.time_constant_decay_numpy, time_constant_kernel])
@given(rows=st.lists(st.tuples(ages, periods), max_size=20))
def test_time_constant_equals_oracle(path: Path, rows: list[tuple[float, float]]) -> None:
    columns = np.array(rows, np.float64).reshape(-1, 2)
    got = path(columns[:, 0].copy(), columns[:, 1].copy())
    ref = [oracle.time_constant(age, time_constant) for age, time_constant in rows]
    np.testing.assert_allclose(got, ref, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("path", [decay.half_life_decay_numpy, half_life_kernel])
def test_golden_numbers_in_float64(path: Path) -> None:
    semantic, age, half_life, printed = np.array(GOLDEN).T
    recency = path(age * DAY, half_life * DAY)
    got = 0.7 * semantic + 0.3 * recency
    ref = [oracle.blend(s, a, h, 0.7) for s, a, h, _ in GOLDEN]
    np.testing.assert_allclose(got, ref, rtol=0, atol=1e-9)
    np.testing.assert_allclose(got, printed, rtol=0, atol=6e-7)  # printed to six digits


def test_golden_numbers_in_float32() -> None:
    semantic, age, half_life, _ = np.array(GOLDEN).T
    single = np.array([semantic, age * DAY, 1.0 / (half_life * DAY)], np.float32)
    got = blend_kernel(single[0], single[1], single[2], 0.7)
    ref = [oracle.blend(s, a, h, 0.7) for s, a, h, _ in GOLDEN]
    np.testing.assert_allclose(got, ref, rtol=0, atol=2e-7)
    twin = decay.blend_numpy(single[0], single[1], single[2], 0.7)
    np.testing.assert_allclose(twin, ref, rtol=0, atol=2e-7)  # the input is rounded to float32


@given(
    rows=st.lists(
        st.tuples(st.floats(-1, 1, width=32), st.floats(0, 2**33, width=32), st.floats(0, 2**-8, width=32)), max_size=20
    ),
    weight=st.floats(0, 1),
)
def test_blend_equals_float64_formula(rows: list[tuple[float, float, float]], weight: float) -> None:
    semantic, age, inverse = (column.copy() for column in np.array(rows, np.float32).reshape(-1, 3).T)
    got = blend_kernel(semantic, age, inverse, weight)
    # float32 may flush x = age · inverse; the half-life it stands for is the oracle's
    ref = [
        oracle.blend(float(s), float(a), 1.0 / float(v) if v > 0 else np.inf, weight)
        for s, a, v in zip(semantic, age, inverse, strict=True)
    ]
    np.testing.assert_allclose(got, ref, rtol=0, atol=2e-7)
    np.testing.assert_allclose(decay.blend_numpy(semantic, age, inverse, weight), ref, rtol=0, atol=1e-9)


def test_blend_at_the_edges() -> None:
    #                     fresh future unknown  never+unknown  endless  never+endless  one half-life  never
    age = np.array([0.0, -5.0, np.nan, np.nan, np.inf, np.inf, 64.0, 1e9], np.float32)
    inverse = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1 / 64, 0.0], np.float32)
    ref = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5, 1.0])
    zeros = np.zeros(age.size, np.float32)
    got = blend_kernel(zeros, age, inverse, 0.0)
    np.testing.assert_allclose(got, ref, rtol=0, atol=2e-38)
    assert got[ref == 1.0].tolist() == [1.0] * 5  # exactly
    np.testing.assert_array_equal(decay.blend_numpy(zeros, age, inverse, 0.0), ref)


def test_weight_one_is_semantic_and_weight_zero_is_recency() -> None:
    semantic = np.array([0.3, -0.2], np.float32)
    age, inverse = np.array([100.0, 7.0], np.float32), np.array([0.01, 0.0], np.float32)
    np.testing.assert_array_equal(blend_kernel(semantic, age, inverse, 1.0), semantic)
    np.testing.assert_allclose(blend_kernel(semantic, age, inverse, 0.0), [0.5, 1.0], rtol=0, atol=2e-7)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 100])
def test_blend_does_not_depend_on_the_batch(n: int) -> None:
    rng = np.random.default_rng(n)
    semantic, age, inverse = (rng.random(n, dtype=np.float32) * scale for scale in (1, 1e7, 1e-6))
    whole = blend_kernel(semantic, age, inverse, 0.7)
    singly = [blend_kernel(semantic[i : i + 1], age[i : i + 1], inverse[i : i + 1], 0.7) for i in range(n)]
    np.testing.assert_array_equal(whole, np.concatenate([np.empty(0, np.float32), *singly]))


def test_older_is_never_fresher() -> None:
    age = np.linspace(0, 30, 4001).astype(np.float32)
    got = blend_kernel(np.zeros_like(age), age, np.ones_like(age), 0.0)
    assert np.all(np.diff(got.astype(np.float64)) <= 1.2e-7)  # two float32 steps, where polynomial pieces meet


def test_blend_may_write_over_its_input() -> None:
    semantic = np.array([0.1, 0.9, 0.5], np.float32)
    age, inverse = np.array([1.0, 2.0, 3.0], np.float32), np.ones(3, np.float32)
    ref = blend_kernel(semantic, age, inverse, 0.7)
    decay.blend(semantic, age, inverse, 0.7, semantic)
    np.testing.assert_array_equal(semantic, ref)


# hops and weights as published with the system that these curves come from: linear backward, delayed linear forward
BACKWARD = {0: 1.0, 1: 0.9, 5: 0.5, 9: 0.1, 10: 0.0, 11: 0.0}
FORWARD = {0: 1.0, 4: 1.0, 5: 1.0, 6: 0.933, 10: 0.667, 15: 0.333, 19: 0.067, 20: 0.0, 40: 0.0}


def test_hop_decay_backward_is_linear_and_dies_at_ten() -> None:
    got = decay.linear_hop_decay(np.array(list(BACKWARD), np.int32), 0.0, 10.0)
    np.testing.assert_allclose(got, list(BACKWARD.values()), atol=1e-12)


def test_hop_decay_forward_holds_five_and_dies_at_twenty() -> None:
    got = decay.linear_hop_decay(np.array(list(FORWARD), np.int64), 5.0, 20.0)
    np.testing.assert_allclose(got, list(FORWARD.values()), atol=5e-4)


def test_hop_decay_of_the_research_variants() -> None:
    hops = np.arange(40)
    backward = decay.exponential_hop_decay(hops, 0.87, 0.01)
    np.testing.assert_allclose(backward[:3], [1.0, 0.87, 0.7569], rtol=1e-12)
    assert (backward[33] > 0.01, backward[34]) == (True, 0.0)
    forward = decay.linear_hop_decay(hops, 0.0, 1.0 / 0.033)
    np.testing.assert_allclose(forward[[1, 10, 30]], [0.967, 0.67, 0.01], atol=1e-12)
    assert forward[31] == 0.0


@given(hops=st.lists(st.integers(0, 60), max_size=9), hold=st.integers(0, 9), more=st.integers(1, 30))
def test_linear_hop_decay_equals_oracle_and_never_rises(hops: list[int], hold: int, more: int) -> None:
    got = decay.linear_hop_decay(np.array(sorted(hops), np.int32), float(hold), float(hold + more))
    ref = [oracle.linear_hops(hop, hold, hold + more) for hop in sorted(hops)]
    np.testing.assert_allclose(got, ref, atol=1e-12)
    assert (np.diff(got) <= 0).all()


@given(hops=st.lists(st.integers(0, 60), max_size=9), base=st.floats(0.1, 0.99), least=st.floats(1e-6, 0.5))
def test_exponential_hop_decay_equals_oracle(hops: list[int], base: float, least: float) -> None:
    got = decay.exponential_hop_decay(np.array(hops, np.int32), base, least)
    ref = [oracle.exponential_hops(hop, base, least) for hop in hops]
    np.testing.assert_allclose(got, ref, rtol=1e-12)
