from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lamina
from lamina.cli import facts as cli_facts
from lamina.cli.app import program
from lamina.cli.terminal import plain, width


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    lamina.open(path, create=True, embedder="none").close()
    return path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(program(), ["--vault", str(folder), "facts", *arguments])


def read(folder: Path, *arguments: str) -> Any:
    return json.loads(run(folder, *arguments, "--json").stdout)


def test_a_fact_that_was_never_true_is_retracted(folder: Path) -> None:
    numbers = [read(folder, "add", "Ann", "likes", food)["id"] for food in ("tea", "salt")]
    assert [fact["id"] for fact in read(folder, "list")["facts"]] == numbers
    assert run(folder, "retract", str(numbers[1])).stdout == "retracted 1 fact\n"
    assert [fact["object"] for fact in read(folder, "list", "--history")["facts"]] == ["tea"]
    assert read(folder, "retract", *map(str, numbers)) == {"retracted": 1}
    unknown = run(folder, "retract", "999")
    assert unknown.exit_code == 1
    assert "no fact has the id 999" in unknown.output


def test_adding_and_asking(folder: Path) -> None:
    assert (
        run(folder, "add", "Keystone", "runs_on", "port 3055", "--source", "keystone.md").stdout
        == "Keystone runs_on port 3055  keystone.md\n"
    )
    assert read(folder, "add", "Ann", "owns", "Keystone", "--type", "person")["subject_id"] == "vault:person:ann"
    assert "also KS" in run(folder, "alias", "KS", "Keystone").stdout
    about = read(folder, "about", "ks")
    assert [(fact["key"], fact["value"]) for fact in about["facts"]] == [("runs_on", "port 3055"), ("owned_by", "Ann")]
    assert about["count"] == 2
    assert run(folder, "about", "KS", "--predicate", "owned_by").stdout.startswith("Keystone owned_by Ann")
    asked = read(folder, "ask", "what port does KS run on?")
    assert asked["answers"][0]["object"] == "port 3055"
    nothing = run(
        folder, "ask", "who painted it?"
    )  # findings, seeds-a table 3 row 44: "unknown entities return nothing"
    assert nothing.exit_code == 1
    assert nothing.stdout.splitlines() == [
        "no fact answers this", "`lamina recall` searches the notes; `lamina facts entities` lists what facts are about",
    ]  # fmt: skip
    other = run(folder, "ask", "what is the budget of KS?")
    assert (other.exit_code, other.stdout.splitlines()[0]) == (1, "no fact answers this")
    assert "2 related facts: --related shows them" in other.stdout
    assert "runs_on port 3055" in run(folder, "ask", "what is the budget of KS?", "--related").stdout
    assert "'Zorblax'" in run(folder, "ask", "what port does Zorblax run on?").stdout
    assert run(folder, "close", "KS", "runs_on").stdout == "closed 1 fact\n"
    assert read(folder, "close", "KS", "runs_on") == {"closed": 0}
    assert read(folder, "alias", "KS", "--remove") == {"alias": "KS", "removed": 1}


def test_entities_that_share_a_name_are_all_shown(folder: Path) -> None:
    for kind in ("person", "project"):
        run(folder, "add", "Mercury", "phone", "1", "--type", kind)
    shown = read(folder, "entity", "mercury")
    assert (shown["ambiguous"], len(shown["entities"])) == (True, 2)
    ambiguous = run(folder, "about", "Mercury")
    assert ambiguous.exit_code == 1
    assert "vault:person:mercury, vault:project:mercury" in ambiguous.stderr
    assert run(folder, "merge", "vault:project:mercury", "vault:person:mercury").exit_code == 0
    assert run(folder, "about", "Mercury").exit_code == 0


def test_files(folder: Path, tmp_path: Path) -> None:
    seed = tmp_path / "team.toml"
    seed.write_text('[[entities]]\nname = "Ada"\ntype = "person"\naliases = ["Mum"]\nfacts = { phone = ["1", "2"] }\n')
    assert run(folder, "seed", str(seed)).stdout.startswith(f"read 2 facts from {seed}")
    assert read(folder, "seed", str(seed))["unchanged"] == 2
    out = tmp_path / "facts.jsonl"
    export = ["--vault", str(folder), "export", str(out), "--format", "facts", "--json"]
    assert json.loads(CliRunner().invoke(program(), export).stdout) == {"path": str(out), "format": "facts", "facts": 2}
    other = tmp_path / "other"
    lamina.open(other, create=True, embedder="none").close()
    assert read(other, "import", str(out))["facts"] == 2
    assert read(other, "about", "mum")["count"] == 2
    observed = tmp_path / "observed.txt"
    observed.write_text("nothing to see")
    assert read(folder, "extract", str(observed))["observations"] == 0


