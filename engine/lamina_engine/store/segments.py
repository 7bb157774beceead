"""Segments: immutable Arrow IPC files of one record batch, uncompressed, memory-mapped when read."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import columns, forking, schema
from lamina_engine.errors import VaultCorrupt
from lamina_engine.store.bounds import out_of_bounds
from lamina_engine.store.files import Begun, Files
from lamina_engine.store.manifest import SegmentRef

LOG = "log"
SEGMENT_ROWS = 65_536
"""A segment never holds more rows: the unit of group commit, and of what a merge rewrites."""
_LARGE_BYTES = 1 << 20
"""From here on a segment is written in Arrow's own parts."""
KEPT_BYTES = 1 << 16
"""A segment of so many bytes is read by the process that wrote it from what it wrote, and not from its file."""
_OPTIONS = pa.ipc.IpcWriteOptions()
"""Arrow's own, and no environment variable's."""
MERGE_FACTOR = 8
"""So many neighbours of one size class become one segment of the next: segments grow as the logarithm of the rows."""


@functools.lru_cache(256)
def folder(root: Path, log: str) -> Path:
    """Return the folder of a log's segments."""
    return root / LOG / log


def path_of(root: Path, log: str, name: str) -> str:
    """Return the path of a segment's file as text."""
    return f"{root}{os.sep}{LOG}{os.sep}{log}{os.sep}{name}"


def begin(files: Files, root: Path, log: str, start: int, batch: pa.RecordBatch) -> tuple[SegmentRef, Begun]:
    """Begin to write one segment; return its reference and the file that is to be settled, and placed where it lies aside."""
    parts, digest = _content(batch)
    name = f"{start:012d}-{batch.num_rows}-{digest[:12]}.arrow"
    begun = files.begin(path_of(root, log, name), parts, aside=False)
    last = columns.numbers(batch.column("recorded_at"))[-1]
    return SegmentRef(name, start, batch.num_rows, sum(map(len, parts)), digest, int(last)), begun


