"""``lamina eval`` and ``lamina eval kg``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.cli import main
from lamina_engine.evaluation.kg import load_world

RECORDS: list[dict[str, Any]] = [
    {"kind": "record", "id": "pg", "text": "We moved to PostgreSQL 16.", "project": "api", "created_at": "2026-02-15"},
    {"kind": "record", "id": "redis", "text": "Sessions live in Redis.", "project": "api", "created_at": "2026-01-10"},
    {
        "kind": "record",
        "id": "tests",
        "text": "Every bug gets a failing test.",
        "project": "web",
        "created_at": "2026-03-01",
    },
]
QUERIES: list[dict[str, Any]] = [
    {"kind": "query", "text": "where are sessions", "gold": ["redis"], "category": "one"},
    {"kind": "query", "text": "PostgreSQL", "gold": ["pg"], "category": "one", "where": {"project": "api"}},
    {"kind": "query", "text": "PostgreSQL", "gold": ["pg"], "category": "hidden", "where": {"project": "web"}},
    {"kind": "query", "text": "nothing", "gold": []},
]


def _write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_a_set_with_records_needs_no_vault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "set.jsonl", RECORDS + QUERIES)
    assert main(["eval", path, "--profile", "all", "-k", "1", "-k", "5", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert (got["set"], got["now"]) == ("set", "2026-03-01T00:00:00Z")
    assert sorted(got["profiles"]) == [
        "causal@2",
        "default@1",
        "default@2",
        "entity@2",
        "episodic@2",
        "lexical@1",
        "task@1",
        "temporal@1",
        "temporal@2",
    ]
    report = got["profiles"]["lexical@1"]
    assert (report["queries"], report["skipped"], report["ks"]) == (4, 1, [1, 5])
    assert report["categories"]["one"]["measures"]["recall@1"]["value"] == 1.0
    assert report["categories"]["hidden"]["measures"]["recall@5"]["value"] == 0.0, "where was not applied"


def test_a_set_of_queries_asks_the_callers_vault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "queries.jsonl", QUERIES)
    assert main(["eval", path, "--vault", str(tmp_path / "none")]) == 1
    assert "lamina init" in capsys.readouterr().err
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add([{key: value for key, value in record.items() if key != "kind"} for record in RECORDS])
    assert main(["eval", path, "--vault", str(tmp_path / "v"), "-k", "1", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert got["profiles"]["default"]["categories"]["one"]["measures"]["hit@1"]["value"] == 1.0


def test_the_table_has_intervals_for_each_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "set.jsonl", RECORDS + QUERIES)
    assert main(["eval", path, "--profile", "lexical", "--profile", "temporal", "--embedder", "none"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("lexical\nset: 3 records, 4 queries, 1 without gold\n")
    assert "\n\ntemporal\n" in out
    assert "0.667 [0.000, 1.000]" in out


def test_a_faulty_set_is_a_stated_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set.jsonl").write_text('{"kind": "query"}\n', encoding="utf-8")
    assert main(["eval", str(tmp_path / "set.jsonl"), "--json"]) == 1
    got = capsys.readouterr()
    assert got.out == ""
    assert got.err.startswith("lamina: ")
    assert "set.jsonl:1" in got.err
    assert main(["eval", str(tmp_path / "missing.jsonl")]) == 1


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbour")
    load_world("harbour").write(folder)
    return folder


def test_a_folder_with_its_notes_needs_no_vault(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    args = ["eval", "kg", str(world), "--method", "facts", "--output", str(out), "--embedder", "none", "--json"]
    assert main(args) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(out.read_text())
    assert document["config"]["method"] == "facts"
    assert document["summary"]["recall_pct"] >= 80.0


def test_the_table_and_single_questions(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "kg", str(world), "--category", "people", "--verbose", "--embedder", "none"]) == 0
    shown = capsys.readouterr().out
    assert "PEOPLE" in shown
    assert shown.count("pass") >= 8
    assert "TOOLS" not in shown


def test_one_s_own_questions_of_one_s_own_vault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "keystone.md").write_text("# Keystone\n\nIt runs on port 3055.\n")
    questions = tmp_path / "mine.jsonl"
    questions.write_text('{"query": "keystone port", "expected": "keystone.md", "category": "X"}\n'
                         '{"query": "keystone port", "expected": "other.md", "category": "X"}\n')  # fmt: skip
    vault = ["--vault", str(tmp_path / "vault")]
    assert main(["init", *vault]) == 0
    assert main(["ingest", str(tmp_path / "notes"), *vault]) == 0
    capsys.readouterr()
    args = ["eval", "kg", str(questions), *vault, "--method", "lexical", "--json"]
    assert main(args) == 1  # half is less than 80 %
    assert json.loads(capsys.readouterr().out)["summary"]["recall_pct"] == 50.0
    assert main([*args, "--at-least", "50"]) == 0


def test_an_unknown_category_and_a_missing_file(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "kg", str(world), "--category", "none", "--embedder", "none"]) == 1
    assert "none" in capsys.readouterr().err
    assert main(["eval", "kg", str(world / "absent.jsonl")]) == 1


def test_invented_worlds_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "kg", "--world", "orchard", "--method", "facts", "--embedder", "none"]) == 0
    assert "orchard, facts" in capsys.readouterr().out
    assert main(["eval", "kg", "--world", "nowhere"]) == 1


def test_sets_are_measured_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "lamina eval kg" in shown
    assert "--profile" in shown
    assert main(["eval", "kg", "--help"]) == 0
    assert "--method" in capsys.readouterr().out


def test_fields_of_notes_become_facts_with_an_option_of_ingest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "k.md").write_text(
        f"---\ntitle: Keystone\nport: 3055\nlong: {'x' * 600}\n---\n\nstatus:: live\n"
    )
    vault = ["--vault", str(tmp_path / "vault")]
    assert main(["init", *vault]) == 0
    capsys.readouterr()
    assert main(["ingest", str(tmp_path / "notes"), *vault, "--facts", "--json"]) == 0
    assert [problem["code"] for problem in json.loads(capsys.readouterr().out)["problems"]] == ["fact"]
    with lamina.open(tmp_path / "vault") as opened:
        assert opened.facts.ask("What port does Keystone run on?")[0].object == "3055"
        assert opened.recall("What port does Keystone run on?", profile="entity")[0].source == "k.md"
    assert main(["ingest", str(tmp_path / "notes"), *vault, "--facts", "--follow"]) == 2


def test_a_vault_measures_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # findings, seeds-b 003 #40
    place = tmp_path / "vault"
    with lamina.open(place, create=True) as vault:
        texts = ["The kiln cracks pots.", "The kiln heats too fast.", "A slower ramp mends the pots.", "Glaze is blue."]
        vault.add(
            [{"text": text, "session": "s", "created_at": f"2026-05-01T09:0{i}:00Z"} for i, text in enumerate(texts)]
        )
        vault.add("Somebody bought a ladder.")
        vault.build_links(["sequence"])
    assert main(["eval", "vault", "--vault", str(place), "--sample", "3", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert (got["chunks"], got["in_sessions"], got["in_chains"], got["asked"]) == (5, 4, 1.0, 3)
    assert (got["topics"], got["in_topics"]) == (0, None)
    assert got["chains_told"] > 0
    shares = [got[name] for name in ("by_words", "by_meaning", "by_both", "by_links")]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    assert 0 < got["recall_ms"][0] <= got["recall_ms"][1]
    assert main(["eval", "vault", "--vault", str(place)]) == 0
    assert "5, 4 of them in sessions" in capsys.readouterr().out


def test_an_empty_vault_measures_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lamina.open(tmp_path / "vault", create=True).close()
    assert main(["eval", "vault", "--vault", str(tmp_path / "vault"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["in_chains"] is None
