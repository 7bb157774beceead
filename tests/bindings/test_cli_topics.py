from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import lamina
from lamina.cli.app import program
from lamina_engine.memory import Memory
from tests.engine.topics.vaults import Given, fill

TEXTS = {
    "garden": "roses and tulips in the garden need soil, water and sun, plant number {}",
    "python": "numpy arrays and python functions in the code, commit number {}",
    "bread": "bread from flour, yeast and salt in a hot oven, loaf number {}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with three topics that were found."""
    path = tmp_path_factory.mktemp("topics") / "vault"
    with lamina.open(path, create=True) as vault:
        vault.add([{"text": text.format(i)} for i in range(12) for text in TEXTS.values()])
    assert run(path, "cluster").exit_code == 0
    return path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(program(), ["--vault", str(folder), *arguments])


def test_topics_are_found_listed_and_shown(folder: Path) -> None:
    listed = json.loads(run(folder, "topics", "--json").stdout)["topics"]
    assert len(listed) == 3
    assert {frozenset(each["words"]) & {"garden", "python", "bread"} for each in listed} == {
        frozenset({"garden"}), frozenset({"python"}), frozenset({"bread"}),
    }  # fmt: skip
    shown = json.loads(run(folder, "topics", listed[0]["id"], "--json").stdout)
    assert shown["topic"] == listed[0]
    assert len(shown["members"]) == listed[0]["size"]
    lines = run(folder, "topics").stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(listed[0]["id"])
    assert run(folder, "topics", listed[0]["id"], "--limit", "2").stdout.endswith("more\n")
    assert run(folder, "topics", "--limit", "1").stdout.splitlines()[-1] == "and 2 more"


def test_topics_by_parts_in_other_processes_are_called_approximate(folder: Path) -> None:
    got = run(folder, "cluster", "--method", "parts", "--workers", "2", "--full")
    assert got.exit_code == 0, got.output
    assert got.stdout.startswith("found 3 topics in 36 chunks (approximate, ")
    refused = run(folder, "cluster", "--workers", "2")
    assert (refused.exit_code, "give method='parts'" in refused.stderr) == (1, True)
    assert run(folder, "cluster", "--full").stdout.startswith("found 3 topics in 36 chunks (")
    spread = run(folder, "links", "build", "semantic", "--workers", "2")
    assert spread.exit_code == 0, spread.output
    assert spread.stdout.startswith("semantic")


def test_clustering_again_changes_nothing_and_full_says_what_it_found(folder: Path) -> None:
    assert run(folder, "cluster").stdout.startswith("nothing changed: 3 topics")
    report = json.loads(run(folder, "cluster", "--full", "--json").stdout)
    assert (report["topics"], report["kept"], report["incremental"]) == (3, 3, False)
    assert report["members"] + report["noise"] == report["chunks"] == 36
    assert run(folder, "cluster", "--full").stdout.startswith("found 3 topics in 36 chunks")


def test_exit_codes(folder: Path, tmp_path: Path) -> None:
    missing = run(folder, "topics", "t00000000")
    assert missing.exit_code == 3
    assert "t00000000" in missing.stderr
    assert run(folder, "cluster", "--threshold", "2").exit_code == 2
    assert run(folder, "cluster", "--min-cluster-size", "1").exit_code == 2
    assert run(folder, "topics", "t0", "--map", str(tmp_path / "m.html")).exit_code == 2
    with lamina.open(tmp_path / "words", create=True, embedder="none") as vault:
        vault.add("found by its words alone")
    assert run(tmp_path / "words", "cluster").exit_code == 1
    assert "lamina cluster" in run(tmp_path / "words", "topics").stdout


def test_the_threshold_of_the_source_system(folder: Path) -> None:
    report = json.loads(run(folder, "cluster", "--threshold", "0.09", "--json").stdout)
    assert report["threshold"] == 0.09
    assert json.loads(run(folder, "cluster", "--threshold", "auto", "--json").stdout)["threshold"] != 0.09


def test_an_empty_vault_has_no_topics_and_nothing_is_wrong_with_it(tmp_path: Path) -> None:
    assert run(tmp_path / "new", "init").exit_code == 0
    got = run(tmp_path / "new", "cluster")
    assert (got.exit_code, got.stdout.split(";")[0]) == (0, "no chunks with vectors yet, so no topics")
    report = json.loads(run(tmp_path / "new", "cluster", "--json").stdout)
    assert (report["topics"], report["chunks"], report["written"]) == (0, 0, False)
    assert json.loads(run(tmp_path / "new", "topics", "--json").stdout) == {"topics": []}


class Wide(Given):
    dim = 64


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_ends_a_long_clustering_within_a_second_and_leaves_the_vault_as_it_was(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((40_000, 64)).astype(np.float32)
    memory = Memory(tmp_path / "vault", create=True, embedder=Wide())
    fill(memory, rows, [0] * len(rows))
    memory.close()
    before = sorted((path, path.read_bytes()) for path in (tmp_path / "vault").rglob("*") if path.is_file())
    command = [sys.executable, "-m", "lamina", "--vault", str(tmp_path / "vault"), "cluster"]
    took = []
    for wait_s in (2.0, 3.0, 4.0):  # among them: neighbours before smoothing, and after
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            with pytest.raises(subprocess.TimeoutExpired):
                job.communicate(timeout=wait_s)
            asked = time.monotonic()
            job.send_signal(signal.SIGINT)
            out, err = job.communicate(timeout=30)
            took.append(time.monotonic() - asked)
        assert (job.returncode, out) == (130, b"")
        assert b"interrupted" in err
    assert min(took) < 1.0
    assert max(took) < 2.0, "the machine may be busy"
    assert before == sorted((path, path.read_bytes()) for path in (tmp_path / "vault").rglob("*") if path.is_file())
    assert run(tmp_path / "vault", "topics").stdout.startswith("no topics yet")
