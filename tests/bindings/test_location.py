"""The one rule of the vault's place (findings, stranger 21)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from lamina import location
from lamina.cli import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a vault in it, a project with one, and a repository without."""
    path = tmp_path / "home"
    for folder in (
        ".lamina",
        "notes/2026/.lamina",
        "notes/2026/march/deep",
        "repo/.git",
        "repo/src/web",
        "plain/below",
    ):
        (path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("XDG_DATA_HOME", str(path / "data"))
    return path


CASES = {
    "notes/2026": "notes/2026/.lamina",
    "notes/2026/march/deep": "notes/2026/.lamina",
    "notes": None,  # up to the home folder, not into it
    "plain/below": None,
    "repo/src/web": None,  # a repository ends at its root
    "": ".lamina",  # but the working directory is always looked at
}


@pytest.mark.parametrize("place", CASES)
def test_the_nearest_vault_upward(home: Path, place: str) -> None:
    expected = CASES[place]
    assert location.find_vault(str(home / place)) == (str(home / expected) if expected else None)


def test_up_to_the_root_of_the_repository(home: Path) -> None:
    (home / "repo" / ".lamina").mkdir()
    assert location.find_vault(str(home / "repo" / "src" / "web")) == str(home / "repo" / ".lamina")
    (home / "repo" / "src" / ".git").write_text("gitdir: elsewhere")  # a submodule is a repository of its own
    assert location.find_vault(str(home / "repo" / "src" / "web")) is None
    (home / ".git").mkdir()  # settings kept in a repository at home
    assert location.find_vault(str(home / "plain" / "below")) == str(home / ".lamina")


def test_else_the_user_s_own_vault(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = home / "data" / "lamina" / "vault"
    monkeypatch.chdir(home / "repo" / "src")
    assert main(["init", "--user", "--embedder", "none"]) == 0
    assert location.find_vault() == str(own)
    with lamina.open() as vault:
        assert vault.path == own
    assert own.stat().st_mode & 0o777 == 0o700
    monkeypatch.chdir(home / "notes" / "2026")
    assert location.find_vault() == str(home / "notes" / "2026" / ".lamina")
    monkeypatch.setenv("LAMINA_VAULT", "named")
    assert location.find_vault() == "named"


def test_commands_from_a_subfolder_and_without_any_vault(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home / "repo")
    assert main(["init", "--embedder", "none"]) == 0
    monkeypatch.chdir(home / "repo" / "src" / "web")
    assert main(["add", "Deploys run on Tuesdays."]) == 0
    assert main(["recall", "deploys", "--json"]) == 0
    assert "Tuesdays" in capsys.readouterr().out
    monkeypatch.chdir(home / "plain")
    assert main(["stats"]) == 1
    message = capsys.readouterr().err
    assert "no vault: there is no .lamina in" in message
    assert "`lamina init`" in message
    assert "`lamina init --user`" in message
    with pytest.raises(lamina.VaultNotFound):
        lamina.open()
    assert main(["init", "--user", "--vault", "x"]) == 2


def test_a_relative_folder_of_data_does_not_count(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert location.user_vault() == str(home / ".local" / "share" / "lamina" / "vault")


def test_looking_for_a_vault_loads_next_to_nothing() -> None:
    code = "import sys; a = set(sys.modules); from lamina import location; location.find_vault(); print(*set(sys.modules) - a)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "lamina", "lamina.location"}
