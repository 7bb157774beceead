from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, SchemaMismatch
from lamina_engine.ingest import records as module
from lamina_engine.ingest.records import (
    Record,
    RecordChunk,
    RecordColumns,
    arrow_batches,
    json_value,
    normalise_record,
    read_records,
    records_from_arrow,
)

# one mapping


def test_text_alone_is_a_record() -> None:
    assert normalise_record({"text": "hello"}) == Record("hello")


def test_every_field() -> None:
    got = normalise_record(
        {
            **{name: name[0] for name in ("title", "type", "collection", "project", "session", "agent", "source")},
            "id": "i-1",
            "text": " kept as it is\n",
            "created_at": "2026-02-15",
            "success": False,
            "tags": ["#a", "b", " a ", ""],
            "vector": [1, 2.5],
            "metadata": {"k": [1, None]},
            "unknown": 7,
        },
        tz="Europe/Berlin",
    )
    ref = Record(
        " kept as it is\n",
        "i-1",
        title="t",
        type="t",
        collection="c",
        project="p",
        session="s",
        agent="a",
        source="s",
        created_at_us=parse_instant("2026-02-14T23:00:00Z"),
        success=False,
        tags=("a", "b"),
        metadata={"k": [1, None], "unknown": 7},
    )
    assert got == ref
    assert got.vector is not None
    assert got.vector.dtype == np.float32
    assert got.vector.tolist() == [1.0, 2.5]


def test_none_and_empty_names_are_absent() -> None:
    names = ("title", "type", "collection", "project", "session", "agent", "source")
    assert normalise_record({"text": "x", **dict.fromkeys(names, "")}) == Record("x")
    assert normalise_record({"text": "x", **dict.fromkeys(module.FIELDS - {"text"})}) == Record("x")


@pytest.mark.parametrize(
    "moment",
    [
        "2026-02-15T09:30:00Z",
        datetime(2026, 2, 15, 9, 30, tzinfo=UTC),
        datetime(2026, 2, 15, 9, 30),
        1771147800,
        1771147800.0,
        np.int64(1771147800),
        datetime(2026, 2, 15, 10, 30, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_moments(moment: object) -> None:
    assert normalise_record({"text": "x", "created_at": moment}).created_at_us == 1771147800_000_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", None),
        ("text", ""),
        ("text", " \n\t"),
        ("text", b"bytes"),
        ("text", "half \ud800"),
        ("id", 7),
        ("id", ""),
        ("id", "x" * 201),
        ("id", "a\nb"),
        ("id", "a\x7fb"),
        ("id", "\udfff"),
        ("title", 1),
        ("type", ["a"]),
        ("session", True),
        ("created_at", "soon"),
        ("created_at", True),
        ("created_at", [2026]),
        ("created_at", math.nan),
        ("created_at", 1e300),
        ("success", "yes"),
        ("success", 1),
        ("tags", {"a": 1}),
        ("tags", ["a", 1]),
        ("tags", 3),
        ("vector", []),
        ("vector", "0.1"),
        ("vector", ["1", "2"]),
        ("vector", [[1.0]]),
        ("vector", [[1.0], [1.0, 2.0]]),
        ("vector", [True, False]),
        ("vector", [1.0, math.nan]),
        ("vector", [math.inf]),
        ("vector", np.array([1e39])),
        ("vector", [None, 1.0]),
        ("vector", 1.0),
        ("metadata", []),
        ("metadata", "[]"),
        ("metadata", "{"),
        ("metadata", '{"a": NaN}'),
        ("metadata", {1: 2}),
        ("metadata", {"a": object()}),
        ("metadata", {"a": "\ud800"}),
        ("metadata", {"\ud800": 1}),
        ("metadata", {"a": {"b": {3: 4}}}),
    ],
)
def test_a_wrong_value_names_its_field(field: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=field) as raised:
        normalise_record({"text": "x", field: value})
    assert "give" in str(raised.value)
    assert len(str(raised.value)) < 400


def test_what_is_no_record_at_all() -> None:
    with pytest.raises(InvalidArgument, match="mapping"):
        normalise_record(["text"])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="key"):
        normalise_record({"text": "x", 3: 4})  # type: ignore[dict-item]
    with pytest.raises(InvalidArgument, match="once"):
        normalise_record({"text": "x", "lang": "en", "metadata": {"lang": "de"}})


