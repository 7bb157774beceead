"""Records: what a caller adds without a file of prose around it, from files of rows, mappings or Arrow tables.

Three ways in, one set of rules. `read_records` gives the rows of a file or stream as plain mappings, `normalise_record`
checks one mapping, and `records_from_arrow` does the same for whole tables by column, without a Python object per value
where there need not be one. A row that does not fit is reported and left out; the others go on.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.clock import Instant, format_instant, parse_instant, zone
from lamina_engine.errors import IngestError, InvalidArgument, SchemaMismatch
from lamina_engine.ingest.drafts import Problem

NAME_FIELDS = ("id", "title", "type", "collection", "project", "session", "agent", "source")
"""Fields that are one piece of text and may be absent."""
FIELDS = frozenset({*NAME_FIELDS, "text", "created_at", "success", "tags", "vector", "metadata"})
"""All known fields; any other key belongs to the metadata."""
READ_KINDS = ("jsonl", "csv", "tsv", "parquet", "arrow", "text")
MAX_ID_CHARS = 200
MAX_LINE_BYTES = 16 * 2**20
"""Default limit of one line or field; a longer one is skipped without being held in memory."""
MAX_PROBLEMS = 1000
"""Problems given one by one for a file; the rest are counted, so a file of another format cannot flood the report."""

_ALIASES = {"ndjson": "jsonl", "feather": "arrow", "ipc": "arrow"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MIN_US, _MAX_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_UNITS_PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

Row = dict[str, Any]
Rows = Generator[tuple[int, Row | str], None, None]
"""Positions with rows, or with what is wrong there."""


@dataclass(frozen=True, slots=True)
class Record:
    """One checked record."""

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


@dataclass(slots=True)
class RecordChunk:
    """Some rows of a file."""

    records: list[Row] = field(default_factory=list)
    """Known fields as the file has them, everything else under ``metadata``."""
    positions: list[int] = field(default_factory=list)
    """Of each record, its line or row in the file, from 1."""
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class RecordColumns:
    """Checked records by column; n rows. A column that the table does not have is None."""

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


def normalise_record(record: Mapping[str, object], *, tz: str = "UTC") -> Record:
    """Check one record.

    Parameters
    ----------
    record : mapping
        ``text`` and any of `FIELDS`; other keys join the metadata.
    tz : str
        Zone in which a naive ``created_at`` is read.

    Returns
    -------
    Record

    Raises
    ------
    InvalidArgument
        When a field has the wrong type or an unusable value. The message names the field, what was given and what fits.

    Examples
    --------
    >>> normalise_record({"text": "moved to PostgreSQL", "tags": "db, #infra", "ticket": 7}).metadata
    {'ticket': 7}
    """
    if not isinstance(record, Mapping):
        raise _wrong("record", record, "a mapping with a 'text'")
    extra: Row = {}
    for name, value in record.items():
        if not isinstance(name, str):
            raise _wrong("a key of the record", name, "str")
        if name not in FIELDS:
            extra[name] = json_value(value, name)
    created_at = record.get("created_at")
    return Record(
        text=_check_text(record.get("text")),
        id=_check_id(_name(record, "id")),
        **{name: _name(record, name) or None for name in NAME_FIELDS[1:]},
        created_at_us=None if created_at is None else _check_instant(created_at, tz),
        success=_check_success(record.get("success")),
        tags=_check_tags(record.get("tags")),
        vector=_check_vector(record.get("vector")),
        metadata=_merge(_check_metadata(record.get("metadata")), extra),
    )


def json_value(value: object, where: str) -> Any:
    """Return a value as JSON holds it.

    Dates become ISO 8601 text, bytes hexadecimal text, decimals text, durations seconds, NumPy scalars and arrays their
    Python equals, and NaN and infinities null, which JSON has no other word for.

    Raises
    ------
    InvalidArgument
        When a value has no such form, a key is not text, text is not valid Unicode, or nesting is too deep.
    """
    try:
        return _json_value(value, where)
    except RecursionError as error:
        raise InvalidArgument(f"{where} is nested too deeply; give a flatter value") from error


def _json_value(value: object, where: str) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _check_unicode(value, where)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _wrong(f"a key of {where}", key, "str")
        return {_check_unicode(key, where): _json_value(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [_json_value(item, where) for item in items]
    if isinstance(value, (np.generic, np.ndarray)):
        return _json_value(value.tolist(), where)
    return _json_text(value, where)


def _json_text(value: object, where: str) -> str | float:
    """Write a value that JSON has no type for."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return format_instant(parse_instant(value)) or str(value)
    if isinstance(value, (datetime, date, clock_time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    raise _wrong(where, value, "what JSON can hold: text, numbers, booleans, null, lists and mappings of these")


def _name(record: Mapping[str, object], name: str) -> str | None:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong(name, value, "str or None")
    return _check_unicode(value, name)


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong("text", value, "str that is not empty")
    if not value or value.isspace():
        raise InvalidArgument(f"text={value[:20]!r} has no words; give text that is not empty")
    return _check_unicode(value, "text")


def _check_id(value: str | None) -> str | None:
    if value is None:
        return None
    if not 0 < len(value) <= MAX_ID_CHARS:
        raise InvalidArgument(f"id={_shown(value)} has {len(value)} characters; give 1 to {MAX_ID_CHARS}")
    if not value.isprintable() and _CONTROL.search(value):
        raise InvalidArgument(f"id={_shown(value)} has a control character; give an id without")
    return value


def _check_instant(value: object, tz: str) -> int:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (str, datetime, date, int, float)):
        raise _wrong("created_at", value, "ISO 8601 text, a datetime, a date, or seconds since 1970")
    known: Instant = value
    return parse_instant(known, tz, what="created_at")


def _check_success(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise _wrong("success", value, "True, False or None")


def _check_tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise _wrong("tags", value, "a list of str, or one str with commas")
    tags: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, str):
            raise _wrong("tags", value, "a list of str, or one str with commas")
        tag = _check_unicode(part, "tags").strip().lstrip("#").strip()
        if tag:
            tags[tag] = None
    return tuple(tags)


def _check_vector(value: object) -> NDArray[np.float32] | None:
    if value is None:
        return None
    allowed = "a sequence of finite numbers, one-dimensional and not empty"
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of unequal length, for one
        raise _wrong("vector", value, allowed) from error
    if given.dtype.kind not in "fiu" or given.ndim != 1 or given.size == 0:
        raise _wrong("vector", value, allowed)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        vector = np.array(given, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(vector))
    if wrong.size:
        raise InvalidArgument(f"vector[{wrong[0]}]={given[wrong[0]]} is no finite float32; give {allowed}")
    return vector


def _check_metadata(value: object) -> Row:
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise _wrong("metadata", value, "a mapping, or the text of a JSON object") from error
    if not isinstance(value, Mapping):
        raise _wrong("metadata", value, "a mapping, or the text of a JSON object")
    checked: Row = json_value(value, "metadata")
    return checked


def _merge(metadata: Row, extra: Row) -> Row:
    """Join the metadata and the keys beside it; a key in both is refused, for either choice would lose one."""
    for name in extra:
        if name in metadata:
            raise InvalidArgument(f"{name!r} stands both in the record and in its metadata; give it once")
    return {**metadata, **extra} if extra else metadata


def _check_unicode(text: str, where: str) -> str:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{where}={_shown(text)} has half a surrogate pair; give valid Unicode") from error
    return text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _wrong(where: str, value: object, allowed: str) -> InvalidArgument:
    return InvalidArgument(f"{where}={_shown(value)} is a {type(value).__name__}; give {allowed}")


def read_records(
    source: str | Path | IO[bytes] | IO[str],
    kind: str,
    *,
    columns: Mapping[str, str] | None = None,
    batch_rows: int = 4096,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[RecordChunk]:
    """Read the rows of a file or stream.

    Parameters
    ----------
    source : path or open file
        Parquet and Arrow want a path. An open file is not closed.
    kind : str
        ``jsonl`` (one JSON object per line), ``csv`` or ``tsv`` (with a header row; cells stay text, so 007 stays 007),
        ``parquet``, ``arrow`` (IPC file, IPC stream or Feather 2), ``text`` (all of it is one record).
    columns : mapping of str to str, optional
        Known field → the file's column for it. Other columns keep their name where it is a known field that nothing is
        mapped to, and go to the metadata where not.
    batch_rows : int
        Rows per chunk.
    max_line_bytes : int
        Limit of a JSON line, a CSV cell, or a text.

    Returns
    -------
    iterator of RecordChunk
        In the file's order, none empty. After `MAX_PROBLEMS` the rest is only counted, in a last problem.

    Raises
    ------
    InvalidArgument
        At once, when the kind, a target of ``columns`` or ``batch_rows`` is not allowed, or a stream is given for a
        kind that needs a path.
    IngestError
        While iterating, when the file as a whole cannot be read.
    SchemaMismatch
        While iterating, when it lacks a mapped column or has two of one name.
    """
    kind = _ALIASES.get(kind, kind)
    if kind not in READ_KINDS:
        raise InvalidArgument(f"kind={kind!r} is not known; give one of {', '.join(READ_KINDS)}")
    if batch_rows < 1 or max_line_bytes < 1:
        raise InvalidArgument(f"batch_rows={batch_rows}, max_line_bytes={max_line_bytes}; give 1 or more")
    mapping = _Mapping(columns)
    if kind in ("parquet", "arrow"):
        if not isinstance(source, (str, Path)):
            raise InvalidArgument(f"kind={kind!r} cannot be read from a stream; give the path of a file")
        batches = arrow_batches(Path(source), kind, batch_rows=batch_rows)
        return _chunks(_arrow_rows(batches, mapping, str(source)), mapping, str(source), batch_rows)
    name = str(source) if isinstance(source, (str, Path)) else "<stream>"
    return _stream_chunks(source, kind, mapping, name, batch_rows, max_line_bytes)


def arrow_batches(path: Path, kind: str, *, batch_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """Read a Parquet or Arrow file in batches; what `records_from_arrow` takes, for large files.

    Parameters
    ----------
    path : Path
    kind : str
        ``parquet`` or ``arrow``.
    batch_rows : int
        Most rows of a batch.

    Raises
    ------
    IngestError
        While iterating, when the file is missing, damaged or of another format.
    """
    try:
        if kind == "parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=batch_rows)
            return
        with pa.OSFile(str(path), "rb") as file:
            head = file.read(6)
            file.seek(0)
            if head.startswith(b"FEA1"):
                raise IngestError(f"{str(path)!r} is Feather 1, which is no longer read; write it anew as Feather 2")
            reader = pa.ipc.open_file(file) if head == b"ARROW1" else pa.ipc.open_stream(file)
            batches = map(reader.get_batch, range(reader.num_record_batches)) if head == b"ARROW1" else reader
            for batch in batches:
                # offsets out of a foreign file are not trusted: a bad one would crash the process
                batch.validate(full=True)
                yield from (batch.slice(start, batch_rows) for start in range(0, batch.num_rows, batch_rows))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, IngestError):
            raise
        raise IngestError(f"{str(path)!r} cannot be read as {kind} ({str(error).splitlines()[0]})") from error


class _Mapping:
    """Which column of the source becomes which field."""

    def __init__(self, columns: Mapping[str, str] | None) -> None:
        self.columns = dict(columns or {})
        self.targets: dict[str, list[str]] = {}
        for target, name in self.columns.items():
            if target not in FIELDS:
                raise InvalidArgument(f"columns maps to {target!r}; the fields are {', '.join(sorted(FIELDS))}")
            if not isinstance(name, str):
                raise _wrong(f"columns[{target!r}]", name, "the name of a column")
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
            raise SchemaMismatch(f"{source!r} has no column {lost[0]!r}, only {_shown(names)}; correct 'columns'")

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
            record["metadata"] = _merge(_check_metadata(record.get("metadata") or None), extra)
        return record


def _stream_chunks(
    source: str | Path | IO[bytes] | IO[str], kind: str, mapping: _Mapping, name: str, batch_rows: int, limit: int
) -> Iterator[RecordChunk]:
    try:
        with _bytes_of(source) as stream:
            if kind == "jsonl":
                rows = _json_rows(stream, limit)
            elif kind == "text":
                rows = _text_row(stream, limit)
            else:
                rows = _csv_rows(stream, "\t" if kind == "tsv" else ",", mapping, name, limit)
            with closing(rows):  # before the stream is
                yield from _chunks(rows, mapping, name, batch_rows, _from_text if kind in ("csv", "tsv") else None)
    except OSError as error:
        said = str(error) if isinstance(error, IngestError) else f"cannot be read ({error.strerror or error})"
        raise IngestError(f"{name!r} {said}") from error


@contextmanager
def _bytes_of(source: str | Path | IO[bytes] | IO[str]) -> Iterator[IO[bytes]]:
    """Open a path, or look through a text stream at its bytes."""
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield file
    elif isinstance(source, io.StringIO):
        yield io.BytesIO(source.read().encode("utf-8", "surrogatepass"))
    else:
        stream: IO[bytes] = getattr(source, "buffer", source)  # type: ignore[arg-type]
        yield stream


def _chunks(
    rows: Rows,
    mapping: _Mapping,
    name: str,
    batch_rows: int,
    convert: Callable[[str, Any], Any] | None = None,
) -> Iterator[RecordChunk]:
    """Gather rows, and what is wrong with others, into chunks."""
    chunk, told, untold = RecordChunk(), 0, 0
    for position, row in rows:
        try:
            if isinstance(row, str):
                raise InvalidArgument(row)
            record = mapping.apply(row)
            if convert is not None:
                record = {key: convert(key, value) for key, value in record.items() if value != "" or key == "text"}
            chunk.records.append(record)
            chunk.positions.append(position)
        except InvalidArgument as error:
            told += 1
            if told <= MAX_PROBLEMS:
                chunk.problems.append(Problem(name, "record", f"{position}: {error}; left out"))
            else:
                untold += 1
        if len(chunk.records) >= batch_rows:
            yield chunk
            chunk = RecordChunk()
    if untold:
        chunk.problems.append(Problem(name, "record", f"{untold} more could not be read; left out"))
    if chunk.records or chunk.problems:
        yield chunk


def _json_rows(stream: IO[bytes], limit: int) -> Rows:
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(limit + 1)
            yield number, f"the line has more than {limit} bytes"
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            row = json.loads(text, parse_constant=_no_constant) if text else None
        except UnicodeDecodeError:
            yield number, "the line is not valid UTF-8"
        except (ValueError, RecursionError) as error:
            yield number, f"the line is no JSON ({error})"
        else:
            if isinstance(row, dict):
                yield number, row
            elif text:
                yield number, f"the line is {_shown(row)}, not a JSON object"


def _text_row(stream: IO[bytes], limit: int) -> Rows:
    data = stream.read(limit + 1)
    if len(data) > limit:
        yield 1, f"the text has more than {limit} bytes"
        return
    try:
        yield 1, {"text": data.decode("utf-8-sig").replace("\r\n", "\n")}
    except UnicodeDecodeError as error:
        yield 1, f"the text is not valid UTF-8 (byte {error.start})"


def _csv_rows(stream: IO[bytes], delimiter: str, mapping: _Mapping, source: str, limit: int) -> Rows:
    # the limit is the process's, not the reader's; it is only ever raised
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        names: list[str] | None = None
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if names is None:
                    raise IngestError(f"has no readable header row ({error})") from error
                yield line, f"the row is malformed ({error})"
                continue
            if names is None:
                names = [cell.strip() or f"column_{i}" for i, cell in enumerate(cells, 1)]
                mapping.check(names, source)
            elif cells:
                yield line, _csv_row(names, cells, limit)
    finally:
        text.detach()  # else the wrapper would close a stream that is the caller's


def _csv_row(names: list[str], cells: list[str], limit: int) -> Row | str:
    if len(cells) != len(names):
        return f"the row has {len(cells)} cells, the header {len(names)}"
    for name, cell in zip(names, cells, strict=True):
        if len(cell) > limit:
            return f"{name!r} has more than {limit} characters"
        if not cell.isascii() and any("\udc80" <= char <= "\udcff" for char in cell):
            return f"{name!r} is not valid UTF-8"
    return dict(zip(names, cells, strict=True))


def _from_text(target: str, value: Any) -> Any:
    """Read a cell as its field needs it; every field but these two takes text as it is."""
    if not isinstance(value, str):
        return value
    if target == "success":
        word = _WORDS.get(value.strip().lower())
        if word is None:
            raise InvalidArgument(f"success={_shown(value)}; give true or false")
        return word
    if target == "vector":
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"vector={_shown(value)}; give a JSON list of numbers") from error
    return value


def _arrow_rows(batches: Iterator[pa.RecordBatch], mapping: _Mapping, source: str) -> Rows:
    position = 0
    for batch in batches:
        names = batch.schema.names
        mapping.check(names, source)
        values = [_values(column) for column in batch.columns]
        for cells in zip(*values, strict=True):
            position += 1
            yield position, {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}


def records_from_arrow(
    data: pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch],
    *,
    columns: Mapping[str, str] | None = None,
    tz: str = "UTC",
    batch_rows: int = 65_536,
    source: str = "<table>",
) -> Iterator[RecordColumns]:
    """Check the records of a table by column.

    Parameters
    ----------
    data : Table, RecordBatch, RecordBatchReader or iterable of RecordBatch
        Columns as the fields of a record; dictionary-encoded ones are decoded, null is absent. ``vector`` is a list or
        fixed-size list of numbers, ``created_at`` a timestamp of any unit and zone, a date, text or seconds, ``tags`` a
        list of text or text with commas, ``metadata`` a struct, map or JSON text.
    columns : mapping of str to str, optional
        As in `read_records`.
    tz : str
        Zone in which naive instants are read.
    batch_rows : int
        Most rows of one answer.
    source : str
        Name for the problems.

    Returns
    -------
    iterator of RecordColumns
        In the table's order. The rules are those of `normalise_record`; rows that break them are left out and reported.

    Raises
    ------
    InvalidArgument
        At once, when a target of ``columns``, ``tz`` or ``batch_rows`` is not allowed.
    SchemaMismatch
        While iterating, when ``text`` or a mapped column is missing, two share a name, or a type does not fit a field.

    Notes
    -----
    O(cells). Vectors are views of the table's memory where they are float32 without gaps.
    """
    mapping = _Mapping(columns)
    parse_instant("2000-01-01", tz)
    if batch_rows < 1:
        raise InvalidArgument(f"batch_rows={batch_rows}; give 1 or more")
    return _columns_of(_batches_of(data, batch_rows), mapping, tz, source)


