"""Salvage of a damaged log: it is written again with what can be read.

Rows that cannot be read leave tombstones, as forgotten ones do. Row numbers and moments stay, so all that is said about sound
rows still holds. One commit publishes it. Before, each damaged file is copied beside itself, under a name that nothing reads or
sweeps; ``forget`` removes the copies.
"""

from __future__ import annotations

import math
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import columns, schema
from lamina_engine.care.erasure import BLANKS, blank_rows, keep_chunks, rewrite_segment
from lamina_engine.chunks.batch import embedded_text, version_of
from lamina_engine.columns import validity
from lamina_engine.errors import LaminaError, VaultCorrupt
from lamina_engine.index.state import ACTIVE, FORGOTTEN, SUPERSEDED, State
from lamina_engine.ingest.sources import SPANS, digest_path
from lamina_engine.real_files import read_file, remove_file
from lamina_engine.store import shape
from lamina_engine.store.manifest import LOG_NAME, Manifest, SegmentRef
from lamina_engine.store.segments import LOG, Segment, find_bad_bounds, log_folder, record_batch
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.transaction import Transaction
from lamina_engine.stored_json import read_json
from lamina_engine.topics.generation import KIND as CLUSTER
from lamina_engine.topics.generation import Detail

if TYPE_CHECKING:
    from lamina_engine.clock import Clock
    from lamina_engine.store.files import Files

DAMAGED: Final = ".damaged"
"""Ends the name of the copy of a damaged file."""
_TOMBSTONE: Final = "lost-"
_STREAM: Final = 8
"""Bytes before the stream in a file of Arrow: the same rows, without the index at its end."""
_UNREADABLE: Final = object()
_UNIT: Final = 1e-3
_TOGETHER: Final = ("topics", "members")
"""Logs of one clustering: each says nothing without the other, and both are made again."""
_ENDS: Final = ("invalidate", "remove", "archive")
_REASON: Final = "a damaged file of the log was repaired"
_NAMED: Final = 5
"""So many chunks are named of those whose text has changed."""


_Columns: TypeAlias = Mapping[str, pa.Array]


