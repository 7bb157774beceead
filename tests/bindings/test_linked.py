"""Links and walks as methods of a vault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import ChunkNotFound, FixedClock, InvalidArgument, InvalidConfig, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.graph.log import Draft, write
from tests.notes import CountingEmbedder


@pytest.fixture
def linked(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    embedder = CallableEmbedder(CountingEmbedder(), 8, identity="axes")
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        texts = {
            "a": "the disk was full", "b": "the build failed", "c": "the release slipped", "d": "we bought a disk",
            "e": "nothing else",
        }  # fmt: skip
        vault.add(
            [
                {"id": name, "text": text, "created_at": f"2026-02-0{day}T08:00:00Z", "title": f"Title {name}"}
                for day, (name, text) in enumerate(texts.items(), 1)
            ]
        )
        vault.link("a", "b", "causal", 0.8, "no room for objects", created_at="2026-02-02")
        vault.link("b", "c", "causal", 0.5, "no build, no release")
        vault.link("d", "a", "supporting")
        vault.link("e", "c", "contradicts")
        yield vault


def test_a_link_is_what_was_said(linked: Vault) -> None:
    link = linked.links("a", "out")[0]
    assert (link.source, link.target, link.relation, link.origin) == ("a", "b", "causal", "user")
    assert link.weight == pytest.approx(0.8)
    assert (link.note, link.to_dict()["created_at"]) == ("no room for objects", "2026-02-02T00:00:00Z")
    assert str(link.to_dict()["recorded_at"]).endswith("Z")
    assert json.dumps(link.to_dict())
    assert len(linked.links("a", "out")) == 1


def test_linking_again_keeps_the_first_weight_note_and_date_unless_told_otherwise(linked: Vault) -> None:
    # findings, seeds-a gap 9
    link = linked.links("a", "out")[0]
    assert linked.link("a", "b", "causal", 0.25, "another reason", created_at="2026-02-09") == link
    again = linked.link("a", "b", "causal", 0.25, update=True)
    assert (again.weight, again.note, again.created_at) == (0.25, None, link.created_at)
    assert len(linked.links("a", "out")) == 1


def test_linking_what_an_import_linked_keeps_what_it_says(linked: Vault) -> None:
    write(linked._memory, [Draft("a", "e", "blocks", 0.5, "login broken", 7)], origin="clawpy")
    found = linked.link("a", "e", "blocks")
    assert (found.origin, found.weight, found.note, found.created_at_us) == ("user", 0.5, "login broken", 7)
    assert linked.link("a", "e", "blocks", update=True).weight == 1.0
    write(linked._memory, [Draft("a", "e", "semantic", 0.4)], origin="semantic")  # a rule said it, nobody else
    assert linked.link("a", "e", "semantic", 0.9, "both about builds").note == "both about builds"


def test_a_symmetric_link_is_one_whichever_end_is_named_first(linked: Vault) -> None:
    first, second = linked.link("c", "a", "related_to"), linked.link("a", "c", "related_to")
    assert (first.source, first.target) == (second.source, second.target) == ("a", "c")
    assert linked.links("c", relations=["related_to"]) == linked.links("a", relations=["related_to"])


def test_two_links_of_opposite_directions_are_told_apart(linked: Vault) -> None:
    assert linked.link("b", "a", "causal", 0.1).source == "b"
    assert linked.link("a", "b", "causal", 0.2).source == "a"


def test_unlink(linked: Vault) -> None:
    assert linked.unlink("a", "b", "causal") is True
    assert linked.links("a", "out") == []
    assert linked.unlink("a", "b", "causal") is False


def test_bad_links_are_refused_and_nothing_is_written(linked: Vault) -> None:
    before = linked.links("a")
    for weight in (0.0, -1.0, 1.01, float("nan")):
        with pytest.raises(InvalidArgument, match="weight"):
            linked.link("a", "c", "causal", weight)
    with pytest.raises(InvalidArgument, match="relation"):
        linked.link("a", "c", "caused")
    with pytest.raises(ChunkNotFound):
        linked.link("a", "nobody", "causal")
    with pytest.raises(InvalidArgument, match="itself"):
        linked.link("a", "a", "causal")
    assert linked.links("a") == before


def test_neighbors(linked: Vault) -> None:
    assert [near.id for near in linked.neighbors("a")] == ["d", "b"]
    assert [near.id for near in linked.neighbors("a", direction="out")] == ["b"]
    two = linked.neighbors("a", 2, relations=["causal"])
    assert [(near.id, near.hops, near.via) for near in two] == [
        ("b", 1, "a -causal-> b"), ("c", 2, "a -causal-> b -causal-> c"),
    ]  # fmt: skip
    document: dict[str, Any] = two[1].to_dict()
    assert document["path"][0] == {
        "source": "a", "target": "b", "relation": "causal", "weight": pytest.approx(0.8), "outward": True,
    }  # fmt: skip
    assert (two[0].title, two[0].text, two[0].to_dict()["created_at"]) == (
        "Title b",
        "the build failed",
        "2026-02-02T08:00:00Z",
    )
    assert linked.neighbors("d", direction="in") == []
    assert linked.neighbors("b", direction="in")[0].via == "b <-causal- a"


def test_traverse_from_ids(linked: Vault) -> None:
    found = linked.traverse(["c"], intent="why")  # from the effect to its causes
    assert [near.id for near in found] == ["a", "b", "c"]
    assert found[-1].via is None
    assert found[0].score > found[1].score > found[2].score == 1.0
    assert [near.id for near in linked.traverse({"c": 0.5}, "why", 1)] == ["b", "c"]
    assert len(linked.traverse(["a"], budget=2)) == 2


def test_traverse_from_a_question_begins_with_its_strong_hits(linked: Vault) -> None:
    found = linked.traverse("why was the disk full", depth=1)
    hits = linked.recall("why was the disk full")
    strong = {hit.id for hit in hits if hit.score >= 0.5 * hits[0].score}
    assert {near.id for near in found if near.via is None} == strong
    assert max(near.score for near in found if near.via is None) == 1.0
    assert linked.traverse("") == linked.traverse("", intent="what")


def test_anchors_may_be_given_by_name_and_one_beginning_is_enough(linked: Vault) -> None:
    assert linked.traverse(anchors=["a"], intent="why") == linked.traverse(["a"], intent="why")
    with pytest.raises(InvalidArgument, match="one of them"):
        linked.traverse()
    with pytest.raises(InvalidArgument, match="one of them"):
        linked.traverse("why", anchors=["a"])


def test_a_contradiction_is_marked(linked: Vault) -> None:
    found = {near.id: near for near in linked.traverse(["e"], depth=1)}
    assert found["c"].contradicts
    assert found["c"].score <= found["e"].score


def test_causes_have_the_confidence_and_reason_of_each_hop(linked: Vault) -> None:
    got = [(c.id, c.direction, c.depth, c.reason) for c in linked.causes("c")]
    assert got == [("b", "caused_by", 1, "no build, no release"), ("a", "caused_by", 2, "no room for objects")]
    a = linked.causes("c")[1]
    assert (a.confidence, a.product) == pytest.approx((0.8, 0.4))
    assert a.chain == ("c", "b", "a")
    assert linked.causes("c", "causes") == []
    assert json.dumps([cause.to_dict() for cause in linked.causes("a")])


def test_timeline(linked: Vault) -> None:
    line = linked.timeline("c", 1, 9)
    assert ([c.id for c in line.before], line.focus.id, [c.id for c in line.after]) == (["b"], "c", ["d", "e"])
    assert line.total == 5


def test_similar(linked: Vault) -> None:
    found = linked.similar("a", 2)
    assert len(found) == 2
    assert found[0].score >= found[1].score
    assert "a" not in [near.id for near in found]


def test_build_links(linked: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    report = linked.build_links(["temporal"])
    assert (report.kinds["temporal"].added, linked.build_links(["temporal"]).added) == (4, 0)
    with pytest.raises(InvalidArgument, match="allowed are sequence"):
        linked.build_links(["everything"])  # type: ignore[list-item]
    with pytest.raises(InvalidConfig, match=r"no language model is configured") as refused:
        linked.build_links(["judged"])
    assert "judge=" in refused.value.__notes__[0]
    with pytest.raises(InvalidConfig, match="missing: model"):
        linked.build_links(["judged"], judge={"url": "http://127.0.0.1:1"})
    assert linked.build_links().kinds["judged"].note is not None


def test_walks_of_a_vault_without_links(lexical_vault: Vault) -> None:
    lexical_vault.add("alone", id="x", created_at="2026-01-01")
    assert lexical_vault.links("x") == []
    assert lexical_vault.neighbors("x") == []
    assert lexical_vault.causes("x") == []
    assert [near.id for near in lexical_vault.traverse(["x"])] == ["x"]
    with pytest.raises(InvalidArgument, match="no vector"):
        lexical_vault.similar("x")
    for walk in (lexical_vault.links, lexical_vault.neighbors, lexical_vault.causes, lexical_vault.timeline):
        with pytest.raises(ChunkNotFound):
            walk("nobody")
    with pytest.raises(InvalidArgument, match="traverse was given"):
        lexical_vault.traverse(3)  # type: ignore[arg-type]
