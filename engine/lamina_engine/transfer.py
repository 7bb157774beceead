"""Chunks out of a vault and into another: JSON lines or Parquet, one record a chunk.

A record is what ``add`` takes, with what only the vault knows beside it: headings, byte span, commit, blob, status, pin.
Exporting, importing into an empty vault and exporting again gives the same bytes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from lamina_engine.chunks import adding, writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.reading import Chunk, chunks_at
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.index.state import INVALIDATED
from lamina_engine.recall import mask, where
from lamina_engine.recall.select import alive

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

FORMATS: Final = ("jsonl", "parquet")
_ROWS_AT_ONCE: Final = 8_192
_SCHEMA: Final = pa.schema(
    [
        ("id", pa.string()), ("text", pa.large_string()), ("title", pa.string()), ("headings", pa.list_(pa.string())),
        ("type", pa.string()), ("collection", pa.string()), ("project", pa.string()), ("session", pa.string()),
        ("agent", pa.string()), ("source", pa.string()), ("start", pa.int64()), ("stop", pa.int64()), ("created_at", pa.string()),
        ("tags", pa.list_(pa.string())), ("success", pa.bool_()), ("commit", pa.string()), ("blob", pa.string()),
        ("metadata", pa.string()), ("status", pa.string()), ("pinned", pa.bool_()),
    ]
)  # fmt: skip


def export(memory: Memory, path: Path, format_: str, filter_: Mapping[str, Any] | None) -> int:
    """Write the current chunks (invalidated ones too) to a file, in the order they were written; return how many.

    The file appears whole or not at all.

    Raises
    ------
    InvalidArgument
        For a format or filter that is not known.
    OSError
        When the file cannot be written.
    """
    if format_ not in FORMATS:
        raise InvalidArgument(f"format={format_!r} is not known; allowed are {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{path.parent} is not a folder; give a path in one that exists")
    view = memory.view()
    node = where.parse(filter_, memory.config.tz)
    rows = np.flatnonzero(mask.evaluate(node, view, alive(view, node, invalidated=True)))
    batches = (chunks_at(view, rows[i : i + _ROWS_AT_ONCE]) for i in range(0, len(rows), _ROWS_AT_ONCE))
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if format_ == "jsonl":
            with aside.open("wb") as file:
                for chunks in batches:
                    file.write(b"".join(msgspec.json.encode(_record(c)) + b"\n" for c in chunks))
        else:
            _write_parquet(aside, batches)
        aside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
    return len(rows)


def _write_parquet(path: Path, batches: Iterator[Sequence[Chunk]]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for chunks in batches:
            records = [_record(c) for c in chunks]
            for record in records:
                record["metadata"] = msgspec.json.encode(record["metadata"], order="sorted").decode() if record["metadata"] else None
            writer.write_table(pa.Table.from_pylist(records, schema=_SCHEMA))


def _record(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id, "text": chunk.text, "title": chunk.title, "headings": list(chunk.headings), "type": chunk.type,
        "collection": chunk.collection, "project": chunk.project, "session": chunk.session, "agent": chunk.agent,
        "source": chunk.source, "start": chunk.start, "stop": chunk.stop, "created_at": format_instant(chunk.created_at_us),
        "tags": list(chunk.tags), "success": chunk.success, "commit": chunk.commit, "blob": chunk.blob,
        "metadata": dict(sorted(chunk.metadata.items())), "status": chunk.status, "pinned": chunk.pinned,
    }  # fmt: skip


def import_(memory: Memory, path: Path) -> list[str]:
    """Add what `export` wrote; return the ids.

    Raises
    ------
    IngestError
        When the file cannot be read.
    InvalidArgument
        For the first record that is not one of an export; what came before it has been added.
    """
    ids: list[str] = []
    for records in _read(path):
        batch = _batch(records)
        adding.redact(memory, batch)
        ids += writing.write(memory, batch).ids
        _restore_status(memory, records)
    return ids


def _read(path: Path) -> Iterator[list[dict[str, Any]]]:
    if not path.is_file():
        raise IngestError(f"{path} is not a file; give what `lamina export` wrote")
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            for part in pq.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
                yield [r | {"metadata": msgspec.json.decode(r["metadata"]) if r["metadata"] else {}} for r in part.to_pylist()]
        except (pa.ArrowException, OSError) as error:
            raise IngestError(f"{path} cannot be read as Parquet: {error}") from error
        return
    records: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                records.append(msgspec.json.decode(line, type=dict[str, Any]))
            except msgspec.DecodeError as error:
                raise InvalidArgument(f"{path}:{number} is no JSON object ({error}); give what `lamina export` wrote") from error
            if len(records) == _ROWS_AT_ONCE:
                yield records
                records = []
    if records:
        yield records


def _batch(records: Sequence[dict[str, Any]]) -> ChunkBatch:
    missing = sorted({"id", "text", "type", "collection"}.difference(*(r.keys() for r in records[:1])))
    if missing:
        raise InvalidArgument(f"the records have no {', '.join(missing)}; give what `lamina export` wrote (other files are ingested)")

    def get(name: str, default: Any = None) -> list[Any]:
        return [default if r.get(name) is None else r[name] for r in records]

    n = len(records)
    metadata = [msgspec.json.encode(m, order="sorted").decode() if m else None for m in get("metadata")]
    return ChunkBatch(
        texts=get("text"), ids=get("id"), titles=get("title"), headings=get("headings", []), types=get("type"),
        collections=get("collection"), projects=get("project"), sessions=get("session"), agents=get("agent"), sources=get("source"),
        ordinals=[-1] * n, starts=get("start", -1), stops=get("stop", -1),
        created_at=[None if c is None else parse_instant(c) for c in get("created_at")], tags=get("tags", []), success=get("success"),
        commits=get("commit"), blobs=get("blob"), metadata=metadata, date_is_embedded=True,
    )  # fmt: skip


def _restore_status(memory: Memory, records: Sequence[dict[str, Any]]) -> None:
    """Invalidate and pin what was invalidated and pinned."""
    with memory.write() as (transaction, view):
        for kind, wanted in (
            ("invalidate", [r["id"] for r in records if r.get("status") == "invalidated"]),
            ("pin", [r["id"] for r in records if r.get("pinned")]),
        ):
            rows = view.rows_of_ids(wanted)
            rows = rows[(view.state.status[rows] != INVALIDATED) if kind == "invalidate" else (view.state.pinned[rows] == 0)]
            if len(rows):
                names = view.snapshot.values("chunks", "id", rows)
                writing.add_events(transaction, kind, names, rows, transaction.stamps(len(rows)), ["imported"] * len(rows))
