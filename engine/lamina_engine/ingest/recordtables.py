"""Records from Arrow tables, checked column by column instead of value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.clock import parse_instant, zone
from lamina_engine.errors import InvalidArgument, SchemaMismatch
from lamina_engine.ingest.records import (
    NAME_FIELDS,
    ColumnMapping,
    Row,
    check_id,
    check_instant,
    check_metadata,
    check_tags,
    check_type,
    decoded,
    is_text,
    merge_metadata,
    python_values,
)
from lamina_engine.json_values import json_value, misfit, shown
from lamina_engine.reports import Problem

_MIN_US, _MAX_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_UNITS_PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(slots=True)
class RecordColumns:
    """Checked records by column; a column that the table lacks is None."""

    text: list[str]
    rows: NDArray[np.int64]
    """Of each record, its row in the table, from 0."""
    names: dict[str, list[str | None]] = field(default_factory=dict)
    """The columns of `NAME_FIELDS` that the table has."""
    created_at_us: list[int | None] | None = None
    success: list[bool | None] | None = None
    tags: list[tuple[str, ...]] | None = None
    vectors: NDArray[np.float32] | None = None
    """float32 (n, d); all zero where a record has none; may be a read-only view of the table's memory."""
    has_vector: NDArray[np.bool_] | None = None
    """bool (n,)."""
    metadata: list[dict[str, Any]] | None = None
    problems: list[Problem] = field(default_factory=list)
    """The rows left out."""


def records_from_arrow(
    data: pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch],
    *,
    columns: Mapping[str, str] | None = None,
    tz: str = "UTC",
    batch_rows: int = 65_536,
    lead_rows: int | None = None,
    source: str = "<table>",
) -> Iterator[RecordColumns]:
    """Check the records of a table by the rules of `normalise_record`, in batches.

    Dictionary-encoded columns are decoded, null is absent. ``vector`` is a list or fixed-size list of numbers,
    ``created_at`` a timestamp of any unit and zone, a date, text or seconds, ``tags`` a list of text or text with commas,
    ``metadata`` a struct, map or JSON text. Vectors are views of the table's memory where they are float32 without gaps.
    A table's first batch has ``lead_rows``, its second what is left of ``batch_rows``.
    """
    mapping = ColumnMapping(columns)
    parse_instant("2000-01-01", tz)
    if batch_rows < 1:
        raise InvalidArgument(f"batch_rows={batch_rows}; give 1 or more")
    lead = batch_rows if lead_rows is None else min(max(lead_rows, 1), batch_rows)
    return _columns_of(_batches_of(data, batch_rows, lead), mapping, tz, source)


def _batches_of(data: Any, batch_rows: int, lead: int) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.Table):
        # many small pieces would cost one round each; a table without rows still has columns to check
        whole = data.combine_chunks() if data.num_columns and data.column(0).num_chunks > 1 else data
        yield from whole.slice(0, lead).to_batches() or [pa.RecordBatch.from_pylist([], data.schema)]
        yield from whole.slice(lead, batch_rows - lead).to_batches()
        yield from whole.slice(max(lead, batch_rows)).to_batches(max_chunksize=batch_rows)
        return
    for batch in (data,) if isinstance(data, pa.RecordBatch) else data:
        if not isinstance(batch, pa.RecordBatch):
            raise misfit("records", batch, "a pyarrow Table, RecordBatch or RecordBatchReader")
        yield from (batch.slice(start, batch_rows) for start in range(0, max(batch.num_rows, 1), batch_rows))


def _columns_of(
    batches: Iterator[pa.RecordBatch], mapping: ColumnMapping, tz: str, source: str
) -> Iterator[RecordColumns]:
    first = 0
    for batch in batches:
        arrays: dict[str, pa.Array] = {}
        extra: dict[str, pa.Array] = {}
        names = batch.schema.names
        mapping.check(names, source)
        for name, array in zip(names, batch.columns, strict=True):
            targets = mapping.fields_of(name)
            arrays.update({target: decoded(array) for target in targets})
            if not targets:
                extra[name] = array
        if "text" not in arrays:
            raise SchemaMismatch(
                f"the table has no column 'text', only {shown(names)}; rename a column or map one with columns"
            )
        for target, array in arrays.items():
            check_type(target, array.type)
        if batch.num_rows:
            yield _checked(arrays, extra, batch.num_rows, tz, source, first)
        first += batch.num_rows


