"""Dialogues pooled with others in which the same names occur: recall against each dialogue alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.talks import make_dialogues
from bench.timing import describe, repeat
from lamina.options import ScopeMode
from lamina_engine.evaluation import EvaluationQuery, evaluate, load_set

POOLED_WITH = 20
UNTIMED_QUERIES = 20
MEASURE = "recall@10"


@pytest.mark.parametrize(
    ("mode", "asks"), [(None, False), ("off", False), ("prefer", False), ("filter", False), ("prefer", True)]
)
def bench_pool(benchmark: BenchmarkFixture, data: Path, tmp_path: Path, mode: ScopeMode | None, asks: bool) -> None:
    labelled = load_set(data / "locomo-dev")
    if not benchmark.enabled:
        labelled = replace(labelled, queries=labelled.queries[:UNTIMED_QUERIES])
    now = max(str(record["created_at"]) for record in labelled.records if "created_at" in record)
    pooled = mode is not None
    sessions = {record["project"]: record["session"] for record in labelled.records}
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add([*labelled.records, *(make_dialogues(POOLED_WITH) if pooled else ())])

        def search(query: EvaluationQuery, k: int) -> list[str]:
            where = None if pooled else query.where
            session = str(sessions[(query.where or {})["project"]]) if asks else None
            hits = vault.recall(query.text, k, where=where, now=now, scope=mode or "off", session=session)
            return [hit.id for hit in hits]

        report = repeat(benchmark, lambda: evaluate(search, labelled), rounds=1)
    score = report.overall.measures[MEASURE]
    asking = " and the session that asks" if asks else ""
    system = (
        f"pooled with {POOLED_WITH} others, scope={mode}{asking}" if pooled else "three dialogues, each by a filter"
    )
    describe(
        benchmark, group=f"{MEASURE} on LoCoMo by whose a question is", system=system, kind="value", value=score.value,
        low=score.low, high=score.high, unit=f"{MEASURE} [95 % interval], {report.overall.n} questions",
    )  # fmt: skip
