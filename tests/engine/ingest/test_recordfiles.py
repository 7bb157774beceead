from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lamina
from lamina import FixedClock, Redactor, Vault
from lamina_engine.errors import IngestError, InvalidArgument, SchemaMismatch
from lamina_engine.graph import generators
from lamina_engine.ingest import recordfiles
from lamina_engine.ingest.recordfiles import MAX_PROBLEMS, RecordChunk, RecordWriter, arrow_batches, read_records
from lamina_engine.ingest.records import normalise_record
from lamina_engine.reports import IngestReport
from tests.notes import CountingEmbedder, ids_by_text, settle, write


def gather(chunks: Iterable[RecordChunk]) -> tuple[list[dict[str, Any]], list[int], list[str]]:
    records: list[dict[str, Any]] = []
    positions: list[int] = []
    messages = []
    for chunk in chunks:
        assert chunk.records or chunk.problems
        assert len(chunk.records) == len(chunk.positions)
        records += chunk.records
        positions += chunk.positions
        messages += [problem.message for problem in chunk.problems]
        assert all(problem.code == "record" for problem in chunk.problems)
    return records, positions, messages


def lines(*texts: str | bytes) -> io.BytesIO:
    return io.BytesIO(b"\n".join(text if isinstance(text, bytes) else text.encode() for text in texts))


def test_json_lines() -> None:
    stream = lines(b'\xef\xbb\xbf{"text": "a", "id": "1"}', "", '{"text": "b", "lang": "en", "deep": {"x": [1.5]}}\r')
    records, positions, messages = gather(read_records(stream, "jsonl"))
    assert records == [{"text": "a", "id": "1"}, {"text": "b", "metadata": {"lang": "en", "deep": {"x": [1.5]}}}]
    assert positions == [1, 3]
    assert messages == []
    assert not stream.closed


def test_bad_json_lines_are_reported_with_their_number() -> None:
    bad: list[str | bytes] = [
        "{",
        "[1]",
        "3",
        '"s"',
        "null",
        '{"a": NaN}',
        b'{"a": "\xff"}',
        "[" * 100_000,
        '{"x": "\\ud800"}',
    ]
    records, positions, messages = gather(read_records(lines(*bad, '{"text": "last"}'), "ndjson"))
    assert (records, positions) == ([{"text": "last"}], [len(bad) + 1])
    assert [int(message.partition(":")[0]) for message in messages] == list(range(1, len(bad) + 1))
    assert all(message.endswith("skipped") for message in messages)


def test_lines_over_the_limit_are_skipped() -> None:
    fits = '{"text": "1234"}'
    stream = lines(fits, '{"text": "12345"}', '{"text": "' + "x" * 500 + '"}', fits)
    records, positions, messages = gather(read_records(stream, "jsonl", max_line_bytes=len(fits)))
    assert (len(records), positions) == (2, [1, 4])
    assert len(messages) == 2
    records, _, messages = gather(read_records(lines("x" * 50), "jsonl", max_line_bytes=len(fits)))
    assert (records, len(messages)) == ([], 1)


def test_problems_are_capped() -> None:
    stream = lines(*["nonsense"] * (MAX_PROBLEMS + 5))
    _, _, messages = gather(read_records(stream, "jsonl"))
    assert len(messages) == MAX_PROBLEMS + 1
    assert messages[-1].startswith("5 more")


def test_batches_are_of_the_size_asked_for() -> None:
    stream = lines(*['{"text": "x"}'] * 5)
    assert [len(chunk.records) for chunk in read_records(stream, "jsonl", batch_rows=2)] == [2, 2, 1]
    assert list(read_records(io.BytesIO(), "jsonl")) == []


def test_columns_are_mapped() -> None:
    stream = lines('{"body": "b", "text": "kept", "key": "k", "metadata": {"m": 1}}')
    mapping = {"text": "body", "id": "key", "title": "key"}
    records, _, _ = gather(read_records(stream, "jsonl", columns=mapping))
    assert records == [{"text": "b", "id": "k", "title": "k", "metadata": {"m": 1, "text": "kept"}}]