def test_limits_of_an_id() -> None:
    assert normalise_record({"text": "x", "id": "x" * 200}).id == "x" * 200
    assert normalise_record({"text": "x", "id": "Ünï \u00ad\u200b 日"}).id == "Ünï \u00ad\u200b 日"


def test_tags_as_text_and_metadata_as_json() -> None:
    got = normalise_record({"text": "x", "tags": "a, #b,,a", "metadata": '{"k": 1.5}'})
    assert (got.tags, got.metadata) == (("a", "b"), {"k": 1.5})


def test_the_vector_is_a_copy() -> None:
    given_vector = np.array([1.0, 2.0], dtype=np.float32)
    got = normalise_record({"text": "x", "vector": given_vector}).vector
    given_vector[0] = 9
    assert got is not None
    assert got[0] == 1


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        (datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1))), "2026-01-02T02:04:00Z"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1), 60.0),
        (Decimal("1.10"), "1.10"),
        (b"\x00\xff", "00ff"),
        (math.nan, None),
        (-math.inf, None),
        (np.float64(1.5), 1.5),
        (np.array([[1], [2]]), [[1], [2]]),
        ((1, {"a": {2, 1}}), [1, {"a": [1, 2]}]),
        (10**30, 10**30),
    ],
)
def test_values_as_json(value: object, ref: object) -> None:
    got = json_value(value, "m")
    assert got == ref
    assert json.loads(json.dumps(got, allow_nan=False)) == ref


def test_bottomless_values_are_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidArgument, match="deep"):
        json_value(loop, "m")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(module.FIELDS)) | st.text(max_size=3), ANYTHING, max_size=6))
def test_any_mapping_is_a_record_or_refused(given_record: dict[str, object]) -> None:
    try:
        got = normalise_record(given_record)
    except InvalidArgument:
        return
    assert got.text.strip()
    json.dumps(got.metadata, allow_nan=False).encode()


# files and streams


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
    stream = lines(*["nonsense"] * (module.MAX_PROBLEMS + 5))
    _, _, messages = gather(read_records(stream, "jsonl"))
    assert len(messages) == module.MAX_PROBLEMS + 1
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
    assert sum(batch.num_rows for batch in arrow_batches(path, module._ALIASES.get(kind, kind), batch_rows=1)) == 3


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


# tables


def one(data: Any, **options: Any) -> RecordColumns:
    (got,) = records_from_arrow(data, **options)
    return got


def test_text_column_alone() -> None:
    got = one(pa.table({"text": ["a", "b"]}))
    assert got.text == ["a", "b"]
    assert got.rows.tolist() == [0, 1]
    assert (got.names, got.created_at_us, got.success, got.tags) == ({}, None, None, None)
    assert (got.vectors, got.has_vector, got.metadata, got.problems) == (None, None, None, [])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_any_encoding_of_text(kind: pa.DataType) -> None:
    data = pa.table({"text": pa.array(["x", "ü", "z"]).cast(kind), "title": pa.array([None, "", "t"]).cast(kind)})
    got = one(data.slice(1))
    assert got.text == ["ü", "z"]
    assert got.names == {"title": [None, "t"]}


