"""The commands, in this process: what they print and what they change."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.cli import main
from lamina.cli.app import COMMANDS, program

HIT_FIELDS = {
    "id", "score", "text", "source", "path", "line", "end_line", "title", "headings", "type", "collection", "project",
    "session", "created_at", "status",
    "reason", "success", "freshness", "needs_review", "via", "terms",
}  # fmt: skip


class Ran(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A vault of five notes."""
    path = tmp_path / "vault"
    clock = lamina.FixedClock("2026-03-01T12:00:00Z")
    with lamina.open(path, create=True, clock=clock) as vault:
        vault.add(
            "We moved to PostgreSQL 16.", id="pg", title="Database", type="decision", project="api",
            created_at="2026-02-15",
        )  # fmt: skip
        vault.add(
            "Sessions live in Redis.", id="redis", type="decision", project="api", created_at="2026-01-10T08:30:00Z"
        )
        vault.add("Every bug gets a failing test first.", id="tests", type="guideline", project="web")
        vault.add("\x1b[2J\x1b[31mred [bold]alert[/bold]", id="escape", title="\x1b]0;owned\x07", project="web")
        clock.advance(86_400)
        vault.add(
            "Redis ran out of memory and lost every session.", type="incident", project="api", created_at="2026-03-02"
        )
    return path


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LAMINA_VAULT", str(root))

    def call(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


def test_every_command_is_there_and_has_help_with_an_example(run: Run) -> None:
    assert program().list_commands(None) == list(COMMANDS)  # type: ignore[arg-type]
    for name in COMMANDS:
        got = run(name, "--help")
        assert got.code == 0
        assert f"  lamina {name}" in got.out.partition("Example")[2], name
        assert "--json" in got.out, name


def test_help_alone_lists_the_commands(run: Run) -> None:
    for got in (run(), run("--help"), run("-h")):
        assert got.code == 0
        assert all(f"\n  {name} " in got.out for name in COMMANDS)
        assert "..." not in got.out.partition("Commands:")[2].partition("Environment:")[0], "a summary is cut"
    assert run("--version").out == f"lamina {lamina.__version__}\n"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '"PostgreSQL',
        "+",
        "-",
        "~",
        "*",
        "title:",
        "(a|b)*",
        "[a-z]+ \\d{2}",
        "^$.*",
        "source:[",
        '+"(" -"["',
        "-PostgreSQL",
    ],
)
@pytest.mark.parametrize("flags", [(), ("--no-syntax",), ("--json",), ("--explain",)])
def test_no_query_is_an_error_on_the_command_line(run: Run, query: str, flags: tuple[str, ...]) -> None:
    got = run("recall", *flags, "--", query)
    assert (got.code, got.err) == (0, "")


def test_operators_are_read_unless_they_are_switched_off(run: Run) -> None:
    assert not run("recall", '"PostgreSQL zzyzx"', "--json").document["hits"]
    assert run("recall", '"PostgreSQL zzyzx"', "--no-syntax", "--json").document["hits"]


def test_a_time_that_was_read_is_shown_above_the_hits(run: Run) -> None:
    # findings, stranger 10
    got = run("recall", "what did I write last month?", "--now", "2026-03-12")
    assert '"last month" read as 2026-02-01 to 2026-03-01, nothing else is shown' in got.out.replace("\n", " ")
    time = run("recall", "what did I write last month?", "--now", "2026-03-12", "--json").document["time"]
    assert (time["read_as"], time["filter"]) == ("2026-02-01 to 2026-03-01", True)


def test_recall_prints_the_contracts_document(run: Run) -> None:
    got = run("recall", "PostgreSQL", "--json").document
    assert list(got) == [
        "query",
        "profile",
        "snapshot",
        "as_of",
        "took_ms",
        "confidence",
        "time",
        "scope",
        "incomplete",
        "hits",
    ]
    assert (got["query"], got["profile"], got["as_of"]) == ("PostgreSQL", "default@2", None)
    assert set(got["hits"][0]) == HIT_FIELDS | {"snippet"}
    snippet = got["hits"][0]["snippet"]
    assert "PostgreSQL" in [snippet["text"][start:stop] for start, stop in snippet["ranges"]]
    assert (got["hits"][0]["id"], got["hits"][0]["created_at"]) == ("pg", "2026-02-15T00:00:00Z")