@dataclass(slots=True)
class _Part:
    """Rows that are left of one segment, and blank ones for the others."""

    stand_in: Segment
    kept: NDArray[np.bool_]
    """True for rows that could be read."""
    changed: list[str] = field(default_factory=list)
    """Ids of kept chunks whose text is not what their version says."""

    def rows(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the numbers of some of its rows."""
        return self.stand_in.start + np.flatnonzero(chosen)


@dataclass(frozen=True, slots=True)
class Salvage:
    """Report of a log that was written again."""

    lost: tuple[str, ...]
    """The rows that could not be read, by log and file."""
    kept: tuple[str, ...]
    """Rows of files whose bytes have changed, that could be read."""
    changed: tuple[str, ...]
    """Ids of kept chunks whose text is not what was written."""
    copies: tuple[str, ...]
    """Copies of damaged files, below the vault's folder."""

    def __str__(self) -> str:
        said = [f"lost are {', '.join(self.lost)}" if self.lost else "no row is lost"]
        if self.kept:
            said.append(f"kept as they can be read, though bytes of their file have changed: {', '.join(self.kept)}")
        if self.changed:
            others = f" and {len(self.changed) - _NAMED} others" if len(self.changed) > _NAMED else ""
            said.append(f"look at {', '.join(self.changed[:_NAMED])}{others}: their text is not what was written")
        if self.copies:
            said.append(
                f"copies of the damaged files are {', '.join(self.copies)}: delete them once you need them no more"
            )
        return "the log is written again with what can be read; " + "; ".join(said)


def salvage(root: Path, files: Files, clock: Clock, manifest: Manifest, name: str) -> Salvage:
    """Write damaged segments again with what can be read of them.

    Notes
    -----
    O(bytes). The caller holds the lock. A file that is there and cannot be read at all (no permission, a failing disk) raises:
    it may yet be.
    """
    found = {log: [_open(root, log, ref) for ref in refs] for log, refs in manifest.logs.items()}
    clustered = any(None in found.get(log, ()) for log in _TOGETHER)
    whole: dict[str, tuple[Segment, ...]] = {}
    left: dict[str, list[_Part]] = {}
    for log in sorted(found, key=_order):
        own: list[Segment] = []
        for ref, segment in zip(manifest.logs[log], found[log], strict=True):
            if segment is None or (clustered and log in _TOGETHER):
                before = own[-1].ref.last_us if own else -(2**62)
                part = _salvage(root, log, ref, before, manifest)
                left.setdefault(log, []).append(part)
                own.append(part.stand_in)
            else:
                own.append(segment)
        whole[log] = tuple(own)
    snapshot = Snapshot(manifest, whole, name)
    copies = [copy for parts in left.values() for part in parts for copy in _copy_aside(root, files, part.stand_in)]
    transaction = Transaction(root, files, clock, snapshot, lambda: None)
    for log, parts in left.items():
        files.make_folder(log_folder(root, log))
        for part in parts:
            transaction.replace(part.stand_in, partial(_rows_left, snapshot, part))
    if clustered:
        _forget_clusterings(transaction, snapshot)
    if "chunks" in left:
        _read_again(transaction, snapshot)
    if not {"chunks", "events"}.isdisjoint(left):
        lost = {row for part in left.get("chunks", ()) for row in part.rows(~part.kept).tolist()}
        _mend_states(transaction, snapshot, lost)
    for index in manifest.indexes:
        transaction.set_index(index, None)
    transaction.commit()
    return Salvage(
        tuple(_describe(left, lambda part: ~part.kept)),
        tuple(_describe(left, lambda part: part.kept)),
        tuple(id for part in left.get("chunks", ()) for id in part.changed),
        tuple(copies),
    )


def _order(log: str) -> int:
    """Chunks before what speaks of them."""
    return list(schema.LOGS).index(log) if log in schema.LOGS else -1


def _open(root: Path, log: str, ref: SegmentRef) -> Segment | None:
    """Return a segment whose bytes are as they were written; None where they are not."""
    try:
        segment = Segment(root, log, ref)
        return segment if segment.is_intact() else None
    except (FileNotFoundError, VaultCorrupt):
        return None


def _copy_aside(root: Path, files: Files, part: Segment) -> Iterator[str]:
    """Copy a damaged file beside itself."""
    content = _content(part.path)
    if content is not None and _open(root, part.log, part.ref) is None:
        files.publish(f"{part.path}{DAMAGED}", [content])
        files.flush_folder(part.path.parent)
        yield f"{LOG}/{part.log}/{part.ref.name}{DAMAGED}"


def remove_copies(root: Path) -> None:
    """Remove the copies of damaged files: they hold what was forgotten since."""
    for folder in shape.own_folders(root / LOG, LOG_NAME):
        for path in folder.glob(f"*{DAMAGED}"):
            remove_file(path)


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file; None where there is none, or a link to who knows what."""
    try:
        return read_file(path, sys.maxsize) if stat.S_ISREG(path.lstat().st_mode) else None
    except FileNotFoundError:
        return None


# ---------------------------------------------------------------------- one segment


def _salvage(root: Path, log: str, ref: SegmentRef, before: int, manifest: Manifest) -> _Part:
    """Return a stand-in for a segment: what can be read of its rows, and blank ones."""
    space = manifest.spaces.get(log.partition(".")[2])
    layout = schema.log_schema(log, space.dim if space else None)
    found = None if log in _TOGETHER else _read(log_folder(root, log) / ref.name, ref, layout)
    stamps = _stamps(found, ref, before)
    if log.startswith("vectors."):
        assert space is not None
        return _vectors_part(root, log, ref, found, space.dim, stamps)
    rows = _rows_of(found, layout, ref.rows)
    kept = np.zeros(ref.rows, np.bool_)
    changed: list[str] = []
    for i, row in enumerate(rows):
        kept[i] = _mend_chunk(row, ref.start + i, changed) if log == "chunks" else _is_sound(log, manifest, row)
        if not kept[i]:
            row.clear()
            row.update(_blank(log, ref.start + i))
    values = {name: [row.get(name) for row in rows] for name in layout.names if name != "recorded_at"}
    return _Part(Segment(root, log, ref, record_batch(log, layout, values, stamps)), kept, changed)


def _read(path: Path, ref: SegmentRef, layout: pa.Schema) -> _Columns | None:
    """Return the columns of a damaged file, unchecked; None where there are none."""
    content = _content(path)
    if content is None:
        return None
    content = content[: ref.size].ljust(ref.size, b"\0")  # what is before the end of a torn file may be whole
    readers: tuple[Callable[[], pa.RecordBatch], ...] = (
        lambda: pa.ipc.open_file(content).get_batch(0),
        lambda: pa.ipc.open_stream(content[_STREAM:]).read_next_batch(),
    )
    for read in readers:
        try:
            batch = read()
            if batch.num_rows == ref.rows and batch.schema.types == layout.types:
                return dict(zip(layout.names, batch.columns, strict=True))  # a name of a column may be damaged
        except (pa.ArrowException, OSError, ValueError, KeyError, StopIteration):
            continue
    return None


def _stamps(found: _Columns | None, ref: SegmentRef, before: int) -> NDArray[np.int64]:
    """Return the moments of the rows; a microsecond apart where they cannot be read."""
    if found is not None and _is_laid_out(found["recorded_at"]):
        stamps = columns.numbers(found["recorded_at"]).astype(np.int64)
        if stamps[0] >= before and stamps[-1] == ref.last_us and (np.diff(stamps) >= 0).all():
            return stamps
    return np.maximum(np.arange(ref.last_us - ref.rows + 1, ref.last_us + 1, dtype=np.int64), before)


def _vectors_part(
    root: Path, log: str, ref: SegmentRef, found: _Columns | None, dim: int, stamps: NDArray[np.int64]
) -> _Part:
    """Return the vectors that are of length one; all zero stands for none."""
    matrix = np.zeros((ref.rows, dim), np.float32)
    if found is not None and _is_laid_out(found["vector"]):
        matrix[:] = columns.vectors(found["vector"])
    with np.errstate(all="ignore"):  # of any bits
        squares = (matrix.astype(np.float64) ** 2).sum(axis=1)
    kept = np.abs(squares - 1.0) <= _UNIT  # NaN is not
    matrix[~kept] = 0.0
    layout = schema.log_schema(log, dim)
    vectors = columns.vector_array(matrix).cast(layout.field("vector").type)
    return _Part(Segment(root, log, ref, record_batch(log, layout, {"vector": vectors}, stamps)), kept)


def _rows_of(found: _Columns | None, layout: pa.Schema, n: int) -> list[dict[str, Any]]:
    """Return rows as dicts; a cell that cannot be read is `_UNREADABLE`."""
    names = [name for name in layout.names if name != "recorded_at"]
    cells = {name: [_UNREADABLE] * n if found is None else _cells(found[name]) for name in names}
    for name in names:
        if not layout.field(name).nullable:
            cells[name] = [_UNREADABLE if cell is None else cell for cell in cells[name]]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _cells(column: pa.Array) -> list[Any]:
    """Return a column's values, each by itself: a bad one costs no other."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(_texts(column))
    if not _is_laid_out(column):
        return [_UNREADABLE] * len(column)
    if pa.types.is_dictionary(kind):
        words = [*_cells(column.dictionary), _UNREADABLE]
        codes = columns.numbers(column.indices)
        codes = np.where((codes < 0) | (codes >= len(words) - 1), len(words) - 1, codes)
        return [
            words[code] if there else None for code, there in zip(codes.tolist(), validity(column.indices), strict=True)
        ]
    if find_bad_bounds(column) is not None:
        return [_UNREADABLE] * len(column)
    return [_cell(column, i) for i in range(len(column))]


def _is_laid_out(column: pa.Array) -> bool:
    """Return True if a column's buffers are as long as its rows need."""
    try:
        column.validate()
    except pa.ArrowException:
        return False
    return True


def _texts(column: pa.Array) -> Iterator[Any]:
    wide = np.int64 if pa.types.is_large_string(column.type) else np.int32
    bits, places, content = column.buffers()
    end = column.offset + len(column)
    if (
        places is None
        or places.size < (end + 1) * np.dtype(wide).itemsize
        or (bits is not None and bits.size * 8 < end)
    ):
        yield from [_UNREADABLE] * len(column)
        return
    content = memoryview(content) if content is not None else memoryview(b"")
    offsets = np.frombuffer(places, wide, len(column) + 1, column.offset * np.dtype(wide).itemsize).tolist()
    for start, stop, there in zip(offsets[:-1], offsets[1:], validity(column), strict=True):
        if not there:
            yield None
        elif not 0 <= start <= stop <= len(content):
            yield _UNREADABLE
        else:
            try:
                yield bytes(content[start:stop]).decode()
            except UnicodeDecodeError:
                yield _UNREADABLE


def _cell(column: pa.Array, i: int) -> Any:
    try:
        return column[i].as_py()
    except UnicodeDecodeError:
        return _UNREADABLE


def _blank(log: str, row: int) -> dict[str, Any]:
    """Return a row that says nothing."""
    blank = dict(BLANKS[log])
    if log == "chunks":
        blank["id"] = _TOMBSTONE + secrets.token_hex(8)
    elif log == "sources":
        blank["source"] = digest_path(f"{_TOMBSTONE}{row}")
    return blank


def _mend_chunk(row: dict[str, Any], number: int, changed: list[str]) -> bool:
    """Return whether a chunk's text can be read; blank what else cannot."""
    from lamina_engine.reindex.space import embedded_of

    text = row["text"]
    if text is _UNREADABLE or not text.strip() or "\0" in text:
        return bool(_is_tombstone(text, row["version"]) and row["id"] and row["id"] is not _UNREADABLE)
    for name, cell in row.items():
        if cell is _UNREADABLE or (isinstance(cell, str) and name != "text" and "\0" in cell):
            row[name] = BLANKS["chunks"].get(name)
    for name in ("previous", "ordinal", "start", "stop"):  # a number out of bounds would be looked up
        if not -1 <= row[name] < (number if name == "previous" else 2**62):
            row[name] = -1
    if not row["id"]:
        row["id"] = secrets.token_hex(16)
    if row["metadata"] and not _is_json(row["metadata"]):
        row["metadata"] = None
    title, headings = row["title"], row["headings"]
    if not embedded_of(row["version"], text, title, headings, row["created_at"]).matched:
        row["version"] = version_of(embedded_text(title, headings, text))
        changed.append(row["id"])
    return True


def _is_tombstone(text: str, version: bytes) -> bool:
    return text == "" and version == bytes(16)


def _is_sound(log: str, manifest: Manifest, row: dict[str, Any]) -> bool:
    """Return whether all of a row can be read, and can be true."""
    if any(cell is _UNREADABLE for cell in row.values()):
        return False
    if any(isinstance(cell, str) and "\0" in cell for cell in row.values()):
        return False
    if any(isinstance(cell, float) and not (math.isfinite(cell) and cell >= 0) for cell in row.values()):
        return False
    if any(not -1 <= row[name] < manifest.rows(of) for name, of in _POINTS.get(log, {}).items()):
        return False
    if log == "sources":
        linked = not row["links"] or _is_json(row["links"], list[dict[str, Any]])
        return linked and all(len(row[name]) in (0, len(row["chunks"])) for name in SPANS)
    if log == "events":
        kind = _DETAILS.get(row["kind"], dict[str, Any])
        return (row["detail"] is None and kind is not Detail) or _is_json(row["detail"], kind)
    return True


_POINTS: Final[Mapping[str, Mapping[str, str]]] = {
    "events": {"row": "chunks"},
    "origins": {"row": "chunks"},
    "freshness": {"row": "chunks"},
    "facts": {"amends": "facts", "subject": "entities", "target": "entities"},
    "entities": {"entity": "entities", "into": "entities"},
    "aliases": {"entity": "entities"},
}
"""By log: columns that hold a row of another one, or -1."""


_DETAILS: Final[Mapping[str, Any]] = {CLUSTER: Detail, "snooze": dict[str, int], "access": dict[str, int]}
"""By kind of an event: what its detail must be, else nothing that replays it could be read."""


def _is_json(text: str | None, kind: Any = dict[str, Any]) -> bool:
    try:
        read_json(text or "", kind)
    except LaminaError:
        return False
    return True


# ---------------------------------------------------------------------- what follows from it


def _rows_left(snapshot: Snapshot, part: _Part) -> pa.RecordBatch:
    """Return what is left of a segment; lost entities that are spoken of get names."""
    segment = part.stand_in
    if segment.log != "entities":
        return segment.batch
    pointed = {
        int(row): f"lost {row}"
        for log, names in _POINTS.items()
        for name, of in names.items()
        if of == "entities" and log != "entities"
        for row in np.unique(snapshot.column(log, name)).tolist()
    }
    for aliases in snapshot.segments("aliases"):
        pointed.update(zip(aliases.numbers("entity").tolist(), aliases.texts("alias"), strict=True))
    rows = [row for row in part.rows(~part.kept).tolist() if row in pointed]
    values = blank_rows("entities", len(rows))
    values["kind"], values["type"] = ["entity"] * len(rows), ["lost"] * len(rows)
    values["id"], values["name"] = [f"vault:lost:{row}" for row in rows], [pointed[row] for row in rows]
    return rewrite_segment(segment, np.array(rows, np.int64) - segment.start, values)


def _mend_states(transaction: Transaction, snapshot: Snapshot, lost: set[int]) -> None:
    """Append what lost events and chunks have said, where the rows that are left tell it.

    A row without text is gone; an older row of an id makes room for a newer one; where the newer one is ``lost``, the one
    before it holds again, unless that had been ended.
    """
    from lamina_engine.chunks.writing import add_events

    state, last_lost = State(snapshot), max(lost, default=-1)
    ended = {
        name
        for segment in snapshot.segments("events")
        for name, row, kind in zip(
            segment.texts("chunk"), segment.numbers("row").tolist(), segment.texts("kind"), strict=True
        )
        if row in lost and kind in _ENDS
    }
    due: dict[str, list[tuple[str, int]]] = {"forget": [], "supersede": [], "restore": []}
    newer: set[str] = set()
    row = snapshot.rows("chunks")
    for segment in reversed(snapshot.segments("chunks")):
        own = (segment.texts(name) for name in ("id", "text", "version"))
        for name, text, version in reversed(list(zip(*own, strict=True))):
            row -= 1
            status = int(state.status[row])
            if _is_tombstone(text, version):
                if status != FORGOTTEN:
                    due["forget"].append((name, row))
                continue
            if name in newer and status == ACTIVE:
                due["supersede"].append((name, row))
            elif name not in newer and status == SUPERSEDED and name not in ended and row < last_lost:
                due["restore"].append((name, row))
            newer.add(name)
    for kind, found in due.items():
        if found:
            names, rows = zip(*reversed(found), strict=True)
            n = len(rows)
            add_events(transaction, kind, names, np.array(rows, np.int64), transaction.stamps(n), [_REASON] * n)


def _forget_clusterings(transaction: Transaction, snapshot: Snapshot) -> None:
    """Blank the events of clusterings whose topics are lost: the next one begins anew."""
    for segment in snapshot.segments("events"):
        offsets = np.flatnonzero([kind == CLUSTER for kind in segment.texts("kind")])
        if len(offsets):
            transaction.replace(segment, partial(rewrite_segment, segment, offsets, blank_rows("events", len(offsets))))


def _read_again(transaction: Transaction, snapshot: Snapshot) -> None:
    """Make the next ingest read the files of lost chunks, though they have not changed."""
    known = {name for segment in snapshot.segments("chunks") for name in segment.texts("id")}
    for segment in snapshot.segments("sources"):
        offsets = np.flatnonzero([not known.issuperset(ids) for ids in segment.texts("chunks")])
        if not len(offsets):
            continue
        values = {name: segment.values(name, offsets) for name in segment.batch.schema.names}
        keep_chunks(values, known.__contains__)
        values["digest"], values["mtime_ns"] = [bytes(16)] * len(offsets), [-1] * len(offsets)
        transaction.replace(segment, partial(rewrite_segment, segment, offsets, values))


def _describe(left: Mapping[str, Sequence[_Part]], choose: Callable[[_Part], NDArray[np.bool_]]) -> Iterator[str]:
    """Yield what became of rows, by file."""
    for log, parts in left.items():
        for part in parts:
            spans = list(_spans(part.rows(choose(part))))
            if spans:
                rows = "rows" if len(spans) > 1 or not spans[0].isdigit() else "row"
                yield f"{rows} {', '.join(spans)} of {log} ({part.stand_in.ref.name})"


def _spans(rows: NDArray[np.int64]) -> Iterator[str]:
    for _, run in groupby(enumerate(rows.tolist()), lambda pair: pair[1] - pair[0]):
        found = [row for _, row in run]
        yield str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"
