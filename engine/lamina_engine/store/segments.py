"""Segments: immutable Arrow IPC files of one record batch, memory-mapped when read."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import after_fork, columns, schema
from lamina_engine.columns import validity
from lamina_engine.errors import VaultCorrupt
from lamina_engine.store.files import Files, PendingFile
from lamina_engine.store.manifest import SegmentRef

LOG = "log"
SEGMENT_ROWS = 65_536
"""A segment never holds more rows: the unit of group commit, and of what a merge rewrites."""
_LARGE_BYTES = 1 << 20
"""From here on a segment is written in Arrow's own parts."""
KEPT_BYTES = 1 << 16
"""A segment of so many bytes is read by the process that wrote it from what it wrote, and not from its file."""
CHECKED_BYTES = 1 << 20
"""A smaller segment is compared with its digest when it is first read; of a larger one that would cost each process too much."""
_OPTIONS = pa.ipc.IpcWriteOptions()
"""Arrow's own, and no environment variable's."""
MERGE_FACTOR = 8
"""So many neighbours of one size class become one segment of the next: segments grow as the logarithm of the rows."""


@functools.lru_cache(256)
def log_folder(root: Path, log: str) -> Path:
    """Return the folder of a log's segments."""
    return root / LOG / log


def segment_path(root: Path, log: str, name: str) -> str:
    """Return the path of a segment's file as text."""
    return f"{root}{os.sep}{LOG}{os.sep}{log}{os.sep}{name}"


def write_segment(
    files: Files, root: Path, log: str, start: int, batch: pa.RecordBatch, commit: int = 0
) -> tuple[SegmentRef, PendingFile]:
    """Write one segment without waiting for the disk; return its reference and the pending file."""
    parts, digest = _encode(batch)
    name = f"{start:012d}-{batch.num_rows}-{digest[:12]}.arrow"
    pending = files.write_pending(segment_path(root, log, name), parts, aside=False)
    last = columns.numbers(batch.column("recorded_at"))[-1]
    return SegmentRef(name, start, batch.num_rows, sum(map(len, parts)), digest, int(last), commit), pending


