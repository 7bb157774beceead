from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.ingest import recordtables
from lamina_engine.ingest.records import Record, normalise_record
from lamina_engine.ingest.recordtables import RecordColumns, records_from_arrow


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
    per_s = recordtables._UNITS_PER_S[unit]
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


@pytest.mark.parametrize(("rows", "sizes"), [(3, [3]), (4, [4]), (9, [4, 5]), (10, [4, 6]), (25, [4, 6, 10, 5])])
def test_the_first_batch_is_short_and_the_second_fills_it_up(rows: int, sizes: list[int]) -> None:
    data = pa.table({"text": [str(i) for i in range(rows)]})
    got = list(records_from_arrow(data, batch_rows=10, lead_rows=4))
    assert [len(each.text) for each in got] == sizes
    assert [text for each in got for text in each.text] == data["text"].to_pylist()


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


@settings(max_examples=40)
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
