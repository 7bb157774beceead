"""Record files: JSON lines, CSV, Parquet and Arrow, read in parts, group-committed.

A file is read as a stream, and no line longer than its limit is held. Unreadable rows are reported
by line or row.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch, new_id
from lamina_engine.columns import numbers
from lamina_engine.errors import IngestError, InvalidArgument, LaminaError
from lamina_engine.index.keys import KeyIndex, hash_ids
from lamina_engine.index.tables import NO_MORE, BulkHint
from lamina_engine.ingest import adding, invalidated
from lamina_engine.ingest.cells import is_of_cells, with_text
from lamina_engine.ingest.records import ColumnMapping, Record, Row, no_constant, normalise_record, python_values
from lamina_engine.json_values import shown
from lamina_engine.reports import Problem
from lamina_engine.store import unlinked

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.reports import IngestReport

READ_KINDS = ("jsonl", "csv", "tsv", "parquet", "arrow")
LINE_KINDS = frozenset({"jsonl", "csv", "tsv"})
"""Kinds whose rows are lines of their file."""
MAX_LINE_BYTES = 16 * 2**20
"""Default limit of one line or field; a longer one is skipped without being held in memory."""
_LINE_CELLS = 8
"""A line of a CSV file may be so many times longer than one of its cells."""
_HEAD_LINES, _HEAD_CHARS = 64, 1 << 18
"""The delimiter of a CSV file is found by so many of its lines, and characters."""
_BATCH_BYTES = 8 * 2**20
"""Texts of a table that are held, and committed, at once."""
_LONG_BYTES = 1 << 16
_ROW_BYTES = 1 << 20
_MOST_UNPACKED = 64 * 2**20
_MOST_RATIO = 1_000
"""A table that unpacks to more than both is no table of notes: 600 rows of one text were 3 GB out of some kilobytes."""
MAX_PROBLEMS = 1000
"""Problems given one by one for a file; the rest are counted, so a file of another format cannot flood the report."""

_ALIASES = {"ndjson": "jsonl", "feather": "arrow", "ipc": "arrow"}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Rows = Generator[tuple[int, Row | str], None, None]
"""Positions with rows, or with what is wrong there."""


@dataclass(slots=True)
class RecordChunk:
    """Part of a file's rows."""

    records: list[Row] = field(default_factory=list)
    """Known fields as the file has them, everything else under ``metadata``."""
    positions: list[int] = field(default_factory=list)
    """Of each record, its line or row in the file, from 1."""
    problems: list[Problem] = field(default_factory=list)


