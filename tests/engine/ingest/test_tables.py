"""Files of records, from the file to the vault."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina import FixedClock, Redactor, Vault
from lamina_engine.ingest import tables
from lamina_engine.ingest.report import IngestReport
from lamina_engine.ingest.tables import RecordWriter
from tests.notes import CountingEmbedder, ids_by_text, settle, write


def lines(*records: Mapping[str, Any] | str) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records)


def texts(vault: Vault) -> list[str]:
    return sorted(chunk.text for chunk in vault.list(limit=None))


def test_json_lines_with_all_fields_and_bad_lines_among_them(lexical_vault: Vault, tmp_path: Path) -> None:
    good = {
        "id": "r1", "text": "Ship on Friday.", "title": "Release", "type": "decision", "project": "api", "session": "s1",
        "agent": "planner", "created_at": "2026-02-15", "success": True, "tags": ["ops", "#go"], "metadata": {"n": 1}, "x": 2,
    }  # fmt: skip
    write(tmp_path, "r.jsonl", lines(good, "{broken", {"text": ""}, "[1]", {"text": "Second.", "created_at": "never"}))
    got = lexical_vault.ingest(tmp_path / "r.jsonl")
    assert (got.added, got.chunks) == (1, 1)
    problems = sorted((p.source, p.code, p.message.split(":")[0]) for p in got.problems)
    assert problems == [("r.jsonl", "record", line) for line in "2345"]
    chunk = lexical_vault.get("r1")
    assert (chunk.text, chunk.title, chunk.type, chunk.collection) == (
        "Ship on Friday.",
        "Release",
        "decision",
        "decisions",
    )
    assert (chunk.project, chunk.session, chunk.agent, chunk.success) == ("api", "s1", "planner", True)
    assert (chunk.tags, chunk.metadata, chunk.source) == (("ops", "go"), {"n": 1, "x": 2}, "r.jsonl")
    assert lexical_vault.recall("ship friday", k=1)[0].created_at == "2026-02-15T00:00:00Z"


def test_a_file_that_grows_gives_only_what_is_new(tmp_path: Path, clock: FixedClock) -> None:
    embedder = CountingEmbedder()
    model = lamina.CallableEmbedder(embedder, 8, "words;v1")
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder=model) as vault:
        first: list[Mapping[str, Any]] = [{"text": f"line {i}"} for i in range(20)]
        path = write(tmp_path, "log.jsonl", lines(*first))
        vault.ingest(path)
        before, embedder.texts = ids_by_text(vault), []
        with path.open("a") as file:
            file.write(lines({"text": "line 20"}, {"text": "line 21"}))
        settle(path)
        got = vault.ingest(path)
        assert (got.updated, got.chunks, got.embedded) == (1, 2, 2)
        assert embedder.texts == ["line 20", "line 21"]
        after = ids_by_text(vault)
        assert {text: after[text] for text in before} == before


def test_a_line_that_is_gone_is_no_longer_recalled_and_returns_with_its_id(
    lexical_vault: Vault, tmp_path: Path
) -> None:
    path = write(tmp_path, "r.jsonl", lines({"text": "stays"}, {"text": "goes"}))
    lexical_vault.ingest(path)
    goes = ids_by_text(lexical_vault)["goes"]
    write(tmp_path, "r.jsonl", lines({"text": "stays"}))
    assert lexical_vault.ingest(path).updated == 1
    assert texts(lexical_vault) == ["stays"]
    assert lexical_vault.get(goes).status == "removed"
    write(tmp_path, "r.jsonl", lines({"text": "goes"}, {"text": "stays"}))
    assert lexical_vault.ingest(path).chunks == 0
    assert ids_by_text(lexical_vault)["goes"] == goes


def test_a_moved_file_keeps_ids_also_of_equal_records_and_after_further_growth(
    lexical_vault: Vault, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    content: list[Mapping[str, Any]] = [
        {"text": "twice"},
        {"text": "twice"},
        {"text": "same", "n": 1},
        {"text": "same", "n": 2},
    ]
    write(folder, "a.jsonl", lines(*content))
    lexical_vault.ingest(folder)
    before = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert len(before) == 3
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    got = lexical_vault.ingest(folder)
    assert (got.moved, got.added, got.removed) == (1, 0, 0)
    assert {chunk.id: chunk.metadata for chunk in lexical_vault.list()} == before
    assert {chunk.source for chunk in lexical_vault.list()} == {"b.jsonl"}
    write(folder, "b.jsonl", lines(*content, {"text": "new"}))
    assert lexical_vault.ingest(folder).chunks == 1
    after = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert {name: after[name] for name in before} == before
    assert len(after) == 4


def test_details_that_change_are_an_update_of_the_same_chunk(lexical_vault: Vault, tmp_path: Path) -> None:
    path = write(tmp_path, "r.jsonl", lines({"text": "one", "n": 1}))
    lexical_vault.ingest(path)
    (before,) = lexical_vault.list()
    write(tmp_path, "r.jsonl", lines({"text": "one", "n": 2}, {"text": "one", "n": 1}))
    lexical_vault.ingest(path)
    got = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert len(got) == 2
    assert sorted(value["n"] for value in got.values()) == [1, 2]
    assert before.id in got


def test_csv_with_a_map_of_its_columns(lexical_vault: Vault, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "key,body,when,who\n007,First words,2026-01-02,ann\n8,,2026-01-03,bob\n9,x\n")
    got = lexical_vault.ingest(path, columns={"id": "key", "text": "body", "created_at": "when"})
    assert (got.added, got.chunks, [p.code for p in got.problems]) == (1, 1, ["record", "record"])
    chunk = lexical_vault.get("007")
    assert (chunk.text, chunk.metadata) == ("First words", {"who": "ann"})
    assert chunk.created_at_us == 1_767_312_000_000_000


def test_one_table_without_the_column_does_not_stop_the_others(lexical_vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, "a.csv", "other\nx\n")
    write(folder, "b.csv", "body\nFound.\n")
    write(folder, "c.parquet", b"PAR1 it is not")
    got = lexical_vault.ingest(folder, columns={"text": "body"})
    assert texts(lexical_vault) == ["Found."]
    assert (got.added, got.skipped) == (1, 2)
    assert [(p.source, p.code) for p in got.problems] == [("a.csv", "unreadable"), ("c.parquet", "unreadable")]


@pytest.mark.parametrize("kind", ["tsv", "parquet", "arrow"])
def test_tables_of_every_kind(kind: str, lexical_vault: Vault, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "text": ["alpha words", "beta words"], "n": [1, 2]})
    path = tmp_path / f"t.{kind}"
    if kind == "tsv":
        path.write_text("id\ttext\tn\na\talpha words\t1\nb\tbeta words\t2\n")
    elif kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    settle(path)
    got = lexical_vault.ingest(path)
    assert (got.added, got.chunks, got.problems) == (1, 2, [])
    assert lexical_vault.recall("beta", k=1)[0].id == "b"
    assert lexical_vault.ingest(path).unchanged == 1


def test_vectors_of_their_own_and_one_that_does_not_fit(tmp_path: Path, clock: FixedClock) -> None:
    embedder = CountingEmbedder()
    model = lamina.CallableEmbedder(embedder, 8, "words;v1")
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder=model) as vault:
        axis = np.eye(8)[3].tolist()
        path = write(
            tmp_path,
            "r.jsonl",
            lines(
                {"id": "own", "text": "own", "vector": axis},
                {"id": "none", "text": "none"},
                {"id": "bad", "text": "bad", "vector": [1.0, 2.0]},
            ),
        )
        got = vault.ingest(path)
        assert embedder.texts == ["none"]
        assert [(p.code, p.message[:2]) for p in got.problems] == [("record", "3:")]
        assert vault.recall("anything", k=1, lanes=["vector"], vector=axis)[0].id == "own"


def test_groups_are_committed_in_order(monkeypatch: pytest.MonkeyPatch, lexical_vault: Vault, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "GROUP_RECORDS", 3)
    report = IngestReport()
    writer = RecordWriter(lexical_vault._memory, report, "f", {"project": "p", "type": None})
    writer.add((i, {"id": f"r{i}", "text": f"text {i}"}) for i in range(7))
    assert writer.ids == [f"r{i}" for i in range(6)]
    writer.flush()
    assert (writer.ids, writer.found_new, report.chunks) == ([f"r{i}" for i in range(7)], True, 7)
    assert {chunk.project for chunk in lexical_vault.list()} == {"p"}


def test_a_record_with_a_secret_is_left_out_where_the_policy_says_so(tmp_path: Path, clock: FixedClock) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    records: Sequence[Mapping[str, Any]] = [{"text": "fine"}, {"text": f"token {secret}"}, {"text": "fine too"}]
    path = write(tmp_path, "r.jsonl", lines(*records))
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder="none", redactor=Redactor("skip")) as vault:
        got = vault.ingest(path)
        assert texts(vault) == ["fine", "fine too"]
        assert ([p.code for p in got.problems], got.redactions) == (["redacted_skip"], 1)
        assert secret not in str(got)