def _content(batch: pa.RecordBatch) -> tuple[list[memoryview | bytes], str]:
    """Return a segment's bytes in parts, and their digest."""
    # the second asks every column, and is asked only of what shares its memory with something large
    if batch.get_total_buffer_size() < _LARGE_BYTES or batch.nbytes < _LARGE_BYTES:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, batch.schema, options=_OPTIONS) as writer:
            writer.write_batch(batch)
        content = memoryview(sink.getvalue())
        return [content], hashlib.sha256(content).hexdigest()
    parts = _Parts()  # a buffer that grows would copy a large segment several times over
    with pa.ipc.new_file(pa.PythonFile(parts, "w"), batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return [*parts.written], parts.digest.hexdigest()


class _Parts:
    """What Arrow writes, in its own parts, with its digest: a file as far as Arrow asks of one."""

    closed = False

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.digest = hashlib.sha256()
        self._size = 0

    def write(self, part: bytes) -> int:
        """Take a part."""
        self.written.append(part)
        self.digest.update(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: the parts are flushed when the file is published."""

    def close(self) -> None:
        """Do nothing: nothing is held open."""


class Segment:
    """One segment, mapped; its Arrow structure is parsed when first asked for.

    Parameters
    ----------
    root : Path
        The vault.
    log : str
        Name of the log.
    ref : SegmentRef
        What the manifest says of it.
    batch : RecordBatch, optional
        What has just been written to it, where it is small: nothing is mapped then, and nothing checked.

    Raises
    ------
    FileNotFoundError
        When it has been merged away since the manifest was read.
    VaultCorrupt
        When its size is not what the manifest says.
    """

    __slots__ = ("_batch", "_columns", "_lock", "_map", "_numbers", "_readers", "_root", "log", "ref")

    def __init__(self, root: Path, log: str, ref: SegmentRef, batch: pa.RecordBatch | None = None) -> None:
        self.log, self.ref = log, ref
        self._root = root
        # mapped at once: a file that is unlinked while mapped stays readable
        self._map = self._opened() if batch is None else None
        self._batch = batch
        self._columns: dict[str, pa.Array] = {}
        self._readers: dict[str, columns.Reader] = {}
        self._numbers: dict[tuple[str, int], NDArray[np.generic]] = {}
        self._lock = forking.lock()

    def _opened(self) -> pa.MemoryMappedFile:
        path = path_of(self._root, self.log, self.ref.name)
        size = os.stat(path).st_size  # noqa: PTH116  a Path for each segment of a large vault is milliseconds
        if size != self.ref.size:
            raise VaultCorrupt(
                f"{path} has {size} bytes where {self.ref.size} were written; `lamina verify` names what can be saved"
            )
        return pa.memory_map(path)

    @property
    def at_hand(self) -> bool:
        """True where it is read from what this process wrote, and not from its file."""
        return self._map is None

    @property
    def path(self) -> Path:
        """Its file."""
        return folder(self._root, self.log) / self.ref.name

    @property
    def start(self) -> int:
        """Row number of the first row."""
        return self.ref.start

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return self.ref.rows

    @property
    def batch(self) -> pa.RecordBatch:
        """The whole segment as one record batch of views into the file.

        Raises
        ------
        VaultCorrupt
            When the file is no Arrow file, or has another number of rows.
        """
        if self._batch is None:
            with self._lock:
                if self._batch is None:
                    self._batch = self._parse()
        return self._batch

    def _parse(self) -> pa.RecordBatch:
        try:
            reader = pa.ipc.open_file(self._map)
            batch = reader.get_batch(0)
            batch.validate()  # the lengths of all buffers; what lies in them is checked column by column
            known = _is_layout_of(self.log, batch.schema)
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
        """Return one column.

        Raises
        ------
        VaultCorrupt
            When its offsets or codes point outside what they index: reading through them would crash the process.
        """
        found = self._columns.get(name)
        if found is None:
            found = self.batch.column(name)
            wrong = None if self._map is None else out_of_bounds(found)
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

    def reader(self, name: str) -> columns.Reader:
        """Return a function that gives the Python value of one column at an offset."""
        read = self._readers.get(name)
        if read is None:
            read = self._readers[name] = columns.reader(self.column(name), f"{self.path}, column {name}")
        return read

    def values(self, name: str, offsets: NDArray[np.int64]) -> list[Any]:
        """Return the Python values of one column at some offsets."""
        read = self.reader(name)
        return [read(offset) for offset in offsets.tolist()]

    def texts(self, name: str, first: int = 0) -> list[Any]:
        """Return the Python values of one column of text, from an offset on.

        Raises
        ------
        VaultCorrupt
            When one of them is not UTF-8.
        """
        try:
            found: list[Any] = self.column(name).slice(first).to_pylist()
        except UnicodeDecodeError as error:
            raise VaultCorrupt(
                f"{self.path}, column {name}: {error}; `lamina verify --deep` names what can be saved"
            ) from error
        return found

    def content(self) -> memoryview:
        """Return the whole file's bytes: they stay readable when the file has been merged away."""
        if self._map is None:
            return memoryview(b"".join(_content(self.batch)[0]))
        return memoryview(self._map.read_at(self.ref.size, 0))

    def intact(self) -> bool:
        """Tell whether its bytes are those that were written. O(bytes)."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.ref.digest

    def check(self) -> str | None:
        """Read every byte; return what is wrong, or None. O(bytes)."""
        if not self.intact():
            last = self.start + self.rows - 1
            return f"{self.path.name}: its bytes have changed since they were written (rows {self.start} to {last})"
        try:
            self.batch.validate(full=True)
        except (pa.ArrowException, VaultCorrupt) as error:
            return f"{self.path.name}: {error}"
        return None


def _is_layout_of(log: str, found: pa.Schema) -> bool:
    """Tell whether columns are those that a log has: bytes flipped in a file's schema leave it an Arrow file."""
    if not log.startswith(schema.vector_log("")):
        return log not in schema.LOGS or found.equals(_layout(log))
    vectors = found.field(found.names.index("vector")).type if "vector" in found.names else None
    dim = vectors.list_size if vectors is not None and pa.types.is_fixed_size_list(vectors) else None
    return dim is not None and found.equals(schema.log_schema(log, dim))


@functools.cache
def _layout(log: str) -> pa.Schema:
    return schema.log_schema(log)


def size_class(rows: int) -> int:
    """Return the size class of a segment: 0 below `MERGE_FACTOR` rows, one more for each further factor."""
    level = 0
    while rows >= MERGE_FACTOR:
        rows //= MERGE_FACTOR
        level += 1
    return level


def merge_start(refs: list[SegmentRef], rows: int) -> int:
    """Decide which trailing segments a new one of ``rows`` rows takes in.

    Like carrying in a counter of base `MERGE_FACTOR`: when a size class would hold a full set, the set becomes one
    segment of the next class. Each row is so rewritten at most once a class.

    Returns
    -------
    int
        Index of the first segment to merge; ``len(refs)`` for none.
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