def _batches_of(data: Any, batch_rows: int) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.Table):
        # many small pieces would cost one round each; a table without rows still has columns to check
        whole = data.combine_chunks() if data.num_columns and data.column(0).num_chunks > 1 else data
        yield from whole.to_batches(max_chunksize=batch_rows) or [pa.RecordBatch.from_pylist([], data.schema)]
        return
    for batch in (data,) if isinstance(data, pa.RecordBatch) else data:
        if not isinstance(batch, pa.RecordBatch):
            raise _wrong("records", batch, "a pyarrow Table, RecordBatch or RecordBatchReader")
        yield from (batch.slice(start, batch_rows) for start in range(0, max(batch.num_rows, 1), batch_rows))


def _columns_of(batches: Iterator[pa.RecordBatch], mapping: _Mapping, tz: str, source: str) -> Iterator[RecordColumns]:
    first = 0
    for batch in batches:
        arrays: dict[str, pa.Array] = {}
        extra: dict[str, pa.Array] = {}
        names = batch.schema.names
        mapping.check(names, source)
        for name, array in zip(names, batch.columns, strict=True):
            targets = mapping.fields_of(name)
            arrays.update({target: _decoded(array) for target in targets})
            if not targets:
                extra[name] = array
        if "text" not in arrays:
            raise SchemaMismatch(f"the table has no column 'text', only {_shown(names)}; name it or map it by columns")
        for target, array in arrays.items():
            _check_type(target, array.type)
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
            bad[i] = f"text={text!r:.20} has no words; give text that is not empty"
    got = RecordColumns(text=texts, rows=np.arange(first, first + n))
    for name in NAME_FIELDS:
        if name in arrays:
            values = arrays[name].to_pylist()
            got.names[name] = _apply(values, _check_id, bad) if name == "id" else [value or None for value in values]
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
    """Leave rows out and report them."""
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
        problems=[Problem(source, "record", f"row {got.rows[i]}: {bad[i]}; left out") for i in sorted(bad)],
    )


