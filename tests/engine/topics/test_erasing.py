from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from lamina_engine.care.forgetting import forget
from lamina_engine.memory import Memory
from lamina_engine.topics import erasing
from lamina_engine.topics.browsing import topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.generation import latest, read_members, read_topics, write
from tests.engine.topics.vaults import blobs, fill

SECRET = "zanzibar"


def vault(memory: Memory) -> str:
    """A vault of two topics, one of them with a word that a single chunk brought in; return that chunk's id."""
    vectors, owners = blobs([8, 8])
    ids = fill(memory, vectors, owners)
    [odd] = fill(memory, vectors[:1], [0], prefix=f"{SECRET} {SECRET} {SECRET} Zanzibars ")
    cluster(memory)
    assert {SECRET} < {word for topic in topics(memory) for word in topic.words}
    assert len(ids) == 16
    return odd


def on_disk(memory: Memory) -> list[Path]:
    return [path for path in memory.root.rglob("*") if path.is_file() and SECRET in path.read_bytes().decode("latin-1")]


def test_words_that_only_forgotten_chunks_said_are_gone(memory: Memory) -> None:
    odd = vault(memory)
    before = {topic.id: topic for topic in topics(memory)}
    forget(memory, ids=[odd], dry_run=False)
    assert on_disk(memory) == []
    for topic in topics(memory):
        assert topic.words == tuple(word for word in before[topic.id].words if word != SECRET)
        assert topic.name == ", ".join(topic.words[:3])
        assert {"garden", "python"} & set(topic.words), "what others say too stays"


def test_a_name_by_a_model_goes_with_the_word_it_is_made_of(memory: Memory) -> None:
    odd = vault(memory)
    snapshot = memory.view().snapshot
    detail = latest(snapshot)
    assert detail is not None
    called = [
        replace(topic, name="Zanzibars at home" if SECRET in topic.words else "Code of ours")
        for topic in read_topics(snapshot, 1)
    ]
    write(memory, detail, called, read_members(snapshot, 1))
    forget(memory, ids=[odd], dry_run=False)
    names = {", ".join(topic.words[:3]): topic.name for topic in topics(memory)}
    assert sorted(names.values()) == sorted(["Code of ours", next(words for words in names if "garden" in words)])


def test_words_that_another_chunk_says_stay(memory: Memory) -> None:
    odd = vault(memory)
    fill(memory, blobs([1])[0], [0], prefix="ZANZIBAR ")
    forget(memory, ids=[odd], dry_run=False)
    assert SECRET in {word for topic in topics(memory) for word in topic.words}


def test_every_generation_is_looked_at(memory: Memory) -> None:
    odd = vault(memory)
    cluster(memory, min_cluster_size=5, full=True)
    forget(memory, ids=[odd], dry_run=False)
    assert on_disk(memory) == []


def test_nothing_to_look_at(memory: Memory) -> None:
    fill(memory, *blobs([3]))
    snapshot = memory.view().snapshot
    assert erasing.Unsaid(snapshot, np.array([0]))._only_there() == {}
    cluster(memory)
    assert forget(memory, ids=["c0"], dry_run=False).chunks == 1
