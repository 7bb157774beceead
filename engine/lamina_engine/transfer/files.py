"""Files of an export: JSON lines, or Parquet with a column for each field of a chunk.

In Parquet, what is no chunk has its kind in the column ``record`` and its fields as JSON in ``body``; so do the parts of a
chunk that have no column (``events``, ``scan``, ``origin``), with an empty ``record``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import pyarrow as pa

from lamina_engine.atomic_write import atomic_write
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.json_lines import read_json_lines
from lamina_engine.transfer.records import Record, record_of

AT_ONCE: Final = 8_192
_PARQUET: Final = b"PAR1"
_INSTEAD: Final = "give what `lamina export` wrote; other files are ingested"
_NESTED: Final = ("events", "scan", "origin")
_STRINGS: Final = pa.list_(pa.string())
_SCHEMA: Final = pa.schema(
    [
        ("record", pa.string()), ("id", pa.string()), ("text", pa.large_string()), ("title", pa.string()),
        ("headings", _STRINGS), ("type", pa.string()), ("collection", pa.string()), ("project", pa.string()),
        ("session", pa.string()), ("agent", pa.string()), ("source", pa.string()), ("ordinal", pa.int32()),
        ("start", pa.int64()), ("stop", pa.int64()), ("after", pa.string()), ("created_at", pa.string()),
        ("recorded_at", pa.string()), ("tags", _STRINGS), ("success", pa.bool_()), ("commit", pa.string()),
        ("blob", pa.string()), ("role", pa.string()), ("metadata", pa.string()), ("version", pa.string()),
        ("status", pa.string()), ("reason", pa.string()), ("pinned", pa.bool_()), ("snoozed_until", pa.string()),
        ("body", pa.large_string()),
    ]
)  # fmt: skip


def write_parquet(path: Path, records: Iterable[Record]) -> None:
    """Write records as Parquet, atomically."""
    import pyarrow.parquet as pq

    source = iter(records)
    with atomic_write(path) as aside, pq.ParquetWriter(aside, _SCHEMA, compression="zstd") as writer:
        while part := [_row(record) for record in itertools.islice(source, AT_ONCE)]:
            writer.write_table(pa.Table.from_pylist(part, schema=_SCHEMA))


def _row(record: Record) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(record)
    if "record" in values:
        return {"record": values.pop("record"), "body": _text_of(values)}
    nested = {name: value for name in _NESTED if (value := values.pop(name)) is not None}
    return values | {"metadata": _text_of(values["metadata"]), "body": _text_of(nested)}


def _text_of(values: dict[str, Any] | None) -> str | None:
    return msgspec.json.encode(values, order="sorted").decode() if values else None


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file; a bad one raises InvalidArgument, a bad file IngestError."""
    if not path.is_file():
        raise IngestError(f"{path} is not a file; give what `lamina export` wrote")
    with path.open("rb") as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    if is_parquet:
        return _read_parquet(path)
    lines = read_json_lines(path, dict[str, Any], what="a record of an export", instead=_INSTEAD, convert=record_of)
    return cast("Iterator[Record]", lines)


def _read_parquet(path: Path) -> Iterator[Record]:
    import pyarrow.parquet as pq

    number = 0
    try:
        for part in pq.ParquetFile(path).iter_batches(AT_ONCE):
            for values in part.to_pylist():
                number += 1
                yield record_of(_values(values))
    except (pa.ArrowException, OSError) as error:
        raise IngestError(f"{path} cannot be read as Parquet: {error}") from error
    except (msgspec.DecodeError, TypeError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"{path}: record {number} is none of an export ({error}); {_INSTEAD}") from error


def _values(values: dict[str, Any]) -> dict[str, Any]:
    kind, body = values.pop("record", None), values.pop("body", None)
    nested: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any]) if body else {}
    if kind is not None:
        return nested | {"record": kind}
    metadata = values.get("metadata")
    return values | nested | {"metadata": msgspec.json.decode(metadata) if metadata else None}
