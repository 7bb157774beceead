from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def notes_vault(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of some 1,900 real Markdown notes."""
    folder = tmp_path_factory.mktemp("vault") / "til"
    subprocess.run(["git", "clone", "-q", str(data / "notes-vault" / "til.bundle"), str(folder)], check=True)
    return folder
