from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.freshness.repositories import Git, body


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's git configuration out, and the tests' repositories to themselves."""
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in ("FRESHNESS_ENABLED",):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A repository with ``a.md`` and ``b.md``, committed."""
    made = Git(tmp_path / "r")
    made.write("a.md", body("a"))
    made.write("b.md", body("b"))
    made.commit()
    return made
