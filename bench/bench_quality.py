"""Recall of what answers a question: Lamina's profiles beside the short hand-written recipe, on the same labelled sets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.peers import skip_unless
from bench.timing import describe, repeat
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet, evaluate, load_set
from lamina_engine.profiles import BUILT_IN

SETS = {"locomo-dev": "LoCoMo", "multihop-dev": "HotpotQA"}
MEASURE = "recall@10"
UNTIMED_QUERIES = 20
NOT_FOR_QUESTIONS = {"task@1"}
"""What was worked on lately: age decides, and neither set is about tasks."""

labelled_sets = pytest.mark.parametrize("folder", SETS)


@labelled_sets
@pytest.mark.parametrize("profile", sorted(set(BUILT_IN) - NOT_FOR_QUESTIONS))
def bench_profile(benchmark: BenchmarkFixture, data: Path, tmp_path: Path, folder: str, profile: str) -> None:
    labelled = _load(data / folder, benchmark.enabled)
    now = _newest(labelled)
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add(labelled.records)

        def search(query: EvaluationQuery, k: int) -> list[str]:
            return [hit.id for hit in vault.recall(query.text, k, profile=profile, where=query.where, now=now)]

        report = repeat(benchmark, lambda: evaluate(search, labelled), rounds=1)
    _describe(benchmark, folder, f"Lamina, profile {profile}", report)


@labelled_sets
@pytest.mark.parametrize("method", ["lexical", "fused"])
def bench_recipe(benchmark: BenchmarkFixture, data: Path, folder: str, method: str) -> None:
    skip_unless("tantivy", "tokenizers", "safetensors")
    from bench.recipe_dialogue import run

    labelled = _load(data / folder, benchmark.enabled)
    report = repeat(benchmark, lambda: run(labelled)[method], rounds=1)
    _describe(benchmark, folder, f"hand-written recipe, {method}", report)


@cache
def _load(folder: Path, timed: bool) -> EvaluationSet:
    """Return the set; without timing only its first questions, which show that it can be asked."""
    labelled = load_set(folder)
    if timed:
        return labelled
    return EvaluationSet(labelled.name, labelled.records, labelled.queries[:UNTIMED_QUERIES], labelled.problems)


def _newest(labelled: EvaluationSet) -> str | None:
    """Ages count to the newest record, so that the numbers stay the same next year."""
    dates = [parse_instant(str(record["created_at"])) for record in labelled.records if "created_at" in record]
    return format_instant(max(dates)) if dates else None


def _describe(benchmark: BenchmarkFixture, folder: str, system: str, report: EvaluationReport) -> None:
    score = report.overall.measures[MEASURE]
    assert 0.1 < score.value <= 1.0
    describe(
        benchmark, group=f"{MEASURE} on {SETS[folder]}", system=system, kind="value", value=score.value, low=score.low,
        high=score.high, unit=f"{MEASURE} [95 % interval], {report.overall.n} questions",
    )  # fmt: skip
