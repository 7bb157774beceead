"""A question about facts is answered in a millisecond, and the invented worlds' questions lead to the right file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.kg_worlds import run
from bench.timing import over
from lamina_engine.evaluation.kg import WORLDS
from lamina_engine.facts.log import write_columns
from lamina_engine.facts.questions import ask
from lamina_engine.memory import Memory

_SYLLABLES = ("ka", "ro", "mi", "te", "lu", "sa", "ne", "vo", "di", "pu", "gra", "shi", "bel", "tor")
_PREDICATES = ("phone", "email", "status", "stack", "url", "likes", "port", "role", "owns", "uses")
_QUESTIONS = (
    "What is {}'s phone number?",
    "who owns {}?",
    "status of {}",
    "Which stack does {} use?",
    "What port is {} on?",
)
FACTS_OF_ONE = 5
_WORDS_ALONE = {
    "words alone": "unnamed",
    "words of most facts alone": "common",
    "words that never stand together": "apart",
}
"""Kinds of questions that name nobody, with what `Filled` calls them."""


class Filled:
    """A vault with facts, and questions about some of its entities."""

    def __init__(self, folder: Path, size: int) -> None:
        rng = random.Random(7)
        names = [
            " ".join("".join(rng.choices(_SYLLABLES, k=3)).capitalize() for _ in range(2)) + f" {i}"
            for i in range(size // FACTS_OF_ONE)
        ]
        predicates = [rng.choice(_PREDICATES) for _ in range(size)]
        objects = [rng.choice(names) if p in ("owns", "uses") else f"value {rng.randrange(size)}" for p in predicates]
        self.memory = Memory(folder / "vault", create=True, embedder="none")
        write_columns(self.memory, {"subject": rng.choices(names, k=size), "predicate": predicates, "object": objects})
        self.named = [rng.choice(_QUESTIONS).format(rng.choice(names)) for _ in range(200)]
        self.unnamed = [f"anything about value {rng.randrange(size)}" for _ in range(100)]
        texts = [name for name in _PREDICATES if name not in ("owns", "uses")]
        self.common = [f"value of {rng.choice(texts)}" for _ in range(50)]
        self.apart = [f"{' '.join(rng.sample(texts, 2))} value" for _ in range(50)]


@pytest.fixture(scope="module")
def filled(size: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    made = Filled(tmp_path_factory.mktemp("facts"), size)
    yield made
    made.memory.close()


@pytest.mark.parametrize("kind", ["an entity named", *_WORDS_ALONE])
def bench_ask(benchmark: BenchmarkFixture, filled: Filled, size: int, kind: str) -> None:
    asked = getattr(filled, _WORDS_ALONE.get(kind, "named"))
    found = over(
        benchmark, lambda question: ask(filled.memory, question), asked, group=f"A question of facts, {kind}", system="Lamina",
        size=size, settings="six answers, four phases", versions={}, unit="ms",
    )  # fmt: skip
    assert bool(found.entities) == (kind == "an entity named")


@pytest.mark.parametrize("world", WORLDS)
def bench_worlds(world: str, tmp_path: Path) -> None:
    reports = run(world, tmp_path / world, ("facts", "hybrid"))
    for method, least in (("hybrid", 58), ("facts", 50)):
        assert sum(outcome.passed for outcome in reports[method].answerable) >= least, reports[method].table(
            verbose=True
        )
        assert reports[method].abstained_pct >= 95.0
