"""Shortcomings that users have met on the command line, and that no other test holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from lamina.cli import main
from lamina.cli.app import GROUPS
from tests.notes import prose, write

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def vault(tmp_path: Path) -> lamina.Vault:
    return lamina.open(tmp_path / "v", create=True, embedder="none", clock=lamina.FixedClock("2026-03-01"))


@pytest.fixture
def run(vault: lamina.Vault, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--vault", str(vault.path)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_hit_says_its_outcome_its_doubt_and_the_newest_reason(vault: lamina.Vault, run: Run) -> None:
    # findings, seeds-a 000 rows 3 and 25; seeds-b 002 row 17
    for name, success in (("went", True), ("failed", False), ("doubtful", True)):
        vault.add(f"Deploy the {name} gateway", id=name, type="agent_task", success=success)
    vault.review("went", "the gateway was renamed")
    vault.invalidate("doubtful", "first reason")
    vault.invalidate("doubtful", "second reason")
    hits = {
        hit["id"]: hit for hit in json.loads(run("recall", "deploy gateway", "--profile", "task", "--json")[1])["hits"]
    }
    assert [hits[name]["success"] for name in ("went", "failed", "doubtful")] == [True, False, None]
    assert [hits[name]["needs_review"] for name in ("went", "failed")] == [True, False]
    assert hits["doubtful"]["reason"] == "second reason"
    assert "second reason" in run("get", "doubtful")[1]
    assert "success" not in run("get", "doubtful")[1].partition("Deploy the")[0], "it is not known meanwhile"


def test_a_chain_is_told_by_the_curves_of_a_profile(vault: lamina.Vault, run: Run) -> None:
    # findings, seeds-b 003 rows 4 to 6: only Python reached them
    for i in range(12):
        vault.add(
            f"the kiln cracked, step {i}", id=f"k{i:02}", session="s", created_at=f"2026-01-01T0{i // 6}:{i % 6}0:00Z"
        )
    vault.build_links(["sequence"])
    plain, faded = (
        json.loads(run("chain", "kiln cracked", *more, "--json")[1]) for more in ([], ["--profile", "episodic"])
    )
    assert plain["mode"] == faded["mode"] == "chain"
    code, _, err = run("chain", "kiln", "--profile", "nosuch")
    assert (code, "episodic" in err) == (1, True)


def test_nothing_found_can_be_an_exit_code(vault: lamina.Vault, run: Run) -> None:
    # findings, stranger 13: rg and grep use one
    vault.add("invoices are kept")
    assert run("recall", "zebra")[0] == 0
    assert run("recall", "zebra", "--exit-code")[0] == 3


def test_a_moment_before_all_and_an_empty_question_are_named(vault: lamina.Vault, run: Run) -> None:
    vault.add("The kiln is fired on Mondays.")
    assert "nothing was recorded by 2020-01-01" in run("recall", "x", "--as-of", "2020-01-01")[1]
    assert "the question is empty" in run("recall", " ")[1]


@pytest.mark.parametrize("columns", [40, 50, 80, 200])
def test_the_place_of_a_hit_is_whole_at_any_width(
    vault: lamina.Vault, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    # findings, stranger 18: the path was lost at 50 columns while type and project stayed; help broke inside words
    write(tmp_path / "n", "postgres/list-all-tables.md", f"# List Tables\n\n{prose('tables', 40)}\n")
    vault.ingest(tmp_path / "n")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)
    found = run("recall", "tables")[1]
    assert "n/postgres/list-all-tables.md:" in re.sub(r"\s*\n\s*", "", found)
    words = set(re.findall(r"[a-z]{4,}", run("recall", "--help")[1]))
    monkeypatch.setenv("COLUMNS", "500")
    assert words - set(re.findall(r"[a-z]{4,}", run("recall", "--help")[1])) == set()


def test_help_lists_the_commands_in_groups(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    # findings, stranger 25
    main(["--help"])
    said = capsys.readouterr().out
    places = [said.index(f"{group}:") for group in GROUPS]
    assert places == sorted(places)
    assert len(GROUPS) >= 4


def test_all_links_that_an_ingest_makes_are_counted(vault: lamina.Vault, tmp_path: Path) -> None:
    # findings, seeds-a "smaller": 1 was said where five were made
    write(tmp_path / "n", "a.md", f"# Harbour Light\n\n{prose('a')}\n")
    write(tmp_path / "n", "b.md", f"# B\n\n{prose('b')} See [[Harbour Light]].\n")
    write(tmp_path / "n", "c.md", f"# C\n\n{prose('c')} One sees the Harbour Light.\n")
    report = vault.ingest(tmp_path / "n")
    assert report.links == vault.stats()["links"] == 2


def test_an_ingest_names_its_stages_to_the_end(vault: lamina.Vault, tmp_path: Path) -> None:
    # findings, stranger 19: a bar at 100 % for 2.7 of 8.9 seconds
    write(tmp_path / "n", "a.md", f"# A\n\n{prose('a')}\n")
    stages: list[str] = []
    vault.ingest(tmp_path / "n", progress=lambda step: stages.append(step.stage))
    assert list(dict.fromkeys(stages))[-2:] == ["linking", "indexing"]


def test_dates_of_chunks_and_of_their_history_are_dates(vault: lamina.Vault, run: Run) -> None:
    # findings, seeds-a and seeds-b "smaller", stranger 26: numbers of microseconds, and two kinds of chunk
    vault.add("a note", id="n", created_at="2026-02-01")
    assert type(vault.get("n")) is type(vault.list()[0]) is lamina.Chunk
    assert vault.get("n").created_at == vault.list()[0].created_at
    assert str(vault.get("n").created_at)[:10] == "2026-02-01"
    (event,) = json.loads(run("history", "n", "--json")[1])["events"]
    assert event["recorded_at"].startswith("2026-03-01T")
