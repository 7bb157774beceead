from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.cli import main

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
        "causal@1",
        "default@1",
        "entity@1",
        "episodic@1",
        "lexical@1",
        "task@1",
        "temporal@1",
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
