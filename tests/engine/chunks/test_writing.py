"""What a new row inherits, and what a batch may not bring in."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina import InvalidArgument


def test_an_invalidation_survives_new_labels_but_not_new_text(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        (name,) = vault.add("the cache lives for five minutes")
        vault.invalidate(name, "it changed")
        assert vault.update(name, title="Cache").status == "invalidated"
        assert vault.update(name, text="the cache lives for ten minutes").status == "active"


def test_an_invalidation_survives_a_move(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Cache\n\nIt lives for five minutes.\n")
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.ingest(notes)
        (chunk,) = vault.list()
        vault.invalidate(chunk.id, "it changed")
        (notes / "a.md").rename(notes / "b.md")
        assert vault.ingest(notes).moved == 1
        assert vault.get(chunk.id).source == "b.md"
        assert vault.get(chunk.id).status == "invalidated"


def test_a_secret_in_an_id_is_refused_and_in_a_collection_masked(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        with pytest.raises(InvalidArgument, match="secret"):
            vault.add("words", id=token)
        (name,) = vault.add("words", collection=token)
        assert token not in vault.get(name).collection


def test_a_closed_vault_says_so(tmp_path: Path) -> None:
    vault = lamina.open(tmp_path / "v", create=True, embedder="none")
    vault.close()
    for call in (lambda: vault.recall("x"), lambda: vault.add("x"), lambda: vault.get("x")):
        with pytest.raises(InvalidArgument, match="closed"):
            call()
