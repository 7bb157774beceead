from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import scoring
from lamina_kernels.layouts import F64, I64
from lamina_kernels.scoring import UNDATED_US, Formula, score_rows, score_rows_kernel, score_rows_numpy
from tests.oracles import decay as oracle

DAY_US = 86_400_000_000
NOW_S = 1_772_000_000.0
NOW_US = round(NOW_S * 1e6)
YEAR_1, YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999
# semantic, age in days, half-life in days, blended at weight 0.7: the golden numbers of the decay formula
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


Path = Callable[["Rows", Formula, int], scoring.Scored]


class Rows(NamedTuple):
    semantic: F64
    factor: F64
    created_us: I64
    half_life_days: F64
    multipliers: F64


def run_kernel(rows: Rows, formula: Formula, most: int) -> scoring.Scored:
    score, order = np.empty(rows.semantic.size), np.empty(min(most, rows.semantic.size), np.int64)
    count, tied = score_rows_kernel(*rows, formula, score, order)
    return scoring.Scored(score, order[:count], tied)


def run_twin(rows: Rows, formula: Formula, most: int) -> scoring.Scored:
    return score_rows_numpy(*rows, formula, most)


def same(a: scoring.Scored, b: scoring.Scored) -> bool:
    return a.score.tobytes() == b.score.tobytes() and a.order.tolist() == b.order.tolist() and a.tied == b.tied


def plain(created_us: list[int], semantic: float = 1.0, half_life_days: float = 14.0) -> Rows:
    n = len(created_us)
    return Rows(
        np.full(n, semantic), np.ones(n), np.array(created_us, np.int64), np.full(n, half_life_days), np.empty((0, n))
    )  # fmt: skip


formulas = st.builds(
    Formula,
    semantic_weight=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    aged_s=st.sampled_from([NOW_S, 0.0, YEAR_1 / 1e6, YEAR_9999 / 1e6]),
    undated_us=st.sampled_from([1_577_836_800e6, float(YEAR_1)]),
    start_us=st.floats(NOW_US - 100.0 * DAY_US, NOW_US),
    end_us=st.floats(NOW_US, NOW_US + 100.0 * DAY_US),
    window_weight=st.sampled_from([0.0, 0.2, 1.0]),
    before_days=st.sampled_from([0.0, 7.0]),
    after_days=st.sampled_from([0.0, 14.0]),
    boost=st.sampled_from([0.0, 0.3]),
    boost_half_life_hours=st.sampled_from([48.0, 1e-6]),
    now_s=st.sampled_from([NOW_S, 0.0]),
    floor=st.sampled_from([0.0, 0.3, 1.0]),
    slope=st.sampled_from([0.0, 1.0, 4.0]),
)
dates = st.one_of(
    st.integers(NOW_US - 200 * DAY_US, NOW_US + 200 * DAY_US),
    st.sampled_from([UNDATED_US, UNDATED_US + 1, 2**63 - 1, YEAR_1, YEAR_9999, NOW_US, 0]),
)


@given(st.integers(0, 2**32), st.lists(dates, max_size=40), formulas, st.integers(0, 45), st.integers(0, 3))
def test_kernel_and_twin_give_the_same_bytes(
    seed: int, created: list[int], formula: Formula, most: int, boosts: int
) -> None:
    rng, n = np.random.default_rng(seed), len(created)
    rows = Rows(
        rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()], n), rng.choice([0.0, 0.5, 1.0], n), np.array(created, np.int64),
        rng.choice([1e-300, 7.0, 14.0, 1e300, np.inf], n), rng.choice([1.0, 1.2, 0.3], (boosts, n)),
    )  # fmt: skip
    assert same(run_kernel(rows, formula, most), score_rows_numpy(*rows, formula, most))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 63, 64, 1_000, 4_097, 30_000])
