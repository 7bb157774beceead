from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamina_engine.errors import IngestError, InvalidArgument, SchemaMismatch
from lamina_engine.ingest import recordfiles
from lamina_engine.ingest.recordfiles import MAX_PROBLEMS, RecordChunk, arrow_batches, read_records
from lamina_engine.ingest.records import normalise_record


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
    assert all(message.endswith("left out") for message in messages)


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


def test_text_streams_and_plain_text() -> None:
    assert gather(read_records(io.StringIO('{"text": "ü"}\n'), "jsonl"))[0] == [{"text": "ü"}]
    assert gather(read_records(lines("one", "two\r"), "text"))[0] == [{"text": "one\ntwo\r"}]
    assert gather(read_records(io.TextIOWrapper(lines("ö")), "text"))[0] == [{"text": "ö"}]
    assert "UTF-8" in gather(read_records(io.BytesIO(b"a\xff"), "text"))[2][0]
    assert "more than 3" in gather(read_records(lines("long"), "text", max_line_bytes=3))[2][0]


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
    for kind in ("parquet", "arrow", "csv", "jsonl", "text"):
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
