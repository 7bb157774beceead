"""The experiments run on a small vault, and find what was put there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from bench import (
    experiment_hops,
    experiment_pairs,
    experiment_sum_product,
    experiment_thinking,
    experiment_transitions,
)
from bench.episodes import read, run
from lamina import CallableEmbedder, Vault
from lamina_engine.graph.log import Draft, write

DIM = 16
TOPICS = 4


def embed(texts: Any) -> Any:
    """A direction for each topic a text names, and a little of its own."""
    out = np.full((len(texts), DIM), 0.01, np.float32)
    for row, text in zip(out, texts, strict=True):
        for topic in range(TOPICS):
            row[topic] += text.count(f"topic{topic}")
        row[TOPICS + len(text) % (DIM - TOPICS)] += 0.1
    return out


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten sessions of two projects; topics follow each other in a circle inside, and begin anywhere."""
    folder = tmp_path_factory.mktemp("experiments") / "vault"
    embedder = CallableEmbedder(embed, DIM, identity="topics")
    links: list[tuple[str, str]] = []
    with lamina.open(folder, create=True, embedder=embedder) as vault:
        for session in range(10):
            ids = [f"s{session}-{i}" for i in range(8)]
            vault.add(
                [
                    {
                        "id": name, "text": f"topic{(session * 3 + i) % TOPICS} {'word ' * i}", "session": f"s{session}",
                        "project": f"p{session % 2}", "created_at": f"2026-01-{session + 1:02d}T08:{i:02d}:00Z",
                        "metadata": {"files": [f"f{i % 3}.py"], "turns": [i // 2, i // 2], "thinking": "topic0 topic1 hm"},
                    }
                    for i, name in enumerate(ids)
                ]
            )  # fmt: skip
            links += list(pairwise(ids))
            if session >= 2:
                links.append((f"s{session - 2}-7", f"s{session}-0"))
        write(vault._memory, [Draft(before, after, "next") for before, after in links])
        vault.cluster(min_cluster_size=4, selection="eom")
    return folder


@pytest.fixture
def episodes(place: Path) -> Iterator[Vault]:
    embedder = CallableEmbedder(embed, DIM, identity="topics")
    with lamina.open(place, mode="r", embedder=embedder) as vault:
        yield vault


def test_transitions_find_the_circle_inside_and_no_more_than_there_is(episodes: Vault) -> None:
    found = experiment_transitions.measure(episodes)
    assert (found["sessions"], found["topics"]) == (10, TOPICS)
    assert found["links"] == {"links": 78, "within": pytest.approx(70 / 78), "across": pytest.approx(8 / 78)}
    assert set(found["boundaries"]) == {
        "cases", "random", "most popular", "recency", "global bigram", "within-chain bigram", "cross-session bigram",
        "project bigram", "trigram",
    }  # fmt: skip
    assert found["boundaries"]["cases"] == 3
    assert found["boundaries"]["random"]["lift_at_5"] == pytest.approx(1.0)
    assert found["inside"]["within-chain bigram"]["p_at_5"] > 0.2
    assert set(found["retrievals"]) == {"cases", "random", "most popular", "recency", "retrieval bigram"}
    assert json.dumps(found)
    assert any("lift@5" in line for line in experiment_transitions.lines(found))


def test_a_predictor_that_is_right_has_the_lift_of_its_share() -> None:
    cases = [experiment_transitions.Case(None, (0,), frozenset({1}))] * 4
    found = experiment_transitions.scored(cases, {"random": lambda _: (), "sure": lambda _: [1]}, 10)
    assert found["random"]["p_at_5"] == pytest.approx(0.1)
    assert found["sure"] == {"p_at_5": pytest.approx(0.2), "lift_at_5": pytest.approx(2.0)}


def test_transitions_are_weighed_by_shares() -> None:
    counts = experiment_transitions.Counts(iter([(0, 1), (0, 1), (0, 2), (3, 2)]))
    assert counts.ranked([0]) == [1, 2]
    assert counts.ranked([0, 3]) == [2, 1]
    assert counts.ranked([9]) == []
    assert counts.cells == 3


def test_pairs_grow_with_the_product_of_turns(episodes: Vault) -> None:
    found = experiment_pairs.measure(episodes)
    # ten sessions of four turns of two chunks: 3 boundaries of 4 pairs, and one pair inside each turn
    assert (found["turns"], found["one_to_one"], found["all_pairs"]) == (40, 70, 160)
    assert found["links"] == 78
    assert any("all_pairs" in line for line in experiment_pairs.lines(found))


def test_all_falling_curves_rank_alike_and_held_ones_lose(episodes: Vault) -> None:
    found = experiment_hops.measure(episodes)
    backward = found["mrr"]["backward"]
    assert backward["linear, dies at 10"] == pytest.approx(backward["0.87 a hop"])
    assert backward["hold 5, dies at 20"] != pytest.approx(backward["0.033 less a hop"])
    assert backward["none"] == pytest.approx(backward["hold 5, dies at 20"], abs=0.2)
    assert found["related_by_hops"]["1"] == 0.0  # a file comes again every third chunk
    assert found["related_by_hops"]["2-3"] > 0.4
    assert any("MRR" in line for line in experiment_hops.lines(found))


def test_thinking_is_embedded_or_not(episodes: Vault) -> None:
    found = experiment_thinking.measure(episodes)
    assert found["pairs"] == 70
    assert set(found["area"]) == {"left out", "embedded"}
    assert 0.0 <= found["area"]["left out"] <= 1.0
    assert any("gain" in line for line in experiment_thinking.lines(found))


def test_the_area_counts_ties_half() -> None:
    assert experiment_thinking.area([1.0, 2.0], [0.0, 3.0]) == 0.5
    assert experiment_thinking.area([1.0], [1.0]) == 0.5
    assert experiment_thinking.area([2.0], [1.0]) == 1.0


def test_products_vanish() -> None:
    found = experiment_sum_product.products({"c": ["b"], "b": ["a"]}, {"c": 1.0})
    assert found == {"b": pytest.approx(0.8), "a": pytest.approx(0.64)}


def test_scripts_print_lines_or_one_document(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for extra in ([], ["--json"]):
        assert run("x", "about", lambda _: {"a": 1}, lambda _: ["a  1"], [str(place), *extra]) == 0
    assert capsys.readouterr().out.splitlines() == ["a  1", '{"a": 1}']
    assert experiment_sum_product.main(["12", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["chain"] >= document["sum_product"]
    assert document["left_after"]["10"] == pytest.approx(0.107, abs=1e-3)


def test_a_vault_without_sessions_is_no_error(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        assert read(vault).lines == []
        for module in (experiment_transitions, experiment_pairs, experiment_hops, experiment_thinking):
            found = module.measure(vault)
            assert list(module.lines(found))
