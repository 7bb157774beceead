from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.stats import size_of


def test_an_empty_vault(lexical_vault: Vault) -> None:
    got = lexical_vault.stats()
    assert (got["chunks"], got["rows"], got["sources"], got["links"], got["types"]) == (0, 0, 0, 0, {})
    assert got["embedding"] == {"model": None, "dim": 0, "space": None}


def test_counts_and_sizes(vault: Vault) -> None:
    a, b, *_ = vault.add([{"text": f"t{i}", "type": "rule" if i % 2 else "note"} for i in range(5)])
    vault.update(a, text="again")
    vault.invalidate(b, "wrong")
    got = vault.stats()
    assert got["chunks"] == 4
    assert got["rows"] == 6
    assert got["status"] == {
        "active": 4,
        "superseded": 1,
        "invalidated": 1,
        "removed": 0,
        "forgotten": 0,
        "archived": 0,
    }
    assert got["types"] == {"note": 3, "rule": 1}
    assert got["embedding"]["dim"] == 256
    assert got["bytes"] == size_of(vault.path) > 0
    assert got["snapshot"] == vault.recall("t1").snapshot


def test_the_size_of_what_is_not_there_is_nothing(vault: Vault) -> None:
    assert size_of(vault.path / "nowhere") == 0


def test_folders_that_vanish_during_the_walk_count_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index builder removes folders beside a reader that counts."""
    (tmp_path / "kept").write_bytes(b"12345")
    for name in ("a", "b"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "file").write_bytes(b"123")
    scan = os.scandir

    def scan_and_remove(path: object = ".") -> object:
        if Path(str(path)).parent == tmp_path:  # listed by its parent, removed before its own turn
            shutil.rmtree(str(path))
        return scan(str(path))

    monkeypatch.setattr(os, "scandir", scan_and_remove)
    assert size_of(tmp_path) == 5
