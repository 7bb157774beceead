"""A vault on a read-only mount can be recalled from, checked and copied; a write says why it cannot be."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lamina

SCRIPT = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1" && shift && exec "$@"'


def mounted(vault: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the vault mounted read-only, for that command alone."""
    command = [sys.executable, "-m", "lamina", *arguments, "--vault", str(vault)]
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh", str(vault), *command],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("unshare") is None or sys.platform != "linux":
        pytest.skip("unshare is not there: nothing can be mounted read-only without it")
    folder = tmp_path_factory.mktemp("mount") / "vault"
    with lamina.open(folder, create=True, embedder="none") as opened:
        opened.add([{"text": f"note {i} of the gateway", "id": f"id{i:04}"} for i in range(5000)])
    if mounted(folder, "verify").returncode != 0:
        pytest.skip("this user may not mount anything")
    assert (folder / "index").is_dir()
    return folder


def test_it_is_recalled_from_and_checked(vault: Path) -> None:
    done = mounted(vault, "recall", "note 17 of the gateway", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"][0]["id"] == "id0017"
    assert mounted(vault, "verify", "--deep").returncode == 0


def test_it_is_copied_and_the_copy_is_written(vault: Path, tmp_path: Path) -> None:
    assert mounted(vault, "backup", str(tmp_path / "copy")).returncode == 0
    with lamina.open(tmp_path / "copy", embedder="none") as copy:
        copy.add("one more", id="more")
        assert copy.verify(deep=True).ok


@pytest.mark.parametrize("arguments", [("add", "one more"), ("compact",), ("forget", "id0001", "--yes"), ("reindex",)])
def test_a_write_is_refused_in_one_line(vault: Path, arguments: tuple[str, ...]) -> None:
    done = mounted(vault, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "mode='r'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