def _checked(
    arrays: dict[str, pa.Array], extra: dict[str, pa.Array], n: int, tz: str, source: str, first: int
) -> RecordColumns:
    """Check one batch; ``first`` is its first row's number in the table."""
    bad: dict[int, str] = {}
    texts = arrays["text"].to_pylist()
    for i, text in enumerate(texts):
        if not text or text.isspace():
            bad[i] = f"text={text!r:.20} is blank; give non-empty text"
    got = RecordColumns(text=texts, rows=np.arange(first, first + n))
    for name in NAME_FIELDS:
        if name in arrays:
            values = arrays[name].to_pylist()
            got.names[name] = _apply(values, check_id, bad) if name == "id" else [value or None for value in values]
    if "created_at" in arrays:
        got.created_at_us = _instants(arrays["created_at"], tz, bad)
    if "success" in arrays:
        got.success = arrays["success"].to_pylist()
    if "tags" in arrays:
        got.tags = _tags(arrays["tags"].to_pylist(), bad)
    if "vector" in arrays:
        got.vectors, got.has_vector = _vectors(arrays["vector"], bad)
    if "metadata" in arrays or extra:
        got.metadata = _metadata(arrays.get("metadata"), extra, n, bad)
    return _without(got, bad, source) if bad else got


def _without(got: RecordColumns, bad: dict[int, str], source: str) -> RecordColumns:
    """Drop bad rows and report them."""
    n = len(got.text)
    keep = np.ones(n, dtype=bool)
    keep[list(bad)] = False
    left = np.flatnonzero(keep).tolist()
    return RecordColumns(
        text=[got.text[i] for i in left],
        rows=got.rows[keep],
        names={name: [values[i] for i in left] for name, values in got.names.items()},
        created_at_us=_pick(got.created_at_us, left),
        success=_pick(got.success, left),
        tags=_pick(got.tags, left),
        vectors=None if got.vectors is None else got.vectors[keep],
        has_vector=None if got.has_vector is None else got.has_vector[keep],
        metadata=_pick(got.metadata, left),
        problems=[Problem(source, "record", f"row {got.rows[i]}: {bad[i]}; skipped") for i in sorted(bad)],
    )


def _pick(values: list[Any] | None, rows: list[int]) -> list[Any] | None:
    return None if values is None else [values[i] for i in rows]


def _apply(values: list[Any], check: Callable[[Any], Any], bad: dict[int, str]) -> list[Any]:
    """Check each value, recording the first problem of each row."""
    checked: list[Any] = []
    for i, value in enumerate(values):
        try:
            checked.append(check(value))
        except InvalidArgument as error:
            bad.setdefault(i, str(error))
            checked.append(None)
    return checked


def _tags(values: list[Any], bad: dict[int, str]) -> list[tuple[str, ...]]:
    """Check tags once per distinct set: rows share few."""
    keys = [tuple(value) if isinstance(value, list) else value for value in values]
    distinct = list(dict.fromkeys(keys))
    wrong: dict[int, str] = {}
    checked = dict(zip(distinct, _apply(distinct, check_tags, wrong), strict=True))
    if wrong:
        bad_keys = {distinct[i]: message for i, message in wrong.items()}
        for i, key in enumerate(keys):
            if key in bad_keys:
                bad.setdefault(i, bad_keys[key])
    return [checked[key] for key in keys]


