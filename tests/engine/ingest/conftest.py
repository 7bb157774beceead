from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_BUNDLE = Path(__file__).parents[4] / "shared" / "data" / "notes-vault" / "til.bundle"


@pytest.fixture(scope="session")
def notes_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of some 1,900 real Markdown notes."""
    if not _BUNDLE.exists():
        pytest.skip("the notes vault is not on this machine")
    folder = tmp_path_factory.mktemp("vault") / "til"
    subprocess.run(["git", "clone", "-q", str(_BUNDLE), str(folder)], check=True)
    return folder
