"""Arguments of a type that was not asked for: each call refuses them with an error of its own, and says what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    "pin": lambda v: v.pin("a", pinned="no"),
    "verify": lambda v: v.verify(deep="no"),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = lamina.open(tmp_path_factory.mktemp("types") / "vault", create=True, embedder="none")
    vault.add([{"id": "a", "text": "words"}, {"id": "b", "text": "other words"}])
    return vault


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_type_is_refused_and_nothing_is_written(two: Vault, call: str) -> None:
    before = two.recall("words").snapshot
    with pytest.raises((InvalidArgument, InvalidConfig)):
        CALLS[call](two)
    assert two.recall("words").snapshot == before


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
