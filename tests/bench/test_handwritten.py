from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.corpus import NOW_S, PROJECTS, Corpus, K, Query
from bench.handwritten import DEPTH, HandWritten, HandWrittenStopped

N, DIM = 700, 32


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((N, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = pa.array([f"the record number{i} about subject{i % 7}" for i in range(N)], pa.large_string())
    held_out = [Query(f"subject{i % 7}", vectors[i]) for i in range(20)]
    exact = np.argsort(-(np.stack([query.vector for query in held_out]) @ vectors.T), axis=1)[:, :K]
    kind = rng.integers(0, 8, N)
    project = np.arange(N) % len(PROJECTS)
    folder = tmp_path_factory.mktemp("corpus")
    return Corpus(folder, texts, vectors, project, kind, np.full(N, NOW_S - 86_400), [], held_out, exact, N)


@pytest.fixture(scope="module")
def stack(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandWritten]:
    built = HandWritten.build(corpus, tmp_path_factory.mktemp("stack"))
    yield built
    built.close()


def test_it_finds_the_nearest_vectors(stack: HandWritten, corpus: Corpus) -> None:
    assert corpus.recall_at_k([stack.dense(query) for query in corpus.held_out]) > 0.85
    found = [stack.dense(query, 3) for query in corpus.held_out]
    assert corpus.recall_at_k(found, 3) == 1.0  # few rows are compared one and all


def test_its_best_hit_has_the_words_and_the_vector(stack: HandWritten, corpus: Corpus) -> None:
    for row in (0, 123, N - 1):
        query = Query(f"number{row}", corpus.vectors[row])
        assert stack.lexical(query) == [row]
        got = stack.hybrid(query)
        assert got[0] == corpus.texts[row].as_py()
        assert len(set(got)) == K


def test_a_project_keeps_others_out(stack: HandWritten, corpus: Corpus) -> None:
    project = 4
    allowed = {text for i, text in enumerate(corpus.texts.to_pylist()) if i % len(PROJECTS) == project}
    assert set(stack.hybrid(Query("the record about subject2", corpus.vectors[0]), project)) <= allowed


def test_newer_rows_win_between_equals(corpus: Corpus, tmp_path: Path) -> None:
    created_s = corpus.created_s.copy()
    created_s[::2] -= 400 * 86_400
    same = np.tile(corpus.vectors[:1], (N, 1))  # so the words decide, and every text has the same
    texts = pa.array(["old entry" if i % 2 == 0 else "new entry" for i in range(N)], pa.large_string())
    kind = np.zeros(N, np.int64)
    aged = Corpus(tmp_path, texts, same, corpus.project, kind, created_s, [], [], corpus.exact, N)
    built = HandWritten.build(aged, tmp_path)
    assert set(built.hybrid(Query("entry", same[0]))) == {"new entry"}
    built.close()


def test_stop_words_are_dropped_unless_there_are_no_others(corpus: Corpus, tmp_path: Path) -> None:
    HandWritten.write(corpus, tmp_path)
    plain, stopped = HandWritten(tmp_path), HandWrittenStopped(tmp_path)
    assert len(plain._words("the subject3", None, N)) == N
    assert len(stopped._words("the subject3", None, N)) == N // 7
    assert len(stopped._words("the", None, DEPTH)) == DEPTH
    plain.close()
    stopped.close()