def _pick(values: list[Any] | None, rows: list[int]) -> list[Any] | None:
    return None if values is None else [values[i] for i in rows]


def _decoded(array: pa.Array) -> pa.Array:
    """Return an array without dictionary encoding and extension type."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _is_text(kind: pa.DataType) -> bool:
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


def _check_type(target: str, kind: pa.DataType) -> None:
    """Refuse a column whose type cannot hold its field."""
    if target == "created_at":
        fits = _is_text(kind) or _is_number(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        allowed = "a timestamp, a date, ISO 8601 text, or seconds since 1970"
    elif target == "success":
        fits, allowed = pa.types.is_boolean(kind) or pa.types.is_null(kind), "bool"
    elif target == "tags":
        items = _items(kind)
        fits, allowed = _is_text(kind) or (items is not None and _is_text(items)), "a list of string, or string"
    elif target == "vector":
        fits, allowed = _is_number(_items(kind)) or pa.types.is_null(kind), "a list or fixed-size list of numbers"
    elif target == "metadata":
        fits = _is_text(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind)
        allowed = "a struct, a map, or string"
    else:
        fits, allowed = _is_text(kind), "string"
    if not fits:
        raise SchemaMismatch(f"the column of {target!r} is of type {kind}; give {allowed}")


def _values(array: pa.Array) -> list[Any]:
    """Return an array's values as Python objects, nanoseconds cut to the microseconds that Python has."""
    array = _decoded(array)
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


