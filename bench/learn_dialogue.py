"""Weights of `lamina_engine.profiles.Dialogue`, learnt from dialogues and judged on each that was left out.

``python -m bench.learn_dialogue SET`` prints, for each project of a labelled set, the weights learnt from the others with recall
on it, then the weights learnt from all. The measure that is climbed is recall with a soft edge: how far each message that is
wanted stands above the fifth and the tenth of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

import lamina
from lamina_engine.evaluation import EvaluationSet, load_set
from lamina_engine.profiles import BUILT_IN, Dialogue
from lamina_engine.recall.dialogue import recompute_turn
from lamina_engine.recall.pipeline import recall

KS: Final = (5, 10)
POOL: Final = 200
"""Candidates of a question that are ordered anew."""
EDGE: Final = 0.03
GRID: Final = {
    "answers": (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "question": (1.0, 0.95, 0.9, 0.85, 0.8, 0.75),
    "length": (0.0, 0.02, 0.035, 0.045, 0.055, 0.065, 0.08),
    "named": (0.0, 0.05, 0.1, 0.14, 0.18, 0.22),
}
NONE: Final = {"answers": 0.0, "question": 1.0, "length": 0.0, "named": 0.0}
Weights = dict[str, float]


class Asked(NamedTuple):
    """Candidates of one question as columns."""

    project: str
    golds: int
    gold: NDArray[np.bool_]
    match: NDArray[np.float64]
    answered: NDArray[np.float64]
    """Own match of the message before, where that asks."""
    asks: NDArray[np.bool_]
    missing: NDArray[np.float64]
    """Doublings of its words that a message lacks."""
    named: NDArray[np.bool_]

    def scores(self, weights: Weights) -> NDArray[np.float64]:
        """Return what recall's formula gives with some weights."""
        match = np.minimum(self.match + weights["answers"] * self.answered, 1.0)
        factor = np.where(self.asks, weights["question"], 1.0) * (1.0 - weights["length"] * self.missing)
        return match * factor * np.where(self.named, 1.0 + weights["named"], 1.0)


def ask(labelled: EvaluationSet) -> list[Asked]:
    """Recall each question without the weights, and keep what they would weigh."""
    # so small that they change no order, and large enough that the terms are there
    default = BUILT_IN["default@2"]
    tiny = Dialogue(answers=0.0, length=1e-9, named=1e-9)
    bare = replace(default, dialogue=tiny, roles={}, time=replace(default.time, weight=0.0))
    before = {}
    for earlier, later in zip(labelled.records, labelled.records[1:], strict=False):
        if earlier.get("session") == later.get("session"):
            before[str(later["id"])] = str(earlier["id"])
    out = []
    with TemporaryDirectory() as folder, lamina.open(folder, create=True) as vault:
        vault.add(labelled.records)
        for query in labelled.queries:
            if not query.gold:
                continue
            hits = recall(vault._memory, query.text, k=POOL, profile=bare, where=query.where).hits
            own = {hit.id: hit.terms["own"] for hit in hits if hit.role == "question"}
            turns = [hit.terms["turn"] for hit in hits]
            missing = [1.0 - recompute_turn({**turn, "length": 1.0, "named": 0.0}) for turn in turns]
            gold = np.array([hit.id in query.gold for hit in hits])
            match = np.array([hit.terms["semantic"] for hit in hits])
            answered = np.array([own.get(before.get(hit.id, ""), 0.0) for hit in hits])
            asks = np.array([hit.role == "question" for hit in hits])
            named = np.array([turn["named"] > 0.0 for turn in turns])
            project = str((query.where or {}).get("project"))
            out.append(Asked(project, len(query.gold), gold, match, answered, asks, np.array(missing), named))
    return out


def recalls(asked: Iterable[Asked], weights: Weights) -> NDArray[np.float64]:
    """Return recall at `KS` of each question, float64 (questions, 2)."""
    rows = []
    for question in asked:
        best = np.argsort(-question.scores(weights), kind="stable")
        rows.append([question.gold[best[:k]].sum() / question.golds for k in KS])
    return np.array(rows)


def soft_recall(asked: Iterable[Asked], weights: Weights) -> float:
    """Return the mean over questions of recall with a soft edge."""
    total, count = 0.0, 0
    for question in asked:
        scores, count = question.scores(weights), count + 1
        others = -np.sort(-scores[~question.gold])
        for k in KS:
            if len(others) >= k:
                total += (
                    float((1.0 / (1.0 + np.exp((others[k - 1] - scores[question.gold]) / EDGE))).sum()) / question.golds
                )
    return total / max(count, 1)


def learn(asked: Sequence[Asked]) -> Weights:
    """Climb one weight after the other until none gains."""
    weights, best = dict(NONE), soft_recall(asked, NONE)
    while True:
        start = best
        for name, values in GRID.items():
            for value in values:
                reached = soft_recall(asked, {**weights, name: value})
                if reached > best:
                    best, weights = reached, {**weights, name: value}
        if best == start:
            return weights


def main(arguments: Sequence[str] | None = None) -> int:
    paths = sys.argv[1:] if arguments is None else list(arguments)
    if len(paths) != 1:
        print("give one labelled set of dialogues", file=sys.stderr)
        return 2
    asked = ask(load_set(Path(paths[0])))
    without, held = recalls(asked, NONE), np.zeros((len(asked), len(KS)))
    for project in sorted({question.project for question in asked}):
        weights = learn([question for question in asked if question.project != project])
        at = [i for i, question in enumerate(asked) if question.project == project]
        held[at] = recalls([asked[i] for i in at], weights)
        print(
            f"without {project}: {weights}; on it {held[at].mean(axis=0).round(4)}, before {without[at].mean(axis=0).round(4)}"
        )
    change = held - without
    errors = change.std(axis=0) / np.sqrt(len(change))
    print(
        f"left out in turn: recall@5, @10 {held.mean(axis=0).round(4)}, gain {change.mean(axis=0).round(4)} ± {errors.round(4)}"
    )
    weights = learn(asked)
    print(f"from all: {weights}; on all {recalls(asked, weights).mean(axis=0).round(4)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
