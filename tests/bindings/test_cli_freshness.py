from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lamina
from lamina.cli.app import program
from tests.engine.freshness.repositories import Git, body


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    made = Git(tmp_path / "r")
    for name in ("a", "b"):
        made.write(f"{name}.md", body(name))
    made.commit()
    monkeypatch.chdir(made.root)
    monkeypatch.setenv("LAMINA_VAULT", str(tmp_path / "vault"))
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        vault.ingest(made.root)
        vault.add("My own words.", id="own", source="a.md", collection="mine", created_at="2026-01-01")
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program(), list(arguments), prog_name="lamina")


def document(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_freshness_as_a_table_and_as_json(git: Git) -> None:
    git.date_s = 2_000_000_000
    git.touch("a.md", 10)
    report = document("freshness")
    assert report["counts"] == {"expired": 0, "stale": 2, "aging": 0, "fresh": 1, "unknown": 0}
    assert {item["reason_code"] for item in report["items"]} == {"commits"}
    assert [item["tier"] for item in report["items"]] == ["stale", "stale", "fresh"]
    assert report["items"][0]["commits"] == 10
    text = run("freshness").stdout
    assert "3 chunks checked, 2 to review" in text
    assert "10 commits" in text
    assert "lamina refresh --tier stale" in text
    assert len(document("freshness", "--tier", "fresh")["items"]) == 1
    assert document("freshness", "--collection", "mine")["checked"] == 1
    assert len(document("freshness", "--needs-review")["items"]) == 2
    assert {item["reason_code"] for item in document("freshness", "--no-git-check")["items"]} == {"age"}
    assert document("freshness", "--repo", str(git.root))["checked"] == 3
    assert "and 1 more" in run("freshness", "--limit", "1").stdout
    assert run("freshness", "--tier", "rotten").exit_code == 2
    assert document("recall", "own words")["hits"][0]["freshness"] == "stale"


def test_nothing_to_do_is_said(git: Git) -> None:
    assert "nothing to do" in run("freshness").stdout


def test_switched_off_is_said(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRESHNESS_ENABLED", "false")
    assert "switched off" in run("freshness").stdout
    assert document("freshness")["checked"] == 0


def test_refresh_tells_first_and_then_does(git: Git) -> None:
    git.date_s = 2_000_000_000
    git.touch("a.md", 10)
    told = run("refresh", "--tier", "stale")
    assert told.exit_code == 0
    assert "would check 2 chunks" in told.stdout
    assert "nothing was changed" in told.stderr
    assert "My own words." in told.stdout
    report = document("refresh", "--tier", "stale", "--yes")
    assert (report["counts"]["superseded"], report["counts"]["work"]) == (1, 1)
    assert report["work"][0]["id"] == "own"
    assert document("freshness")["counts"]["stale"] == 1
    assert run("refresh").exit_code == 2
    assert run("refresh", "nothing").exit_code == 3


def test_review_asks_and_is_done(git: Git) -> None:
    assert document("review", "own", "--reason", "look")["needs_review"] is True
    assert "needs review" in run("list", "--where", '{"needs_review": true}').stdout
    assert "needs review" in run("get", "own").stdout
    assert document("review", "own", "--done")["needs_review"] is False
    assert run("review", "own").exit_code == 2
    assert run("review", "nothing", "--done").exit_code == 3


def test_snooze_and_wake(git: Git) -> None:
    assert document("snooze", "own", "--until", "2199-01-01")["snoozed_until"] == "2199-01-01T00:00:00Z"
    assert document("recall", "own words")["hits"] == []
    assert "2199" in run("get", "own").stdout
    assert document("snooze", "own", "--wake")["snoozed_until"] is None
    assert [hit["id"] for hit in document("recall", "own words")["hits"]] == ["own"]
    for wrong in ((), ("--until", "2199-01-01", "--wake")):
        assert run("snooze", "own", *wrong).exit_code == 2
    assert run("snooze", "own", "--until", "soon").exit_code == 1


def test_archive_tells_first_and_restore_brings_back(git: Git) -> None:
    told = run("archive", "--collection", "mine")
    assert "would archive 1 chunk" in told.stdout
    assert "nothing was changed" in told.stderr
    assert document("archive", "own", "--yes")["ids"] == ["own"]
    assert [chunk["id"] for chunk in document("list", "--where", '{"status": "archived"}')["chunks"]] == ["own"]
    assert document("restore", "own")["status"] == "active"
    assert "archived 1 chunk" in run("archive", "own", "--yes").stdout
    assert run("archive", "own", "--collection", "mine").exit_code == 2


def test_what_to_do_about_a_deleted_file_is_told_to_the_end(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    # it was cut at the edge of the terminal, before the only word that says what to do
    monkeypatch.setenv("COLUMNS", "60")
    (git.root / "a.md").unlink()
    git.later()
    git("commit", "-qam", "a is gone")
    run("freshness")
    said = run("refresh", "--tier", "expired").stdout
    assert "invalidate it if it is no longer true" in " ".join(said.split())
    assert all(len(line) <= 60 for line in said.splitlines())
