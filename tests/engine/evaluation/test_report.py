from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation import EvaluationQuery, EvaluationSet, evaluate
from lamina_engine.evaluation.measures import bootstrap_interval, recall_at_k
from lamina_engine.ingest.report import Problem

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
    overall = got["overall"]
    assert isinstance(overall, dict)
    assert list(overall["measures"]) == [f"{m}@{k}" for m in ("recall", "hit", "mrr", "ndcg") for k in (1, 2)]
    categories = got["categories"]
    assert isinstance(categories, dict)
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
