from __future__ import annotations

import numpy as np
import pytest

from bench import corpus as corpora
from bench.corpus import Corpus, K, load, nearest
from bench.harvest import Chunk


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Corpus]:
    """Corpora of 300 and of 600 rows over 400 real chunks."""
    words = np.array([f"word{i}" for i in range(3000)])
    rng = np.random.default_rng(0)
    real = [Chunk(" ".join(words[rng.integers(0, 3000, 80)]), (f"what word{i} is all about",)) for i in range(400)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "chunks", lambda: iter(real))
        cache = tmp_path_factory.mktemp("corpora")
        return load(cache, 300), load(cache, 600)


def test_a_small_corpus_is_the_beginning_of_a_large_one(pair: tuple[Corpus, Corpus]) -> None:
    small, large = pair
    assert small.texts.to_pylist() == large.texts[:300].to_pylist()
    for name in ("project", "kind", "created_s", "vectors"):
        np.testing.assert_array_equal(getattr(small, name), getattr(large, name)[:300])


def test_rows_past_the_real_ones_are_spliced_and_distinct(pair: tuple[Corpus, Corpus]) -> None:
    _, large = pair
    assert (large.size, large.real) == (600, 400)
    assert len(set(large.texts.to_pylist())) == 600


def test_vectors_have_unit_length_and_questions_are_apart(pair: tuple[Corpus, Corpus]) -> None:
    small, _ = pair
    np.testing.assert_allclose(np.linalg.norm(small.vectors, axis=1), 1.0, atol=1e-5)
    assert len(small.queries) == len(small.held_out) == corpora.QUESTIONS
    assert not {query.text for query in small.queries} & {query.text for query in small.held_out}


def test_it_is_made_once(pair: tuple[Corpus, Corpus], monkeypatch: pytest.MonkeyPatch) -> None:
    small, _ = pair
    monkeypatch.setattr(corpora, "_make", lambda folder, size: pytest.fail("made again"))
    got = load(small.folder.parent, 300)
    assert [query.text for query in got.queries] == [query.text for query in small.queries]


def test_the_table_is_what_add_takes(pair: tuple[Corpus, Corpus]) -> None:
    small, _ = pair
    row = small.table().slice(7, 1).to_pylist()[0]
    assert row["id"] == "7"
    assert row["text"] == small.texts[7].as_py()
    assert row["project"] == corpora.PROJECTS[small.project[7]]
    assert int(row["created_at"].timestamp()) == small.created_s[7]
    assert len(row["vector"]) == 256


def test_recall_counts_the_nearest_rows_in_a_project_or_in_all(pair: tuple[Corpus, Corpus]) -> None:
    small, _ = pair
    assert small.recall_at_k(small.exact.tolist()) == 1.0
    assert small.recall_at_k([[] for _ in small.held_out]) == 0.0
    half = [[*best[: K // 2], *(-1 for _ in range(K // 2))] for best in small.exact.tolist()]
    assert small.recall_at_k(half) == 0.5
    rows = np.flatnonzero(small.project == 3)
    best = [rows[np.argsort(-(small.vectors[rows] @ query.vector))[:K]].tolist() for query in small.held_out]
    assert small.recall_at_k(best, 3) == 1.0


def test_nearest_is_the_order_of_the_products() -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    queries = vectors[:3]
    ref = np.argsort(-(queries @ vectors.T), axis=1)[:, :5]
    np.testing.assert_array_equal(nearest(vectors, queries, 5), ref)
