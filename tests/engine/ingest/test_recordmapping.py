from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.ingest.recordmapping import ColumnMapping, check_type, python_values


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