def test_bad_rows_are_left_out_of_every_column() -> None:
    data = pa.table(
        {
            "text": ["ok", "", "x", "y", "z", "last"],
            "id": ["1", "2", "a\tb", "", None, "6"],
            "created_at": ["2026-01-01", None, None, None, "never", "2026-01-02"],
            "vector": [[1.0, 0.0], None, None, None, None, None],
            "success": [True, None, None, None, None, False],
            "tags": [["a"], None, None, None, None, ["#b", "b"]],
            "n": [1, 2, 3, 4, 5, None],
        }
    )
    got = one(data, source="table")
    assert got.text == ["ok", "last"]
    assert got.rows.tolist() == [0, 5]
    assert got.names == {"id": ["1", "6"]}
    assert got.created_at_us == [parse_instant("2026-01-01"), parse_instant("2026-01-02")]
    assert got.success == [True, False]
    assert got.tags == [("a",), ("b",)]
    assert got.vectors is not None
    assert got.vectors.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert got.has_vector is not None
    assert got.has_vector.tolist() == [True, False]
    assert got.metadata == [{"n": 1}, {}]
    assert [(p.source, p.code, p.message.partition(":")[0]) for p in got.problems] == [
        ("table", "record", f"row {i}") for i in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_timestamps_of_any_unit_and_zone(unit: str, zone: str | None) -> None:
    per_s = module._UNITS_PER_S[unit]
    values = [0, None, -1, 1_700_000_000 * per_s + 1]
    data = pa.table({"text": list("abcd"), "created_at": pa.array(values, pa.timestamp(unit, zone))})
    ref = [None if value is None else value * 10**6 // per_s for value in values]
    assert one(data).created_at_us == ref
    got = one(data, tz="Asia/Tokyo").created_at_us
    shift = 9 * 3600 * 10**6 if zone is None else 0
    assert got == [None if value is None else value - shift for value in ref]
    assert one(data.slice(2)).created_at_us == ref[2:]


def test_dates_text_and_numbers_as_moments() -> None:
    for values in (
        pa.array([date(2026, 2, 15), None], pa.date32()),
        pa.array([date(2026, 2, 15), None], pa.date64()),
        pa.array(["2026-02-15", None]),
        pa.array([1771113600, None]),
        pa.array([1771113600.0, None]),
    ):
        data = pa.table({"text": ["a", "b"], "created_at": values})
        assert one(data).created_at_us == [1771113600_000_000, None]
    local = pa.table({"text": ["a"], "created_at": pa.array([date(2026, 2, 15)])})
    assert one(local, tz="Asia/Tokyo").created_at_us == [parse_instant("2026-02-15", "Asia/Tokyo")]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63) + 1])
def test_absurd_moments_are_reported(unit: str, value: int) -> None:
    data = pa.table({"text": ["a", "b"], "created_at": pa.array([value, 0], pa.timestamp(unit))})
    got = one(data)
    assert (got.text, got.created_at_us) == (["b"], [0])
    assert "created_at" in got.problems[0].message


VECTOR_TYPES = [
    pa.list_(pa.float32(), 3),
    pa.list_(pa.float64(), 3),
    pa.list_(pa.float16(), 3),
    pa.list_(pa.float32()),
    pa.list_(pa.int8()),
    pa.large_list(pa.float64()),
]


@pytest.mark.parametrize("kind", VECTOR_TYPES)
@pytest.mark.parametrize("with_nulls", [False, True])
def test_vectors_of_any_list_type(kind: pa.DataType, with_nulls: bool) -> None:
    rows = [[1, 2, 3], None if with_nulls else [0, 0, 1], [4, 5, 6], [7, 8, 9]]
    array = pa.array([None if row is None else np.array(row, kind.value_type.to_pandas_dtype()) for row in rows], kind)
    data = pa.table({"text": list("abcd"), "vector": array})
    for start in (0, 1, 2):
        got = one(data.slice(start))
        ref = np.array([row or [0, 0, 0] for row in rows[start:]], dtype=np.float32)
        assert got.vectors is not None
        assert got.vectors.dtype == np.float32
        np.testing.assert_array_equal(got.vectors, ref)
        assert got.has_vector is not None
        assert got.has_vector.tolist() == [row is not None for row in rows[start:]]
        assert got.problems == []


def test_plain_vectors_are_not_copied() -> None:
    flat = pa.array(np.arange(6, dtype=np.float32))
    data = pa.table({"text": ["a", "b"], "vector": pa.FixedSizeListArray.from_arrays(flat, 3)})
    got = one(data).vectors
    assert got is not None
    assert np.shares_memory(got, flat.to_numpy())


def test_vectors_that_do_not_fit_are_reported() -> None:
    rows = [[1.0, 2.0], [1.0], [math.nan, 1.0], [1e300, 0.0], [None, 1.0], [], None, [3.0, 4.0]]
    data = pa.table({"text": list("abcdefgh"), "vector": pa.array(rows, pa.list_(pa.float64()))})
    got = one(data)
    assert got.text == ["a", "g", "h"]
    assert got.vectors is not None
    assert got.vectors.tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    assert [problem.message.partition(":")[0] for problem in got.problems] == [f"row {i}" for i in (1, 2, 3, 4, 5)]


