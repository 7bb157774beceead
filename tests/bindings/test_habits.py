"""Habits that people bring from other libraries: they work, or the message names the call that does."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[lamina.Vault]:
    with lamina.open(tmp_path / "v", create=True) as opened:
        yield opened


def test_a_vault_is_a_collection_of_chunks(vault: lamina.Vault) -> None:
    assert len(vault) == 0
    assert vault, "an empty vault is no falsehood"
    vault.add([{"text": "one", "id": "a"}, {"text": "two", "id": "b"}])
    assert len(vault) == 2
    assert vault["a"].text == "one"
    assert "a" in vault
    assert "c" not in vault
    assert 1 not in vault
    assert {chunk.id for chunk in vault} == {"a", "b"}
    vault.invalidate("a", "wrong")
    assert "a" not in vault
    assert len(vault) == 1
    with pytest.raises(lamina.ChunkNotFound):
        vault["c"]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("search", "recall"),
        ("delete", "forget"),
        ("insert", "add"),
        ("upsert", "add"),
        ("get_all", "list"),
        ("load", "ingest"),
    ],
)
def test_another_librarys_name_names_ours(vault: lamina.Vault, name: str, call: str) -> None:
    with pytest.raises(AttributeError, match=rf"no '{name}'; {call}\("):
        getattr(vault, name)
    with pytest.raises(AttributeError, match=r"no 'recal'$"):
        getattr(vault, "recal")  # noqa: B009


@pytest.mark.parametrize(
    ("method", "wrong", "right"),
    [
        ("recall", "limit", "k"),
        ("recall", "top_k", "k"),
        ("recall", "filter", "where"),
        ("list", "filter", "where"),
        ("list", "k", "limit"),
    ],
)
def test_another_librarys_argument_names_ours(vault: lamina.Vault, method: str, wrong: str, right: str) -> None:
    arguments: list[Any] = ["x"] if method == "recall" else []
    with pytest.raises(TypeError, match=rf"no {wrong}=; it is {right}="):
        getattr(vault, method)(*arguments, **{wrong: 3})


def test_a_vault_is_opened_in_each_process(vault: lamina.Vault) -> None:
    with pytest.raises(TypeError, match="in each process"):
        pickle.dumps(vault.recall)  # what `ProcessPoolExecutor.map(vault.recall, questions)` does
    with pytest.raises(TypeError, match="in each process"):
        pickle.dumps(vault.facts.list)
