"""Filled and paged recalls: k hits as long as k chunks are selected, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import CallableEmbedder, FixedClock, InvalidArgument
from lamina_engine.recall.explain import recompute
from tests.conftest import NOW


def _axes(texts: list[str]) -> np.ndarray:
    """Embed by the first word: a digit is an axis, "minus N" its opposite."""
    out = np.zeros((len(texts), 8), np.float32)
    for row, text in zip(out, texts, strict=True):
        words = text.split()
        sign = -1.0 if words[0] == "minus" else 1.0
        row[int(next((word for word in words if word.isdigit()), "6"))] = sign
        row[7] += 0.25
    return out


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[lamina.Vault]:
    with lamina.open(
        tmp_path / "v", create=True, clock=FixedClock(NOW), embedder=CallableEmbedder(_axes, identity="axes")
    ) as opened:
        opened.add([{"text": f"{i} alpha", "id": f"p{i}"} for i in range(4)])
        opened.add([{"text": "minus 0 beta", "id": "m0"}, {"text": "0 alpha", "id": "again", "title": "Twin"}])
        yield opened


def test_every_selected_chunk_comes_where_k_allows(vault: lamina.Vault) -> None:
    hits = vault.recall("0 alpha", 6, fill=True, syntax=False)
    assert {hit.id for hit in hits} == {"p0", "p1", "p2", "p3", "m0", "again"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(recompute(hit.terms) == pytest.approx(hit.score) for hit in hits)


def test_what_does_not_match_follows_by_cosine_then_newer_then_id(vault: lamina.Vault) -> None:
    vault.add([{"text": "minus 0 gamma", "id": name, "created_at": day} for name, day in
               (("b", "2020-01-01"), ("a", "2020-01-01"), ("c", "2021-01-01"))])  # fmt: skip
    hits = vault.recall("0", 9, lanes=["vector"], fill=True, where={"id": {"in": ["a", "b", "c", "m0", "p0"]}})
    assert [hit.id for hit in hits] == ["p0", "m0", "c", "a", "b"]
    assert [hit.score for hit in hits[1:]] == [0.0] * 4
    for k in range(1, 6):
        assert [h.id for h in vault.recall(
            "0", k, lanes=["vector"], fill=True, where={"id": {"in": ["a", "b", "c", "m0", "p0"]}}
        )] == [hit.id for hit in hits][:k]  # fmt: skip


def test_a_query_without_content_lists_the_newest(vault: lamina.Vault) -> None:
    vault.add({"text": "5 old", "id": "old", "created_at": "2001-01-01"})
    assert [hit.id for hit in vault.recall("", 7, fill=True)][-1] == "old"
    assert not vault.recall("", 7)


def test_nothing_is_folded(vault: lamina.Vault) -> None:
    vault.add([{"text": "3 delta", "id": "one"}, {"text": "3 delta", "id": "two"}])
    assert {hit.id for hit in vault.recall("3 delta", 8, fill=True)} >= {"one", "two"}
    assert len({"one", "two"} & {hit.id for hit in vault.recall("3 delta", 8)}) == 1


def test_pages_follow_one_another(vault: lamina.Vault) -> None:
    whole = [hit.id for hit in vault.recall("0 alpha", 6, fill=True, syntax=False)]
    pages = [hit.id for at in (0, 2, 4) for hit in vault.recall("0 alpha", 2, offset=at, fill=True, syntax=False)]
    assert pages == whole
    assert [c.id for c in vault.list(limit=2, offset=2)] == [c.id for c in vault.list()][2:4]
    assert not vault.recall("0 alpha", 5, offset=50, syntax=False)


@pytest.mark.parametrize(
    "wrong", [{"offset": -1}, {"offset": True}, {"offset": 10_000}, {"fill": 1}, {"fill": True, "token_budget": 9}]
)
def test_wrong_arguments_are_refused(vault: lamina.Vault, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        vault.recall("0", **wrong)  # type: ignore[arg-type]


def test_a_query_vector_on_an_empty_vault_finds_nothing(tmp_path: Path) -> None:
    embedder = CallableEmbedder(_axes, 8, "axes")
    with lamina.open(tmp_path / "e", create=True, embedder=embedder) as vault:
        assert len(vault.recall("anything", vector=[0.1] * 8)) == 0
        vault.add([{"text": "one", "vector": [1.0] + [0.0] * 7}])
        assert [hit.text for hit in vault.recall("", vector=[1.0] + [0.0] * 7)] == ["one"]


def test_a_filter_by_prefix(vault: lamina.Vault) -> None:
    vault.add(
        [{"text": f"6 {space}", "id": space, "namespace": space, "tags": [space]} for space in ("a.b", "a.c", "b")]
    )
    assert {c.id for c in vault.list({"namespace": {"startswith": "a."}})} == {"a.b", "a.c"}
    assert {c.id for c in vault.list({"tags": {"startswith": "b"}})} == {"b"}
    assert {c.id for c in vault.list({"id": {"startswith": "p"}})} == {"p0", "p1", "p2", "p3"}
