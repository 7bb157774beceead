"""Planted stories: the chain holds the cause where search cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from bench.stories import CAUSES, fill, measure, plant
from lamina import FixedClock


def test_stories_are_planted_as_they_say() -> None:
    corpus = plant(24)
    ids = [record["id"] for record in corpus.records]
    assert len(set(ids)) == len(ids)
    assert sorted({story.distance for story in corpus.stories}) == list(range(1, 13))
    texts = {record["id"]: record["text"] for record in corpus.records}
    for story in corpus.stories:
        assert ids.index(story.hit) - ids.index(story.cause) == story.distance
        assert any(cause in texts[story.cause] for cause in CAUSES)
    assert plant(24) == corpus
    linked = plant(24, across=True)
    assert len(linked.links) == len(corpus.links) + 23
    assert set(linked.links) > set(corpus.links)
    with pytest.raises(ValueError, match="stories asked for"):
        plant(100_000)


@pytest.mark.parametrize(("embedder", "stories"), [("wordllama", 60), ("none", 60)])
def test_the_chain_holds_the_cause_in_nineteen_of_twenty(
    tmp_path: Path, clock: FixedClock, embedder: str, stories: int
) -> None:
    corpus = plant(stories)
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        fill(vault, corpus)
        got = measure(vault, corpus.stories)
    assert got.chain >= 0.95
    assert got.search <= 0.3  # one cause in three names the place
    assert got.as_long <= 0.4
    assert got.tokens <= 20_000
    assert min(chain for chain, _ in got.by_distance.values()) >= 0.75
