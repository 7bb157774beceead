"""Recall on labelled sets, beside the short script that it must beat, in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from bench.talks import make_dialogues
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
@pytest.mark.parametrize("others", [make_dialogues(20), make_dialogues(40, seed=99)], ids=["20", "40"])
def test_dialogues_pooled_with_others_of_the_same_names(
    data: Path, tmp_path: Path, others: list[dict[str, object]]
) -> None:
    given = labelled(data, "locomo-dev")
    newest = max(str(record["created_at"]) for record in given.records)
    sessions = {record["project"]: str(record["session"]) for record in given.records}
    with lamina.open(tmp_path / "alone", create=True) as alone, lamina.open(tmp_path / "pool", create=True) as pool:
        alone.add(given.records)
        pool.add([*given.records, *others])

        def measure(search: Callable[[EvaluationQuery], lamina.Hits]) -> float:
            report = evaluate(lambda query, _: [hit.id for hit in search(query)], given, ks=(10,))
            return report.overall.measures["recall@10"].value

        def session_of(query: EvaluationQuery) -> str:
            return sessions[(query.where or {})["project"]]

        # the filter is exact, and loses nothing to a vault of each dialogue's own
        best = measure(lambda query: alone.recall(query.text, where=query.where, now=newest))
        assert measure(lambda query: pool.recall(query.text, now=newest)) >= best - 0.02
        asking = measure(lambda query: pool.recall(query.text, now=newest, session=session_of(query)))
        assert asking >= best - 0.005
        assert measure(lambda query: pool.recall(query.text, now=newest, scope="off")) <= best - 0.04


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