def test_tags_by_column() -> None:
    lists = [["#b", "a", "b"], ["x", None], None, ["x", None], ["#b", "a", "b"]]
    got = one(pa.table({"text": list("abcde"), "tags": lists}))
    assert (got.text, got.tags) == (["a", "c", "e"], [("b", "a"), (), ("b", "a")])
    assert [problem.message.partition(":")[0] for problem in got.problems] == ["row 1", "row 3"]
    assert one(pa.table({"text": ["a", "b"], "tags": ["x, y", None]})).tags == [("x", "y"), ()]


def test_vectors_all_absent_or_all_empty() -> None:
    for column in (pa.nulls(2), pa.array([None, None], pa.list_(pa.float32())), pa.nulls(2, pa.list_(pa.float32(), 2))):
        got = one(pa.table({"text": ["a", "b"], "vector": column}))
        assert (got.vectors, got.has_vector, got.text) == (None, None, ["a", "b"])
    got = one(pa.table({"text": ["a"], "vector": pa.array([[]], pa.list_(pa.float32()))}))
    assert (got.vectors, got.text, len(got.problems)) == (None, [], 1)


def test_tensor_columns_are_vectors() -> None:
    kind = pa.fixed_shape_tensor(pa.float32(), [2])
    storage = pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))
    got = one(pa.table({"text": ["a"], "vector": pa.ExtensionArray.from_storage(kind, storage)})).vectors
    assert got is not None
    assert got.tolist() == [[1.0, 2.0]]


def test_metadata_of_any_kind() -> None:
    columns = [
        pa.array([{"k": 1}, None], pa.struct([("k", pa.int64())])),
        pa.array(['{"k": 1}', None]),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    ]
    for column in columns:
        assert one(pa.table({"text": ["a", "b"], "metadata": column})).metadata == [{"k": 1}, {}]
        both = pa.table({"text": ["a", "b"], "metadata": column, "x": [math.nan, 2.5]})
        assert one(both).metadata == [{"k": 1}, {"x": 2.5}]
    clash = one(pa.table({"text": ["a", "b"], "metadata": columns[0], "k": [1, 2]}))
    assert (clash.text, clash.metadata) == (["b"], [{"k": 2}])
    assert one(pa.table({"text": ["a", "b"], "metadata": ["[]", "{}"]})).text == ["b"]


def test_moments_inside_other_columns() -> None:
    moment = pa.timestamp("ns", "UTC")
    inner = pa.array([[1_700_000_000_000_000_001], None], pa.list_(moment))
    outer = pa.array([{"at": 1}, None], pa.struct([("at", moment)]))
    got = one(pa.table({"text": ["a", "b"], "inner": inner, "outer": outer}))
    assert got.metadata == [{"inner": ["2023-11-14T22:13:20Z"], "outer": {"at": "1970-01-01T00:00:00Z"}}, {}]
    far = pa.array([2**62, 0], pa.timestamp("s"))
    (first, second) = one(pa.table({"text": ["a", "b"], "far": far})).metadata or []
    assert isinstance(first["far"], str)
    assert second["far"].startswith("1970-01-01")
    nested = pa.array([[2**62]], pa.list_(pa.timestamp("s")))
    with pytest.raises(SchemaMismatch, match="timestamp"):
        one(pa.table({"text": ["a"], "far": nested}))


def test_tables_whose_columns_do_not_fit() -> None:
    for columns, named in [
        ({"body": ["a"]}, "text"),
        ({"text": [1]}, "text"),
        ({"text": ["a"], "id": [1]}, "id"),
        ({"text": ["a"], "success": ["yes"]}, "success"),
        ({"text": ["a"], "created_at": [True]}, "created_at"),
        ({"text": ["a"], "vector": [1.0]}, "vector"),
        ({"text": ["a"], "vector": [["1"]]}, "vector"),
        ({"text": ["a"], "tags": [[1]]}, "tags"),
        ({"text": ["a"], "metadata": [1]}, "metadata"),
    ]:
        for data in (pa.table(columns), pa.table(columns).slice(1)):
            with pytest.raises(SchemaMismatch, match=named):
                list(records_from_arrow(data))
    with pytest.raises(SchemaMismatch, match="'a'"):
        list(records_from_arrow(pa.table([["x"], ["y"]], names=["a", "a"])))
    with pytest.raises(SchemaMismatch, match="'b'"):
        list(records_from_arrow(pa.table({"a": ["x"]}), columns={"text": "b"}))
    with pytest.raises(InvalidArgument, match="tz"):
        records_from_arrow(pa.table({"text": ["x"]}), tz="Nowhere/Else")
    with pytest.raises(InvalidArgument, match="batch_rows"):
        records_from_arrow(pa.table({"text": ["x"]}), batch_rows=0)
    with pytest.raises(InvalidArgument, match="RecordBatch"):
        list(records_from_arrow([{"text": "x"}]))