def test_a_key_beside_and_inside_the_metadata_is_reported() -> None:
    _, _, messages = gather(read_records(lines('{"text": "x", "m": 2, "metadata": {"m": 1}}'), "jsonl"))
    assert "'m'" in messages[0]


def test_csv_cells_stay_text(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(
        b"\xef\xbb\xbfid,text,success,tags,vector,code,metadata\r\n"
        b'007,"two\nlines, and ""quotes""",TRUE,"a,b","[1, 2.5]",1.0,"{""k"": 1}"\r\n'
        b"\r\n"
        b"08,b,,,,,\r\n"
    )
    records, positions, messages = gather(read_records(file, "csv"))
    assert messages == []
    assert positions == [2, 5]
    assert records[0] == {
        "id": "007",
        "text": 'two\nlines, and "quotes"',
        "success": True,
        "tags": "a,b",
        "vector": [1, 2.5],
        "metadata": {"k": 1, "code": "1.0"},
    }
    assert records[1] == {"id": "08", "text": "b", "metadata": {"code": ""}}
    assert [normalise_record(record).id for record in records] == ["007", "08"]


def test_bad_csv_rows_are_reported() -> None:
    stream = lines(
        "text,success,vector", "a", "b,1,2,3", "c,maybe,", "d,,x", b"\xff,,", 'e"x,,', '"f"x,,', "g,no,", '"h'
    )
    records, positions, messages = gather(read_records(stream, "csv"))
    assert [record["text"] for record in records] == ['e"x', "g"]
    assert positions == [7, 9]
    assert [int(message.partition(":")[0]) for message in messages] == [2, 3, 4, 5, 6, 8, 10]
    assert not stream.closed


@pytest.mark.parametrize(
    ("rows", "ref"),
    [
        (("Ort;Preis;text", "Kiel;1,50;Die Pumpe, neu", "Bonn;2,00;Das Rad"), {"Ort": "Kiel", "Preis": "1,50"}),
        (("Ort\tPreis\ttext", "Kiel\t1,50\tDie Pumpe, neu"), {"Ort": "Kiel", "Preis": "1,50"}),
        (("Ort|Preis|text", "Kiel|1,50|Die Pumpe, neu"), {"Ort": "Kiel", "Preis": "1,50"}),
        (("Ort, Land;text", "Kiel, DE;Die Pumpe, neu", "Bonn;Das Rad"), {"Ort, Land": "Kiel, DE"}),
        (("Ort,text", 'Kiel,"Die Pumpe, neu"', 'Bonn,"a;b;c"'), {"Ort": "Kiel"}),
        (("Ort;Art,text", 'K;1,"Die Pumpe, neu"', "B;2,Das Rad"), {"Ort;Art": "K;1"}),
        (('"Ort";"text"', '"Kiel";"Die Pumpe, neu"', '"Bonn";"eine', 'Zeile; mehr"'), {"Ort": "Kiel"}),
        (("Ort;text", "Kiel;Die Pumpe, neu", "x", "Bonn;y"), {"Ort": "Kiel"}),
    ],
)
def test_the_delimiter_of_a_csv_file_is_found(rows: tuple[str, ...], ref: dict[str, str]) -> None:
    first = gather(read_records(lines(*rows), "csv"))[0][0]
    assert first == {"text": "Die Pumpe, neu", "metadata": ref}


def test_a_csv_file_of_one_column_has_no_delimiter() -> None:
    records, _, messages = gather(read_records(lines("text", "one; two", "three | four, five"), "csv"))
    assert [record["text"] for record in records] == ["one; two"]
    assert messages == ["3: the row has 2 cells, the header 1; skipped"]
    records, _, _ = gather(
        read_records(lines("Zeit; Text", "one", "two", "three"), "csv", columns={"text": "Zeit; Text"})
    )
    assert [record["text"] for record in records] == ["one", "two", "three"]


def test_csv_cells_over_the_limit() -> None:
    stream = lines("text", "x" * 200_000, "y" * 300_000, "z")
    records, _, messages = gather(read_records(stream, "csv", max_line_bytes=200_000))
    assert [len(record["text"]) for record in records] == [200_000, 1]
    assert len(messages) == 1


def test_tsv_and_unnamed_columns() -> None:
    records, _, _ = gather(read_records(lines("\ttext", "0\ta,b"), "tsv"))
    assert records == [{"text": "a,b", "metadata": {"column_1": "0"}}]
    assert gather(read_records(lines("text"), "tsv")) == ([], [], [])
    assert gather(read_records(io.BytesIO(), "csv")) == ([], [], [])


def test_csv_headers_that_do_not_fit() -> None:
    with pytest.raises(SchemaMismatch, match="'a'"):
        list(read_records(lines("a,a"), "csv"))
    with pytest.raises(SchemaMismatch, match="'body'"):
        list(read_records(lines("a,b"), "csv", columns={"text": "body"}))
    with pytest.raises(IngestError, match="header"):
        list(read_records(lines('"a"b'), "csv"))


def test_leaving_early_closes_the_file_quietly(tmp_path: Path) -> None:
    for kind, head in (("csv", "text\n"), ("jsonl", "")):
        file = tmp_path / f"a.{kind}"
        file.write_text(head + '{"text": "x"}\n' * 10)
        chunks = read_records(file, kind, batch_rows=1)
        next(chunks)
        del chunks  # warnings are errors here, so an unclosed file would show


def sample() -> pa.Table:
    return pa.table(
        {
            "text": pa.array(["a", None, "c"]).dictionary_encode(),
            "created_at": pa.array([1_700_000_000_123_456_789, None, 0], pa.timestamp("ns", "Europe/Berlin")),
            "vector": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "price": pa.array([Decimal("1.5"), None, None], pa.decimal128(5, 2)),
            "far": pa.array([2**62, 1, None], pa.timestamp("s")),
            "took": pa.array([1_000_000_001, None, None], pa.duration("ns")),
            "clock": pa.array([1_000, None, None], pa.time64("ns")),
            "pairs": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        }
    )


def written(folder: Path, how: str) -> tuple[Path, str]:
    path = folder / how
    if how == "parquet":
        pq.write_table(sample().drop_columns(["far"]), path)
        return path, "parquet"
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    new = pa.ipc.new_stream if how == "stream" else pa.ipc.new_file
    with new(str(path), sample().schema, options=options) as writer:
        writer.write_table(sample(), max_chunksize=2)
    return path, "feather" if how == "feather" else "arrow"


@pytest.mark.parametrize("how", ["parquet", "file", "stream", "feather"])
def test_parquet_and_arrow_files(tmp_path: Path, how: str) -> None:
    path, kind = written(tmp_path, how)
    records, positions, messages = gather(read_records(path, kind, batch_rows=2))
    assert (positions, messages) == ([1, 2, 3], [])
    first, empty, last = records
    assert first["text"] == "a"
    assert normalise_record(first).created_at_us == 1_700_000_000_123_456
    assert first["vector"] == [1.0, 2.0]
    assert first["metadata"]["price"] == "1.50"
    assert first["metadata"]["pairs"] == {"a": 1}
    assert first["metadata"]["took"] == 1.0
    assert first["metadata"]["clock"] == "00:00:00.000001"
    assert "text" not in empty
    assert last["created_at"] == datetime(1970, 1, 1, tzinfo=UTC)
    assert "took" not in last["metadata"]
    json.dumps([record["metadata"] for record in records if "metadata" in record], allow_nan=False)
    assert sum(batch.num_rows for batch in arrow_batches(path, recordfiles._ALIASES.get(kind, kind), batch_rows=1)) == 3


def test_files_that_are_something_else(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for data in (
        b"",
        b"nonsense",
        b"PAR1",
        b"ARROW1",
        b"FEA1 and more",
        b"\xff\xff\xff\xff\x10\x00\x00\x00" + b"\xff" * 16,
    ):
        file.write_bytes(data)
        for kind in ("parquet", "arrow"):
            with pytest.raises(IngestError, match=kind if b"FEA1" not in data else "Feather|parquet"):
                list(read_records(file, kind))
    for kind in ("parquet", "arrow", "csv", "jsonl"):
        with pytest.raises(IngestError, match="nowhere"):
            list(read_records(tmp_path / "nowhere", kind))


def test_a_flipped_offset_is_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    table = pa.table({"text": ["abc", "defg"]})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    data = path.read_bytes()
    offsets = np.array([0, 3, 7], dtype=np.int32).tobytes()
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, np.array([0, 2**30, 7], dtype=np.int32).tobytes()))
    with pytest.raises(IngestError, match="arrow"):
        list(read_records(path, "arrow"))


