"""Records: the fields of what callers add, and the rules that one mapping must follow.

Rows of files come through `lamina_engine.ingest.recordfiles`, whole tables through `lamina_engine.ingest.recordtables`;
the rules are the same. A row that does not fit is reported and left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.clock import Instant, parse_instant
from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.json_values import check_unicode, is_missing, json_value, misfit, scalar_of, shown

NAME_FIELDS = ("id", "title", "type", "collection", "project", "session", "agent", "source")
"""Fields that are one piece of text and may be absent."""
FIELDS = frozenset({*NAME_FIELDS, "text", "created_at", "success", "tags", "vector", "metadata"})
"""All known fields; any other key belongs to the metadata."""
MAX_ID_CHARS = 200

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Row = dict[str, Any]
"""One row as JSON holds it, or one record's metadata."""


@dataclass(frozen=True, slots=True)
class Record:
    """Checked record."""

    text: str
    id: str | None = None
    title: str | None = None
    type: str | None = None
    collection: str | None = None
    project: str | None = None
    session: str | None = None
    agent: str | None = None
    source: str | None = None
    created_at_us: int | None = None
    """us UTC."""
    success: bool | None = None
    tags: tuple[str, ...] = ()
    """Without ``#``, each once, in order of appearance."""
    vector: NDArray[np.float32] | None = field(default=None, compare=False)
    """float32 (d,), finite; not part of equality."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """JSON values only."""


def normalise_record(record: Mapping[str, object], *, tz: str = "UTC", now_us: int | None = None) -> Record:
    """Check one record; unknown keys join the metadata; with ``now_us``, its date may be words.

    >>> normalise_record({"text": "moved to PostgreSQL", "tags": "db, #infra", "ticket": 7}).metadata
    {'ticket': 7}
    """
    if not isinstance(record, Mapping):
        raise misfit("record", record, "a mapping with a 'text'")
    extra: Row = {}
    for name, value in record.items():
        if not isinstance(name, str):
            raise misfit("a key of the record", name, "str")
        if name not in FIELDS:
            extra[name] = json_value(value, name)
    created_at = record.get("created_at")
    return Record(
        text=_check_text(record),
        id=check_id(_name(record, "id")),
        **{name: _name(record, name) or None for name in NAME_FIELDS[1:]},
        created_at_us=None if created_at is None or is_missing(created_at) else check_instant(created_at, tz, now_us),
        success=_check_success(record.get("success")),
        tags=check_tags(record.get("tags")),
        vector=_check_vector(record.get("vector")),
        metadata=merge_metadata(check_metadata(record.get("metadata")), extra),
    )


def check_id(value: str | None) -> str | None:
    """Check an id: not empty, not too long, no control characters."""
    if value is None:
        return None
    if not 0 < len(value) <= MAX_ID_CHARS:
        raise InvalidArgument(f"id={shown(value)} has {len(value)} characters; give 1 to {MAX_ID_CHARS}")
    if not value.isprintable() and _CONTROL.search(value):
        raise InvalidArgument(f"id={shown(value)} contains a control character; give an id without")
    return value


def check_instant(value: object, tz: str, now_us: int | None = None) -> int:
    """Parse any form that ``created_at`` takes to us UTC."""
    if isinstance(value, np.generic):
        value = scalar_of(value)
    if not isinstance(value, (str, datetime, date, int, float)):
        raise misfit("created_at", value, "ISO 8601 text, a datetime, a date, or seconds since 1970")
    known: Instant = value
    if now_us is None:
        return parse_instant(known, tz, what="created_at")
    from lamina_engine.time.moments import parse_moment  # most records have a date in ISO 8601 or none

    return parse_moment(known, tz, now_us, what="created_at")


def check_tags(value: object) -> tuple[str, ...]:
    """Normalise tags: without ``#``, each once, in order of appearance."""
    if value is None:
        return ()
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise misfit("tags", value, "a list of str, or one str with commas")
    tags: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, str):
            raise misfit("tags", value, "a list of str, or one str with commas")
        tag = check_unicode(part, "tags").strip().lstrip("#").strip()
        if tag:
            tags[tag] = None
    return tuple(tags)


def check_metadata(value: object) -> Row:
    """Check metadata, a mapping or the text of a JSON object, as JSON values."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=no_constant)
        except (ValueError, RecursionError) as error:
            raise misfit("metadata", value, "a mapping, or the text of a JSON object") from error
    if not isinstance(value, Mapping):
        raise misfit("metadata", value, "a mapping, or the text of a JSON object")
    checked: Row = json_value(value, "metadata")
    return checked


def merge_metadata(metadata: Row, extra: Row) -> Row:
    """Join metadata and extra keys; a key in both is refused, for either choice would lose one."""
    for name in extra:
        if name in metadata:
            raise InvalidArgument(f"{name!r} is both in the record and in its metadata; give it once")
    return {**metadata, **extra} if extra else metadata


def no_constant(name: str) -> None:
    """Refuse NaN and infinities, which Python's JSON reader would take (its ``parse_constant``)."""
    raise ValueError(f"{name} is not valid JSON")


def _name(record: Mapping[str, object], name: str) -> str | None:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise misfit(name, value, "str or None")
    return value if value.isascii() else check_unicode(value, name)


_NAMED: Final = 6
"""Other fields of a record without a text that a message names."""


def _check_text(record: Mapping[str, object]) -> str:
    value = record.get("text")
    if not isinstance(value, str):
        allowed = "non-empty text"
        if value is None:
            metadata = record.get("metadata")
            given = {**record, **(metadata if isinstance(metadata, Mapping) else {})}
            others = [shown(name) for name in given if name not in FIELDS][:_NAMED]
            if others:
                allowed += f" in a field 'text', not only {', '.join(others)}"
        raise misfit("text", value, allowed)
    if not value or value.isspace():
        raise InvalidArgument(f"text={value[:20]!r} is blank; give non-empty text")
    return value if value.isascii() else check_unicode(value, "text")


def _check_success(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise misfit("success", value, "True, False or None")


def _check_vector(value: object) -> NDArray[np.float32] | None:
    if value is None:
        return None
    allowed = "a sequence of finite numbers, one-dimensional and not empty"
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of unequal length, for one
        raise misfit("vector", value, allowed) from error
    if given.dtype.kind not in "fiu" or given.ndim != 1 or given.size == 0:
        raise misfit("vector", value, allowed)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        vector = np.array(given, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(vector))
    if wrong.size:
        raise InvalidArgument(f"vector[{wrong[0]}]={given[wrong[0]]} is not a finite float32; give {allowed}")
    return vector


class ColumnMapping:
    """Mapping from the columns of a source to fields."""

    def __init__(self, columns: Mapping[str, str] | None) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise misfit("columns", columns, "a mapping of fields to names of columns, such as {'text': 'message'}")
        self.columns = dict(columns or {})
        self.targets: dict[str, list[str]] = {}
        for target, name in self.columns.items():
            if target not in FIELDS:
                raise InvalidArgument(
                    f"columns maps to {target!r}, which is not a field; the fields are {', '.join(sorted(FIELDS))}"
                )
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
        """Refuse a header with duplicate columns or without a mapped one."""
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
    """Convert an array to Python objects, nanoseconds cut to microseconds."""
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
