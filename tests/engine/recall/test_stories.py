"""Stories: walks, budgets, planted causes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import lamina
from bench.stories import CAUSES, fill, measure, plant
from lamina import ChunkNotFound, FixedClock, InvalidArgument, InvalidConfig, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.profiles import Profiles
from lamina_engine.recall.pipeline import recall, recall_rows
from lamina_engine.recall.stories import angular_match, hop_weights
from lamina_engine.results import Story
from tests.notes import CountingEmbedder

DIM = 4


def vector(cosine: float) -> Any:
    return np.array([cosine, np.sqrt(1.0 - cosine * cosine), 0.0, 0.0], np.float32)


QUESTION = vector(1.0)


@pytest.fixture
def axes(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    embedder = CallableEmbedder(lambda texts: CountingEmbedder()(texts)[:, :DIM], DIM, identity="axes")
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        yield vault


def session(vault: Vault, name: str, cosines: list[float], *, tokens: int = 10, **more: Any) -> list[str]:
    """Chunks name0, name1, ... with these cosines to the question, linked in order."""
    ids = [f"{name}{i}" for i in range(len(cosines))]
    vault.add(
        [
            {
                "id": id_, "text": f"{id_} ".ljust(4 * tokens, "x"), "vector": vector(cosine), "session": name,
                "created_at": f"2026-02-01T08:{i:02d}:00Z", **more,
            }
            for i, (id_, cosine) in enumerate(zip(ids, cosines, strict=True))
        ]
    )  # fmt: skip
    for before, after in pairwise(ids):
        vault.link(before, after, "next")
    return ids


def ask(vault: Vault, direction: Any = "backward", **options: Any) -> Story:
    return vault.chain("unheard", direction, vector=QUESTION, **options)


def ids(story: Story) -> list[str]:
    return [chunk.id for chunk in story.chunks]


def test_match_golden_numbers() -> None:
    got = angular_match(np.array([0.8, 0.0, 0.309, 1.0, -1.0, 1.0000001]))
    np.testing.assert_allclose(got, [0.7952, 0.5, 0.600, 1.0, 0.0, 1.0], atol=5e-5)


def test_backward_is_what_led_here_oldest_first(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.2, 0.9, 0.3])
    story = ask(axes)
    assert (story.mode, story.seed, ids(story)) == ("chain", "a2", ["a0", "a1", "a2"])
    assert [chunk.hops for chunk in story.chunks] == [2, 1, 0]
    matches = angular_match(np.array([0.1, 0.2, 0.9]))
    np.testing.assert_allclose([chunk.score or 0.0 for chunk in story.chunks], matches, atol=1e-6)
    assert story.median == pytest.approx(matches[1], abs=1e-6)
    assert story.score == pytest.approx(matches.sum(), abs=1e-6)
    assert story.tokens == 30


def test_forward_is_what_came_next(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.9, 0.3, 0.2])
    story = ask(axes, "forward")
    assert (story.direction, story.seed, ids(story)) == ("forward", "a1", ["a1", "a2", "a3"])


def test_the_chain_of_the_best_three_is_told_and_of_equals_the_first_seed_s(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.1, 0.95])
    session(axes, "b", [0.5, 0.6, 0.9])
    assert ids(ask(axes)) == ["b0", "b1", "b2"]
    session(axes, "c", [0.5, 0.6, 0.9])  # the same numbers; b2 and c2 rank alike, the newer row first
    assert ask(axes).seed == ask(axes).seed


def test_only_strong_hits_begin_a_chain(axes: Vault) -> None:
    """Two chance hits in a row match better together than the story of the one good hit."""
    session(axes, "a", [0.0, 0.0, 0.0, 0.95])
    session(axes, "b", [0.6, 0.6])
    assert ids(ask(axes)) == ["a0", "a1", "a2", "a3"]
    profiles = axes._memory.profiles
    loose = profiles.get("episodic")
    chains = msgspec.structs.replace(loose.chains, strong=0.0)
    profiles._keep(msgspec.structs.replace(loose, id="loose@1", chains=chains))
    assert ids(ask(axes, profile="loose")) == ["b0", "b1"]


def test_the_budget_is_kept(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.2, 0.3, 0.9], tokens=100)
    story = ask(axes, token_budget=250)
    assert (ids(story), story.tokens) == (["a2", "a3"], 200)


def test_what_is_larger_than_the_budget_is_gone_through(axes: Vault) -> None:
    session(axes, "a", [0.2, 0.2, 0.2, 0.9], tokens=50)
    axes.add([{"id": "a2", "text": "x" * 4_000, "vector": vector(0.2)}])
    story = ask(axes, token_budget=300)
    assert ids(story) == ["a0", "a1", "a3"]
    assert [chunk.hops for chunk in story.chunks] == [3, 2, 0]


@pytest.mark.parametrize(("others", "ref"), [(5, ["a0", "a6"]), (6, [])])
def test_an_agent_s_story_goes_through_five_chunks_of_others(axes: Vault, others: int, ref: list[str]) -> None:
    names = session(axes, "a", [0.4] * (others + 1) + [0.9], agent="main")
    for name in names[1:-1]:
        axes.update(name, agent="main/reviewer")
    story = ask(axes, agent="main", where={"agent": "main"})
    assert (ids(story) if story.mode == "chain" else []) == ref
    assert ids(ask(axes, agent="reviewer", seeds=[names[-2]]))[-1] == names[-2]


def test_forgotten_chunks_end_a_chain_and_invalidated_ones_say_so(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.2, 0.3, 0.9])
    axes.invalidate("a2", "wrong")
    assert [chunk.status for chunk in ask(axes).chunks] == ["active", "active", "invalidated", "active"]
    axes.forget(ids=["a1"], dry_run=False)
    assert ids(ask(axes)) == ["a2", "a3"]


def test_seeds_in_place_of_hits(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.2, 0.9])
    assert ids(axes.chain(["a1"])) == ids(axes.chain(seeds=["a1"])) == ["a0", "a1"]
    story = axes.chain(seeds=["a1"])
    assert story.chunks[-1].score == pytest.approx(1.0, abs=1e-3)  # like itself
    assert story.query is None
    asked = ask(axes, seeds=["a1"])
    assert asked.chunks[-1].score == pytest.approx(float(angular_match(np.array([0.2]))[0]), abs=1e-6)
    with pytest.raises(ChunkNotFound):
        axes.chain(seeds=["nowhere"])


def test_reasons_for_a_search(axes: Vault) -> None:
    empty = axes.chain("unheard")
    assert (empty.mode, empty.reason, empty.chunks) == ("search", "no chunk matches the question", ())
    axes.add([{"id": "alone", "text": "alone", "vector": vector(0.9)}])
    alone = ask(axes)
    assert (alone.mode, alone.reason) == ("search", "no hit has a link to what led here")
    assert ids(alone) == ["alone"]
    assert ask(axes, "forward").reason == "no hit has a link to what came next"
    session(axes, "a", [0.9, 0.95], tokens=100)
    tight = ask(axes, token_budget=150)
    assert (tight.mode, tight.reason, tight.lengths) == (
        "search", "no chain from the hits has two chunks that fit the budget", (1,),
    )  # fmt: skip
    assert tight.tokens <= 150
    assert ask(axes).mode == "chain"


def test_chains_without_vectors_go_by_words(lexical_vault: Vault) -> None:
    texts = ["the pool was raised", "we renamed icons", "the checkout hangs at noon"]
    lexical_vault.add([{"id": f"a{i}", "text": text, "session": "a"} for i, text in enumerate(texts)])
    lexical_vault.link("a0", "a1", "next")
    lexical_vault.link("a1", "a2", "next")
    story = lexical_vault.chain("why does the checkout hang")
    assert ids(story) == ["a0", "a1", "a2"]
    scores = [chunk.score or 0.0 for chunk in story.chunks]
    assert scores[0] < 0.2 < scores[2] <= 1.0


def test_a_chunk_without_a_vector_matches_nothing(axes: Vault) -> None:
    session(axes, "a", [0.5, 0.9])
    axes.add([{"id": "a0", "text": "said anew", "vector": np.zeros(DIM, np.float32)}])
    assert ask(axes).chunks[0].score == 0.0


def test_a_right_angle_is_no_missing_vector(axes: Vault) -> None:
    session(axes, "a", [0.0, 0.9])
    assert [chunk.score for chunk in ask(axes).chunks] == pytest.approx([0.5, float(angular_match(np.array([0.9]))[0])])


@pytest.mark.parametrize(
    "options", [{}, {"k": 2}, {"where": {"session": "b"}}, {"as_of": "2026-01-01"}, {"lanes": ["lexical"]}]
)
def test_rows_and_matches_are_those_of_a_recall(axes: Vault, options: dict[str, Any]) -> None:
    session(axes, "a", [0.1, 0.9, -0.5])
    session(axes, "b", [0.7, 0.3])
    options |= {} if "lanes" in options else {"vector": QUESTION}
    ref = recall(axes._memory, "a1 b0 said", profile="episodic", **options).hits
    got = recall_rows(axes._memory, "a1 b0 said", profile="episodic", **options)
    assert [got.view.snapshot.values("chunks", "id", got.rows)[i] for i in range(len(got.rows))] == [
        hit.id for hit in ref
    ]
    wanted = []
    for hit in ref:
        share = hit.terms["vector_share"]
        wanted.append((1.0 - share) * hit.terms["coverage"] + share * max(hit.terms["cosine"] or 0.0, 0.0))
    assert got.matches.tolist() == pytest.approx(wanted)
    assert len(ref) > 0 or "as_of" in options


def test_as_of_tells_what_was_known(axes: Vault, clock: FixedClock) -> None:
    session(axes, "a", [0.1, 0.9])
    moment = "2026-03-01T12:30:00Z"
    clock.advance(3_600)
    session(axes, "b", [0.8, 0.99])
    assert ask(axes).seed == "b1"
    assert ids(ask(axes, as_of=moment)) == ["a0", "a1"]


def test_equal_questions_have_equal_answers_whatever_the_order_of_links(axes: Vault) -> None:
    session(axes, "a", [0.1, 0.2, 0.9])
    first = ask(axes)
    again = ask(axes)
    assert msgspec.structs.replace(first, took_ms=0.0) == msgspec.structs.replace(again, took_ms=0.0)
    axes.unlink("a0", "a1", "next")
    axes.link("a0", "a1", "next")
    assert ids(ask(axes)) == ids(first)


@pytest.mark.parametrize(
    ("curve", "direction", "ref"),
    [
        ("none", "backward", [1.0, 1.0, 1.0, 1.0]),
        ("linear", "backward", [1.0, 0.9, 0.0, 0.0]),
        ("linear", "forward", [1.0, 1.0, 0.667, 0.0]),
        ("research", "backward", [1.0, 0.87, 0.248, 0.062]),
        ("research", "forward", [1.0, 0.967, 0.67, 0.34]),
    ],
)
def test_hop_decay_is_selected_by_the_profile(curve: str, direction: Any, ref: list[float]) -> None:
    got = hop_weights(np.array([0, 1, 10, 20], np.int32), curve, direction)
    np.testing.assert_allclose(got, ref, atol=5e-4)


def test_a_vault_may_select_hop_decay_and_seeds() -> None:
    mine = Profiles({"mine": {"base": "episodic", "chains": {"hop_decay": "linear", "strong": 0.0}}}).get("mine")
    assert (mine.chains.hop_decay, mine.chains.strong, mine.chains.depth) == ("linear", 0.0, 50)
    with pytest.raises(InvalidConfig):
        Profiles({"mine": {"base": "episodic", "chains": {"hop_decay": "wall clock"}}})


def test_a_profile_with_hop_decay_weighs_what_is_far(tmp_path: Path, axes: Vault) -> None:
    session(axes, "a", [0.5, 0.5, 0.9])
    profiles = axes._memory.profiles
    base = profiles.get("episodic")
    chains = msgspec.structs.replace(base.chains, hop_decay="linear")
    profiles._keep(msgspec.structs.replace(base, id="fading@1", chains=chains))
    plain, fading = ask(axes), ask(axes, profile="fading")
    for one, other in zip(plain.chunks, fading.chunks, strict=True):
        assert other.score == pytest.approx((one.score or 0.0) * (1.0 - (one.hops or 0) / 10.0))


@pytest.mark.parametrize(
    "given",
    [
        {"query": None}, {"query": 7}, {"query": "x", "direction": "sideways"}, {"query": "x", "token_budget": 0},
        {"query": "x", "token_budget": True}, {"query": "x", "agent": ""}, {"query": ["a"], "seeds": ["a"]},
        {"seeds": "a"}, {"query": "x", "vector": [1.0]},
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(axes: Vault, given: dict[str, Any]) -> None:
    session(axes, "a", [0.5, 0.9])
    with pytest.raises(InvalidArgument):
        axes.chain(**given)


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


EVERYDAY = (
    "how is the kitchen renovation going", "what did the dentist say about my tooth", "which bus goes to the airport",
    "how do I bake sourdough bread", "who won the football match on Sunday", "when is grandmother's birthday",
    "why is the garden hose leaking", "how do I renew my passport", "which novel did the book club pick",
    "how long should I boil the eggs",
)  # fmt: skip


@pytest.mark.parametrize("embedder", ["wordllama", "none"])
def test_a_question_about_something_else_gets_no_chain(tmp_path: Path, clock: FixedClock, embedder: str) -> None:
    # findings, seeds-b 003 #29: "how is the kitchen renovation going" was told a story of PgBouncer
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        fill(vault, plant(24))
        stories = [vault.chain(question) for question in EVERYDAY]
    assert [story.mode for story in stories] == ["search"] * len(EVERYDAY)
    reasons = {story.reason for story in stories}
    assert reasons <= {"no chunk of a session is about the question", "no chunk matches the question"}


def test_what_agents_found_is_told_whatever_it_matches(axes: Vault) -> None:
    # findings, seeds-b 003 #28: two chunks had a better median without what the agents found, so it was left out
    session(axes, "a", [0.8, 0.9])
    session(axes, "x", [0.1], agent="claude-code/x")
    session(axes, "y", [0.0, 0.05], agent="claude-code/y")
    for name, last in (("x0", "x0"), ("y0", "y1")):
        axes.link("a0", name, "brief")
        axes.link(last, "a1", "debrief")
    assert sorted(ids(ask(axes))) == ["a0", "a1", "x0", "y0", "y1"] or {"x0", "y1"} < set(ids(ask(axes)))
    assert ids(ask(axes))[0] == "a0"
    assert ids(ask(axes))[-1] == "a1"
    assert {"x0", "y1"} < set(ids(ask(axes, "forward", seeds=["a0"])))
    assert ids(ask(axes, agent="claude-code", seeds=["a1"])) == ids(ask(axes, seeds=["a1"], agent="claude-code"))
    assert ask(axes, token_budget=20).tokens <= 20


def test_a_handoff_is_no_moment_that_a_chain_begins_with(axes: Vault) -> None:
    session(axes, "a", [0.5, 0.6, 0.8])
    axes.add([{"id": "h", "text": "# Handoff", "type": "agent_handoff", "session": "a", "vector": vector(1.0)}])
    assert ids(ask(axes)) == ["a0", "a1", "a2"]


@pytest.mark.parametrize(("curve", "direction", "most"), [
    ("linear", "backward", 10), ("linear", "forward", 20), ("research", "backward", 34), ("research", "forward", 31),
])  # fmt: skip
def test_a_chain_ends_where_its_decay_has_died(axes: Vault, curve: Any, direction: Any, most: int) -> None:
    # findings, seeds-b 003 #6: sixteen of twenty-six chunks that were told had a score of 0
    names = session(axes, "a", [0.9] * 40)
    profiles = axes._memory.profiles
    base = profiles.get("episodic")
    chains = msgspec.structs.replace(base.chains, hop_decay=curve)
    profiles._keep(msgspec.structs.replace(base, id="dying@1", chains=chains))
    story = ask(axes, direction, seeds=[names[-1 if direction == "backward" else 0]], profile="dying")
    assert len(story.chunks) == most
    assert all(chunk.score for chunk in story.chunks)