def test_arguments_are_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="'xml'"):
        read_records("a", "xml")
    with pytest.raises(InvalidArgument, match="path"):
        read_records(io.BytesIO(), "parquet")
    with pytest.raises(InvalidArgument, match="'body'"):
        read_records("a", "csv", columns={"body": "text"})
    with pytest.raises(InvalidArgument, match="columns"):
        read_records("a", "csv", columns={"text": 3})  # type: ignore[dict-item]
    with pytest.raises(InvalidArgument, match="batch_rows=0"):
        read_records("a", "csv", batch_rows=0)
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), table)
    with pytest.raises(SchemaMismatch, match="'b'"):
        list(read_records(table, "parquet", columns={"text": "b"}))


def json_lines(*records: Mapping[str, Any] | str) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records)


def texts(vault: Vault) -> list[str]:
    return sorted(chunk.text for chunk in vault.list(limit=None))


def test_json_lines_with_all_fields_and_bad_lines_among_them(lexical_vault: Vault, tmp_path: Path) -> None:
    good = {
        "id": "r1", "text": "Ship on Friday.", "title": "Release", "type": "decision", "project": "api", "session": "s1",
        "agent": "planner", "created_at": "2026-02-15", "success": True, "tags": ["ops", "#go"], "metadata": {"n": 1}, "x": 2,
    }  # fmt: skip
    write(
        tmp_path,
        "r.jsonl",
        json_lines(good, "{broken", {"text": ""}, "[1]", {"text": "Second.", "created_at": "never"}),
    )
    got = lexical_vault.ingest(tmp_path / "r.jsonl")
    assert (got.added, got.chunks) == (1, 1)
    problem = got.problems[0]  # one a file, findings, stranger 16
    assert (len(got.problems), problem.source, problem.code, problem.message[:2]) == (1, "r.jsonl", "record", "2:")
    assert problem.message.endswith("(and 3 more like it)")
    chunk = lexical_vault.get("r1")
    assert (chunk.text, chunk.title, chunk.type, chunk.collection) == (
        "Ship on Friday.",
        "Release",
        "decision",
        "decisions",
    )
    assert (chunk.project, chunk.session, chunk.agent, chunk.success) == ("api", "s1", "planner", True)
    assert (chunk.tags, chunk.metadata, chunk.source) == (("ops", "go"), {"n": 1, "x": 2}, "r.jsonl")
    assert lexical_vault.recall("ship friday", k=1)[0].created_at == datetime(2026, 2, 15, tzinfo=UTC)