def _instants(array: pa.Array, tz: str, bad: dict[int, str]) -> list[int | None]:
    """Convert a column to us UTC, as `parse_instant` would."""
    kind, types = array.type, pa.types
    if types.is_timestamp(kind):
        unit, stored = kind.unit, array.view(pa.int64())
    elif types.is_date64(kind):
        unit, stored = "ms", array.view(pa.int64())
    elif types.is_date32(kind):
        unit, stored = "s", array.view(pa.int32()).cast(pa.int64())
    else:
        return _apply(array.to_pylist(), lambda value: None if value is None else check_instant(value, tz), bad)
    present = _present(array)
    raw = np.asarray(stored.fill_null(0)) * (86_400 if types.is_date32(kind) else 1)
    per_s = _UNITS_PER_S[unit]
    # bounds in the unit itself, for the far ends of int64 seconds would overflow as microseconds
    low, high = (min(max(limit * per_s // 10**6, -(2**63)), 2**63 - 1) for limit in (_MIN_US, _MAX_US))
    inside = (raw >= low) & (raw <= high)
    raw = np.where(inside & present, raw, 0)
    us = raw // (per_s // 10**6) if per_s > 10**6 else raw * (10**6 // per_s)
    for i in np.flatnonzero(present & ~inside).tolist():
        bad.setdefault(i, "created_at lies outside the years 1 to 9999; give an earlier or later date, or null")
    values: list[int | None] = us.tolist()
    for i in np.flatnonzero(~present).tolist():
        values[i] = None
    if getattr(kind, "tz", None) is None and zone(tz) is not UTC:
        return _apply(values, lambda value: _in_zone(value, tz), bad)
    return values


def _in_zone(local_us: int | None, tz: str) -> int | None:
    """Return the instant of a zone's wall-clock time, us since 1970."""
    return None if local_us is None else parse_instant(datetime(1970, 1, 1) + timedelta(microseconds=local_us), tz)


def _present(array: pa.Array) -> NDArray[np.bool_]:
    """Return bool (n,): true where a value is not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=bool)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _vectors(array: pa.Array, bad: dict[int, str]) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None]:
    """Return float32 (n, d) and a presence mask; d is the commonest length, others are bad."""
    n, has = len(array), _present(array)
    if pa.types.is_null(array.type) or not has.any():
        return None, None
    rows = np.flatnonzero(has)
    values = array.flatten().to_numpy(zero_copy_only=False)  # of the rows that are not null; null items become NaN
    lengths: NDArray[np.int64]
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.full(rows.size, array.type.list_size, np.int64)
    else:
        lengths = np.diff(np.asarray(array.offsets)).astype(np.int64)[rows]
    sizes, counts = np.unique(lengths, return_counts=True)
    d = int(sizes[np.argmax(counts)])
    fits = (lengths == d) & (lengths > 0)
    for i in np.flatnonzero(~fits).tolist():
        bad.setdefault(int(rows[i]), f"vector has {lengths[i]} numbers; give {d or 'at least one'}, as the others have")
    if d == 0:
        return None, None
    if not fits.all():
        starts = np.cumsum(lengths) - lengths
        values = values[starts[fits][:, None] + np.arange(d)]
    with np.errstate(over="ignore", invalid="ignore"):  # what float32 cannot hold becomes infinite, and is refused so
        block = values.reshape(-1, d).astype(np.float32, copy=False)
    rows = rows[fits]
    finite = np.isfinite(block).all(axis=1)
    for i in rows[~finite].tolist():
        bad.setdefault(i, "vector has a number that is not a finite float32; give finite numbers")
    if rows.size == n:
        return block, has
    vectors = np.zeros((n, d), dtype=np.float32)
    vectors[rows] = block
    return vectors, has


def _metadata(array: pa.Array | None, extra: dict[str, pa.Array], n: int, bad: dict[int, str]) -> list[Row]:
    """Return each row's metadata, joined by the columns that are no field."""
    own: list[Row] = [{} for _ in range(n)] if array is None else _apply(python_values(array), check_metadata, bad)
    if not extra:
        return own
    names = list(extra)
    cells = [_json_column(name, column, bad) for name, column in extra.items()]
    rows = [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*cells, strict=True)
    ]
    if array is None:
        return rows
    return _apply(list(zip(own, rows, strict=True)), lambda pair: merge_metadata(pair[0] or {}, pair[1]), bad)


def _json_column(name: str, array: pa.Array, bad: dict[int, str]) -> list[Any]:
    values = python_values(array)
    kind = decoded(array).type
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values  # JSON values as they are
    return _apply(values, lambda value: json_value(value, name), bad)