def test_exit_codes(folder: Path, tmp_path: Path) -> None:
    assert run(folder, "about", "nobody").exit_code == 3
    assert run(folder, "entity", "nobody").exit_code == 3
    assert run(folder, "alias", "x").exit_code == 2
    assert run(folder, "add", "", "uses", "Vim").exit_code == 1
    assert run(folder, "seed", str(tmp_path / "nowhere.toml")).exit_code == 1
    assert run(folder, "import", str(tmp_path / "nowhere.db")).exit_code == 1


def test_fields_of_notes_and_contradictions(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "beacon.md").write_text("# Beacon\n\nport:: 8080\n\nIt lights the way.\n")
    with lamina.open(folder, embedder="none") as vault:
        vault.ingest(tmp_path / "beacon.md")
    assert read(folder, "extract")["added"] == 1
    assert run(folder, "contradictions").stdout == "no fact contradicts another\n"
    run(folder, "add", "Beacon", "port", "9090", "--source", "later.md")
    [found] = read(folder, "contradictions")["contradictions"]
    assert (found["old"]["value"], found["new"]["value"]) == ("8080", "9090")
    assert run(folder, "contradictions").stdout.startswith("Beacon port 8080 -> 9090")
    assert run(folder, "extract", "--session", "s").exit_code == 2


def test_lists_and_the_registry(folder: Path) -> None:
    # findings, seeds-a table 3 rows 30 and 33
    run(folder, "add", "Billing Service", "on_call", "Ann", "--type", "service")
    run(folder, "add", "Billing Service", "on_call", "Bob")
    run(folder, "alias", "BS", "Billing Service")
    assert [fact["object"] for fact in read(folder, "list", "--category", "service")["facts"]] == ["Ann", "Bob"]
    assert read(folder, "list", "--limit", "1")["more"] is True
    assert [entity["id"] for entity in read(folder, "entities", "--type", "service")["entities"]] == [
        "vault:service:billing_service"
    ]
    assert run(folder, "aliases", "BS").stdout == "BS  Billing Service · vault:service:billing_service\n"
    assert "owner" in run(folder, "predicates").stdout
    assert run(folder, "predicates", "--used").stdout == "on_call  several values\n"
    declared = run(folder, "declare", "on_call", "--one")
    assert declared.stdout == "on_call  one value at a time · 2 facts mended\n"
    assert [fact["object"] for fact in read(folder, "list", "--predicate", "on_call")["facts"]] == ["Bob"]
    found = run(folder, "about", "billing")
    assert found.stdout.startswith("Billing Service on_call Bob")
    assert found.stderr == "lamina: 'billing' is read as 'Billing Service' (vault:service:billing_service)\n"
    assert run(folder, "list", "--category", "nothing").stdout.startswith("no facts: `lamina facts add`")


_LONG = (
    "The barrels of the north cellar are turned by hand every Friday, and the last of them is marked with a chalk cross by "
    * 2
)


def test_a_long_answer_is_read_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    run(folder, "add", "Cellar", "procedure", _LONG.strip(), "--source", "cellar.md")
    asked = run(folder, "ask", "what is the procedure of Cellar?").stdout
    assert f"Cellar procedure {_LONG.strip()}" in asked.splitlines()[0]


def test_on_a_terminal_a_long_answer_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_facts, "columns", lambda: 60)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = list(cli_facts._full_lines(_LONG.strip(), "50  sentence  cellar.md"))
    shown = [plain(line) for line in lines]
    assert " ".join(shown[:-1]) == _LONG.strip()
    assert all(width(line) <= 60 for line in shown)


def test_a_word_of_the_notes_is_not_said_to_be_absent(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "press.md").write_text("# Press\n\nThe Zambelli stands in the barn.\n", encoding="utf-8")
    with lamina.open(folder) as vault:
        vault.ingest(tmp_path / "press.md")
    lines = run(folder, "ask", "what is the budget of the Zambelli?").stdout.splitlines()
    assert lines[1] == "no entity or fact has the name 'Zambelli'"
    assert "`lamina recall` searches the notes" in lines[2]
