"""The bundled embedder makes the same vectors as a plain loop over texts, many times as fast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import Corpus
from bench.peers import skip_unless
from bench.timing import whole
from lamina_engine.embed.bundled import WordLlamaEmbedder

GROUP, UNIT = "Embedding chunks", "chunks/s"
CHUNKS = 2_000


def bench_embedder(benchmark: BenchmarkFixture, corpus: Corpus) -> None:
    texts, embedder = corpus.texts[:CHUNKS].to_pylist(), WordLlamaEmbedder()
    got = whole(
        benchmark, lambda: embedder.embed_documents(texts), len(texts), group=GROUP, unit=UNIT,
        system="Lamina's WordLlama embedder", settings="words seen before, one thread",
    )  # fmt: skip
    np.testing.assert_array_equal(got, corpus.vectors[: len(texts)])


def bench_new_embedder(benchmark: BenchmarkFixture, corpus: Corpus) -> None:
    texts = corpus.texts[:CHUNKS].to_pylist()
    whole(
        benchmark, lambda: WordLlamaEmbedder().embed_documents(texts), len(texts), rounds=3, group=GROUP, unit=UNIT,
        system="Lamina's WordLlama embedder, new", settings="files opened, each word seen for the first time",
    )  # fmt: skip


def bench_plain_loop(benchmark: BenchmarkFixture, corpus: Corpus) -> None:
    versions = skip_unless("tokenizers", "safetensors")
    from bench.recipe_dialogue import TABLE, TOKENIZER

    texts = corpus.texts[:CHUNKS].to_pylist()

    def loop() -> NDArray[np.float32]:
        rows = [TABLE[TOKENIZER.encode(text, add_special_tokens=False).ids].mean(axis=0) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows])

    got = whole(
        benchmark, loop, len(texts), rounds=3, group=GROUP, unit=UNIT, system="plain loop: tokenizers + NumPy mean",
        settings="a text at a time", versions=versions,
    )  # fmt: skip
    cosine = np.einsum("ij,ij->i", got, corpus.vectors[: len(texts)])
    assert np.median(cosine) > 0.9999
    assert cosine.min() > 0.99
