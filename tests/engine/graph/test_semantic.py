from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lamina import FixedClock
from lamina_engine.chunks import lifecycle
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph import semantic
from lamina_engine.graph.log import LinkCounts
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill

DIM = 8


@pytest.fixture
def dense(tmp_path: Path) -> Iterator[Memory]:
    memory = opened(tmp_path)
    yield memory
    memory.close()


def opened(folder: Path) -> Memory:
    embedder = CallableEmbedder(lambda texts: np.eye(DIM)[[0] * len(texts)], DIM, identity="axes")
    return Memory(folder / "vault", create=True, clock=FixedClock(0), embedder=embedder)


def at(*cosines: float) -> NDArray[np.float32]:
    """A first vector, and others with these cosines to it, each on an axis of its own."""
    found = np.zeros((1 + len(cosines), DIM), np.float32)
    found[0, 0] = 1
    for i, cosine in enumerate(cosines):
        found[i + 1, 0], found[i + 1, i + 1] = cosine, (1 - cosine**2) ** 0.5
    return found


def test_strictly_above_the_threshold_and_weighed_by_the_cosine(dense: Memory) -> None:
    fill(dense, list("abcd"), vectors=at(0.7, 0.71, 0.5))
    assert semantic.build(dense) == LinkCounts(added=1)
    assert claimed(dense, "semantic") == {("a", "c", "semantic"): pytest.approx(0.71)}
    assert semantic.build(dense) == LinkCounts(unchanged=1)
    assert semantic.build(dense, threshold=0.4) == LinkCounts(added=3, unchanged=1)  # a-b, a-d, b-c: 0.497
    assert semantic.build(dense) == LinkCounts(withdrawn=3, unchanged=1)


def test_equal_vectors_are_linked_with_weight_one(dense: Memory) -> None:
    fill(dense, list("ab"), vectors=np.full((2, DIM), DIM**-0.5, np.float32))
    semantic.build(dense)
    assert claimed(dense, "semantic") == {("a", "b", "semantic"): pytest.approx(1.0)}


def test_a_removed_chunk_loses_its_links(dense: Memory) -> None:
    fill(dense, list("abc"), vectors=at(0.9, 0.8))
    semantic.build(dense)
    assert set(claimed(dense, "semantic")) == {("a", "b", "semantic"), ("a", "c", "semantic"), ("b", "c", "semantic")}
    lifecycle.invalidate(dense, "b", "no")
    assert semantic.build(dense) == LinkCounts(withdrawn=2, unchanged=1)


def test_only_some_types(dense: Memory) -> None:
    fill(dense, list("abc"), vectors=at(0.95, 0.95), types=["task", "task", "note"])
    semantic.build(dense, threshold=semantic.SIMILAR, relation="similar_to", origin="similar", types=("task",))
    assert set(claimed(dense, "similar")) == {("a", "b", "similar_to")}


@settings(max_examples=10)
@given(seed=st.integers(0, 9), n=st.integers(1, 40), most=st.integers(1, 4))
def test_equals_all_pairs(seed: int, n: int, most: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, DIM))
    vectors[::3] = vectors[0]  # equal ones, whose ties go by id
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    memory = opened(tmp_path_factory.mktemp("v"))
    names = [f"c{i:02}" for i in range(n)]
    fill(memory, names, vectors=vectors.astype(np.float32))
    semantic.build(memory, threshold=0.3, most=most)
    kept = memory.view().vectors.gather(np.arange(n)).astype(np.float64)
    cosines = kept @ kept.T
    ref = set()
    for i in range(n):
        near = sorted((-round(float(cosines[i, j]), 6), names[j]) for j in range(n) if j != i and cosines[i, j] > 0.3)
        ref |= {(*sorted((names[i], name)), "semantic") for _, name in near[:most]}
    assert set(claimed(memory, "semantic")) == ref
    memory.close()


def test_bad_options_and_no_vectors(memory: Memory, dense: Memory) -> None:
    fill(memory, list("ab"))
    assert semantic.build(memory) == LinkCounts()
    for wrong in ({"threshold": 1.0}, {"threshold": float("nan")}, {"most": 0}):
        with pytest.raises(InvalidArgument):
            semantic.build(dense, **wrong)  # pyright: ignore[reportArgumentType]