def test_recall_shows_rank_score_title_facts_and_text(run: Run) -> None:
    lines = run("recall", "PostgreSQL", "-k", "1").out.splitlines()
    assert lines[0].startswith("1 hit · default@2 · ")
    assert lines[2].startswith(" 1  0.")
    assert lines[2].endswith("  Database")
    assert lines[3:] == ["    2026-02-15 · decision · api  pg", "    We moved to PostgreSQL 16."]


FAR = "which treaty ended the Franco-Prussian war over a pump"


def test_what_is_not_near_enough_is_said_to_be_the_nearest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.cli.terminal.has_colour", lambda _stream: True)
    near = run("recall", "We moved to PostgreSQL 16.", "-k", "1").out
    assert "nothing near enough" not in near
    far = run("recall", FAR, "-k", "1")
    assert "nothing near enough; nearest:" in far.out
    shown = far.out.partition("nearest:")[2].strip().splitlines()
    assert shown
    assert all(line.startswith("\x1b[2m") for line in shown if line)
    assert "\x1b[1m" not in far.out


def test_the_least_confidence_and_score_that_are_shown(run: Run) -> None:
    got = run("recall", FAR, "--min-confidence", "0.6", "--json").document
    assert got["hits"] == []
    assert 0.0 <= got["confidence"] < 0.25
    assert "--min-confidence" in run("recall", FAR, "--min-confidence", "0.6").out
    every = run("recall", "PostgreSQL", "--json").document["hits"]
    some = run("recall", "PostgreSQL", "--min-score", str(every[0]["score"]), "--json").document["hits"]
    assert [hit["id"] for hit in some] == [hit["id"] for hit in every if hit["score"] >= every[0]["score"]]
    assert run("recall", "PostgreSQL", "--min-confidence", "7").code == 1