def test_a_file_that_grows_gives_only_what_is_new(tmp_path: Path, clock: FixedClock) -> None:
    embedder = CountingEmbedder()
    model = lamina.CallableEmbedder(embedder, 8, "words;v1")
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder=model) as vault:
        first: list[Mapping[str, Any]] = [{"text": f"line {i}"} for i in range(20)]
        path = write(tmp_path, "log.jsonl", json_lines(*first))
        vault.ingest(path)
        before, embedder.texts = ids_by_text(vault), []
        with path.open("a") as file:
            file.write(json_lines({"text": "line 20"}, {"text": "line 21"}))
        settle(path)
        got = vault.ingest(path)
        assert (got.updated, got.chunks, got.embedded) == (1, 2, 2)
        assert embedder.texts == ["line 20", "line 21"]
        after = ids_by_text(vault)
        assert {text: after[text] for text in before} == before


def test_a_line_that_is_gone_is_no_longer_recalled_and_returns_with_its_id(
    lexical_vault: Vault, tmp_path: Path
) -> None:
    path = write(tmp_path, "r.jsonl", json_lines({"text": "stays"}, {"text": "goes"}))
    lexical_vault.ingest(path)
    goes = ids_by_text(lexical_vault)["goes"]
    write(tmp_path, "r.jsonl", json_lines({"text": "stays"}))
    assert lexical_vault.ingest(path).updated == 1
    assert texts(lexical_vault) == ["stays"]
    assert lexical_vault.get(goes).status == "removed"
    write(tmp_path, "r.jsonl", json_lines({"text": "goes"}, {"text": "stays"}))
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
    write(folder, "a.jsonl", json_lines(*content))
    lexical_vault.ingest(folder)
    before = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert len(before) == 3
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    got = lexical_vault.ingest(folder)
    assert (got.moved, got.added, got.removed) == (1, 0, 0)
    assert {chunk.id: chunk.metadata for chunk in lexical_vault.list()} == before
    assert {chunk.source for chunk in lexical_vault.list()} == {"b.jsonl"}
    write(folder, "b.jsonl", json_lines(*content, {"text": "new"}))
    assert lexical_vault.ingest(folder).chunks == 1
    after = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert {name: after[name] for name in before} == before
    assert len(after) == 4


