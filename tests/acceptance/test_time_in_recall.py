"""What reading the time of a question does to recall on labelled dialogues: the temporal questions improve or hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import Vault
from lamina_engine.evaluation import EvaluationQuery, EvaluationSet, evaluate, load_set


@pytest.fixture(scope="module")
def dialogues(data: Path) -> EvaluationSet:
    if not (data / "locomo-dev").is_dir():
        pytest.skip("locomo-dev is not beside the project")
    return load_set(data / "locomo-dev")


@pytest.fixture(scope="module")
def told(dialogues: EvaluationSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with lamina.open(tmp_path_factory.mktemp("dialogues") / "vault", create=True) as vault:
        vault.add(dialogues.records)
        yield vault


def recall_at_10(vault: Vault, given: EvaluationSet, profile: str, time: Any) -> dict[str, float]:
    newest = max(str(record["created_at"]) for record in given.records if "created_at" in record)

    def search(query: EvaluationQuery, k: int) -> list[str]:
        hits = vault.recall(query.text, k, profile=profile, where=query.where, now=newest, time=time)
        return [hit.id for hit in hits]

    report = evaluate(search, given, ks=(10,))
    found = {name: part.measures["recall@10"].value for name, part in report.categories.items()}
    return {**found, "all": report.overall.measures["recall@10"].value}


@pytest.mark.parametrize("profile", ["default", "temporal"])
def test_temporal_questions_improve_or_hold(told: Vault, dialogues: EvaluationSet, profile: str) -> None:
    ref, got = (recall_at_10(told, dialogues, profile, time) for time in ("off", None))
    assert got["temporal"] >= ref["temporal"]
    assert got["all"] >= ref["all"] - 0.005
