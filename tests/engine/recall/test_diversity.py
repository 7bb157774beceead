from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Hit, Hits, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.recall.explain import recompute
from tests.notes import CountingEmbedder

DIM = 8


def record(name: str, vector: list[float], text: str = "", **more: object) -> dict[str, object]:
    filled = np.zeros(DIM, np.float32)
    filled[: len(vector)] = vector
    return {"id": name, "text": text or f"{name} says something", "vector": filled, **more}


@pytest.fixture
def axes(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    embedder = CallableEmbedder(CountingEmbedder(), DIM, identity="axes")
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        yield vault


def ask(vault: Vault, k: int = 10, **options: object) -> Hits:
    vector = np.eye(1, DIM, dtype=np.float32)[0]
    return vault.recall("unheard", k, profile="episodic", vector=vector, **options)  # type: ignore[arg-type]


def test_fewer_than_ten_are_taken_in_order_past_what_does_not_fit(axes: Vault) -> None:
    sizes = [100, 300, 100, 50]
    axes.add([record(f"r{i}", [1.0, 0.2 * i], f"r{i}".ljust(4 * size, "x")) for i, size in enumerate(sizes)])
    assert [hit.id for hit in ask(axes)] == ["r0", "r1", "r2", "r3"]
    assert [hit.id for hit in ask(axes, token_budget=260)] == ["r0", "r2", "r3"]
    assert [hit.id for hit in ask(axes, token_budget=49)] == []


def test_from_ten_on_what_repeats_gives_way(axes: Vault) -> None:
    """Eleven near-copies on one side of the question, and one chunk on the other side that matches a little less."""
    axes.add([record(f"same{i:02d}", [0.8, 0.6 + 0.001 * i]) for i in range(11)])
    axes.add([record("other", [0.78, -0.6257])])
    ranked = [hit.id for hit in ask(axes, 12)]
    assert ranked[0] == "same00"
    assert ranked.index("other") == 1
    # five slots: relevance counts for nine tenths, and the copies are as good as the best
    few = [hit.id for hit in ask(axes, 5)]
    assert few[0] == "same00"
    assert len(few) == 5


def test_a_budget_is_kept_and_filled_by_what_fits(axes: Vault) -> None:
    sizes = [90 if i % 2 else 40 for i in range(14)]
    axes.add([record(f"r{i}", [1.0, 0.1 * i], f"r{i}".ljust(4 * size, "x")) for i, size in enumerate(sizes)])
    hits = ask(axes, 14, token_budget=200)
    used = sum(hit.terms["boosts"]["tokens"] for hit in hits)
    assert 160 < used <= 200


@pytest.fixture
def topical(axes: Vault) -> Vault:
    """Four blobs; a word of its own brings one chunk of each."""
    rng = np.random.default_rng(2)
    for blob in range(4):
        rows = np.eye(1, DIM, blob)[0] + 0.02 * rng.standard_normal((40, DIM))
        axes.add(
            [record(f"b{blob}-{i:02d}", row.tolist(), f"{'zebra' if i == 0 else 'horse'} {blob} {i}") for i, row in enumerate(rows)]
        )  # fmt: skip
    axes.cluster()  # as `lamina cluster` does; findings, seeds-b 003 #34
    return axes


def by_word(vault: Vault, word: str = "zebra", k: int = 100, **options: object) -> tuple[list[Hit], list[Hit]]:
    """Direct hits, and what topics brought along, each in the order of the answer; of ten hits direct ones come first."""
    hits = list(vault.recall(word, k, profile="episodic", lanes=["lexical"], **options))  # type: ignore[arg-type]
    siblings = [hit for hit in hits if hit.via and "-topic" in hit.via]
    direct = [hit for hit in hits if hit not in siblings]
    least = 1.0
    for start in range(0, len(hits), 10):
        ten = hits[start : start + 10]
        assert ten == [hit for hit in ten if hit in direct] + [hit for hit in ten if hit in siblings]
        least = min([least, *(hit.score for hit in ten if hit in direct)])
        assert all(hit.score < least for hit in ten if hit in siblings)
    return direct, siblings


def test_topics_bring_siblings_that_stand_below_every_direct_hit(topical: Vault) -> None:
    direct, siblings = by_word(topical)
    assert {hit.id for hit in direct} == {"b0-00", "b1-00", "b2-00", "b3-00"}
    assert max(hit.score for hit in siblings) < min(hit.score for hit in direct)
    for hit in direct + siblings:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
    topical.add([record("weak", [0.0, 0.0, 0.0, 0.0, 1.0], "zebra " + "word " * 2_000, created_at="2001-01-01")])
    direct, siblings = by_word(topical)
    assert direct[-1].id == "weak"
    assert any("ceiling" in hit.terms and hit.score < direct[-1].score for hit in siblings)
    for hit in siblings:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)


def test_three_topics_and_five_siblings_at_most(topical: Vault) -> None:
    _, siblings = by_word(topical)
    topics = [hit.terms["path"][0]["topic"] for hit in siblings]
    assert sorted(topics.count(topic) for topic in set(topics)) == [5, 5, 5]
    assert len({hit.terms["path"][0]["source"] for hit in siblings}) == 3


def test_a_sibling_counts_its_hit_times_one_less_the_distance(topical: Vault) -> None:
    direct, siblings = by_word(topical)
    own = {hit.id: hit.terms["semantic"] for hit in direct}
    for hit in siblings:
        step = hit.terms["path"][0]
        assert (step["relation"], step["target"]) == ("topic", hit.id)
        assert hit.terms["linked"] == pytest.approx(own[step["source"]] * step["weight"])
        assert 0.9 < step["weight"] <= 1.0  # one less an angular distance within the blob


def test_asking_again_changes_nothing(topical: Vault) -> None:
    """In the system that siblings come from, what was returned once came back on top."""
    first = [(hit.id, hit.score) for hit in topical.recall("zebra", 9, profile="episodic", lanes=["lexical"])]
    for _ in range(3):
        again = [(hit.id, hit.score) for hit in topical.recall("zebra", 9, profile="episodic", lanes=["lexical"])]
        assert again == first


def test_siblings_are_filtered_and_active(topical: Vault) -> None:
    _, before = by_word(topical)
    topical.invalidate(before[0].id, "gone")
    _, after = by_word(topical)
    assert before[0].id not in {hit.id for hit in after}
    wanted = [f"b0-{i:02d}" for i in range(10)]
    direct, siblings = by_word(topical, where={"id": {"in": wanted}})
    assert {hit.id for hit in direct + siblings} <= set(wanted)
    assert siblings


def test_a_hit_newer_than_the_clustering_joins_the_nearest_topic(topical: Vault) -> None:
    topical.add([record("late", [1.0], "quagga"), record("far", [0.0] * 6 + [1.0], "okapi")])
    direct, siblings = by_word(topical, "quagga")
    assert [hit.id for hit in direct] == ["late"]
    assert len(siblings) == 5
    assert all(hit.id.startswith("b0-") for hit in siblings)
    assert by_word(topical, "okapi")[1] == []  # 0.09 or more from every centre: noise


def test_past_moments_have_no_siblings(topical: Vault, clock: FixedClock) -> None:
    moment = clock.now_us() / 1e6 + 1
    clock.advance(60)
    topical.add([record("late", [0.0, 0.0, 0.0, 1.0])])
    direct, siblings = by_word(topical, as_of=moment)
    assert (len(direct), siblings) == (4, [])