def test_why_a_chunk_is_no_hit_and_what_brings_it_in(run: Run) -> None:
    found = run("recall", "sessions", "--project", "web", "--why-not", "redis")
    assert found.code == 0
    assert 'it does not pass {"project":"web"}' in found.out
    assert 'leave out {"project":"web"}: hit' in found.out
    document = run("recall", "sessions", "--project", "web", "--why-not", "redis", "--json").document
    assert (document["id"], document["stage"], document["clauses"]) == ("redis", "filter", ['{"project":"web"}'])
    assert document["remedies"][0]["arguments"] == {"where": None}
    assert "it is hit 1" in run("recall", "sessions in redis", "--why-not", "redis").out
    assert run("recall", "sessions", "--why-not", "nobody").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("recall", "sessions", "--why-not", "nobody"), 3, "ids are listed by `lamina list`"),
        (("recall", "sessions", "--why-not", ""), 1, "give non-empty text"),
        (("recall", "sessions", "--why-not", "redis", "-k", "0"), 1, "k=0 must be a whole number from 1"),
        (("recall", "sessions", "--why-not", "redis", "--scope", "all"), 1, "one of prefer, filter, off"),
        (("recall", "sessions", "--why-not", "redis", "--as-of", "no date"), 1, "give ISO 8601"),
        (("recall", "s", "--why-not", "redis", "--since", "2026-04-01", "--until", "2026-03-01"), 1, "is not before"),
        (("diff", "redis"), 2, "--since"),
        (("diff", "", "--since", "2026-01-01"), 1, "give a question, or none"),
        (("diff", "redis", "--since", "2099-01-01"), 1, "give an earlier moment"),
        (("diff", "redis", "--since", "2026-03-02", "--until", "2026-03-01"), 1, "give an earlier moment"),
        (("diff", "--since", "2026-01-01", "-k", "3"), 1, "without a question"),
        (("diff", "redis", "--since", "2026-01-01", "--scope", "all"), 1, "one of prefer, filter, off"),
        (("diff", "redis", "--since", "2026-01-01", "--budget", "3"), 1, "from 50 up"),
    ],
)
def test_wrong_questions_say_what_to_do(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    got = run(*arguments)
    assert (got.code, got.out) == (code, "")
    assert said in got.err


def test_diff_tells_what_entered_and_what_was_learnt(run: Run) -> None:
    found = run("diff", "redis sessions", "--since", "2026-03-01T18:00:00Z")
    assert (found.code, "entered - >" in found.out) == (0, True)
    document = run("diff", "--since", "2026-03-01T18:00:00Z", "--json").document
    assert document["counts"] == {"new": 1}
    assert run("diff", "the api's sessions", "--since", "2026-03-01", "--scope", "filter", "--session", "s").code == 0
    assert "api · incident: 1 new" in run("diff", "--since", "2026-03-01T18:00:00Z", "--until", "2026-03-20").out
    assert run("diff", "--since", "no date").code == 1
    assert run("diff").code == 2


def test_recall_without_a_match_says_so(run: Run) -> None:
    got = run("recall", "PostgreSQL", "--project", "nowhere")
    assert (got.code, got.out.partition(" · ")[0]) == (0, "no hits")


def test_recall_neutralises_what_a_text_would_do_to_a_terminal(run: Run) -> None:
    got = run("recall", "red alert", "-k", "1")
    assert "\x1b" not in got.out
    assert "\x07" not in got.out
    assert r"\x1b[31mred [bold]alert[/bold]" in got.out
    assert r"\x1b]0;owned\x07" in got.out


def test_json_leaves_the_text_as_it_is(run: Run) -> None:
    assert (
        run("recall", "red alert", "-k", "1", "--json").document["hits"][0]["text"]
        == "\x1b[2J\x1b[31mred [bold]alert[/bold]"
    )


def _ids(got: Ran) -> list[str]:
    return [hit["id"] for hit in got.document["hits"]]


def test_recall_passes_its_filters_on(run: Run) -> None:
    asked = ("recall", "sessions PostgreSQL test", "--json")
    assert set(_ids(run(*asked, "--type", "decision"))) == {"pg", "redis"}
    assert set(_ids(run(*asked, "--type", "decision", "--type", "guideline"))) == {"pg", "redis", "tests"}
    assert _ids(run(*asked, "--type", "decision", "--where", '{"created_at": {"gte": "2026-02-01"}}')) == ["pg"]
    assert _ids(run(*asked, "--since", "2026-02-01", "--until", "2026-03-01", "--project", "api")) == ["pg"]


def test_recall_passes_its_moments_on(run: Run) -> None:
    got = run("recall", "Redis", "--as-of", "2026-03-01T18:00:00Z", "--json").document
    assert (got["as_of"], next(hit["id"] for hit in got["hits"])) == ("2026-03-01T18:00:00Z", "redis")
    dated = run(
        "recall", "Redis", "--profile", "temporal", "--now", "2026-03-12", "--project", "api", "--json"
    ).document
    ages = {hit["created_at"]: hit["terms"]["age_days"] for hit in dated["hits"]}
    assert ages["2026-03-02T00:00:00Z"] == pytest.approx(10.0)


def test_recall_takes_a_lane_a_budget_and_a_zone(run: Run) -> None:
    hit = run("recall", "PostgreSQL", "--lane", "lexical", "-k", "1", "--json").document["hits"][0]
    assert hit["terms"]["vector_rank"] is None
    assert _ids(run("recall", "PostgreSQL Redis", "--token-budget", "1", "--json")) == []
    berlin = run("recall", "PostgreSQL", "--as-of", "2026-06-01", "--tz", "Europe/Berlin", "--json").document
    assert berlin["as_of"] == "2026-05-31T22:00:00Z"


def test_explain_adds_the_terms(run: Run) -> None:
    got = run("recall", "PostgreSQL", "-k", "1", "--explain")
    assert "lexical_rank 1" in got.out
    document = run("recall", "PostgreSQL", "-k", "1", "--explain", "--json").document
    assert document["explain"]["hits"][0]["terms"] == document["hits"][0]["terms"]


def test_get_prints_all_there_is(run: Run) -> None:
    got = run("get", "pg", "--json").document
    assert (got["text"], got["created_at"], got["status"], got["pinned"]) == (
        "We moved to PostgreSQL 16.", "2026-02-15T00:00:00Z", "active", False,
    )  # fmt: skip
    assert run("get", "pg").out.splitlines()[-1] == "We moved to PostgreSQL 16."
    assert "\x1b" not in run("get", "escape").out


def test_a_short_id_works_as_it_is_shown(run: Run) -> None:
    full = next(c["id"] for c in run("list", "--json").document["chunks"] if c["type"] == "incident")
    shown = next(line for line in run("list").out.splitlines() if "incident" in line).split()[0]
    assert full.startswith(shown)
    assert len(shown) < len(full)
    assert run("get", shown, "--json").document["id"] == full


def test_list_is_newest_first_and_says_when_there_is_more(run: Run) -> None:
    got = run("list", "--limit", "2", "--json").document
    assert (got["count"], got["more"], len(got["chunks"])) == (2, True, 2)
    assert run("list", "--limit", "2").err == "lamina: these are the newest 2; --limit 0 lists all\n"
    rest = run("list", "--limit", "0", "--json").document
    assert (rest["count"], rest["more"]) == (5, False)
    dates = [c["created_at"] for c in rest["chunks"]]
    assert dates == sorted(dates, reverse=True)
    assert "\x1b" not in run("list").out


def test_list_is_filtered(run: Run) -> None:
    assert [c["id"] for c in run("list", "--project", "web", "--type", "guideline", "--json").document["chunks"]] == [
        "tests"
    ]


def test_invalidate_restore_and_history(run: Run) -> None:
    assert (
        run("invalidate", "redis", "--reason", "moved", "--stamp", "T-1", "--json").document["status"] == "invalidated"
    )
    assert "redis" not in _ids(run("recall", "Redis", "--json"))
    assert [c["id"] for c in run("list", "--where", '{"status": "invalidated"}', "--json").document["chunks"]] == [
        "redis"
    ]
    assert run("restore", "redis", "--reason", "moved back", "--json").document["status"] == "active"
    again = run("restore", "redis")  # findings, a stranger: it looked like a success
    assert (again.code, again.err) == (0, "lamina: redis is active already; nothing was changed\n")
    got = run("history", "redis", "--json").document
    assert [(e["kind"], e["reason"], e["detail"]) for e in got["events"]] == [
        ("added", None, {}), ("invalidate", "moved", {"stamp": "T-1"}), ("restore", "moved back", {}),
    ]  # fmt: skip
    assert got["events"][0]["chunk"]["text"] == "Sessions live in Redis."
    assert all(e["recorded_at"].endswith("Z") for e in got["events"])
    lines = run("history", "redis").out.splitlines()
    assert [line.split("  ")[1].strip() for line in lines] == ["added", "invalidate", "restore"]
    assert "moved (T-1)" in lines[1]


def test_pin_and_unpin(run: Run) -> None:
    assert run("pin", "pg", "--json").document["pinned"] is True
    assert "pinned" in run("list").out
    assert run("pin", "pg", "--unpin", "--json").document["pinned"] is False


def test_add_takes_every_field(run: Run) -> None:
    got = run(
        "add", "Deploys are automatic.", "--id", "dep", "--title", "Deploys", "--type", "guideline",
        "--collection", "c", "--project", "api", "--session", "s1", "--agent", "bot", "--source", "wiki/deploy",
        "--tag", "a", "--tag", "b", "--created-at", "2026-02-20", "--failure",
        "--metadata", '{"team": "x", "n": 3}', "--json",
    )  # fmt: skip
    assert got.document == {"ids": ["dep"]}
    chunk = run("get", "dep", "--json").document
    ref = {
        "title": "Deploys", "type": "guideline", "collection": "c", "project": "api", "session": "s1", "agent": "bot",
        "source": "wiki/deploy", "created_at": "2026-02-20T00:00:00Z", "tags": ["a", "b"], "success": False,
        "metadata": {"team": "x", "n": 3},
    }  # fmt: skip
    assert {name: chunk[name] for name in ref} == ref


def test_add_reads_standard_input(run: Run) -> None:
    id_ = run("add", "-", stdin="\ufeffこんにちは\nzwei Zeilen\n".encode()).out.strip()
    assert run("get", id_, "--json").document["text"] == "こんにちは\nzwei Zeilen"
    got = run("add", "-", stdin=b"\xff\xfe")
    assert (got.code, got.out) == (1, "")
    assert got.err == "lamina: standard input is not UTF-8 (byte 0 is 0xff); convert it, such as with iconv\n"


def test_add_of_nothing_is_a_stated_problem(run: Run) -> None:
    untyped = run("add", "text", "--type", "")
    assert (untyped.code, untyped.err) == (1, "lamina: --type is empty; give a value, or leave it out\n")
    for option in ("--project", "--type", "--collection"):
        refused = run("recall", "anything", option, "")
        assert (refused.code, refused.err) == (1, f"lamina: {option} is empty; give a value, or leave it out\n")
    got = run("add", "-", stdin=b"")
    assert (got.code, got.out) == (1, "")
    assert got.err.startswith("lamina: ")


def test_ingest_reports_counts_and_problems(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nfirst\n", encoding="utf-8")
    (notes / "b.md").write_text('password = "hunter2hunter2"\n', encoding="utf-8")
    for i in range(22):
        (notes / f"bad{i:02}.md").write_bytes(bytes(range(32)) * 4)
    got = run("ingest", str(notes))
    assert got.code == 0
    assert got.out.startswith("2 added, 22 skipped in ")
    assert re.search(r"2 chunks written, (?:\d links made, )?1 secret masked", got.out)
    assert got.out.count("bad") == 20
    assert "and 2 more; --json has all of them" in got.out
    again = run("ingest", str(notes), "--json").document
    assert set(again) >= {
        "added",
        "updated",
        "unchanged",
        "moved",
        "removed",
        "skipped",
        "links",
        "seconds",
        "problems",
    }
    assert (again["added"], again["unchanged"]) == (0, 24)


def test_ingest_passes_its_options_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.md").write_text('# N\n\npassword = "hunter2hunter2"\n', encoding="utf-8")
    run(
        "ingest",
        str(tmp_path / "n.md"),
        "--type",
        "runbook",
        "--project",
        "ops",
        "--collection",
        "c",
        "--redact",
        "allow",
    )
    got = run("list", "--project", "ops", "--json").document["chunks"][0]
    assert (got["type"], got["collection"]) == ("runbook", "c")
    assert "hunter2hunter2" in got["text"]


def test_ingest_reads_standard_input_and_tables(run: Run, tmp_path: Path) -> None:
    assert (
        run(
            "ingest",
            "-",
            "--kind",
            "text",
            "--project",
            "in",
            stdin=b"from a pipe\n",
        ).code
        == 0
    )
    assert run("list", "--project", "in", "--json").document["chunks"][0]["text"].strip() == "from a pipe"
    (tmp_path / "log.csv").write_text("when,message\n2026-01-02,hello\n", encoding="utf-8")
    got = run(
        "ingest",
        str(tmp_path / "log.csv"),
        "--column",
        "text=message",
        "--column",
        "created_at=when",
        "--project",
        "csv",
    )
    assert got.code == 0, got.err
    chunk = run("list", "--project", "csv", "--json").document["chunks"][0]
    assert (chunk["text"], chunk["created_at"]) == ("hello", "2026-01-02T00:00:00Z")


def test_init_makes_a_vault_once(run: Run, tmp_path: Path) -> None:
    place = str(tmp_path / "project" / ".lamina")
    got = run("init", "--vault", place, "--tz", "Europe/Berlin", "--embedder", "none", "--json").document
    assert got == {
        "path": place,
        "made": True,
        "name": "project",
        "tz": "Europe/Berlin",
        "embedding": {"model": "none"},
    }
    assert run("--vault", place, "init", "--json").document == {**got, "made": False}
    again = run("init", "--vault", place, "--name", "other")
    assert (again.code, again.out) == (1, "")
    assert "is set up already; edit " in again.err


def test_init_keeps_a_configuration_that_lies_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / "vault.toml").write_text('name = "mine"\nprofile = "temporal"\n', encoding="utf-8")
    got = run("init", "--vault", str(tmp_path / "copied"), "--json").document
    assert (got["made"], got["name"]) == (True, "mine")


def test_init_refuses_what_cannot_work_before_it_makes_anything(run: Run, tmp_path: Path) -> None:
    assert run("init", "--vault", str(tmp_path / "v"), "--tz", "Mars/Olympus").code == 1
    assert not (tmp_path / "v").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine", encoding="utf-8")
    got = run("init", "--vault", str(tmp_path / "full"))
    assert got.code == 1
    assert "is not a Lamina vault" in got.err
    assert "lamina.open" not in got.err
    assert [entry.name for entry in (tmp_path / "full").iterdir()] == ["letter.txt"]


def test_init_writes_the_environments_model(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_EMBEDDER_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("LAMINA_EMBEDDER_MODEL", "m")
    place = tmp_path / "v"
    assert run("init", "--vault", str(place), "--json").document["embedding"] == {"model": "custom"}
    assert "127.0.0.1" not in (place / "vault.toml").read_text(encoding="utf-8")


def test_a_model_that_does_not_fit_names_the_variable_that_asked_for_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_EMBEDDER", "none")
    got = run("add", "Another note.")
    assert (got.code, got.out) == (1, "")
    assert got.err.endswith("($LAMINA_EMBEDDER is set)\n")


def test_stats_has_the_contracts_keys(run: Run) -> None:
    got = run("stats", "--json").document
    ref = {
        "chunks",
        "sources",
        "links",
        "facts",
        "entities",
        "topics",
        "segments",
        "bytes",
        "snapshot",
        "embedding",
        "indexes",
    }
    assert set(got) >= ref
    assert set(got["embedding"]) >= {"model", "dim", "space"}
    assert got["chunks"] == 5
    assert "chunks" in run("stats").out


def test_an_import_says_what_it_leaves_forgotten(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "all.jsonl")
    count = run("export", path, "--json").document["chunks"]
    (first, *_) = run("list", "--json").document["chunks"]
    assert run("forget", first["id"], "--yes").code == 0
    got = run("import", path)
    assert (got.code, "1 chunk of it forgotten here: left out; --forgotten" in got.err) == (0, True)
    assert run("stats", "--json").document["chunks"] == count - 1
    assert run("import", path, "--forgotten", "--json").document["forgotten"] == 0
    assert run("stats", "--json").document["chunks"] == count


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_export_and_import_go_through_the_standard_streams(
    root: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMINA_VAULT", str(root))
    before = set(tmp_path.iterdir())
    assert main(["export", "-", "--format", format_, "--project", "api"]) == 0
    written, told = capfdbinary.readouterr()
    assert "wrote 3 chunks" in told.decode()
    assert set(tmp_path.iterdir()) == before, "no file is called -"
    with lamina.open(tmp_path / "copy", create=True):
        pass
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(written)))
    assert main(["import", "-", "--vault", str(tmp_path / "copy")]) == 0
    assert capfdbinary.readouterr().out.decode() == "read 3 chunks from standard input\n"


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_export_and_import_carry_a_vault_over(run: Run, tmp_path: Path, name: str) -> None:
    got = run("export", str(tmp_path / name), "--project", "api", "--json").document
    assert (got["chunks"], got["format"]) == (3, name.partition(".")[2])
    other = str(tmp_path / "other")
    assert run("init", "--vault", other).code == 0
    assert run("import", str(tmp_path / name), "--vault", other, "--json").document["chunks"] == 3
    there = {c["id"]: (c["text"], c["created_at"]) for c in run("list", "--vault", other, "--json").document["chunks"]}
    here = {c["id"]: (c["text"], c["created_at"]) for c in run("list", "--project", "api", "--json").document["chunks"]}
    assert there == here


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("get", "nothing"), 3, "no chunk has the id 'nothing'"),
        (("history", "nothing"), 3, "no chunk has the id"),
        (("invalidate", "nothing", "--reason", "x"), 3, "no chunk has the id"),
        (("pin", "nothing"), 3, "no chunk has the id"),
        (("recall", "x", "--profile", "nope"), 1, "profile='nope' is not known; allowed are causal@2, default@1, default@2"),
        (("recall", "x", "--profile", "tempral"), 1, "did you mean temporal?"),
        (("install", "claude"), 1, "no agent 'claude'; did you mean claude-code? give one of"),
        (("recall", "x", "--where", '{"project": {"like": "a"}}'), 1, "unknown operator 'like'; allowed are eq, ne"),
        (("recall", "x", "--where", '{"nofield": 1}'), 1, "nofield"),
        (("recall", "x", "--since", "2026-02-01", "--until", "2026-01-01"), 1, "is not before until="),
        (("recall", "x", "--since", "someday"), 1, "since='someday' is not a date"),
        (("recall", "x", "--lane", "smell"), 1, "lanes="),
        (("recall", "x", "-k", "0"), 1, "k=0 must be a whole number"),
        (("invalidate", "pg", "--reason", " "), 1, "needs a reason"),
        (("ingest", "/no/such/folder"), 1, "/no/such/folder does not exist"),
        (("ingest", ".", "--kind", "epub"), 1, "kind='epub' is unknown"),
        (("export", "/no/such/folder/x.jsonl"), 1, "/no/such/folder"),
        (("recall",), 2, "Missing argument 'QUERY'"),
        (("recall", "x", "-k", "many"), 2, "'many' is not a valid integer"),
        (("recall", "x", "--where", "{project"), 2, "is not valid JSON"),
        (("recall", "x", "--where", "[1]"), 2, "is a JSON list"),
        (("recall", "x", "--nope"), 2, "No such option"),
        (("add", "x", "--metadata", "3"), 2, "is a JSON int"),
        (("invalidate", "pg"), 2, "Missing option '--reason'"),
        (("ingest", "x", "--column", "text"), 2, "is not FIELD=COLUMN"),
        (("ingest", "x", "--redact", "hide"), 2, "'hide' is not one of"),
        (("list", "--limit", "-1"), 2, "--limit"),
        (("recal", "x"), 2, "did you mean 'recall'?"),
        (("frobnicate",), 2, "no command 'frobnicate'; `lamina --help` lists"),
    ],
)  # fmt: skip
def test_a_failure_has_its_code_one_line_and_an_empty_stdout(
    run: Run, arguments: tuple[str, ...], code: int, says: str
) -> None:
    for extra in ((), ("--json",)):
        got = run(*arguments, *extra)
        assert (got.code, got.out) == (code, "")
        assert says in got.err
        assert "Traceback" not in got.err
        if code != 2:
            assert got.err.startswith("lamina: ")
            assert got.err.count("\n") == 1


