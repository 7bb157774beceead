""""""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamina import Vault
from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.cells import MOST_CHARS, with_text

BANK = (
    "id,Date,Payee,Amount,type\n1,2026-01-05,Landlord Mayer,-890.00,DEBIT\n2,2026-01-09,ACME Payroll,3200.00,CREDIT\n"
)
FRIENDS = "id,First Name,Phone\n1,Ada,+44 20 7946 0018\n2,Ben,\n"


def test_tables_without_a_text_are_told_as_their_cells(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "bank.csv").write_text(BANK)
    (tmp_path / "friends.csv").write_text(FRIENDS)
    got = lexical_vault.ingest(tmp_path)
    assert (got.added, got.problems) == (2, [])
    assert len(lexical_vault) == 4  # rows of two tables that both count from 1
    (hit,) = lexical_vault.recall("what is the phone number of Ada", k=1)
    assert (hit.text, hit.source, hit.line) == (
        "id: 1\nFirst Name: Ada\nPhone: +44 20 7946 0018",
        "friends.csv",
        2,
    )
    assert lexical_vault.list({"metadata.Payee": "ACME Payroll"})[0].type == "note"
    assert lexical_vault.ingest(tmp_path).unchanged == 2
    (tmp_path / "friends.csv").write_text(FRIENDS.replace("0018", "0019"))
    assert lexical_vault.ingest(tmp_path).updated == 1
    assert len(lexical_vault) == 4


def test_json_lines_and_parquet_without_a_text(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "qa.jsonl").write_text(
        '{"question": "Who wrote Faust?", "answer": "Goethe", "score": 0.5, "by": null}\n'
    )
    pq.write_table(pa.table({"city": ["Bergen"], "height": [12]}), tmp_path / "c.parquet")
    assert lexical_vault.ingest(tmp_path).problems == []
    assert {chunk.text for chunk in lexical_vault.list()} == {
        "question: Who wrote Faust?\nanswer: Goethe\nscore: 0.5",
        "city: Bergen\nheight: 12",
    }


def test_numbers_alone_are_a_problem(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("x,y\n1,2\n3,4\n")
    (problem,) = lexical_vault.ingest(tmp_path).problems
    assert "no words in 'x', 'y'" in problem.message
    assert "1 more" in problem.message


def test_a_large_table_does_not_bury_the_notes_beside_it(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Bank\n\nThe statements are in bank.csv.\n")
    rows = "".join(f"{i},2026-01-05,Payee number {i},-890.00,DEBIT\n" for i in range(3, 30_003))
    (tmp_path / "bank.csv").write_text(BANK + rows)
    got = lexical_vault.ingest(tmp_path)
    assert len(lexical_vault) == 1
    assert "'Payee'" in got.problems[0].message
    assert "over 1 MiB: say which is the text (--column text=NAME)" in got.problems[0].message
    lexical_vault.ingest(tmp_path / "bank.csv", columns={"text": "Payee"})
    assert len(lexical_vault) == 30_003


def test_a_column_for_the_text_that_was_named_stays(lexical_vault: Vault, tmp_path: Path) -> None:
    table = tmp_path / "friends.csv"
    table.write_text(FRIENDS)
    lexical_vault.ingest(table)
    lexical_vault.ingest(table, columns={"text": "First Name"})
    assert "give the columns" in lexical_vault.ingest(table).problems[-1].message
    assert sorted(chunk.text for chunk in lexical_vault.list()) == ["Ada", "Ben"]


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"user": {"name": "Ada", "age": 7}, "event": "login"}, "user.name: Ada\nuser.age: 7\nevent: login"),
        ({"turns": [{"role": "user", "says": "Hi there"}]}, "turns.role: user\nturns.says: Hi there"),
        ({"tags": ["a", "bee", None, 3], "vector": [0.1, 0.2]}, "tags: a, bee, 3"),
        ({"done": False, "name": " Ada ", "empty": " "}, "done: False\nname: Ada"),
    ],
)
def test_what_is_nested(metadata: dict[str, object], text: str) -> None:
    assert with_text({"metadata": metadata})["text"] == text


def test_a_text_of_its_own_is_left_alone() -> None:
    record = {"text": "x", "id": "1", "metadata": {"a": "b"}}
    assert with_text(record) is record
    assert with_text({"text": None, "title": "Otter"})["text"] == "title: Otter"


def test_a_dump_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"20,000 are read: say which is the text \(--column text=NAME\)"):
        with_text({"metadata": {"dump": "word " * MOST_CHARS}})
