""""""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.ingest.records import (
    FIELDS,
    ColumnMapping,
    Record,
    check_type,
    normalise_record,
    python_values,
)
from lamina_engine.json_values import json_value


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
    assert normalise_record({"text": "x", **dict.fromkeys(FIELDS - {"text"})}) == Record("x")


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


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(sorted(FIELDS)) | st.text(max_size=3), ANYTHING, max_size=6))
def test_any_mapping_is_a_record_or_refused(given_record: dict[str, object]) -> None:
    try:
        got = normalise_record(given_record)
    except InvalidArgument:
        return
    assert got.text.strip()
    json.dumps(got.metadata, allow_nan=False).encode()


def test_importing_it_stays_cheap() -> None:
    code = (
        "import sys, lamina_engine.ingest.recordfiles, lamina_engine.ingest.recordtables\n"
        "import lamina_engine.ingest.walk, lamina_engine.ingest.sources, lamina_engine.ingest.git\n"
        "heavy = {'pyarrow.compute', 'pyarrow.parquet', 'pyarrow.dataset', 'pandas', 'numba', 'httpx', 'yaml'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_column_feeds_its_own_field_unless_another_does() -> None:
    mapping = ColumnMapping({"text": "body", "title": "body", "id": "key"})
    assert list(mapping.fields_of("body")) == ["text", "title"]
    assert list(mapping.fields_of("session")) == ["session"]
    assert list(mapping.fields_of("text")) == []  # another column feeds it
    assert list(mapping.fields_of("unknown")) == []
    assert list(ColumnMapping(None).fields_of("text")) == ["text"]


def test_headers_are_checked() -> None:
    mapping = ColumnMapping({"text": "body"})
    mapping.check(["body", "other"], "s")
    with pytest.raises(SchemaMismatch, match="'other'"):
        mapping.check(["body", "other", "other"], "s")
    with pytest.raises(SchemaMismatch, match="'body'"):
        mapping.check(["other"], "s")
    with pytest.raises(InvalidArgument, match="'body'"):
        ColumnMapping({"body": "text"})


def test_a_row_is_sorted_into_fields_and_metadata() -> None:
    row = {"body": "b", "text": "t", "price": Decimal("1.5"), "metadata": '{"k": 1}'}
    assert ColumnMapping({"text": "body"}).apply(row) == {
        "text": "b",
        "metadata": {"k": 1, "text": "t", "price": "1.5"},
    }
    assert ColumnMapping(None).apply({"text": "t", "metadata": "as it is"}) == {"text": "t", "metadata": "as it is"}
    with pytest.raises(InvalidArgument, match="'k'"):
        ColumnMapping(None).apply({"k": 2, "metadata": {"k": 1}})


@pytest.mark.parametrize("target", ["created_at", "success", "tags", "vector", "metadata", "title"])
def test_a_type_that_cannot_hold_its_field_is_refused(target: str) -> None:
    with pytest.raises(SchemaMismatch, match=target):
        check_type(target, pa.binary())


def test_values_are_what_python_has() -> None:
    assert python_values(pa.array(["a", None]).dictionary_encode()) == ["a", None]
    assert python_values(pa.array([1_999], pa.time64("ns")))[0].microsecond == 1
    assert python_values(pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32()))) == [{"a": 1}, None]
    (far,) = python_values(pa.array([2**62], pa.timestamp("s")))
    assert isinstance(far, str)


def test_a_record_without_a_text_is_told_its_other_fields() -> None:
    with pytest.raises(InvalidArgument, match="'text', not only 'Status', 'Name'"):
        normalise_record({"Status": "open", "type": "task", "metadata": {"Name": "buy hay"}})


class NaT(datetime):
    """Like that of pandas: a datetime which equals nothing."""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = datetime.__hash__


@pytest.mark.parametrize("missing", [NaT(1, 1, 1), np.datetime64("NaT")])
def test_a_date_that_is_missing_is_none(missing: object) -> None:
    # rows of `DataFrame.to_dict("records")` raised ArrowInvalid
    got = normalise_record({"text": "x", "created_at": missing, "due": missing})
    assert (got.created_at_us, got.metadata) == (None, {"due": None})


def test_nanoseconds_of_numpy_are_a_date() -> None:
    moment = np.datetime64("2026-03-01T12:00:00.123456789")
    got = normalise_record({"text": "x", "created_at": moment, "due": moment, "day": np.datetime64("2026-03-01")})
    assert got.created_at_us == parse_instant("2026-03-01T12:00:00.123456Z")
    assert got.metadata == {"due": "2026-03-01T12:00:00.123456", "day": "2026-03-01"}


def test_durations_and_arrays_of_numpy_are_no_numbers() -> None:
    # nanoseconds became 18-digit numbers, a long double "nested too deeply"
    for value, ref in (
        (np.timedelta64(5_000_000_000, "ns"), 5.0),
        (np.timedelta64(2, "M"), "2 months"),
        (np.timedelta64("NaT"), None),
        (np.array(["2026-03-01", "NaT"], "datetime64[ns]"), ["2026-03-01T00:00:00", None]),
        (np.array([[1_500_000_000]], "timedelta64[ns]"), [[1.5]]),
        (np.array(5), 5),
        (np.ma.masked_equal([1, 2], 2), [1, None]),
        (
            np.ma.array(np.array(["2026-03-01"] * 2, "datetime64[ns]"), mask=[False, True]),
            ["2026-03-01T00:00:00", None],
        ),
        (np.datetime64("99999-01-01"), "99999-01-01"),
        (np.array([1.5], np.longdouble), [1.5]),
    ):
        assert json_value(value, "metadata") == ref
    with pytest.raises(InvalidArgument, match="is a complex"):
        json_value(np.clongdouble(1), "metadata")
    with pytest.raises(InvalidArgument, match="created_at"):
        normalise_record({"text": "x", "created_at": np.timedelta64(5, "ns")})
