"""A project with a vault that a hook may open."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina.cli import main

TEXT = "We moved from SQLite to PostgreSQL 16 because of write locks."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a vault of one decision, made by its user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    assert main(["init", "--vault", str(folder / ".lamina")]) == 0
    with lamina.open(folder / ".lamina") as vault:
        vault.add(TEXT, type="decision", id="pg")
    return folder
