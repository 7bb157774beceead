"""Confidence against truth: AUC, what a threshold keeps and refuses, and the reliability curve's table.

Answerable questions are those of a set; the others are questions of one dialogue put to another with the speakers' names
exchanged, and questions over passages whose gold passages are gone. Each dialogue has a vault of its own, and gold is removed
from a vault that never held it, so that words it alone has are unknown. ``python -m bench.bench_confidence`` prints all of it.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import lamina
from bench.timing import describe
from lamina_engine.evaluation import load_set
from lamina_engine.evaluation.sets import EvaluationSet
from lamina_engine.recall.relevance import ENOUGH

DATA: Final = Path(__file__).parents[1] / ".." / "shared" / "data"
LOCOMO: Final = DATA / "locomo-dev" / "locomo-dev.json"
HOTPOT: Final = DATA / "multihop-dev" / "hotpotqa_train.json.gz"
FOLDS: Final = 10
BINS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
GROUP: Final = "confidence of a recall"


class Rated(NamedTuple):
    """Confidences of questions that a vault answers, and of others."""

    answerable: NDArray[np.float64]
    others: NDArray[np.float64]

    @property
    def auc(self) -> float:
        """Chance that an answerable question has the higher confidence, ties by half."""
        above = (self.answerable[:, None] > self.others).mean()
        return float(above + (self.answerable[:, None] == self.others).mean() / 2.0)

    def at(self, threshold: float) -> tuple[float, float]:
        """Return the shares of answerable questions kept and of others refused."""
        return float((self.answerable >= threshold).mean()), float((self.others < threshold).mean())

    def reliability(self) -> list[tuple[float, float, int]]:
        """Return for each bin its mean confidence, the share answerable at even odds, and the questions in it."""
        rows = []
        for low, high in itertools.pairwise(BINS):
            mine, theirs = (
                each[(each >= low) & (each < high if high < 1.0 else each <= high)]
                for each in (self.answerable, self.others)
            )
            count = len(mine) + len(theirs)
            if count:
                yes, no = len(mine) / len(self.answerable), len(theirs) / len(self.others)
                rows.append((float(np.concatenate([mine, theirs]).mean()), yes / (yes + no), count))
        return rows


def rate_dialogues(path: Path, folder: Path, **options: Any) -> Rated:
    """Ask each dialogue its own questions and those of the others, names exchanged."""
    found = load_set(path)
    names = {
        str(each["sample_id"]): (each["conversation"]["speaker_a"], each["conversation"]["speaker_b"])
        for each in json.loads(path.read_text(encoding="utf-8"))
    }
    mine: list[float] = []
    theirs: list[float] = []
    for dialogue, (first, second) in names.items():
        with lamina.open(folder / f"{path.stem}-{dialogue}", create=True) as vault:
            if not len(vault):
                vault.add([record for record in found.records if record["project"] == dialogue])
            for query in found.queries:
                owner = str((query.where or {})["project"])
                if not query.gold or query.category == "adversarial":
                    continue
                if owner == dialogue:
                    mine.append(vault.recall(query.text, **options).confidence)
                else:
                    new = dict(zip(names[owner], (first, second), strict=True))
                    text = re.sub("|".join(rf"\b{name}\b" for name in new), lambda match: new[match[0]], query.text)  # noqa: B023
                    theirs.append(vault.recall(text, **options).confidence)
    return Rated(np.array(mine), np.array(theirs))


def rate_passages(found: EvaluationSet, folder: Path, **options: Any) -> Rated:
    """Ask all passages, and passages of which a tenth of the questions' gold was never added."""
    mine: list[float] = []
    theirs: list[float] = []
    for fold in range(-1, FOLDS):
        asked = [query for i, query in enumerate(found.queries) if fold in (-1, i % FOLDS)]
        gone = {gold for query in asked for gold in query.gold} if fold >= 0 else set[str]()
        with lamina.open(folder / f"{found.name}{fold}", create=True) as vault:
            if not len(vault):
                vault.add([record for record in found.records if record["id"] not in gone])
            (mine if fold < 0 else theirs).extend(vault.recall(query.text, **options).confidence for query in asked)
    return Rated(np.array(mine), np.array(theirs))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("confidence")


def _note(benchmark: Any, name: str, rated: Rated) -> None:
    kept, refused = rated.at(ENOUGH)
    describe(
        benchmark, group=GROUP, system="lamina", settings=name, kind="value", value=rated.auc, unit="AUC", kept=kept,
        refused=refused, reliability=rated.reliability(),
    )  # fmt: skip


@pytest.mark.skipif(not LOCOMO.exists(), reason="LoCoMo's development dialogues are not on this machine")
def test_dialogues(benchmark: Any, folder: Path) -> None:
    """Questions of one dialogue put to another."""
    rated = benchmark.pedantic(rate_dialogues, args=(LOCOMO, folder), rounds=1)
    _note(benchmark, "dialogues, names exchanged", rated)
    assert rated.auc >= 0.88


@pytest.mark.skipif(not HOTPOT.exists(), reason="HotpotQA's development questions are not on this machine")
def test_passages(benchmark: Any, folder: Path) -> None:
    """Questions over passages with the gold removed."""
    rated = benchmark.pedantic(rate_passages, args=(load_set(HOTPOT), folder), rounds=1)
    _note(benchmark, "passages, gold removed", rated)
    assert rated.auc >= 0.80


def main() -> None:
    """Print AUC, thresholds and reliability of both sets, by profile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for profile in ("default", "lexical", "temporal", "task", "episodic", "entity"):
            both = {
                "dialogues": rate_dialogues(LOCOMO, folder, profile=profile),
                "passages": rate_passages(load_set(HOTPOT), folder, profile=profile),
            }
            for label, rated in both.items():
                kept, refused = rated.at(ENOUGH)
                print(
                    f"{profile:<10}{label:<11}AUC {rated.auc:.3f}   at {ENOUGH}: {kept:.0%} kept, {refused:.0%} refused"
                )
                if profile == "default":
                    for mean, share, count in rated.reliability():
                        print(f"    confidence {mean:.2f}   answerable {share:.2f}   of {count}")


if __name__ == "__main__":
    main()
