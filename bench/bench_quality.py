"""Recall of what answers a question: Lamina's profiles beside the short hand-written recipe, on the same labelled sets."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.peers import skip_unless
from bench.timing import describe, repeat
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet, evaluate, load_set
from lamina_engine.evaluation.report import recall_at_k
from lamina_engine.index.analysis import STOP_WORDS
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


def _swap(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _slip(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    slips = (
        word[:at] + word[at + 1 :],
        word[:at] + rng.choice("aeinrst") + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    )
    return rng.choice((_swap(word, rng), *slips))


def misspell(text: str, slip: Callable[[str, random.Random], str]) -> str:
    """Return a question with one slip in every content word of four letters or more."""
    rng = random.Random(text)
    return re.sub(
        r"(?<![\w'])[A-Za-z]{4,}(?!\w)",
        lambda match: match[0] if match[0].lower() in STOP_WORDS else slip(match[0], rng),
        text,
    )


TYPED: dict[str, Callable[[str], str]] = {
    "letters swapped in every content word": lambda text: misspell(text, _swap),
    "a letter swapped, lost, wrong or doubled in every content word": lambda text: misspell(text, _slip),
    "polite": lambda text: f"Hi! could you please tell me {text[:1].lower()}{text[1:]} thanks a lot",
    "in capitals": str.upper,
    "with a word nobody knows": lambda text: f"{text} zyxomatqu",
}
"""Questions as people type them."""


@labelled_sets
@pytest.mark.parametrize("typed", TYPED)
def bench_typed_question(benchmark: BenchmarkFixture, data: Path, tmp_path: Path, folder: str, typed: str) -> None:
    labelled = _load(data / folder, benchmark.enabled)
    now, queries = _newest(labelled), [query for query in labelled.queries if query.gold]
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add(labelled.records)

        def ask(change: Callable[[str], str]) -> list[float]:
            found = ((query, vault.recall(change(query.text), 10, where=query.where, now=now)) for query in queries)
            return [recall_at_k([hit.id for hit in hits], query.gold, k=10) for query, hits in found]

        plain = ask(str)
        loss = np.array(plain) - np.array(repeat(benchmark, lambda: ask(TYPED[typed]), rounds=1))
    value, error = float(loss.mean()), float(loss.std() / np.sqrt(len(loss)))
    assert -0.5 < value < 0.5
    describe(
        benchmark, group=f"{MEASURE} lost on {SETS[folder]} by how questions are typed", system=typed, kind="value",
        value=value, low=value - error, high=value + error, unit=f"{MEASURE} lost [standard error], {len(loss)} questions",
    )  # fmt: skip


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
