"""Chains and sessions on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.cli import main
from tests.bindings.test_episodic import line


@pytest.fixture
def place(tmp_path: Path) -> str:
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        line(vault)
    return str(tmp_path / "vault")


def run(capsys: pytest.CaptureFixture[str], place: str, *words: str) -> str:
    assert main([*words, "--vault", place]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], place: str, *words: str) -> Any:
    return json.loads(run(capsys, place, *words, "--json"))


def test_chain_backward_and_forward(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(capsys, place, "chain", "the checkout hangs")
    assert [chunk["id"] for chunk in document["chunks"]] == ["a0", "a1", "a2"]
    onward = as_json(capsys, place, "chain", "we raised the pool", "--forward", "--token-budget", "10")
    assert [chunk["id"] for chunk in onward["chunks"]] == ["a0", "a1"]
    begun = as_json(capsys, place, "chain", "--from", "a1")
    assert [chunk["id"] for chunk in begun["chunks"]] == ["a0", "a1"]


def test_chain_as_text_marks_the_hit_and_says_why_it_is_a_search(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run(capsys, place, "chain", "the checkout hangs").splitlines()
    assert lines[0].startswith("what led here · 3 chunks · ")
    assert [line_.split()[1] for line_ in lines if line_.startswith("> ")] == ["a2"]
    lines = run(capsys, place, "chain", "we raised the pool").splitlines()
    assert lines[0].startswith("search · no chain: no hit has a link to what led here · ")
    assert run(capsys, place, "chain", "unheard").startswith("search · no chain: no chunk matches the question")


def test_chain_wants_a_question_or_ids(place: str) -> None:
    assert main(["chain", "--vault", place]) == 2
    assert main(["chain", "--from", "nowhere", "--vault", place]) == 3
    assert main(["chain", "x", "--token-budget", "0", "--vault", place]) == 1


def test_sessions(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(capsys, place, "sessions")
    assert (document["count"], document["sessions"][0]["session"]) == (1, "a")
    assert run(capsys, place, "sessions").startswith("a  2026-02-01 08:00Z  shop  3 chunks")


def test_reconstruct(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(capsys, place, "reconstruct", "a", "--briefing")
    assert document["mode"] == "briefing"
    assert "began: we raised the pool" in document["text"]
    text = run(capsys, place, "reconstruct", "--previous", "--oldest", "--token-budget", "45")
    assert " left out" in text
    assert main(["reconstruct", "nowhere", "--vault", place]) == 3
    assert main(["reconstruct", "--vault", place]) == 1
    capsys.readouterr()
    assert "only chunks of sessions count" in run(capsys, place, "reconstruct", "--days", "3", "--project", "none")


def test_text_of_a_vault_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "vault")
    with lamina.open(place, create=True, embedder="none") as vault:
        vault.add([{"id": f"a{i}", "text": f"\x1b[2Jred \x07{i}", "session": "s\x1b[1m"} for i in range(2)])
        vault.link("a0", "a1", "next")
    for words in (["chain", "red 1"], ["reconstruct", "--days", "3"], ["sessions"]):
        assert "\x1b" not in run(capsys, place, *words)


def test_empty_lists_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # a stranger's trial
    place = tmp_path / "vault"
    lamina.open(place, create=True, embedder="none").close()
    for words, said in (
        (["sessions"], "--kind sessions"),
        (["list"], "lamina ingest FOLDER"),
        (["list", "--project", "x"], "no chunk passes"),
        (["projects"], "lamina add --project"),
    ):
        assert main([*words, "--vault", str(place)]) == 0
        assert said in capsys.readouterr().out


def test_projects_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # findings, seeds-b 003 #41
    place = tmp_path / "vault"
    with lamina.open(place, create=True, embedder="none") as vault:
        vault.add("a kiln", project="pottery", created_at="2026-05-01")
        vault.add("a glaze", project="pottery", created_at="2026-05-09")
        vault.add("a lathe", project="wood", created_at="2026-04-01")
    assert main(["projects", "--vault", str(place), "--json"]) == 0
    got = json.loads(capsys.readouterr().out)["projects"]
    assert [(p["project"], p["chunks"], p["first_at"][:10], p["last_at"][:10]) for p in got] == [
        ("pottery", 2, "2026-05-01", "2026-05-09"), ("wood", 1, "2026-04-01", "2026-04-01"),
    ]  # fmt: skip
    assert main(["projects", "--vault", str(place)]) == 0
    assert "2026-05-01 to 2026-05-09" in capsys.readouterr().out