@pytest.mark.parametrize("command", [("list",), ("recall", "x"), ("add", "x"), ("stats",)])
def test_without_a_vault_it_says_how_to_make_one(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    for place in (tmp_path / "none", tmp_path):
        got = run(*command, "--vault", str(place))
        assert (got.code, got.out) == (1, "")
        assert "lamina init" in got.err
    assert not (tmp_path / "none").exists()


def test_errors_of_the_system_are_stated_too(run: Run, root: Path, tmp_path: Path) -> None:
    got = run("export", str(tmp_path))
    assert (got.code, got.out) == (1, "")
    assert got.err.startswith("lamina: ")
    assert str(tmp_path) in got.err


def test_debug_lets_the_error_through(run: Run) -> None:
    with pytest.raises(lamina.ChunkNotFound):
        run("get", "nothing", "--debug")
    with pytest.raises(lamina.ChunkNotFound):
        run("--debug", "get", "nothing")


def test_a_defect_is_one_line_as_well(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("lamina.vault.Vault.get", broken)
    got = run("get", "pg")
    assert got.code == 1
    assert got.err == "lamina: unexpected RuntimeError: two lines; run it again with --debug and report the traceback\n"


def test_ctrl_c_is_130_and_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lamina.vault.Vault.get", stopped)
    got = run("get", "pg")
    assert (got.code, got.out, got.err) == (130, "", "lamina: interrupted; committed work is kept\n")


def test_global_options_stand_before_or_after(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LAMINA_VAULT")
    monkeypatch.chdir(tmp_path)
    ref = run("get", "pg", "--vault", str(root), "--json").out
    assert run("--vault", str(root), "--json", "get", "pg").out == ref
    assert run("--json", "get", "--vault", str(root), "pg").out == ref
    assert run("get", "pg").code == 1
    (tmp_path / ".lamina").symlink_to(root)
    assert run("get", "pg", "--json").out == ref


def test_a_vault_of_somebody_else_is_read_and_written_once_trusted(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 12_345)
    assert run("get", "pg").code == 0
    got = run("pin", "pg")
    assert (got.code, got.out) == (1, "")
    assert f"lamina trust {root}" in got.err
    assert run("verify", "--repair").code == 1
    assert run("pin", "pg", "--trust").code == 0
    assert run("--trust", "pin", "pg").code == 0
    assert run("trust").out == f"Trusted {root}\n"
    assert run("pin", "pg").code == 0


@pytest.mark.parametrize("kind", ["beads", "tasks", "github", "jira"])
def test_a_folder_in_place_of_a_file_is_named_once(run: Run, tmp_path: Path, kind: str) -> None:
    got = run("ingest", str(tmp_path), "--kind", kind)
    assert got.code == 1
    why = "has no issues of Beads" if kind == "beads" else "cannot be read (Is a directory); give "
    assert got.err.startswith(f"lamina: {tmp_path} {why}")
    assert (got.err.count(str(tmp_path)), "Errno" in got.err) == (1, False)


def test_plurals_of_one(run: Run, tmp_path: Path) -> None:
    lamina.open(tmp_path / "new", create=True).close()
    assert "1 manifest" in run("verify", "--vault", str(tmp_path / "new")).out.replace("1 manifests", "")
    assert "1 chunk written" in run("ingest", "-", "--kind", "text", stdin=b"One line.\n").out
    assert run("links", "add", "pg", "redis", "related").code == 0
    assert "stopped" not in run("facts", "extract").out


def test_a_limit_of_0_lists_all(run: Run) -> None:
    for command in ("list", "sessions", "topics", "freshness"):
        assert "0 for all" in run(command, "--help").out
        assert run(command, "--limit", "0").code == 0


def test_ingest_counts_what_it_does_not_read_and_says_how_to(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # findings, stranger 15
    folder = tmp_path / "mixed"
    folder.mkdir()
    for name in ("a.pdf", "b.png", "c.png"):
        (folder / name).write_bytes(b"x")
    monkeypatch.setattr("lamina_engine.ingest.conversion.EXTRAS", {"pdf": "no_such_package"})
    lines = run("ingest", str(folder)).out.splitlines()
    assert lines[0].startswith("nothing to do")
    assert lines[1] == "3 files of kinds that Lamina does not read (.pdf 1, .png 2)"
    assert re.fullmatch(r'  pip install .*\[pdf\]"   for \.pdf', lines[2])


def test_recall_shows_document_section_and_place_and_more_of_a_document_when_asked(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "quagga.md"
    note.write_text("# Quaggas\n\n" + "".join(f"## Herd {i}\n\n{'quagga stripes ' * 80}\n\n" for i in range(5)))
    run("ingest", str(note))
    got = run("recall", "quagga stripes", "--lane", "lexical")
    assert "Quaggas › Herd " in got.out
    assert re.search(r"quagga\.md:\d+\n", got.out)
    assert got.out.splitlines()[-1].endswith("more chunks of these documents; --all-chunks shows them")
    every = run("recall", "quagga stripes", "--lane", "lexical", "--all-chunks")
    assert (got.out.count("quagga.md:"), every.out.count("quagga.md:")) == (2, 5)
