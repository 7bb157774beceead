"""From a source's columns to a record's fields: which feeds which, whether its type fits, and its values in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.ingest.records import FIELDS, Row, check_metadata, json_value, merge_metadata, misfit, shown


class ColumnMapping:
    """Which column of the source becomes which field."""

    def __init__(self, columns: Mapping[str, str] | None) -> None:
        self.columns = dict(columns or {})
        self.targets: dict[str, list[str]] = {}
        for target, name in self.columns.items():
            if target not in FIELDS:
                raise InvalidArgument(f"columns maps to {target!r}; the fields are {', '.join(sorted(FIELDS))}")
            if not isinstance(name, str):
                raise misfit(f"columns[{target!r}]", name, "the name of a column")
            self.targets.setdefault(name, []).append(target)

    def fields_of(self, name: str) -> Sequence[str]:
        """Return the fields a column feeds; none for one that goes to the metadata."""
        known = self.targets.get(name)
        if known is not None:
            return known
        return (name,) if name in FIELDS and name not in self.columns else ()

    def check(self, names: list[str], source: str) -> None:
        """Refuse a header that has a column twice, or lacks a mapped one."""
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise SchemaMismatch(f"{source!r} has several columns called {twice[0]!r}; give each its own name")
        lost = [name for name in self.targets if name not in names]
        if lost:
            raise SchemaMismatch(f"{source!r} has no column {lost[0]!r}, only {shown(names)}; correct 'columns'")

    def apply(self, row: Row) -> Row:
        """Sort a row's values into fields and metadata."""
        record: Row = {}
        extra: Row = {}
        for name, value in row.items():
            targets = self.fields_of(name)
            if targets:
                record.update(dict.fromkeys(targets, value))
            else:
                extra[name] = json_value(value, name)
        if extra:
            # an empty cell of a CSV file is an absent one
            record["metadata"] = merge_metadata(check_metadata(record.get("metadata") or None), extra)
        return record


def check_type(target: str, kind: pa.DataType) -> None:
    """Refuse a column whose type cannot hold its field."""
    if target == "created_at":
        fits = is_text(kind) or _is_number(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        allowed = "a timestamp, a date, ISO 8601 text, or seconds since 1970"
    elif target == "success":
        fits, allowed = pa.types.is_boolean(kind) or pa.types.is_null(kind), "bool"
    elif target == "tags":
        items = _items(kind)
        fits, allowed = is_text(kind) or (items is not None and is_text(items)), "a list of string, or string"
    elif target == "vector":
        fits, allowed = _is_number(_items(kind)) or pa.types.is_null(kind), "a list or fixed-size list of numbers"
    elif target == "metadata":
        fits = is_text(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind)
        allowed = "a struct, a map, or string"
    else:
        fits, allowed = is_text(kind), "string"
    if not fits:
        raise SchemaMismatch(f"the column of {target!r} is of type {kind}; give {allowed}")


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column holds text, or nothing but null."""
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)
    )


def _items(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of a list's items; None where it is no list."""
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def _is_number(kind: pa.DataType | None) -> bool:
    return kind is not None and bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def decoded(array: pa.Array) -> pa.Array:
    """Return an array without dictionary encoding and extension type."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def python_values(array: pa.Array) -> list[Any]:
    """Return an array's values as Python objects, nanoseconds cut to the microseconds that Python has."""
    array = decoded(array)
    kind = _coarse(array.type)
    try:
        if kind != array.type:
            array = array.cast(kind, safe=False)
        try:
            values: list[Any] = array.to_pylist()
        except (ValueError, OverflowError):  # moments that Python has no object for
            values = array.cast(pa.string()).to_pylist()
    except pa.ArrowException as error:
        raise SchemaMismatch(f"values of type {array.type} cannot be read ({error}); leave the column out") from error
    return [dict(value) if value is not None else None for value in values] if pa.types.is_map(kind) else values


def _coarse(kind: pa.DataType) -> pa.DataType:
    """Return a type with microseconds for nanoseconds, also inside lists and structs."""
    types = pa.types
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if types.is_time64(kind):
        return pa.time64("us")
    if types.is_list(kind) or types.is_large_list(kind):
        item = kind.value_field.with_type(_coarse(kind.value_type))
        return pa.list_(item) if types.is_list(kind) else pa.large_list(item)
    if types.is_struct(kind):
        return pa.struct([item.with_type(_coarse(item.type)) for item in kind.fields])
    return kind
