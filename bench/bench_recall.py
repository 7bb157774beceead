"""Recall beside the careful hand-written stack and other stores, which must find enough of the nearest vectors.

k = 10, the query's vector given, texts returned, ages counted where a system can. Recall of the vector lane is measured
on 200 other questions against a comparison with every row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import Corpus, K
from bench.handwritten import HandWritten, HandWrittenStopped
from bench.peers import skip_unless
from bench.rivals import Bm25s, Lance, QdrantEdge, SqliteVec
from bench.systems import GrownLamina, Hybrid, Lamina, Lexical, System
from bench.timing import describe, over, processor_seconds
from lamina_engine.evaluation import load_set

Built = Callable[[type[System], int], Any]
PROJECT = 3
HYBRID = (Lamina, HandWritten, HandWrittenStopped, Lance, SqliteVec, QdrantEdge)
LEXICAL = (Lamina, HandWritten, HandWrittenStopped, Bm25s, Lance, SqliteVec, QdrantEdge)
WARM = 50
"""Questions asked before the others are timed."""
LEAST_RECALL = 0.85
"""Below it a system is set up wrongly, and its speed means nothing."""

# of the session's scope: pytest then asks one filled system everything before it fills the next
hybrids = pytest.mark.parametrize("kind", HYBRID, ids=lambda kind: kind.__name__, scope="session")
lexicals = pytest.mark.parametrize("kind", LEXICAL, ids=lambda kind: kind.__name__, scope="session")


@pytest.mark.parametrize("kind", [*HYBRID, GrownLamina], ids=lambda kind: kind.__name__, scope="session")
def bench_hybrid(benchmark: BenchmarkFixture, built: Built, corpus: Corpus, size: int, kind: type[Hybrid]) -> None:
    system: Hybrid = built(kind, size)
    recall = corpus.recall_at_k([system.dense(query) for query in corpus.held_out])
    assert recall >= LEAST_RECALL
    texts = over(benchmark, system.hybrid, corpus.queries, group="Hybrid recall", recall=recall, **_named(kind, corpus))
    assert len(set(texts)) == K


@pytest.mark.parametrize("kind", [Lamina, HandWrittenStopped], ids=lambda kind: kind.__name__, scope="session")
def bench_prompts(
    benchmark: BenchmarkFixture, built: Built, corpus: Corpus, size: int, data: Path, kind: type[Lamina | HandWritten]
) -> None:
    """Questions of others, each asked once: with words that no row has, names and misspellings."""
    system: Lamina | HandWritten = built(kind, size)
    texts = list(dict.fromkeys(query.text for query in load_set(data / "locomo-dev" / "locomo-dev.json").queries))
    warm, asked = texts[:WARM], iter(texts[WARM:])
    for text in warm:
        system.prompt(text)
    pedantic: Any = benchmark.pedantic  # it has no types
    rounds, started = len(texts) - WARM if benchmark.enabled else 1, processor_seconds()
    hits = pedantic(system.prompt, setup=lambda: ((next(asked),), {}), rounds=rounds)
    cpu = (processor_seconds() - started) / rounds
    assert len(set(hits)) == K
    describe(benchmark, group="A question asked once, its text given", kind="latency", cpu=cpu, **_named(kind, corpus))


@hybrids
def bench_filtered(benchmark: BenchmarkFixture, built: Built, corpus: Corpus, size: int, kind: type[Hybrid]) -> None:
    system: Hybrid = built(kind, size)
    project = {text for text, number in zip(corpus.texts.to_pylist(), corpus.project, strict=True) if number == PROJECT}
    for query in corpus.queries[:20]:
        assert set(system.hybrid(query, PROJECT)) <= project
    recall = corpus.recall_at_k([system.dense(query, PROJECT) for query in corpus.held_out], PROJECT)
    over(
        benchmark, lambda query: system.hybrid(query, PROJECT), corpus.queries,
        group="Hybrid recall in one project of twenty", recall=recall, **_named(kind, corpus),
    )  # fmt: skip


@hybrids
def bench_vectors(benchmark: BenchmarkFixture, built: Built, corpus: Corpus, size: int, kind: type[Hybrid]) -> None:
    system: Hybrid = built(kind, size)
    recall = corpus.recall_at_k([system.dense(query) for query in corpus.held_out])
    over(
        benchmark,
        system.dense,
        corpus.queries,
        group="Vectors only",
        recall=recall,
        **_named(kind, corpus, one_lane=True),
    )


@lexicals
def bench_lexical(benchmark: BenchmarkFixture, built: Built, corpus: Corpus, size: int, kind: type[Lexical]) -> None:
    system: Lexical = built(kind, size)
    texts = corpus.texts
    # every system splits words its own way; that its best hit shares one with the question holds for all
    for query in corpus.queries[:20]:
        best = texts[system.lexical(query)[0]].as_py().lower()
        assert any(word in best for word in query.text.split())
    over(benchmark, system.lexical, corpus.queries, group="Words only", **_named(kind, corpus, one_lane=True))


def _named(kind: type[System], corpus: Corpus, *, one_lane: bool = False) -> dict[str, Any]:
    ours = one_lane and kind is Lamina  # peers give row numbers there, which is all that a lane of theirs knows
    settings = "texts and explained scores returned; ages off" if ours else kind.settings
    return {
        "system": kind.label, "settings": settings, "size": corpus.size, "versions": skip_unless(*kind.packages),
        "unit": "ms", "real_rows": corpus.real,
    }  # fmt: skip
