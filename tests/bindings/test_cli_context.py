from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lamina
from lamina.cli.app import program
from tests.engine.context.blocks import parse

WHY = "why did we move from SQLite to PostgreSQL?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    with lamina.open(path, create=True) as vault:
        vault.add(
            {
                "id": "why",
                "text": "We moved from SQLite to PostgreSQL: SQLite could not take two writers.",
                "type": "decision",
            }
        )
        vault.add({"id": "stop", "text": "Stopped at step 3.", "type": "agent_handoff"})
    return path


def run(folder: Path, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program(), ["--vault", str(folder), "context", *arguments], input=stdin)


def test_a_turn_prints_what_the_agent_should_see_and_not_twice(folder: Path) -> None:
    got = run(folder, "turn", WHY, "--session", "s")
    assert got.exit_code == 0
    assert [item.id for item in parse(got.stdout)] == ["why"]
    again = run(folder, "turn", WHY, "--session", "s")
    assert (again.exit_code, again.stdout) == (0, "")


def test_a_prompt_may_come_on_stdin_and_the_answer_as_json(folder: Path) -> None:
    got = json.loads(run(folder, "turn", "-", "--session", "s", "--ceiling", "700", "--json", stdin=WHY).stdout)
    assert [item["id"] for item in got["items"]] == ["why"]
    assert got["tokens"] <= got["budget"] <= 700
    assert set(got) == {"text", "tokens", "items", "components", "budget", "counter", "mode", "best", "drift"}


def test_a_session_begins(folder: Path, tmp_path: Path) -> None:
    got = run(folder, "bootstrap", "--session", "s", "--repo", str(tmp_path))
    assert [(item.part, item.id) for item in parse(got.stdout)] == [("handoff", "stop"), ("insights", "why")]
    assert run(folder, "bootstrap", "--session", "s", "--repo", str(tmp_path)).stdout == ""
    again = run(folder, "bootstrap", "--session", "s", "--trigger", "compact", "--repo", str(tmp_path))
    assert again.stdout == got.stdout


@pytest.mark.parametrize("arguments", [("turn", WHY, "--session", "s"), ("bootstrap",)])
def test_no_vault_is_one_line_on_stderr_and_no_failure(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    got = run(tmp_path / "nowhere", *arguments)
    assert (got.exit_code, got.stdout) == (0, "")
    assert got.stderr.startswith("lamina: no context: ")
    assert got.stderr.count("\n") == 1
    assert json.loads(run(tmp_path / "nowhere", *arguments, "--json").stdout)["mode"] == "failed"


def test_a_damaged_vault_is_no_failure_either(folder: Path) -> None:
    for segment in (folder / "log" / "chunks").iterdir():
        segment.write_bytes(b"")
    got = run(folder, "turn", WHY, "--session", "s")
    assert (got.exit_code, got.stdout) == (0, "")
    assert len(got.stderr.splitlines()) == 1


def test_settings_that_cannot_be_used_are_said_and_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INJECTION_BUDGET_FLOOR", "3")
    got = run(folder, "turn", WHY, "--session", "s")
    assert (got.exit_code, got.stdout) == (0, "")
    assert "INJECTION_BUDGET_FLOOR" in got.stderr


def test_wrong_usage_is_wrong_usage(folder: Path) -> None:
    assert run(folder, "turn", WHY).exit_code == 2
    assert run(folder, "turn", WHY, "--session", "").exit_code == 2
    assert run(folder, "bootstrap", "--budget", "0").exit_code == 2


def test_an_empty_vault_says_on_stderr_what_was_searched(tmp_path: Path) -> None:
    """Findings, stranger 2 and seeds-b gap 3: an empty block without a word why."""
    with lamina.open(tmp_path / "empty", create=True, embedder="none"):
        pass
    environ = {**os.environ, "HOME": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "lamina",
        "--vault",
        str(tmp_path / "empty"),
        "context",
        "bootstrap",
        "--repo",
        str(tmp_path),
    ]
    got = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=True)
    assert got.stdout == ""
    assert "pinned, handoff, session, task, insights, changes, overview" in got.stderr
    assert got.stderr.count("\n") == 1
