from __future__ import annotations

import json
from pathlib import Path

import pytest

import lamina
from lamina.cli import main
from lamina_engine.evaluation.kg import load_world


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
