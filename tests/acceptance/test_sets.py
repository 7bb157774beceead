"""Recall on labelled sets, beside the short script that it must beat, in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina_engine.evaluation import EvaluationQuery, EvaluationSet, evaluate, load_set


def labelled(data: Path, name: str) -> EvaluationSet:
    if not (data / name).is_dir():
        pytest.skip(f"{name} is not beside the project")
    return load_set(data / name)


def recall_at_10(given: EvaluationSet, folder: Path, profiles: tuple[str, ...]) -> dict[str, float]:
    newest = max((str(record["created_at"]) for record in given.records if "created_at" in record), default=None)
    found = {}
    with lamina.open(folder, create=True) as vault:
        vault.add(given.records)
        for profile in profiles:

            def search(query: EvaluationQuery, k: int, profile: str = profile) -> list[str]:
                hits = vault.recall(query.text, k, profile=profile, where=query.where, now=newest)
                return [hit.id for hit in hits]

            found[profile] = evaluate(search, given, ks=(10,)).overall.measures["recall@10"].value
    return found


def recipe(given: EvaluationSet) -> dict[str, float]:
    pytest.importorskip("tokenizers", reason="the script tokenises with it")
    from bench.recipe_dialogue import run

    return {name: report.overall.measures["recall@10"].value for name, report in run(given).items()}


def test_dialogues(data: Path, tmp_path: Path) -> None:
    got = recall_at_10(labelled(data, "locomo-dev"), tmp_path / "v", ("default",))
    assert got["default"] >= 0.79


@pytest.mark.slow
def test_dialogues_beside_the_script(data: Path, tmp_path: Path) -> None:
    given = labelled(data, "locomo-dev")
    got = recall_at_10(given, tmp_path / "v", ("lexical", "default"))
    ref = recipe(given)
    assert got["lexical"] >= 0.76
    assert got["lexical"] > ref["lexical"]
    assert got["default"] > ref["fused"]


@pytest.mark.slow
def test_questions_over_two_documents(data: Path, tmp_path: Path) -> None:
    given = labelled(data, "multihop-dev")
    assert recall_at_10(given, tmp_path / "v", ("default",))["default"] >= 0.91
