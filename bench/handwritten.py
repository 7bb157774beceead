"""The careful hand-written stack: what someone who knows these libraries writes in place of Lamina, in fifty lines.

Words: Tantivy, one plain field, text not stored, on a thread beside the vectors. Vectors: all 4-bit codes of FAISS
scanned, the best hundred scored again from the float32 rows. Reciprocal ranks and ages by NumPy, texts by Arrow.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import faiss
import numpy as np
import pyarrow as pa
import tantivy
from numpy.typing import NDArray

from bench.corpus import HALF_LIFE_DAYS, NOW_S, PROJECTS, Corpus, K, Query, words_of
from lamina_engine.embed.bundled import WordLlamaEmbedder
from lamina_engine.index.analysis import STOP_WORDS

DEPTH: Final = 100
SEMANTIC_WEIGHT: Final = 0.7
TRAINED_ON: Final = 65_536
_RECIPROCAL: Final = 1.0 / (61.0 + np.arange(DEPTH))


class HandWritten:
    """Built once into a folder, opened from it."""

    label: ClassVar[str] = "hand-written: Tantivy + FAISS + NumPy"
    settings: ClassVar[str] = "PQ 128x4 fast scan, 100 rescored, words on a second thread, RRF 60"
    packages: ClassVar[tuple[str, ...]] = ("tantivy", "faiss")
    most_rows: ClassVar[int] = 10_000_000
    stop_words: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, folder: Path) -> None:
        faiss.omp_set_num_threads(1)  # a second thread slows a single query down
        self._codes = faiss.read_index(str(folder / "codes.faiss"))
        self._index = tantivy.Index.open(str(folder / "words"))
        self._searcher = self._index.searcher()
        self._vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        columns = np.load(folder / "columns.npz")
        self._age_s, self._inverse_half_life = columns["age_s"], columns["inverse_half_life"]
        self._of_project = [np.flatnonzero(columns["project"] == project) for project in range(len(PROJECTS))]
        self._texts = pa.ipc.open_file(pa.memory_map(str(folder / "texts.arrow"))).read_all()["text"].chunk(0)
        self._beside = ThreadPoolExecutor(1)

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        cls.write(corpus, folder)
        return cls(folder)

    @classmethod
    def write(cls, corpus: Corpus, folder: Path) -> None:
        """Write everything, and wait until the disk has it."""
        batch = pa.record_batch({"text": corpus.texts})
        with pa.ipc.new_file(str(folder / "texts.arrow"), batch.schema) as file:
            file.write(batch)
        np.save(folder / "vectors.npy", corpus.vectors)
        half_life_s = np.array(HALF_LIFE_DAYS)[corpus.kind] * 86_400.0
        np.savez(
            folder / "columns.npz",
            project=corpus.project,
            age_s=(NOW_S - corpus.created_s).astype(np.float32),
            inverse_half_life=(1.0 / half_life_s).astype(np.float32),
        )
        # threads that wait for one another cost more than they save where there is little to train on
        faiss.omp_set_num_threads((os.cpu_count() or 1) if corpus.size >= 50_000 else 1)
        codes = faiss.IndexPQFastScan(
            corpus.vectors.shape[1], corpus.vectors.shape[1] // 2, 4, faiss.METRIC_INNER_PRODUCT
        )
        codes.train(np.ascontiguousarray(corpus.vectors[:TRAINED_ON]))
        codes.add(np.ascontiguousarray(corpus.vectors))
        faiss.write_index(codes, str(folder / "codes.faiss"))
        _index_words(corpus, folder / "words")
        _flush(path for path in folder.iterdir() if path.is_file())

    def hybrid(self, query: Query, project: int | None = None) -> list[str]:
        later = self._beside.submit(self._words, query.text, project, DEPTH)
        near = self._near(query.vector, project)
        found = later.result()
        rows, part = np.unique(np.concatenate([found, near]), return_inverse=True)
        fused = np.bincount(part, weights=np.concatenate([_RECIPROCAL[: len(found)], _RECIPROCAL[: len(near)]]))
        recency = np.exp2(-self._age_s[rows] * self._inverse_half_life[rows])
        score = SEMANTIC_WEIGHT * fused / fused.max() + (1.0 - SEMANTIC_WEIGHT) * recency
        return [self._texts[row].as_py() for row in rows[np.argsort(-score)[:K]].tolist()]

    def prompt(self, text: str) -> list[str]:
        return self.hybrid(Query(text, self._embedder.embed_query(text)))

    @cached_property
    def _embedder(self) -> WordLlamaEmbedder:
        return WordLlamaEmbedder()

    def dense(self, query: Query, project: int | None = None) -> list[int]:
        found: list[int] = self._near(query.vector, project)[:K].tolist()
        return found

    def lexical(self, query: Query) -> list[int]:
        found: list[int] = self._words(query.text, None, K).tolist()
        return found

    def close(self) -> None:
        self._beside.shutdown()

    def _words(self, text: str, project: int | None, depth: int) -> NDArray[np.int64]:
        every = list(dict.fromkeys(words_of(text)))
        kept = [word for word in every if word not in self.stop_words] or every
        schema, occur = self._index.schema, tantivy.Occur
        terms = [(occur.Should, tantivy.Query.term_query(schema, "text", word)) for word in kept]
        query = tantivy.Query.boolean_query(terms)
        if project is not None:
            only = tantivy.Query.const_score_query(tantivy.Query.term_query(schema, "project", project), 0.0)
            query = tantivy.Query.boolean_query([(occur.Must, query), (occur.Must, only)])
        hits = self._searcher.search(query, depth, count=False).hits
        return np.array(self._searcher.fast_field_values("row", [address for _, address in hits]), np.int64)

    def _near(self, vector: NDArray[np.float32], project: int | None) -> NDArray[Any]:
        if project is None:
            rows = self._codes.search(vector[None], DEPTH)[1][0]
        else:  # a fast scan takes no filter; so few rows are compared one and all
            rows = self._of_project[project]
        dots = self._vectors[rows] @ vector
        if len(rows) > DEPTH:
            best = np.argpartition(-dots, DEPTH)[:DEPTH]
            rows, dots = rows[best], dots[best]
        return np.asarray(rows[np.argsort(-dots)])


class HandWrittenStopped(HandWritten):
    """The same without stop words, which is what Lamina's own lexical lane leaves out."""

    label: ClassVar[str] = "hand-written, stop words dropped"
    stop_words: ClassVar[frozenset[str]] = STOP_WORDS


def _index_words(corpus: Corpus, folder: Path) -> None:
    schema = (
        tantivy.SchemaBuilder()
        .add_unsigned_field("row", fast=True)
        .add_unsigned_field("project", indexed=True)
        .add_text_field("text", tokenizer_name="default", index_option="freq")
        .build()
    )
    folder.mkdir()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(heap_size=256_000_000, num_threads=2)
    for row, (text, project) in enumerate(zip(corpus.texts.to_pylist(), corpus.project.tolist(), strict=True)):
        document = tantivy.Document()
        document.add_text("text", text)
        document.add_unsigned("row", row)
        document.add_unsigned("project", project)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def _flush(paths: Iterable[Path]) -> None:
    for path in paths:
        with path.open("rb+") as file:
            os.fsync(file.fileno())
