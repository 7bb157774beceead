"""Arguments of a type that was not asked for: each call refuses them with an error of its own, and says what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import InvalidArgument, InvalidConfig, Vault

CALLS: dict[str, Callable[[Any], object]] = {
    "recall profile": lambda v: v.recall("x", profile=["default"]),
    "recall no profile": lambda v: v.recall("x", profile=[]),
    "recall zone": lambda v: v.recall("x", tz={}),
    "recall lanes as one text": lambda v: v.recall("x", lanes="lexical"),
    "recall complex vector": lambda v: v.recall("x", vector=[1j] * 256),
    "get": lambda v: v.get(5),
    "get_many": lambda v: v.get_many(5),
    "get_many of one text": lambda v: v.get_many("a"),
    "history": lambda v: v.history([]),
    "link": lambda v: v.link(["a"], "b", "causal"),
    "links": lambda v: v.links(["a"]),
    "causes": lambda v: v.causes({}),
    "neighbors": lambda v: v.neighbors(5),
    "build_links": lambda v: v.build_links(5),
    "build_links of one text": lambda v: v.build_links("entity"),
    "used": lambda v: v.used(5),
    "sessions": lambda v: v.sessions(["project"]),
    "sessions by number": lambda v: v.sessions(5),
    "facts.add": lambda v: v.facts.add("Keystone", [], "x"),
    "facts.add nothing": lambda v: v.facts.add("Keystone", "port", ""),
    "facts.add no number": lambda v: v.facts.add("Keystone", "port", float("nan")),
    "facts.declare": lambda v: v.facts.declare([]),
    "facts.seed": lambda v: v.facts.seed(5),
    "facts.load": lambda v: v.facts.load(5),
    "facts.load of no path": lambda v: v.facts.load("facts\ud83d.jsonl"),
    "facts.retract of arrays": lambda v: v.facts.retract([np.array([1, 2])]),
    "invalidate with a stamp that is no text": lambda v: v.invalidate("a", "wrong", stamp=5),
    "invalidate for half an emoji": lambda v: v.invalidate("a", "wrong \ud83d"),
    "restore for a number": lambda v: v.restore("a", reason=5),
    "bootstrap of an empty project": lambda v: v.bootstrap("s", project=""),
    "inject for half an emoji as project": lambda v: v.inject("words", "s", project="\ud83d"),
    "inject in half an emoji as session": lambda v: v.inject("words", "s\ud83d"),
    "archive": lambda v: v.archive(5),
    "forget": lambda v: v.forget(ids=5),
    "forget of no ids": lambda v: v.forget(ids=[5]),
    "refresh": lambda v: v.refresh(5),
    "ingest": lambda v: v.ingest(5),
    "ingest with columns as a text": lambda v: v.ingest(v.path.parent, columns="x"),
    "ingest with columns as a list": lambda v: v.ingest(v.path.parent, columns=[]),
    "ingest with columns as pairs": lambda v: v.ingest(v.path.parent, columns=[("text", "x")]),
    "ingest with a project that is no text": lambda v: v.ingest(v.path.parent, project="\udcff"),
    "follow with columns as a text": lambda v: list(v.follow(v.path.parent, columns="x")),
    "ingest of no paths": lambda v: v.ingest([5]),
    "follow": lambda v: list(v.follow(5)),
    "export": lambda v: v.export(None),
    "import_": lambda v: v.import_(5),
    "snapshot": lambda v: v.snapshot(5),
    "freshness": lambda v: v.freshness(repo=5),
    "relations by number": lambda v: v.neighbors("a", relations=5),
    "relations of no texts": lambda v: v.links("a", relations=[5]),
    "traverse relations": lambda v: v.traverse("words", relations=5),
    "traverse without": lambda v: v.traverse("words", without=5),
    "causes of no depth": lambda v: v.causes("a", depth=0),
    "causes of a negative depth": lambda v: v.causes("a", depth=-1),
    "causes too deep": lambda v: v.causes("a", depth=11),
    "neighbors invalidated": lambda v: v.neighbors("a", invalidated="no"),
    "links hidden": lambda v: v.links("a", hidden="no"),
    "link update": lambda v: v.link("a", "b", "causal", update="no"),
    "timeline same_collection": lambda v: v.timeline("a", same_collection=1),
    "build_links workers": lambda v: v.build_links(workers=True),
    "judge": lambda v: v.judge(5),
    "facts.retract a text": lambda v: v.facts.retract("x"),
    "facts.retract digits": lambda v: v.facts.retract("1"),
    "facts.retract a bool": lambda v: v.facts.retract(True),
    "facts.retract a fraction": lambda v: v.facts.retract(1.5),
    "facts.retract nothing": lambda v: v.facts.retract(None),
    "facts.retract below 0": lambda v: v.facts.retract(-1),
    "facts.retract of no fact": lambda v: v.facts.retract(999),
    "facts.retract one of no fact": lambda v: v.facts.retract([0, 999]),
    "facts.about predicates": lambda v: v.facts.about("Ann", predicates=5),
    "facts.about history": lambda v: v.facts.about("Ann", history="no"),
    "facts.list history": lambda v: v.facts.list(history="no"),
    "facts.predicates used": lambda v: v.facts.predicates(used="no"),
    "facts.add_entity aliases": lambda v: v.facts.add_entity("Bob", aliases=5),
    "facts.add_many": lambda v: v.facts.add_many(5),
    "topics.get_many": lambda v: v.topics.get_many(5),
    "topics.get_many of one text": lambda v: v.topics.get_many("topic"),
    "topic_map": lambda v: v.topic_map(5),
    "bootstrap project": lambda v: v.bootstrap(project=5),
    "inject project": lambda v: v.inject("words", "s", project=5),
    "pin": lambda v: v.pin("a", pinned="no"),
    "verify": lambda v: v.verify(deep="no"),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = lamina.open(tmp_path_factory.mktemp("types") / "vault", create=True, embedder="none")
    vault.add([{"id": "a", "text": "words"}, {"id": "b", "text": "other words"}])
    vault.link("a", "b", "causal")
    vault.facts.add("Ann", "role", "pilot")
    return vault


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_type_is_refused_and_nothing_is_written(two: Vault, call: str) -> None:
    before = two.recall("words").snapshot
    with pytest.raises((InvalidArgument, InvalidConfig)):
        CALLS[call](two)
    assert two.recall("words").snapshot == before


def test_one_name_is_a_list_of_one(two: Vault) -> None:
    assert [near.id for near in two.neighbors("a", relations="causal")] == ["b"]
    assert two.links("a", relations="causal") == two.links("a", relations=["causal"])
    assert two.traverse(anchors=["a"], relations="causal") == two.traverse(anchors=["a"], relations=["causal"])
    assert [fact.value for fact in two.facts.about("Ann", predicates="role")] == ["pilot"]
    assert two.facts.add_entity("Keystone", aliases="KS").aliases == ("KS",)
    with pytest.raises(InvalidArgument, match="'casual' is not known"):
        two.neighbors("a", relations="casual")


def test_whole_numbers_of_numpy_are_whole_numbers(two: Any) -> None:
    n = np.int64(1)
    assert (
        len(two.recall("words", k=n, per_source=n, token_budget=np.int32(500))) == len(two.list(limit=n, offset=n)) == 1
    )
    assert two.inject("words", "s", floor=n, ceiling=np.int64(900)).mode != "failed"
    assert len(two.sessions(limit=n)) <= 1
    assert two.facts.graph(hops=n, limit=n)["nodes"]


def test_an_error_names_what_was_given_and_what_to_give(two: Any) -> None:
    checks: list[tuple[Callable[[], object], str]] = [
        (lambda: two.facts.retract("x"), "ids='x' is no number of a fact; give a whole number from 0 up"),
        (lambda: two.facts.retract(999), "no fact has the id 999; give those of facts"),
        (lambda: two.causes("a", depth=0), "depth=0 must be a whole number from 1 to 10"),
        (lambda: two.facts.add_entity("Bob", aliases=5), "aliases=5 is an int; give a list of names, such as"),
    ]
    for call, message in checks:
        with pytest.raises(InvalidArgument, match=message):
            call()


def test_of_an_id_given_twice_in_a_call_the_later_record_counts(lexical_vault: Vault) -> None:
    assert lexical_vault.add([{"id": "x", "text": "one"}, {"id": "x", "text": "two"}]) == ["x", "x"]
    assert lexical_vault.get("x").text == "two"


CLOSED: dict[str, Callable[[Any], object]] = {
    "verify": lambda v: v.verify(),
    "snapshot": lambda v: v.snapshot(v.path.parent / "copy"),
    "inject": lambda v: v.inject("words", "session"),
    "recall": lambda v: v.recall("words"),
    "with": lambda v: v.__enter__(),
}


@pytest.mark.parametrize("call", CLOSED)
def test_a_closed_vault_is_refused(lexical_vault: Vault, call: str) -> None:
    lexical_vault.close()
    with pytest.raises(InvalidArgument, match="was closed"):
        CLOSED[call](lexical_vault)
    assert not (lexical_vault.path.parent / "copy").exists()
