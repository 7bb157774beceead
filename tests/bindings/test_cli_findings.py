"""Shortcomings that users have met on the command line, and that no other test holds."""

from __future__ import annotations

import json
import os
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


@pytest.mark.parametrize(
    ("zone", "at"), [("America/New_York", "0001-01-01T00:00:00Z"), ("Asia/Tokyo", "9999-12-31T23:30:00Z")]
)
@pytest.mark.parametrize("words", [("list",), ("recall", "the zero time"), ("get", "zero"), ("timeline", "zero")])
def test_a_date_at_the_end_of_the_calendar_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], zone: str, at: str, words: tuple[str, ...]
) -> None:
    # programs in Go write 0001-01-01T00:00:00Z for no date; such a chunk made every list of a vault in New York fail
    lamina.open(tmp_path / "v", create=True, embedder="none").close()
    (tmp_path / "v" / "vault.toml").write_text(f'tz = "{zone}"\n')
    with lamina.open(tmp_path / "v", embedder="none") as vault:
        vault.add("The zero time of a program.", id="zero", created_at=at)
    assert main([*words, "--vault", str(tmp_path / "v")]) == 0
    assert at[:16].replace("T", " ") in capsys.readouterr().out


def test_a_year_has_four_digits(vault: lamina.Vault, run: Run) -> None:
    vault.add("Charlemagne is crowned.", created_at="0800-12-25")
    assert "  0800-12-25  " in run("list")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("forget", "a", "--yes", "--vault", ""), ("--vault", "", "stats"), ("trust", ""), ("backup", ""), ("export", ""),
        ("import", ""), ("plugin", ""), ("init", "--vault", ""), ("demo", "--keep", ""), ("topics", "--map", ""),
    ],
)  # fmt: skip
def test_an_empty_path_is_no_path(
    vault: lamina.Vault, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    # "$VAULT" of a script whose variable is not set: it meant the nearest vault, or the working directory
    vault.add("Keep me.", id="a")
    monkeypatch.setenv("LAMINA_VAULT", str(vault.path))
    monkeypatch.chdir(vault.path.parent)
    assert main(list(words)) == 2
    assert "it is empty; give a path" in capsys.readouterr().err
    assert vault.get("a").text == "Keep me."


def test_a_score_that_is_no_number_is_refused(vault: lamina.Vault, run: Run) -> None:
    vault.add("A note.")
    code, out, err = run("recall", "note", "--min-score", "nan")
    assert (code, out) == (1, "")
    assert "give a number" in err


def test_a_traversal_that_starts_nowhere_says_so(vault: lamina.Vault, run: Run) -> None:
    vault.add("A note.")
    assert run("traverse", "")[:2] == (0, "no chunk matches the question\n")


def test_ctrl_c_before_a_command_runs_is_an_interruption(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    # click makes an Abort of it; it was told as a defect, to be reported
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lamina.cli.app.Program.resolve_command", stopped)
    code, out, err = run("stats")
    assert (code, out, err.strip()) == (130, "", "lamina: interrupted; committed work is kept")


@pytest.mark.parametrize("words", [("export", "{}/x.jsonl"), ("view", "--export", "{}/x.html")])
def test_what_cannot_be_written_is_named_as_it_was_given(
    vault: lamina.Vault, run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    vault.add("A note.")
    folder = tmp_path / ("x" * 240)  # a name that is too long once more is added to it
    folder.mkdir()
    name = "n" * 245
    code, out, err = run(*(word.format(folder).replace("x.", f"{name}.") for word in words))
    assert (code, out) == (1, "")
    assert f"{name}." in err
    assert ".tmp" not in err


def test_a_file_that_gave_nothing_says_why_again_where_it_is_named(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("A note.")
    (notes / "binary.md").write_bytes(b"\0\1\2")
    for path in (notes / "a.md", notes / "binary.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "binary" in run("ingest", str(notes))[1]
    assert "2 unchanged" in run("ingest", str(notes))[1]
    for _ in range(2):  # it said "1 unchanged", as of a file that is in the vault
        assert "is NUL, so this is binary" in run("ingest", str(notes / "binary.md"))[1]
    assert "1 unchanged" in run("ingest", str(notes / "a.md"))[1]