@pytest.mark.parametrize(("old", "status"), [("rot", "invalidated"), ("7411", "active")])
def test_an_invalidated_record_stays_so_while_its_file_says_what_was_wrong(
    lexical_vault: Vault, tmp_path: Path, old: str, status: str
) -> None:
    text = "Der Port von Keystone ist 7411. Die Tür ist rot."
    lexical_vault.ingest(
        write(tmp_path, "r.jsonl", json_lines({"id": "k", "text": text}, {"id": "l", "text": "Still."}))
    )
    lexical_vault.invalidate("k", "der Port stimmt nicht mehr")
    report = lexical_vault.ingest(write(tmp_path, "r.jsonl", json_lines({"id": "k", "text": text.replace(old, "neu")})))
    assert lexical_vault.get("k").status == status
    assert [problem.code for problem in report.problems] == ["invalidated"]


def test_details_that_change_are_an_update_of_the_same_chunk(lexical_vault: Vault, tmp_path: Path) -> None:
    path = write(tmp_path, "r.jsonl", json_lines({"text": "one", "n": 1}))
    lexical_vault.ingest(path)
    (before,) = lexical_vault.list()
    write(tmp_path, "r.jsonl", json_lines({"text": "one", "n": 2}, {"text": "one", "n": 1}))
    lexical_vault.ingest(path)
    got = {chunk.id: chunk.metadata for chunk in lexical_vault.list()}
    assert len(got) == 2
    assert sorted(str(value["n"]) for value in got.values()) == ["1", "2"]
    assert before.id in got


def test_csv_with_a_map_of_its_columns(lexical_vault: Vault, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "key,body,when,who\n007,First words,2026-01-02,ann\n8,,2026-01-03,bob\n9,x\n")
    got = lexical_vault.ingest(path, columns={"id": "key", "text": "body", "created_at": "when"})
    assert (got.added, got.chunks, [p.code for p in got.problems]) == (1, 1, ["record"])
    chunk = lexical_vault.get("007")
    assert (chunk.text, chunk.metadata) == ("First words", {"who": "ann"})
    assert chunk.created_at_us == 1_767_312_000_000_000


