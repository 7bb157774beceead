"""Export and import of a vault: JSON lines, Parquet, or a Clawpy task file.

A record is what ``add`` takes, with the log's own fields beside it: headings, place in its source, the previous chunk,
commit, blob, role, version, status, pin. Vectors are not among it: they are made again from the text. Facts and links are
files of their own, read after the chunks that they name. Exporting, importing into an empty vault and exporting again gives the
same bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta, Struct

from lamina_engine.atomic_write import atomic_write
from lamina_engine.chunks import lifecycle, writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.index.state import ARCHIVED, INVALIDATED, REMOVED
from lamina_engine.ingest import adding
from lamina_engine.json_lines import read_json_lines, write_json_lines
from lamina_engine.recall.filters import evaluate, live_mask, mentions_field, parse_filter
from lamina_engine.results import Chunk

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

FORMATS: Final = ("jsonl", "parquet", "clawpy", "facts", "links", "graph-json")
_ROWS_AT_ONCE: Final = 8_192
_PARQUET: Final = b"PAR1"
_INSTEAD: Final = "give what `lamina export` wrote; other files are ingested"
_SCHEMA: Final = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.large_string()),
        ("title", pa.string()),
        ("headings", pa.list_(pa.string())),
        ("type", pa.string()),
        ("collection", pa.string()),
        ("project", pa.string()),
        ("session", pa.string()),
        ("agent", pa.string()),
        ("source", pa.string()),
        ("ordinal", pa.int32()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("after", pa.string()),
        ("created_at", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("success", pa.bool_()),
        ("commit", pa.string()),
        ("blob", pa.string()),
        ("role", pa.string()),
        ("metadata", pa.string()),
        ("version", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("pinned", pa.bool_()),
        ("snoozed_until", pa.string()),
    ]
)


def export(memory: Memory, path: Path, format_: str, filter_: Mapping[str, Any] | None) -> int:
    """Write the current chunks to a file, in the order they were written; return how many.

    Invalidated, archived and snoozed ones too; removed ones where the filter names that status.

    ``clawpy`` writes tasks alone, see `lamina_engine.ingest.tasks`; ``facts`` and ``graph-json`` write facts, see
    `lamina_engine.facts.transfer`, and ``links`` the links, see `lamina_engine.graph.transfer`; they return how many. The
    file appears whole or not at all.
    """
    if format_ not in FORMATS:
        raise InvalidArgument(f"format={format_!r} is not known; allowed are {', '.join(FORMATS)}")
    if format_ in ("facts", "graph-json"):
        from lamina_engine.facts.transfer import export_facts, export_graph

        if filter_:
            raise InvalidArgument(f"where={filter_!r} chooses chunks; format={format_!r} writes all facts")
        return (export_facts if format_ == "facts" else export_graph)(memory, path)
    if format_ == "links":
        from lamina_engine.graph.transfer import export_links

        if filter_:
            raise InvalidArgument(f"where={filter_!r} chooses chunks; format={format_!r} writes all links")
        return export_links(memory, path)
    view = memory.view()
    node = parse_filter(filter_, memory.config.tz, memory.clock.now_us())
    live = live_mask(view, node, invalidated=True)
    if format_ != "clawpy" and not mentions_field(node, "status"):  # tasks have no such state
        live |= view.state.status == ARCHIVED
    rows = np.flatnonzero(evaluate(node, view, live))
    if format_ == "clawpy":
        from lamina_engine.ingest.tasks import export_tasks

        return export_tasks(memory, path, rows)
    batches = (_records(view, rows, rows[i : i + _ROWS_AT_ONCE]) for i in range(0, len(rows), _ROWS_AT_ONCE))
    if format_ == "jsonl":
        return write_json_lines(path, itertools.chain.from_iterable(batches))
    with atomic_write(path) as aside:
        _write_parquet(aside, batches)
    return len(rows)


def _write_parquet(path: Path, batches: Iterator[list[dict[str, Any]]]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for records in batches:
            for record in records:
                record["metadata"] = (
                    msgspec.json.encode(record["metadata"], order="sorted").decode() if record["metadata"] else None
                )
            writer.write_table(pa.Table.from_pylist(records, schema=_SCHEMA))


def _records(view: View, exported: Rows, rows: Rows) -> list[dict[str, Any]]:
    """Return some chunks as records, each with its previous chunk if that is exported too."""
    previous = view.snapshot.numbers("chunks", "previous", rows).astype(np.int64)
    followed = np.flatnonzero(np.isin(previous, exported))
    names = view.snapshot.values("chunks", "id", previous[followed])
    after = dict(zip(followed.tolist(), names, strict=True))
    outcomes = view.snapshot.values("chunks", "success", rows)  # an invalidated chunk shows none
    chunks = chunks_at(view, rows)
    return [
        _record(chunk, after.get(i), success) for i, (chunk, success) in enumerate(zip(chunks, outcomes, strict=True))
    ]


def _record(chunk: Chunk, after: str | None, success: bool | None) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "text": chunk.text,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "type": chunk.type,
        "collection": chunk.collection,
        "project": chunk.project,
        "session": chunk.session,
        "agent": chunk.agent,
        "source": chunk.source,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "stop": chunk.stop,
        "after": after,
        "created_at": format_instant(chunk.created_at_us),
        "tags": list(chunk.tags),
        "success": success,
        "commit": chunk.commit,
        "blob": chunk.blob,
        "role": chunk.role,
        "metadata": dict(sorted(chunk.metadata.items())),
        "version": chunk.version,
        "status": chunk.status,
        "reason": chunk.reason,
        "pinned": chunk.pinned,
        "snoozed_until": format_instant(chunk.snoozed_until_us),
    }


Name = Annotated[str, Meta(min_length=1)]


class Exported(Struct, frozen=True):
    """One record of an export; see `lamina_engine.schema.CHUNKS` for the fields."""

    id: Name
    text: Name
    type: Name
    collection: Name
    title: str | None = None
    headings: list[str] | None = None
    project: str | None = None
    session: str | None = None
    agent: str | None = None
    source: str | None = None
    ordinal: int = -1
    start: int = -1
    stop: int = -1
    after: str | None = None
    created_at: str | None = None
    tags: list[str] | None = None
    success: bool | None = None
    commit: str | None = None
    blob: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = None
    version: str | None = None
    status: str = "active"
    reason: str | None = None
    pinned: bool = False
    snoozed_until: str | None = None


def import_(memory: Memory, path: Path) -> list[str]:
    """Import an exported file, or a ``.json`` file of tasks; return the ids of its chunks.

    Raises IngestError if it cannot be read, and InvalidArgument for the first bad record; records before it have been added.
    """
    if path.suffix.lower() == ".json" and _is_task_file(path):
        from lamina_engine.ingest.tasks import import_tasks

        return import_tasks(memory, path).ids
    from lamina_engine.facts.transfer import import_facts, is_fact_file

    if is_fact_file(path):
        import_facts(memory, path)
        return []
    from lamina_engine.graph.transfer import import_links, is_link_file

    if is_link_file(path):
        import_links(memory, path)
        return []
    ids: list[str] = []
    for records in _read(path):
        batch = _batch(records)
        adding.redact(memory, batch)
        ids += writing.write(memory, batch).ids
        _restore_status(memory, records)
    return ids


def _is_task_file(path: Path) -> bool:
    """Return True for an intact task file."""
    from lamina_engine.ingest.taskfile import CorruptTasks, read_task_file

    if not path.is_file():
        return False
    try:
        return bool(read_task_file(path.read_bytes()).nodes)
    except CorruptTasks:
        return False


def _read(path: Path) -> Iterator[list[Exported]]:
    if not path.is_file():
        raise IngestError(f"{path} is not a file; give what `lamina export` wrote")
    with path.open("rb") as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    if is_parquet:
        records = _parquet_records(path)
    else:
        records = read_json_lines(path, Exported, what="a record of an export", instead=_INSTEAD)
    while part := list(itertools.islice(records, _ROWS_AT_ONCE)):
        yield part


def _parquet_records(path: Path) -> Iterator[Exported]:
    import pyarrow.parquet as pq

    try:
        number = 0
        for part in pq.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
            for record in part.to_pylist():
                number += 1
                metadata = record.get("metadata")
                yield msgspec.convert(
                    record | {"metadata": msgspec.json.decode(metadata) if metadata else None}, Exported
                )
    except (pa.ArrowException, OSError) as error:
        raise IngestError(f"{path} cannot be read as Parquet: {error}") from error
    except (msgspec.DecodeError, TypeError) as error:
        raise InvalidArgument(f"{path}: record {number} is none of an export ({error}); {_INSTEAD}") from error


def _batch(records: Sequence[Exported]) -> ChunkBatch:
    undated: list[int | None] = [None] * len(records)
    batch = ChunkBatch(
        texts=[r.text for r in records],
        ids=[r.id for r in records],
        titles=[r.title for r in records],
        headings=[r.headings or [] for r in records],
        types=[r.type for r in records],
        collections=[r.collection for r in records],
        projects=[r.project for r in records],
        sessions=[r.session for r in records],
        agents=[r.agent for r in records],
        sources=[r.source for r in records],
        ordinals=[r.ordinal for r in records],
        starts=[r.start for r in records],
        stops=[r.stop for r in records],
        created_at=[None if r.created_at is None else parse_instant(r.created_at, what="created_at") for r in records],
        tags=[r.tags or [] for r in records],
        success=[r.success for r in records],
        commits=[r.commit for r in records],
        blobs=[r.blob for r in records],
        roles=[r.role for r in records],
        metadata=[msgspec.json.encode(r.metadata, order="sorted").decode() if r.metadata else None for r in records],
        after=[r.after for r in records],
        fallback_created_at=undated,
    )
    batch.embed_like([r.version for r in records])
    return batch


def _restore_status(memory: Memory, records: Sequence[Exported]) -> None:
    """Restore invalidations, removals, archivings, pins and snoozes of imported chunks."""
    reasons_of = {r.id: r.reason for r in records if r.reason}
    with memory.write() as (transaction, view):
        for kind, wanted, status in (
            ("invalidate", [r.id for r in records if r.status == "invalidated"], INVALIDATED),
            ("remove", [r.id for r in records if r.status == "removed"], REMOVED),
            ("archive", [r.id for r in records if r.status == "archived"], ARCHIVED),
            ("pin", [r.id for r in records if r.pinned], None),
        ):
            rows = np.unique(view.rows_of_ids(wanted))
            rows = rows[(view.state.pinned[rows] == 0) if status is None else (view.state.status[rows] != status)]
            if len(rows):
                names = view.snapshot.values("chunks", "id", rows)
                said = [memory.redact(reasons_of.get(name, "imported")) for name in names]
                writing.add_events(transaction, kind, names, rows, transaction.stamps(len(rows)), said)
        moments = {r.id: parse_instant(r.snoozed_until, what="snoozed_until") for r in records if r.snoozed_until}
        found = zip(moments.values(), view.rows_of_ids(list(moments)).tolist(), strict=True)
        asleep = {row: us for us, row in found if view.state.snoozed.get(row) != us}
        if asleep:
            rows = np.array(list(asleep), np.int64)
            details = [lifecycle.snooze_detail(us) for us in asleep.values()]
            names = view.snapshot.values("chunks", "id", rows)
            stamps, reasons = transaction.stamps(len(rows)), ["imported"] * len(rows)
            writing.add_events(transaction, "snooze", names, rows, stamps, reasons, details)
