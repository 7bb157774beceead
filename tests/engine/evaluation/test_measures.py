from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation import measures
from lamina_engine.evaluation.measures import MEASURES, bootstrap_interval, gold_ranks, ndcg_at_k, recall_at_k
from tests.oracles import measures as oracle

IDS = st.sampled_from([f"c{i}" for i in range(12)])
RANKINGS = st.lists(IDS, max_size=20)
GOLDS = st.sets(IDS, min_size=1, max_size=12)
CUTS = st.integers(1, 15)


@pytest.mark.parametrize("name", list(MEASURES))
@given(ranking=RANKINGS, gold=GOLDS, k=CUTS)
def test_measure_equals_its_textbook_sum(name: str, ranking: list[str], gold: set[str], k: int) -> None:
    ref = getattr(oracle, name)(ranking, gold, k)
    got = MEASURES[name](ranking, tuple(gold), k=k)
    assert got == pytest.approx(ref, abs=1e-12)
    assert 0.0 <= got <= 1.0


@given(ranking=RANKINGS, gold=GOLDS, k=CUTS)
def test_a_repeated_id_takes_no_second_rank(ranking: list[str], gold: set[str], k: int) -> None:
    ref = gold_ranks(ranking, gold, k=k)
    got = gold_ranks([item for item in ranking for _ in range(2)], [*gold, *gold], k=k)
    assert got == ref


@given(ranking=RANKINGS, gold=GOLDS, k=CUTS)
def test_recall_hit_and_mrr_never_fall_with_a_larger_cut(ranking: list[str], gold: set[str], k: int) -> None:
    for name in ("recall", "hit", "mrr"):
        assert MEASURES[name](ranking, gold, k=k) <= MEASURES[name](ranking, gold, k=k + 1)


def test_known_values() -> None:
    ranking = ["a", "x", "b", "y"]
    assert recall_at_k(ranking, ["a", "b", "c"], k=3) == pytest.approx(2 / 3)
    # Ranks 1 and 3 of three gold ids: (1 + 1/2) / (1 + 1/log2(3) + 1/2).
    assert ndcg_at_k(ranking, ["a", "b", "c"], k=3) == pytest.approx(1.5 / (1.5 + 0.6309297535714575))
    assert MEASURES["mrr"](ranking, ["b"], k=3) == pytest.approx(1 / 3)
    assert MEASURES["mrr"](ranking, ["b"], k=2) == 0.0


def test_a_perfect_ranking_has_ndcg_one_even_with_more_gold_than_places() -> None:
    assert ndcg_at_k(["a", "b"], ["a", "b", "c"], k=2) == 1.0
    assert recall_at_k(["a", "b"], ["a", "b", "c"], k=2) == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", list(MEASURES))
def test_an_empty_ranking_scores_zero(name: str) -> None:
    assert MEASURES[name]([], ["a"], k=1) == 0.0


@pytest.mark.parametrize("name", list(MEASURES))
@pytest.mark.parametrize(("gold", "k"), [([], 1), (["a"], 0), (["a"], -1)])
def test_no_gold_or_no_cut_is_refused(name: str, gold: list[str], k: int) -> None:
    with pytest.raises(InvalidArgument):
        MEASURES[name](["a"], gold, k=k)


@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_interval_equals_a_loop_over_resamples(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    draws = np.random.default_rng(5).integers(0, n, size=(200, n))
    means = sorted(sum(values[i] for i in row) / n for row in draws)
    # Linear interpolation between order statistics at position q (R − 1).
    ref = []
    for q in (0.05, 0.95):
        at = q * (len(means) - 1)
        below = int(at)
        above = min(below + 1, len(means) - 1)
        ref.append(means[below] + (at - below) * (means[above] - means[below]))
    got = bootstrap_interval(values, resamples=200, level=0.9, seed=5)
    assert got == pytest.approx(ref, abs=1e-12)


def test_interval_does_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(37)
    ref = bootstrap_interval(values)
    monkeypatch.setattr(measures, "_BLOCK_DRAWS", 37 * 3)
    assert bootstrap_interval(values) == ref


def test_interval_narrows_with_level_and_holds_the_mean() -> None:
    values = (np.random.default_rng(1).random(400) < 0.7).astype(np.float64)
    wide, narrow = bootstrap_interval(values, level=0.99), bootstrap_interval(values, level=0.5)
    assert wide[0] < narrow[0] <= values.mean() <= narrow[1] < wide[1]
    # Normal approximation of the 95 % half width; the bootstrap of 400 zeros and ones is within a tenth of it.
    low, high = bootstrap_interval(values)
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.1)


def test_equal_values_give_a_point_and_read_only_strided_input_works() -> None:
    assert bootstrap_interval(np.full(9, 0.25)) == (0.25, 0.25)
    values = np.arange(20.0)[::2]
    values.flags.writeable = False
    assert bootstrap_interval(values) == bootstrap_interval(values.copy())


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([], {}),
        ([[1.0]], {}),
        ([1.0, float("nan")], {}),
        ([float("inf")], {}),
        ([1.0], {"resamples": 0}),
        ([1.0], {"level": 0.0}),
        ([1.0], {"level": 1.0}),
        ([1.0], {"level": float("nan")}),
    ],
)
def test_bootstrap_refuses_what_has_no_interval(values: list[Any], options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        bootstrap_interval(np.array(values, dtype=np.float64), **options)