def _present(array: pa.Array) -> NDArray[np.bool_]:
    """Return bool (n,): which values are not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=bool)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _apply(values: list[Any], check: Callable[[Any], Any], bad: dict[int, str]) -> list[Any]:
    """Check each value; the first thing wrong with a row is noted."""
    checked: list[Any] = []
    for i, value in enumerate(values):
        try:
            checked.append(check(value))
        except InvalidArgument as error:
            bad.setdefault(i, str(error))
            checked.append(None)
    return checked


def _tags(values: list[Any], bad: dict[int, str]) -> list[tuple[str, ...]]:
    """Check each row's tags; rows share few sets of tags, so each set is checked once."""
    keys = [tuple(value) if isinstance(value, list) else value for value in values]
    distinct = list(dict.fromkeys(keys))
    wrong: dict[int, str] = {}
    checked = dict(zip(distinct, _apply(distinct, _check_tags, wrong), strict=True))
    if wrong:
        bad_keys = {distinct[i]: message for i, message in wrong.items()}
        for i, key in enumerate(keys):
            if key in bad_keys:
                bad.setdefault(i, bad_keys[key])
    return [checked[key] for key in keys]


def _instants(array: pa.Array, tz: str, bad: dict[int, str]) -> list[int | None]:
    """Return microseconds since 1970, as `parse_instant` would give them."""
    kind, types = array.type, pa.types
    if types.is_timestamp(kind):
        unit, stored = kind.unit, array.view(pa.int64())
    elif types.is_date64(kind):
        unit, stored = "ms", array.view(pa.int64())
    elif types.is_date32(kind):
        unit, stored = "s", array.view(pa.int32()).cast(pa.int64())
    else:
        return _apply(array.to_pylist(), lambda value: None if value is None else _check_instant(value, tz), bad)
    present = _present(array)
    raw = np.asarray(stored.fill_null(0)) * (86_400 if types.is_date32(kind) else 1)
    per_s = _UNITS_PER_S[unit]
    # bounds in the unit itself, for the far ends of int64 seconds would overflow as microseconds
    low, high = (min(max(limit * per_s // 10**6, -(2**63)), 2**63 - 1) for limit in (_MIN_US, _MAX_US))
    inside = (raw >= low) & (raw <= high)
    raw = np.where(inside & present, raw, 0)
    us = raw // (per_s // 10**6) if per_s > 10**6 else raw * (10**6 // per_s)
    for i in np.flatnonzero(present & ~inside).tolist():
        bad.setdefault(i, "created_at lies outside the years 1 to 9999; give a moment within, or null")
    values: list[int | None] = us.tolist()
    for i in np.flatnonzero(~present).tolist():
        values[i] = None
    if getattr(kind, "tz", None) is None and zone(tz) is not UTC:
        return _apply(values, lambda value: _in_zone(value, tz), bad)
    return values


def _in_zone(local_us: int | None, tz: str) -> int | None:
    """Return the instant at which clocks of a zone show this, us since 1970 by them."""
    return None if local_us is None else parse_instant(datetime(1970, 1, 1) + timedelta(microseconds=local_us), tz)


def _vectors(array: pa.Array, bad: dict[int, str]) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None]:
    """Return float32 (n, d) and which rows have a vector; d is the commonest length, other lengths are noted as bad."""
    n, has = len(array), _present(array)
    if pa.types.is_null(array.type) or not has.any():
        return None, None
    rows = np.flatnonzero(has)
    values = array.flatten().to_numpy(zero_copy_only=False)  # of the rows that are not null; null items become NaN
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.full(rows.size, array.type.list_size)
    else:
        lengths = np.diff(np.asarray(array.offsets))[rows]
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
        bad.setdefault(i, "vector has a number that is no finite float32; give finite numbers")
    if rows.size == n:
        return block, has
    vectors = np.zeros((n, d), dtype=np.float32)
    vectors[rows] = block
    return vectors, has


def _metadata(array: pa.Array | None, extra: dict[str, pa.Array], n: int, bad: dict[int, str]) -> list[Row]:
    """Return each row's metadata: its own, joined by the columns that are no field."""
    own: list[Row] = [{} for _ in range(n)] if array is None else _apply(_values(array), _check_metadata, bad)
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
    return _apply(list(zip(own, rows, strict=True)), lambda pair: _merge(pair[0] or {}, pair[1]), bad)


def _json_column(name: str, array: pa.Array, bad: dict[int, str]) -> list[Any]:
    values = _values(array)
    kind = _decoded(array).type
    if _is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values  # JSON values as they are
    return _apply(values, lambda value: json_value(value, name), bad)