def _encode(batch: pa.RecordBatch) -> tuple[list[memoryview | bytes], str]:
    """Return a segment's bytes in parts, and their digest."""
    # the second asks every column, and is asked only of what shares its memory with something large
    if batch.get_total_buffer_size() < _LARGE_BYTES or batch.nbytes < _LARGE_BYTES:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, batch.schema, options=_OPTIONS) as writer:
            writer.write_batch(batch)
        content = memoryview(sink.getvalue())
        return [content], hashlib.sha256(content).hexdigest()
    parts = _PartSink()  # a buffer that grows would copy a large segment several times over
    with pa.ipc.new_file(pa.PythonFile(parts, "w"), batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return [*parts.written], parts.digest.hexdigest()


class _PartSink:
    """Sink that keeps the parts Arrow writes, and their digest."""

    closed = False

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.digest = hashlib.sha256()
        self._size = 0

    def write(self, part: bytes) -> int:
        """Keep one part."""
        self.written.append(part)
        self.digest.update(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: the parts are flushed when the file is published."""

    def close(self) -> None:
        """Do nothing: nothing is held open."""


class Segment:
    """One mapped segment; its Arrow structure is parsed on first use.

    ``batch`` holds the rows of a small segment that this process has just written: nothing is mapped or checked then.
    """

    __slots__ = (
        "_batch",
        "_columns",
        "_intact",
        "_lock",
        "_map",
        "_numbers",
        "_readers",
        "_root",
        "_vectors",
        "log",
        "ref",
    )

    def __init__(self, root: Path, log: str, ref: SegmentRef, batch: pa.RecordBatch | None = None) -> None:
        self.log, self.ref = log, ref
        self._root = root
        # mapped at once: a file that is unlinked while mapped stays readable
        self._map = self._map_file() if batch is None else None
        self._batch = batch
        self._intact: bool | None = None if batch is None else True
        self._columns: dict[str, pa.Array] = {}
        self._readers: dict[str, columns.Reader] = {}
        self._numbers: dict[tuple[str, int], NDArray[np.generic]] = {}
        self._vectors: NDArray[np.float32] | None = None
        self._lock = after_fork.make_lock()

    def _map_file(self) -> pa.Buffer:
        path = segment_path(self._root, self.log, self.ref.name)
        found = os.lstat(path)  # a Path for each segment of a large vault is milliseconds
        if found.st_size != self.ref.size or not stat.S_ISREG(found.st_mode):
            raise VaultCorrupt(
                f"{path} has {found.st_size} bytes where {self.ref.size} were written; "
                "`lamina verify` names what can be saved"
            )
        return pa.memory_map(path).read_buffer(self.ref.size)

    @property
    def in_memory(self) -> bool:
        """True if it is read from the rows this process wrote, not from its file."""
        return self._map is None

    @property
    def path(self) -> Path:
        """Its file."""
        return log_folder(self._root, self.log) / self.ref.name

    @property
    def start(self) -> int:
        """Row number of the first row."""
        return self.ref.start

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.ref.rows

    @property
    def batch(self) -> pa.RecordBatch:
        """The segment as one record batch of views into the file."""
        if self._batch is None:
            with self._lock:
                if self._batch is None:
                    self._batch = self._parse()
        return self._batch

    def _parse(self) -> pa.RecordBatch:
        if self.ref.size < CHECKED_BYTES:
            self.require_intact()
        try:
            # of a file Arrow reads on threads of its own: four switches a segment, which cost more than the parsing
            reader = pa.ipc.open_file(self._map)
            batch = reader.get_batch(0)
            batch.validate()  # the lengths of all buffers; what lies in them is checked column by column
            known = _has_log_schema(self.log, batch.schema)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise VaultCorrupt(
                f"{self.path} cannot be read as Arrow: {error}; `lamina verify` names what can be saved"
            ) from error
        if batch.num_rows != self.ref.rows:
            raise VaultCorrupt(f"{self.path} has {batch.num_rows} rows where {self.ref.rows} were written")
        if not known:
            raise VaultCorrupt(
                f"{self.path} does not have the columns of {self.log}; `lamina verify` names what can be saved"
            )
        return batch

    def column(self, name: str) -> pa.Array:
        """Return one column."""
        found = self._columns.get(name)
        if found is None:
            found = self.batch.column(name)
            wrong = None if self._map is None else find_bad_bounds(found)
            if wrong is not None:
                raise VaultCorrupt(f"{self.path}, column {name}: {wrong}; `lamina verify` names what can be saved")
            self._columns[name] = found
        return found

    def numbers(self, name: str, missing: int = 0) -> NDArray[np.generic]:
        """View one primitive column; see `lamina_engine.columns.numbers`."""
        found = self._numbers.get((name, missing))
        if found is None:
            found = self._numbers[name, missing] = columns.numbers(self.batch.column(name), missing)
        return found

    def vectors(self) -> NDArray[np.float32]:
        """View the vectors of a segment of a vector log, float32 (rows, d)."""
        if self._vectors is None:
            self._vectors = columns.vectors(self.column("vector"))
        return self._vectors

    def reader(self, name: str) -> columns.Reader:
        """Return a function that gives the Python value of one column at an offset."""
        read = self._readers.get(name)
        if read is None:
            path = segment_path(self._root, self.log, self.ref.name)  # a Path for each column of a new row is .2 ms
            read = self._readers[name] = columns.reader(self.column(name), f"{path}, column {name}")
        return read

    def values(self, name: str, offsets: NDArray[np.int64]) -> list[Any]:
        """Return the Python values of one column at some offsets."""
        read = self.reader(name)
        return [read(offset) for offset in offsets.tolist()]

    def texts(self, name: str, first: int = 0, stop: int | None = None) -> list[Any]:
        """Return the Python values of one column of text or lists of text, or of a part of it."""
        try:
            found: list[Any] = self.column(name)[first:stop].to_pylist()
        except UnicodeDecodeError as error:
            raise VaultCorrupt(
                f"{self.path}, column {name}: {error}; `lamina verify --deep` names what can be saved"
            ) from error
        return found

    def content(self) -> memoryview:
        """Return the file's bytes; they stay readable after the file has been merged away."""
        if self._map is None:
            return memoryview(b"".join(_encode(self.batch)[0]))
        return memoryview(self._map)

    def is_intact(self) -> bool:
        """Return True if the file's bytes match its digest. O(bytes)."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.ref.digest

    @property
    def is_known_damaged(self) -> bool:
        """True if its bytes were compared with their digest, and have changed."""
        return self._intact is False

    def require_intact(self) -> None:
        """Raise `VaultCorrupt` unless the bytes match their digest; they are read once. O(bytes)."""
        if self._intact is None:
            self._intact = hashlib.sha256(self.content()).hexdigest() == self.ref.digest
        if not self._intact:
            raise VaultCorrupt(
                f"{self.path} is damaged: its bytes have changed since they were written (rows {self.start} to "
                f"{self.start + self.rows - 1} of {self.log}); `lamina verify` names what can be saved"
            )

    def check(self) -> str | None:
        """Read every byte; return a description of the damage, or None. O(bytes)."""
        if not self.is_intact():
            last = self.start + self.rows - 1
            return f"{self.path.name}: its bytes have changed since they were written (rows {self.start} to {last})"
        try:
            self.batch.validate(full=True)
        except (pa.ArrowException, VaultCorrupt) as error:
            return f"{self.path.name}: {error}"
        return None


def _has_log_schema(log: str, found: pa.Schema) -> bool:
    """Return True if a schema is the log's: with flipped bytes it may still be valid Arrow."""
    if not log.startswith(schema.vector_log("")):
        return log not in schema.LOGS or found.equals(_layout(log))
    vectors = found.field(found.names.index("vector")).type if "vector" in found.names else None
    dim = vectors.list_size if vectors is not None and pa.types.is_fixed_size_list(vectors) else None
    return dim is not None and found.equals(schema.log_schema(log, dim))


@functools.cache
def _layout(log: str) -> pa.Schema:
    return schema.log_schema(log)


def size_class(rows: int) -> int:
    """Return a segment's size class: 0 below `MERGE_FACTOR` rows, plus one per further factor."""
    level = 0
    while rows >= MERGE_FACTOR:
        rows //= MERGE_FACTOR
        level += 1
    return level


def merge_start(refs: list[SegmentRef], rows: int) -> int:
    """Return the index of the first trailing segment that ``rows`` new rows are merged with.

    ``len(refs)`` for none. Like carrying in a counter of base `MERGE_FACTOR`: a full set of one size class becomes one
    segment of the next, so each row is rewritten at most once per class.
    """
    first, total = len(refs), rows
    while True:
        level, begin, gathered = size_class(total), first, total
        while (
            begin > 0 and size_class(refs[begin - 1].rows) <= level and gathered + refs[begin - 1].rows <= SEGMENT_ROWS
        ):
            begin -= 1
            gathered += refs[begin].rows
        if first - begin < MERGE_FACTOR - 1:
            return first
        first, total = begin, gathered


_CACHED_CHARS = 64
"""Characters of a category's value up to which its column of one row is remembered."""


def record_batch(log: str, layout: pa.Schema, values: dict[str, Any], stamps: NDArray[np.int64]) -> pa.RecordBatch:
    """Return rows of a log as a record batch, from lists, NumPy or Arrow arrays by column."""
    one = len(stamps) == 1 and log in schema.LOGS
    # of an array Arrow would ask whether it is masked, and load numpy.ma for that
    recorded_at = pa.array(stamps.tolist() if one else stamps, pa.int64())
    columns = [
        recorded_at
        if name == "recorded_at"
        else _one_row_array(log, name, kind, values[name])
        if one
        else _array(values[name], kind)
        for name, kind in _fields(layout)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=layout)


@functools.lru_cache(64)
def _fields(layout: pa.Schema) -> tuple[tuple[str, pa.DataType], ...]:
    return tuple((field.name, field.type) for field in layout)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    return pa.array(values, kind)


def _one_row_array(log: str, name: str, kind: pa.DataType, values: Any) -> pa.Array:
    """Return a one-row column; common values share one cached array."""
    if isinstance(values, list):
        value = values[0]
        if value is None or (isinstance(value, int) and value == -1):
            return _cached_array(log, name, value)
        if isinstance(value, list) and not value:
            return _cached_array(log, name, ())
        if isinstance(value, str) and len(value) <= _CACHED_CHARS and pa.types.is_dictionary(kind):
            return _cached_array(log, name, value)
    return _array(values, kind)


@functools.lru_cache(512)
def _cached_array(log: str, name: str, value: Any) -> pa.Array:
    return pa.array([value], schema.log_schema(log).field(name).type)


def find_bad_bounds(array: pa.Array) -> str | None:
    """Describe a column's offsets or codes that are out of bounds; None if all are good."""
    # Reading through them would crash the process. Arrow's own check without ``full`` looks at the first and the last
    # offset only. O(rows), not O(bytes).
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _find_bad_codes(array) or find_bad_bounds(array.dictionary) or _find_bad_text(array.dictionary)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _find_bad_offsets(array, np.dtype(np.int32), _buffer_size(array.buffers()[2]))
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _find_bad_offsets(array, np.dtype(np.int64), _buffer_size(array.buffers()[2]))
    if pa.types.is_list(kind):
        return _find_bad_offsets(array, np.dtype(np.int32), len(array.values)) or find_bad_bounds(array.values)
    return None


def _find_bad_text(array: pa.Array) -> str | None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    return None


def _buffer_size(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.size)


def _find_bad_offsets(array: pa.Array, dtype: np.dtype[np.int32] | np.dtype[np.int64], limit: int) -> str | None:
    buffer = array.buffers()[1]
    if len(array) == 0:
        return None
    offsets: NDArray[Any] = np.frombuffer(buffer, dtype, len(array) + 1, array.offset * dtype.itemsize)
    if offsets[0] < 0 or offsets[-1] > limit or (offsets[1:] < offsets[:-1]).any():
        return "offsets that run backwards or past the end"
    return None


def _find_bad_codes(array: pa.DictionaryArray) -> str | None:
    indices = array.indices
    if len(indices) == 0:
        return None
    codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
    outside = (codes < 0) | (codes >= len(array.dictionary))
    if outside.any() and (outside & validity(indices)).any():
        return "codes outside its dictionary"
    return None