def test_a_table_read_again_without_its_columns_keeps_its_rows(lexical_vault: Vault, tmp_path: Path) -> None:
    # a stranger's trial: all rows of an unchanged table left recall, and nothing said so
    write(tmp_path, "t.csv", "name,place\nFirst,here\nSecond,there\n")
    lexical_vault.ingest(tmp_path / "t.csv", columns={"text": "name"})
    got = lexical_vault.ingest(tmp_path / "t.csv")
    assert [(p.source, p.code) for p in got.problems] == [("t.csv", "record"), ("t.csv", "unreadable")]
    assert "its 2 chunks are kept" in got.problems[-1].message
    assert sorted(texts(lexical_vault)) == ["First", "Second"]
    assert lexical_vault.ingest(tmp_path / "t.csv", columns={"text": "name"}).unchanged == 1


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
            json_lines(
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
    monkeypatch.setattr(recordfiles, "GROUP_RECORDS", 3)
    report = IngestReport()
    writer = RecordWriter(lexical_vault._memory, report, "f", {"project": "p", "type": None})
    writer.add((i, {"id": f"r{i}", "text": f"text {i}"}) for i in range(7))
    assert writer.contents() == ([f"r{i}" for i in range(6)], [*range(6)])
    writer.flush()
    assert (writer.contents()[0], writer.changed, report.chunks) == ([f"r{i}" for i in range(7)], 7, 7)
    assert {chunk.project for chunk in lexical_vault.list()} == {"p"}


def test_equal_records_share_an_id_across_groups_and_no_id_is_given_twice(
    monkeypatch: pytest.MonkeyPatch, lexical_vault: Vault
) -> None:
    monkeypatch.setattr(recordfiles, "GROUP_RECORDS", 2)
    writer = RecordWriter(lexical_vault._memory, IngestReport(), "f", {})
    same = {"text": "the same", "source": "f"}
    writer.add(enumerate([same, {"text": "else"}, same, {"id": "own", "text": "mine"}, same]))
    writer.flush()
    ids, lines = writer.contents()
    assert (len(ids), lines) == (3, [0, 1, 3])
    taken = RecordWriter(lexical_vault._memory, IngestReport(), "f", {})
    taken.add(enumerate([{"id": ids[0], "text": "somebody's"}, {"text": "third"}, same, same]))
    taken.flush()
    assert taken.contents()[0][0] == ids[0]
    assert len(taken.contents()[0]) == 3


def test_records_before_the_one_that_cannot_be_read_are_kept(lexical_vault: Vault, tmp_path: Path) -> None:
    path = write(tmp_path, "r.csv", "text\nkept\nkept too\n" + "x" * (9 * recordfiles.MAX_LINE_BYTES))
    got = lexical_vault.ingest(path)
    assert [problem.code for problem in got.problems] == ["unreadable"]
    assert sorted(chunk.text for chunk in lexical_vault.list()) == ["kept", "kept too"]


def test_very_many_records_wait_for_a_build_of_links(
    monkeypatch: pytest.MonkeyPatch, lexical_vault: Vault, tmp_path: Path
) -> None:
    """Generators look at every row of the vault: of a file of 1 GB they took 900 MB."""
    monkeypatch.setattr(generators, "MOST_LINKED", 3)
    named = ("Harbour Gate", "Quarry", "Lighthouse", "Ferry")
    rows = [{"id": f"r{i}", "text": f"row {i}, see Harbour Gate", "title": name} for i, name in enumerate(named)]
    few, many = (write(tmp_path, name, json_lines(*some)) for name, some in (("a.jsonl", rows[:3]), ("b.jsonl", rows)))
    assert lexical_vault.ingest(few).links == 2
    got = lexical_vault.ingest(many)
    assert ([(p.code, p.message[:9]) for p in got.problems], got.links) == ([("links", "4 records")], 0)


def test_a_record_with_a_secret_is_left_out_where_the_policy_says_so(tmp_path: Path, clock: FixedClock) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    records: Sequence[Mapping[str, Any]] = [{"text": "fine"}, {"text": f"token {secret}"}, {"text": "fine too"}]
    path = write(tmp_path, "r.jsonl", json_lines(*records))
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder="none", redactor=Redactor("skip")) as vault:
        got = vault.ingest(path)
        assert texts(vault) == ["fine", "fine too"]
        assert ([p.code for p in got.problems], got.redactions) == (["redacted_skip"], 1)
        assert secret not in str(got)
