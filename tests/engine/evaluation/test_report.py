from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation import EvaluationQuery, EvaluationSet, evaluate, report
from lamina_engine.evaluation.report import MEASURES, bootstrap_interval, gold_ranks, ndcg_at_k, recall_at_k
from lamina_engine.reports import Problem
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
    monkeypatch.setattr(report, "_BLOCK_DRAWS", 37 * 3)
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


RECORDS: list[dict[str, object]] = [{"id": f"c{i}", "text": "x"} for i in range(20)]
RANKED = [f"c{i}" for i in range(20)]


def ranked(query: EvaluationQuery, k: int) -> Sequence[str]:
    return RANKED[:k]


def labelled(*queries: EvaluationQuery, problems: tuple[Problem, ...] = ()) -> EvaluationSet:
    return EvaluationSet("small", RECORDS, list(queries), problems)


QUERIES = (
    EvaluationQuery("a", ("c0",), "easy"),
    EvaluationQuery("b", ("c3", "c15"), "hard"),
    EvaluationQuery("c", (), "hard"),
    EvaluationQuery("d", ("c9",), "easy"),
    EvaluationQuery("e", (), "unlabelled"),
)


def test_means_per_category_and_skipped_queries() -> None:
    got = evaluate(ranked, labelled(*QUERIES))
    assert (got.overall.n, got.overall.skipped) == (3, 2)
    assert got.overall.measures["recall@10"].value == pytest.approx((1 + 0.5 + 1) / 3)
    assert got.overall.measures["mrr@5"].value == pytest.approx((1 + 0.25 + 0) / 3)
    assert got.overall.measures["hit@1"].value == pytest.approx(1 / 3)
    assert list(got.categories) == ["easy", "hard", "unlabelled"]
    assert (got.categories["hard"].n, got.categories["hard"].skipped) == (1, 1)
    assert got.categories["hard"].measures["recall@10"].value == 0.5
    assert (got.categories["unlabelled"].n, got.categories["unlabelled"].skipped) == (0, 1)


def test_values_are_per_query_and_give_the_intervals() -> None:
    got = evaluate(ranked, labelled(*QUERIES))
    ref = [recall_at_k(RANKED[:10], query.gold, k=10) for query in QUERIES if query.gold]
    assert got.values["recall@10"].tolist() == ref
    score = got.overall.measures["recall@10"]
    assert (score.low, score.high) == bootstrap_interval(np.array(ref))


def test_search_gets_the_query_and_the_largest_cut_and_only_queries_with_gold() -> None:
    asked: list[tuple[str, int]] = []

    def search(query: EvaluationQuery, k: int) -> list[str]:
        asked.append((query.text, k))
        return []

    evaluate(search, labelled(*QUERIES), ks=(7, 3, 3))
    assert asked == [("a", 7), ("b", 7), ("d", 7)]


def test_latency_comes_from_the_counter() -> None:
    ticks = count()
    got = evaluate(ranked, labelled(*QUERIES), counter=lambda: next(ticks) ** 2 / 1000.0)
    # Searches start at ticks 0, 2, 4 and stop at 1, 3, 5: 1, 5 and 9 ms.
    assert [got.p50_ms, got.p95_ms] == pytest.approx([5.0, 8.6])
    assert "p50 5.00 ms, p95 8.60 ms" in got.table()


def test_to_dict_is_strict_json_with_a_stable_shape() -> None:
    got = evaluate(ranked, labelled(*QUERIES), ks=(1, 2)).to_dict()
    text = json.dumps(got, allow_nan=False)
    assert json.loads(text) == got
    assert list(got) == [
        "set",
        "records",
        "queries",
        "skipped",
        "ks",
        "bootstrap",
        "latency_ms",
        "overall",
        "categories",
        "problems",
    ]
    assert (got["records"], got["queries"], got["skipped"]) == (20, 5, 2)
    assert got["latency_ms"] == {"p50": None, "p95": None}
    overall: Any = got["overall"]
    assert list(overall["measures"]) == [f"{m}@{k}" for m in ("recall", "hit", "mrr", "ndcg") for k in (1, 2)]
    categories: Any = got["categories"]
    assert categories["unlabelled"]["measures"]["recall@1"] == {"value": None, "low": None, "high": None}


def test_equal_runs_give_equal_reports() -> None:
    assert evaluate(ranked, labelled(*QUERIES)) == evaluate(ranked, labelled(*QUERIES))


def test_a_set_without_gold_or_queries_reports_nothing_measured() -> None:
    for queries in ((), (EvaluationQuery("c", ()),)):
        got = evaluate(ranked, labelled(*queries), counter=lambda: 0.0)
        assert got.overall.n == 0
        assert "recall" in got.table()
        assert " -" in got.table()
        json.dumps(got.to_dict(), allow_nan=False)


def test_table_shows_every_category_and_no_control_character() -> None:
    problem = Problem("f", "evidence_dropped", "m")
    nasty = EvaluationQuery("q", ("c0",), "red\x1b[31m\n" + "x" * 200)
    got = evaluate(ranked, labelled(*QUERIES, nasty, problems=(problem, problem))).table()
    assert all(char == "\n" or char.isprintable() for char in got)
    assert max(map(len, got.splitlines())) <= 120
    for name in ("easy", "hard", "unlabelled", "all of them"):
        assert f"\n{name} " in got
    assert "20 records, 6 queries, 2 without gold" in got
    assert "2 × evidence_dropped" in got


@pytest.mark.parametrize("ks", [(), (0,), (-1, 5)])
def test_cuts_below_one_are_refused(ks: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgument):
        evaluate(ranked, labelled(*QUERIES), ks=ks)