def test_batches_readers_and_chunks_agree() -> None:
    table = pa.table({"text": [f"t{i}" for i in range(10)]})
    pieces = pa.concat_tables([table.slice(i, 1) for i in range(10)])
    reader = pa.RecordBatchReader.from_batches(table.schema, pieces.to_batches())
    (whole,) = table.to_batches()
    for data in (table, pieces, reader, whole, pieces.to_batches()):
        got = list(records_from_arrow(data, batch_rows=4))
        assert [text for part in got for text in part.text] == table["text"].to_pylist()
        assert np.concatenate([part.rows for part in got]).tolist() == list(range(10))
        assert max(len(part.text) for part in got) <= 4
    assert list(records_from_arrow(table.slice(10))) == []


def test_columns_of_a_table_are_mapped() -> None:
    data = pa.table({"body": ["b"], "text": ["t"], "key": ["k"]})
    got = one(data, columns={"text": "body", "id": "key", "title": "key"})
    assert (got.text, got.names, got.metadata) == (["b"], {"id": ["k"], "title": ["k"]}, [{"text": "t"}])


ROW = st.fixed_dictionaries(
    {
        "text": st.none() | st.sampled_from(["", " ", "hello", "wörld"]),
        "id": st.none() | st.sampled_from(["", "a", "b\x00", "x" * 201]),
        "title": st.none() | st.text(max_size=3),
        "created_at": st.none() | st.sampled_from(["2026-01-01", "2026-01-01T05:00:00Z", "x"]),
        "success": st.none() | st.booleans(),
        "tags": st.none() | st.lists(st.sampled_from(["a", "#a", " b", ""]), max_size=3),
        "vector": st.none()
        | st.just([math.inf, 0.0])
        | st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=2),
        "extra": st.none() | st.floats(),
    }
)
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("text", "id", "title", "created_at"), pa.string()),
        "success": pa.bool_(),
        "tags": pa.list_(pa.string()),
        "vector": pa.list_(pa.float32()),
        "extra": pa.float64(),
    }
)


@given(st.lists(ROW, min_size=1, max_size=8))
def test_tables_follow_the_rules_of_single_records(rows: list[dict[str, Any]]) -> None:
    ref: dict[int, Record] = {}
    for i, row in enumerate(rows):
        try:
            ref[i] = normalise_record({key: value for key, value in row.items() if value is not None}, tz="Asia/Tokyo")
        except InvalidArgument:
            continue
    got = one(pa.Table.from_pylist(rows, SCHEMA), tz="Asia/Tokyo")
    assert got.rows.tolist() == list(ref)
    assert len(got.problems) == len(rows) - len(ref)
    assert got.created_at_us is not None
    assert got.success is not None
    assert got.tags is not None
    assert got.metadata is not None
    for place, record in enumerate(ref.values()):
        assert got.text[place] == record.text
        assert (got.names["id"][place], got.names["title"][place]) == (record.id, record.title)
        assert got.created_at_us[place] == record.created_at_us
        assert (got.success[place], got.tags[place]) == (record.success, record.tags)
        vector = got.vectors[place] if got.has_vector is not None and got.has_vector[place] else None  # type: ignore[index]
        assert (vector is None) == (record.vector is None)
        np.testing.assert_array_equal(vector if vector is not None else 0, record.vector if vector is not None else 0)
        assert got.metadata[place] == {k: v for k, v in record.metadata.items() if v is not None}


def test_importing_it_stays_cheap() -> None:
    code = (
        "import sys, lamina_engine.ingest.records, lamina_engine.ingest.walk, lamina_engine.ingest.scan\n"
        "import lamina_engine.ingest.provenance\n"
        "heavy = {'pyarrow.compute', 'pyarrow.parquet', 'pyarrow.dataset', 'pandas', 'numba', 'httpx', 'yaml'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