def test_the_same_bytes_for_any_number_of_rows(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = Rows(
        rng.random(n) * (rng.random(n) < 0.8), np.ones(n), rng.integers(YEAR_1, YEAR_9999, n),
        rng.uniform(1.0, 1_000.0, n), rng.random((2, n)),
    )  # fmt: skip
    rows.created_us[rng.random(n) < 0.1] = UNDATED_US
    formula = Formula(0.7, NOW_S, 0.0, NOW_US - 9e11, float(NOW_US), 0.2, 7.0, 14.0, 0.3, 48.0, NOW_S)
    for most in (n, 10):
        assert same(run_kernel(rows, formula, most), score_rows_numpy(*rows, formula, most))


def test_a_score_does_not_depend_on_the_rows_beside_it() -> None:
    rng = np.random.default_rng(5)
    rows = Rows(rng.random(50), np.ones(50), rng.integers(0, NOW_US, 50), rng.uniform(1, 99, 50), rng.random((1, 50)))
    formula = Formula(0.7, NOW_S, 0.0, 1e15, 1.5e15, 0.2, 7.0, 14.0, 0.3, 48.0, NOW_S)
    together = score_rows(*rows, formula, 50).score
    for i in range(50):
        one = Rows(
            rows.semantic[i : i + 1], rows.factor[i : i + 1], rows.created_us[i : i + 1], rows.half_life_days[i : i + 1],
            rows.multipliers[:, i : i + 1].copy(),
        )  # fmt: skip
        assert score_rows(*one, formula, 1).score.tobytes() == together[i : i + 1].tobytes()


@pytest.mark.parametrize("path", [run_kernel, run_twin])
def test_golden_numbers(path: Path) -> None:
    semantic, age, half_life, printed = np.array(GOLDEN).T.copy()
    created = NOW_US - np.round(age * DAY_US).astype(np.int64)
    rows = Rows(semantic, np.ones(10), created, half_life, np.empty((0, 10)))
    got = path(rows, Formula(0.7, NOW_S), 10).score
    ref = [oracle.blend(s, a, h, 0.7) for s, a, h, _ in GOLDEN]
    np.testing.assert_allclose(got, ref, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got, printed, rtol=0, atol=6e-7)  # printed to six digits


def test_the_weight_at_its_ends() -> None:
    rows = plain([NOW_US - 14 * DAY_US, NOW_US], semantic=0.3)
    assert score_rows_numpy(*rows, Formula(1.0), 2).score.tolist() == [0.3, 0.3]
    assert score_rows_numpy(*rows, Formula(0.0, NOW_S), 2).score.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("path", [run_kernel, run_twin])
def test_with_a_slope_recency_counts_for_what_matches_above_the_floor(path: Path) -> None:
    rows = plain([NOW_US] * 4)._replace(semantic=np.array([0.8, 0.7, 0.6, 0.3]))
    got = path(rows, Formula(0.6, NOW_S, floor=0.6, slope=4.0), 4).score
    np.testing.assert_allclose(got, [0.48 + 0.4 * 0.8, 0.42 + 0.4 * 0.4, 0.36, 0.18], rtol=0, atol=1e-15)


def test_without_age_no_half_lives_are_read() -> None:
    rows = plain([NOW_US], semantic=0.3)._replace(half_life_days=np.empty(0))
    assert run_kernel(rows, Formula(1.0), 1).score.tolist() == [0.3]
    assert score_rows_numpy(*rows, Formula(1.0), 1).score.tolist() == [0.3]


def test_an_undated_row_is_old_and_in_no_window() -> None:
    rows = plain([UNDATED_US, NOW_US])
    aged = score_rows_numpy(*rows, Formula(0.0, NOW_S, undated_us=float(NOW_US)), 2).score
    assert aged.tolist() == [0.5**10, 1.0]
    window = Formula(1.0, start_us=0.0, end_us=NOW_US + 1.0, window_weight=0.25)
    assert score_rows_numpy(*rows, window, 2).score.tolist() == [0.75, 1.0]
    boost = Formula(1.0, boost=0.3, now_s=NOW_S, boost_half_life_hours=48.0)
    assert score_rows_numpy(*rows, boost, 2).score.tolist() == [1.0, 1.3]


def test_a_window_fades_on_both_sides_and_is_half_open() -> None:
    days = [-8, -7, -3.5, 0, 1, 2, 9, 16, 30]
    created = [NOW_US + round(day * DAY_US) for day in days]
    formula = Formula(
        1.0, start_us=float(NOW_US), end_us=NOW_US + 2.0 * DAY_US, window_weight=0.2, before_days=7.0, after_days=14.0
    )
    got = score_rows_numpy(*plain(created), formula, 9).score
    np.testing.assert_allclose(got, [0.8, 0.8, 0.9, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8], atol=1e-9)
    assert got[5] < 1.0  # the end is the first moment outside


def test_boost_and_multipliers_follow_one_another() -> None:
    rows = plain([NOW_US, NOW_US - 2 * DAY_US, NOW_US + DAY_US])._replace(
        multipliers=np.array([[1.0, 1.2, 1.0], [0.5] * 3])
    )
    formula = Formula(1.0, boost=0.3, boost_half_life_hours=48.0, now_s=NOW_S)
    np.testing.assert_allclose(score_rows_numpy(*rows, formula, 3).score, [0.65, 1.15 * 1.2 / 2, 0.65], rtol=1e-15)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 2)), max_size=12), st.integers(0, 13))
def test_the_order_is_that_of_sorting(pairs: list[tuple[float, int]], most: int) -> None:
    rows = plain([date for _, date in pairs])._replace(semantic=np.array([score for score, _ in pairs], np.float64))
    ranked = sorted((-score, -date, i) for i, (score, date) in enumerate(pairs) if score > 0)
    keys = [key[:2] for key in ranked]
    for got in (run_kernel(rows, Formula(), most), score_rows_numpy(*rows, Formula(), most)):
        assert got.order.tolist() == [i for _, _, i in ranked[:most]]
        if most:
            assert got.tied == any(a == b for a, b in itertools.pairwise(keys[: most + 1]))


def test_halving_is_exact_for_whole_periods_and_right_to_the_last_bit_elsewhere() -> None:
    assert scoring.halve(np.arange(1_075.0)).tolist() == [2.0**-i for i in range(1_075)]
    assert scoring.halve(np.array([1_076.0, 1e9, np.inf])).tolist() == [0.0, 0.0, 0.0]
    x = np.random.default_rng(3).uniform(0.0, 60.0, 20_000)
    ref = np.exp2(-x.astype(np.longdouble)).astype(np.float64)
    assert (np.abs(scoring.halve(x) - ref) <= np.spacing(ref)).all()
    assert (np.diff(scoring.halve(np.sort(x))) <= 0.0).all()


def test_what_never_ages_is_as_good_without_a_date() -> None:
    rows = plain([UNDATED_US, NOW_US - 400 * DAY_US], semantic=0.5, half_life_days=np.inf)
    formula = Formula(0.7, NOW_S, YEAR_1 / 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 48.0, NOW_S)
    for path in (run_kernel, run_twin):
        got = path(rows, formula, 2)
        assert got.score.tolist() == [0.7 * 0.5 + (1.0 - 0.7)] * 2
        assert got.order.tolist() == [1, 0]  # the dated one first