def read_records(
    source: str | Path | IO[bytes],
    kind: str,
    *,
    columns: Mapping[str, str] | None = None,
    batch_rows: int = 4096,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[RecordChunk]:
    """Read the rows of a file or stream in parts, in order; open files are not closed.

    Arguments are checked at once; while iterating, an unreadable file raises `IngestError`, a header without a mapped
    column `SchemaMismatch`. CSV cells stay text, so 007 stays 007.
    """
    kind = _ALIASES.get(kind, kind)
    if kind not in READ_KINDS:
        raise InvalidArgument(f"kind={kind!r} is unknown; give one of {', '.join(READ_KINDS)}")
    if batch_rows < 1 or max_line_bytes < 1:
        raise InvalidArgument(f"batch_rows={batch_rows}, max_line_bytes={max_line_bytes}; give 1 or more")
    mapping = ColumnMapping(columns)
    if kind in ("parquet", "arrow"):
        if not isinstance(source, (str, Path)):
            raise InvalidArgument(f"kind={kind!r} cannot be read from a stream; give the path of a file")
        batches = arrow_batches(Path(source), kind, batch_rows=batch_rows)
        return _chunks(_arrow_rows(batches, mapping, str(source)), mapping, str(source), batch_rows)
    name = str(source) if isinstance(source, (str, Path)) else "<stream>"
    return _stream_chunks(source, kind, mapping, name, batch_rows, max_line_bytes)


def arrow_batches(path: Path, kind: str, *, batch_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """Read a Parquet or Arrow file in batches; a damaged or missing one raises `IngestError`."""
    most = max(_MOST_UNPACKED, path.stat().st_size * _MOST_RATIO) if path.is_file() else 0
    unpacked = 0
    try:
        for batch in _read_parquet(path, batch_rows, most) if kind == "parquet" else _read_arrow(path):
            for part in _parts(batch, batch_rows, path):
                unpacked += part.nbytes if batch.num_rows else 0
                _require_room(path, unpacked, most)
                yield part
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        if isinstance(error, IngestError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise IngestError(f"{str(path)!r} cannot be read as {kind} ({reason})") from error


def _require_room(path: Path, unpacked: int, most: int) -> None:
    if unpacked > most:
        raise IngestError(f"{str(path)!r} unpacks to more than {most:,} bytes; split it, or unpack it first")


def _read_parquet(path: Path, batch_rows: int, most: int) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    # a text that is there a thousand times is held once, and pages are read as they are needed
    layout = pq.read_schema(path)
    repeated = [
        field.name for field in layout if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    with pq.ParquetFile(path, read_dictionary=repeated, buffer_size=1 << 20, pre_buffer=False) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        for group in groups:  # a page is unpacked whole, however few of its rows are asked for
            _require_room(path, group.total_byte_size, most)
        widest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        yield from file.iter_batches(batch_size=max(1, min(batch_rows, _BATCH_BYTES // max(widest, 1))))


def _parts(batch: pa.RecordBatch, rows: int, path: Path) -> Iterator[pa.RecordBatch]:
    """Yield a batch in parts of at most `_BATCH_BYTES` of text, repeated texts spelt out."""
    wide = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        wide += _widths(column)
    if len(wide) and wide.max() > _ROW_BYTES:
        raise IngestError(f"{str(path)!r} has a row of {wide.max():,} bytes; a row has at most {_ROW_BYTES:,}: cut it")
    start = 0
    ends = _cost(wide).cumsum()
    while start < batch.num_rows:
        before = int(ends[start - 1]) if start else 0
        stop = min(max(int(np.searchsorted(ends, before + _BATCH_BYTES, side="right")), start + 1), start + rows)
        part = batch.slice(start, stop - start)
        columns = [each.dictionary_decode() if pa.types.is_dictionary(each.type) else each for each in part.columns]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        start = stop


def _cost(wide: Any) -> Any:
    """Return the cost of rows by their bytes: analysis of long ones takes a multiple."""
    return wide + wide * wide // _LONG_BYTES


def _widths(column: pa.Array) -> NDArray[np.int64]:
    """Return bytes of text by row; of what is no text the average."""
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        if not len(column.dictionary):
            return np.zeros(len(column), np.int64)
        codes: NDArray[np.int64] = column.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.take(_widths(column.dictionary), codes)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        widths: NDArray[np.int64] = (
            pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        return widths
    return np.full(len(column), column.nbytes // max(len(column), 1), np.int64)


def _read_arrow(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path), "rb") as file:
        head = file.read(6)
        file.seek(0)
        if head.startswith(b"FEA1"):
            raise IngestError(f"{str(path)!r} is Feather 1, which is not supported; rewrite it as Feather 2")
        reader = pa.ipc.open_file(file) if head == b"ARROW1" else pa.ipc.open_stream(file)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if head == b"ARROW1" else reader
        for batch in batches:
            # offsets out of a foreign file are not trusted: a bad one would crash the process
            batch.validate(full=True)
            yield batch


def _stream_chunks(
    source: str | Path | IO[bytes], kind: str, mapping: ColumnMapping, name: str, batch_rows: int, limit: int
) -> Iterator[RecordChunk]:
    try:
        with _open(source) as stream:
            if kind == "jsonl":
                rows = _json_rows(stream, limit)
            else:
                rows = _csv_rows(stream, "\t" if kind == "tsv" else None, mapping, name, limit)
            with closing(rows):  # before the stream is
                yield from _chunks(rows, mapping, name, batch_rows, _from_text if kind in ("csv", "tsv") else None)
    except OSError as error:
        reason = str(error) if isinstance(error, IngestError) else f"cannot be read ({error.strerror or error})"
        raise IngestError(f"{name!r} {reason}") from error


@contextmanager
def _open(source: str | Path | IO[bytes]) -> Iterator[IO[bytes]]:
    """Open a path; an open file is the caller's to close."""
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield file
    else:
        yield source


def _chunks(
    rows: Rows, mapping: ColumnMapping, name: str, batch_rows: int, convert: Callable[[str, Any], Any] | None = None
) -> Iterator[RecordChunk]:
    """Gather rows and problems into parts."""
    chunk, reported, unreported, held = RecordChunk(), 0, 0, 0
    while True:
        try:
            position, row = next(rows)
        except StopIteration:
            break
        except IngestError:
            yield chunk  # what came before it is kept
            raise
        try:
            if isinstance(row, str):
                raise InvalidArgument(row)
            record = mapping.apply(row)
            if convert is not None:
                record = {key: convert(key, value) for key, value in record.items() if value != "" or key == "text"}
            chunk.records.append(record)
            chunk.positions.append(position)
            held += _cost(sum(len(value) for value in record.values() if isinstance(value, str)))
        except InvalidArgument as error:
            reported += 1
            if reported <= MAX_PROBLEMS:
                chunk.problems.append(Problem(name, "record", f"{position}: {error}; skipped"))
            else:
                unreported += 1
        if len(chunk.records) >= batch_rows or held >= _BATCH_BYTES:
            yield chunk
            chunk, held = RecordChunk(), 0
    if unreported:
        chunk.problems.append(Problem(name, "record", f"{unreported} more rows could not be read; skipped"))
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
            row = json.loads(text, parse_constant=no_constant) if text else None
        except UnicodeDecodeError:
            yield number, "the line is not valid UTF-8"
        except (ValueError, RecursionError) as error:
            yield number, f"the line is not JSON ({error})"
        else:
            if isinstance(row, dict):
                yield number, row
            elif text:
                yield number, f"the line is {shown(row)}, not a JSON object"


def _csv_rows(stream: IO[bytes], delimiter: str | None, mapping: ColumnMapping, source: str, limit: int) -> Rows:
    # the limit is the process's, not the reader's; it is only ever raised
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        head, lines = _peek(_lines(text, limit))
        reader = csv.reader(lines, delimiter=delimiter or _delimiter(head), strict=True)
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


def _lines(text: io.TextIOWrapper, limit: int) -> Iterator[str]:
    """Yield lines; what has none for so long is no table, and is not held to find out."""
    number, most = 0, _LINE_CELLS * limit
    while line := text.readline(most + 1):
        number += 1
        if len(line) > most:
            raise IngestError(f"line {number} has more than {most} characters; nothing after it is read")
        yield line


def _peek(lines: Iterator[str]) -> tuple[list[str], Iterator[str]]:
    """Return the first lines, and all of them; what is wrong with one is raised in its place."""
    head: list[str] = []
    failure: IngestError | None = None
    size = 0
    try:
        for line in itertools.islice(lines, _HEAD_LINES):
            head.append(line)
            size += len(line)
            if size > _HEAD_CHARS:
                break
    except IngestError as error:
        failure = error

    def read_again() -> Iterator[str]:
        yield from head
        if failure is not None:
            raise failure
        yield from lines

    return head, read_again()


def _delimiter(head: Sequence[str]) -> str:
    """Return the delimiter of a CSV file by its first lines.

    Of those that divide the header it is the one by which most rows have as many cells, then the one that comes first.
    """
    fitting: dict[str, int] = {}
    for delimiter in ",;\t|":
        counts = _count_cells(head, delimiter)
        fits = sum(count == counts[0] for count in counts)
        if counts[:1] > [1] and 2 * fits > len(counts):
            fitting[delimiter] = fits
    return max(fitting, key=lambda delimiter: fitting[delimiter], default=",")


def _count_cells(head: Sequence[str], delimiter: str) -> list[int]:
    """Return the number of cells of each row; rows from a malformed one on are left out."""
    found: list[int] = []
    with suppress(csv.Error):
        found.extend(len(cells) for cells in csv.reader(head, delimiter=delimiter, strict=True) if cells)
    return found


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
    """Parse a CSV cell for its field; all but two take text as it is."""
    if not isinstance(value, str):
        return value
    if target == "success":
        word = _WORDS.get(value.strip().lower())
        if word is None:
            raise InvalidArgument(f"success={shown(value)}; give true or false")
        return word
    if target == "vector":
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"vector={shown(value)}; give a JSON list of numbers") from error
    return value


def _arrow_rows(batches: Iterator[pa.RecordBatch], mapping: ColumnMapping, source: str) -> Rows:
    position = 0
    for batch in batches:
        names = batch.schema.names
        mapping.check(names, source)
        values = [python_values(column) for column in batch.columns]
        for cells in zip(*values, strict=True):
            position += 1
            yield position, {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}


GROUP_RECORDS = 16_384
"""Records of one commit."""


class RecordWriter:
    """Collector of a file's records, committed in groups.

    ``former`` are the ids that the file had: a record without an id continues one of equal content, so ids survive a move
    of the file. ``is_large``: rows without a text are not told as their cells.
    """

    def __init__(
        self,
        memory: Memory,
        report: IngestReport,
        name: str,
        overrides: Mapping[str, Any],
        *,
        former: Sequence[str] = (),
        is_large: bool = False,
    ) -> None:
        self._memory, self._report, self._name, self._is_large = memory, report, name, is_large
        self._overrides = {field: value for field, value in overrides.items() if value is not None}
        self._records: list[Record] = []
        self._identities = _Identities(memory, former)
        self._former = list(former)
        self._has_cells: bool | None = None
        self._known_dim: int | None = None
        self._positions: list[int] = []
        self._pending = 0
        self._written: list[tuple[pa.StringArray, NDArray[np.int64]]] = []
        self.changed = 0
        """Records that were new or had changed."""

    def add(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Add rows with their positions in the file; unusable ones are reported and left out."""
        for position, row in rows:
            try:
                record = self._checked(row)
            except InvalidArgument as error:
                self._problem("record", f"{position}: {error}; record skipped")
                continue
            except LaminaError:
                raise
            except Exception as error:  # whatever one record does to the checks, the others are taken
                self._problem("record", f"{position}: {type(error).__name__}: {error}; record skipped")
                continue
            if len(self._records) >= GROUP_RECORDS or self._pending >= _BATCH_BYTES:
                self._commit(BulkHint(more=True))
            self._records.append(record)
            self._positions.append(position)
            self._pending += _cost(len(record.text))

    def flush(self) -> None:
        """Commit pending records: the last ones."""
        self._commit(NO_MORE)

    def contents(self) -> tuple[list[str], list[int]]:
        """Return the ids of all records written so far, in order, each with its first line or row."""
        if not self._written:
            return [], []
        names = pa.chunked_array([ids for ids, _ in self._written]).combine_chunks()
        coded = names.dictionary_encode()  # codes in the order in which values appear
        first = np.unique(numbers(coded.indices), return_index=True)[1]
        positions = np.concatenate([places for _, places in self._written])
        return coded.dictionary.to_pylist(), positions[first].tolist()

    def _commit(self, hint: BulkHint) -> None:
        self._pending = 0
        records, self._records = self._records, []
        places, self._positions = self._positions, []
        ids: dict[int, str] = {}
        for positions in _by_vector(records):
            try:
                batch = adding.batch_of_records([records[i] for i in positions])
                kept = self._redact(batch)
            except Exception as error:  # a failure to prepare is this file's; a failure to write is the run's
                raise IngestError(f"its records could not be prepared ({type(error).__name__}: {error})") from error
            if len(kept) < len(batch):
                batch = batch.select(kept)
            self._identities.fill(batch)
            names = [str(name) for name in batch.ids]
            invalid, edits = invalidated.keep_invalid(self._memory.view(), names, names, batch.texts)
            for edit in edits:
                self._problem("invalidated", edit.message())
            with unlinked.noting_records():
                written = writing.write(self._memory, batch, hint, invalid=invalid)
            ids |= zip((positions[i] for i in kept), written.ids, strict=True)
            self.changed += written.added + written.updated
            self._report.chunks += written.added + written.updated
            self._report.embedded += written.embedded
        kept = sorted(ids)
        if kept:
            self._written.append((pa.array([ids[i] for i in kept], pa.string()), np.array([places[i] for i in kept])))

    def _checked(self, row: Mapping[str, Any]) -> Record:
        given = {**(with_text(row, is_large=self._is_large) if self._tells_cells() else row), **self._overrides}
        if not given.get("source"):
            given["source"] = self._name
        record = normalise_record(given, tz=self._memory.config.tz)
        if record.vector is not None:
            dim = self._dim()
            if dim and len(record.vector) != dim:
                raise InvalidArgument(f"its vector has dimension {len(record.vector)}; this vault's vectors have {dim}")
        return record

    def _tells_cells(self) -> bool:
        """Return whether rows without a text are told as their cells.

        Not those of a table that was read with a column for its text: whoever named it wants no other.
        """
        if self._has_cells is None:
            view = self._memory.view()
            rows = view.rows_of_ids(self._former[:1])
            (text,) = view.snapshot.values("chunks", "text", rows) if (rows >= 0).all() and len(rows) else ("",)
            (metadata,) = view.snapshot.values("chunks", "metadata", rows) if text else (None,)
            self._has_cells = not text or is_of_cells(text, json.loads(metadata or "{}"))
        return self._has_cells

    def _dim(self) -> int:
        """Return the dimension of the vault's vectors; 0 where it has none."""
        if self._known_dim is None:
            space = self._memory.view().snapshot.space
            self._known_dim = space.dim if space is not None else self._memory.embedder.dim
        return self._known_dim

    def _redact(self, batch: ChunkBatch) -> list[int]:
        """Mask secrets in place; return the positions that the policy keeps."""
        findings = adding.redact(self._memory, batch)
        self._report.redactions += sum(map(len, findings.values()))
        if self._memory.redactor.policy != "skip":
            return list(range(len(batch)))
        for kinds in findings.values():
            self._problem("redacted_skip", f"a record holds a secret ({', '.join(sorted(set(kinds)))}); skipped")
        return [i for i in range(len(batch)) if i not in findings]

    def _problem(self, code: str, message: str) -> None:
        self._report.problems.append(Problem(self._name, code, message))


class _Identities:
    """Ids of records that name none: those they had before, else new ones.

    Of the records so far it keeps hashes of their ids, some bytes each, however many there are.
    """

    def __init__(self, memory: Memory, former: Sequence[str]) -> None:
        view = memory.view()
        rows = view.rows_of_ids(list(former))
        known = [(name, row) for name, row in zip(former, rows.tolist(), strict=True) if row >= 0]
        versions = view.snapshot.values("chunks", "version", np.array([row for _, row in known], np.int64))
        self._former = set(former)
        self._by_version: dict[bytes, deque[str]] = defaultdict(deque)
        for (name, _), version in zip(known, versions, strict=True):
            self._by_version[version].append(name)
        self._renamed: dict[str, str] = {}
        """Of records whose derived id is not theirs, the one that is."""
        self._derived, self._taken = KeyIndex(), KeyIndex()
        """Derived ids that records have got; all ids that records have."""
        self._now: set[str] = set()
        """Those of the present batch."""

    def fill(self, batch: ChunkBatch) -> None:
        """Fill in the ids of a batch: equal records share one, different ones never do."""
        given = list(batch.ids)
        batch.identify()
        derived = [str(name) for name in batch.ids]
        before = self._derived.lookup(hash_ids(derived)) >= 0
        kept: set[str] = set()
        for i, name in enumerate(derived):
            if given[i] is None and not before[i] and name not in kept:
                if name not in self._renamed:
                    self._renamed[name] = self._choose(name, batch.versions[i])
                batch.ids[i] = self._renamed[name]
                if batch.ids[i] == name:
                    del self._renamed[name]
                    kept.add(name)
            self._now.add(str(batch.ids[i]))
        self._derived = self._derived.extend(hash_ids(kept))
        self._taken = self._taken.extend(hash_ids(self._now))
        self._now.clear()

    def _choose(self, derived: str, version: bytes) -> str:
        if derived in self._former and not self._is_taken(derived):
            return derived
        same = self._by_version.get(version)
        while same:
            name = same.popleft()
            if not self._is_taken(name):
                return name
        # a record of other details may have taken the id over, so this one needs another
        name, count = derived, 0
        while self._is_taken(name):
            count += 1
            name = new_id("add", derived, str(count))
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._now or bool(self._taken.lookup(hash_ids([name]))[0] >= 0)


def _by_vector(records: Sequence[Record]) -> list[list[int]]:
    """Group positions of records by vector dimension: a file may mix records with and without."""
    groups: dict[int, list[int]] = defaultdict(list)
    for i, record in enumerate(records):
        groups[0 if record.vector is None else len(record.vector)].append(i)
    return [groups[dim] for dim in sorted(groups, reverse=True)]
