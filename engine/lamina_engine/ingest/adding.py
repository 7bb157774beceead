"""Records into batches: checked, completed and redacted before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from lamina_engine.chunks import handoffs, lifecycle, writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.writing import ChunkCounts, OnConflict
from lamina_engine.errors import InvalidArgument, name_type
from lamina_engine.index.tables import BulkHint
from lamina_engine.ingest.classify import COLLECTION_OF_TYPE, clean_type
from lamina_engine.ingest.origins import note_origins, origin_of_row
from lamina_engine.ingest.records import FIELDS, NAME_FIELDS, Record, normalise_record
from lamina_engine.profiles import TASK_TYPES
from lamina_engine.redact.search import prepare_kernel
from lamina_engine.store.segments import SEGMENT_ROWS

if TYPE_CHECKING:
    from lamina_engine.ingest.recordtables import RecordColumns
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

DEFAULT_TYPE: Final = "note"
DEFAULT_COLLECTION: Final = "notes"

_LEAD_ROWS: Final = 32_768
"""Rows of a long table's first batch: until it is ready, there is nothing to write beside it."""

Records: TypeAlias = (
    str
    | Mapping[str, Any]
    | Sequence[str | Mapping[str, Any]]
    | Iterator[str | Mapping[str, Any]]
    | pa.Table
    | pa.RecordBatch
    | pa.RecordBatchReader
)


def add(
    memory: Memory,
    records: Records,
    fields: Mapping[str, Any],
    *,
    links: bool = False,
    on_conflict: OnConflict = "version",
) -> list[str]:
    """Add records; nothing of a batch is written where one of its records cannot be used."""
    if on_conflict not in get_args(OnConflict):
        raise InvalidArgument(f"on_conflict={on_conflict!r} must be one of {', '.join(get_args(OnConflict))}")
    unknown = sorted(set(fields) - FIELDS)
    if unknown:
        raise InvalidArgument(
            f"add was given {', '.join(unknown)}; fields are {', '.join(sorted(FIELDS))}; put the rest into metadata"
        )
    if isinstance(records, str):
        records = [{"text": records}]
    elif isinstance(records, Mapping):
        records = [records]
    elif hasattr(records, "__arrow_c_stream__") and not isinstance(
        records, pa.Table | pa.RecordBatch | pa.RecordBatchReader
    ):
        records = _reader_of(records)
    total = ChunkCounts()
    batches = (_with_origins(memory, _prepared(memory, batch)) for batch in _batches(memory, records, fields))
    rows = records.num_rows if isinstance(records, pa.Table | pa.RecordBatch) else 0
    tasks = False
    for batch in _one_ahead(batches) if _is_long(records) else batches:
        tasks = tasks or not set(TASK_TYPES).isdisjoint(batch.types)
        left = max(rows - len(total.ids) - len(batch), 0)
        total.add(writing.write(memory, batch, BulkHint(left, left > 0), on_conflict=on_conflict))
        if not handoffs.WRITTEN.isdisjoint(batch.types):
            handoffs.yield_to_written(memory, set(batch.types), set(batch.sessions))
    if total.added and (links or tasks):
        from lamina_engine.graph.generators import after_add

        after_add(memory, total.ids, links=links)
    return total.ids


def _reader_of(table: Any) -> pa.RecordBatchReader:
    """Return the reader of a frame of pandas or polars, or of a relation of DuckDB."""
    try:
        return pa.RecordBatchReader.from_stream(table)
    except pa.ArrowInvalid as error:  # one column alone
        raise InvalidArgument(f"records is {name_type(table)}, not a table; give one with a column 'text'") from error


def write(memory: Memory, batch: ChunkBatch) -> ChunkCounts:
    """Redact a batch and write it; under the policy "skip" a record with a secret is refused."""
    return writing.write(memory, _prepared(memory, batch))


def _prepared(memory: Memory, batch: ChunkBatch) -> ChunkBatch:
    """Redact a batch and give its rows ids and versions."""
    found = redact(memory, batch)
    if found and memory.redactor.policy == "skip":
        position, kinds = next(iter(found.items()))
        raise InvalidArgument(
            f"record {position} holds a secret ({', '.join(kinds)}) and the policy is to skip it; nothing was written"
        )
    batch.identify()
    return batch


def _with_origins(memory: Memory, batch: ChunkBatch) -> ChunkBatch:
    """Note the repository files that records name; ids do not depend on them."""
    if any(batch.sources) or any(batch.metadata):  # what may name a file
        note_origins(memory, batch)
    return batch


def _is_long(records: Any) -> bool:
    return isinstance(records, pa.RecordBatchReader) or (
        isinstance(records, pa.Table | pa.RecordBatch) and records.num_rows > SEGMENT_ROWS
    )


def _one_ahead(batches: Iterator[ChunkBatch]) -> Iterator[ChunkBatch]:
    """Yield batches while a thread prepares the next: writing waits for disks without the lock.

    An invalid batch is raised in its turn, after those before it have been written.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="lamina-add") as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch


def redact(memory: Memory, batch: ChunkBatch) -> dict[int, list[str]]:
    """Mask the secrets of a batch in place; return the kinds found, by position."""
    prepare_kernel(len(batch))
    columns: tuple[list[Any], ...] = (
        batch.titles, batch.sources, batch.collections, batch.types, batch.sessions, batch.agents, batch.projects,
    )  # fmt: skip
    # one pass over everything: for a single record a pass costs more than what it looks at
    names = list(dict.fromkeys(value for column in (batch.ids, *columns) for value in column if value))
    texts: list[tuple[int, str, list[str]]] = []
    changed: dict[str, tuple[str, list[str]]] = {}
    for at, clean, findings in memory.redactor.clean_batch([*batch.texts, *names]):
        kinds = [finding.kind for finding in findings]
        if at < len(batch):
            texts.append((at, clean, kinds))
        else:
            changed[names[at - len(batch)]] = (clean, kinds)
    for i, name in enumerate(batch.ids) if changed else ():
        if name in changed:
            raise InvalidArgument(
                f"the id of record {i} holds a secret ({', '.join(changed[name][1])}); give another id"
            )
    found: dict[int, list[str]] = {}
    for i, clean, kinds in texts:
        batch.texts[i], found[i] = clean, kinds
    for column in columns if changed else ():
        for i, value in enumerate(column):
            if value in changed:
                column[i], kinds = changed[value]
                found.setdefault(i, []).extend(kinds)
    batch.versions = []  # of texts that may have changed
    for i, (tags, metadata) in enumerate(zip(batch.tags, batch.metadata, strict=True)):
        if tags:
            batch.tags[i] = [memory.redact(tag) for tag in tags]
        if metadata:
            batch.metadata[i], kinds = memory.redact_json(metadata)
            if kinds:
                found.setdefault(i, []).extend(kinds)
    return found


def _batches(memory: Memory, records: Any, fields: Mapping[str, Any]) -> Iterator[ChunkBatch]:
    if isinstance(records, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        from lamina_engine.ingest.recordtables import records_from_arrow

        defaults = _defaults(fields, memory)
        lead = _LEAD_ROWS if _is_long(records) else SEGMENT_ROWS
        for columns in records_from_arrow(records, tz=memory.config.tz, batch_rows=SEGMENT_ROWS, lead_rows=lead):
            if columns.problems:
                said = columns.problems[0].message.removesuffix("; skipped")
                raise InvalidArgument(f"records: {said}; nothing of this batch was written")
            yield batch_of_columns(columns, defaults)
        return
    if hasattr(records, "__dataframe__"):  # whose iterator gives names of columns, which would be stored as texts
        raise InvalidArgument(
            f"records is {name_type(records)}, which has no stream for PyArrow; give pyarrow.Table.from_pandas(frame), "
            "or use a later version of pandas"
        )
    if not isinstance(records, Iterable) or isinstance(records, bytes | set | frozenset):
        raise InvalidArgument(f"records is {name_type(records)}; give texts, mappings with 'text', or a table")
    checked = []
    for position, given in enumerate(records):
        record = {"text": given} if isinstance(given, str) else given
        if not isinstance(record, Mapping):
            raise InvalidArgument(f"record {position} is {name_type(record)}; give a text, or a mapping with 'text'")
        try:
            checked.append(normalise_record({**fields, **record}, tz=memory.config.tz, now_us=memory.clock.now_us()))
        except InvalidArgument as error:
            raise InvalidArgument(f"record {position}: {error}; nothing was written") from error
    if checked:
        yield batch_of_records(checked)


def batch_of_records(records: Sequence[Record]) -> ChunkBatch:
    """Build a batch from checked records; vectors must be given for all of them or none."""
    types, collections = _kinds([r.type for r in records], [r.collection for r in records])
    n = len(records)
    return ChunkBatch(
        texts=[r.text for r in records],
        ids=[r.id for r in records],
        titles=[r.title for r in records],
        types=types,
        collections=collections,
        projects=[r.project for r in records],
        sessions=[r.session for r in records],
        agents=[r.agent for r in records],
        sources=[r.source for r in records],
        created_at=[r.created_at_us for r in records],
        tags=[list(r.tags) for r in records],
        success=[r.success for r in records],
        metadata=[_json(r.metadata) for r in records],
        vectors=_vectors(records),
        date_is_embedded=[True] * n,
    )


def batch_of_columns(columns: RecordColumns, defaults: Record | None) -> ChunkBatch:
    """Build a batch from checked columns; ``defaults`` fills what a record leaves out."""
    n = len(columns.text)

    def names(field: str) -> list[str | None]:
        given = columns.names.get(field)
        default = getattr(defaults, field) if defaults is not None and field != "id" else None
        if given is None:
            return [default] * n
        return given if default is None else [default if value is None else value for value in given]

    if columns.has_vector is not None and not columns.has_vector.all() and columns.has_vector.any():
        raise InvalidArgument(
            f"record {int(np.flatnonzero(~columns.has_vector)[0])} has no vector but others have; give one to all or none"
        )
    has_vectors = columns.vectors is not None and columns.has_vector is not None and bool(columns.has_vector.any())
    types, collections = _kinds(names("type"), names("collection"))
    created: list[int | None] = list(columns.created_at_us or [None] * n)
    if defaults is not None and defaults.created_at_us is not None:
        created = [defaults.created_at_us if us is None else us for us in created]
    tags = (
        [list(t) for t in columns.tags] if columns.tags else [list(defaults.tags) if defaults else [] for _ in range(n)]
    )
    metadata = (
        [_json(m) for m in columns.metadata]
        if columns.metadata
        else [_json(defaults.metadata) if defaults else None] * n
    )
    success = columns.success or [defaults.success if defaults else None] * n
    return ChunkBatch(
        texts=columns.text,
        ids=names("id"),
        titles=names("title"),
        types=types,
        collections=collections,
        projects=names("project"),
        sessions=names("session"),
        agents=names("agent"),
        sources=names("source"),
        created_at=created,
        tags=tags,
        success=success,
        metadata=metadata,
        vectors=columns.vectors if has_vectors else None,
        date_is_embedded=[True] * n,
    )


def update(memory: Memory, identity: str, changes: Mapping[str, Any]) -> Chunk:
    """Check and redact changes, then write them as a new version of the chunk."""
    unknown = sorted(set(changes) - set(lifecycle.CHANGEABLE))
    if unknown or not changes:
        raise InvalidArgument(
            f"update was given {', '.join(unknown) or 'nothing'}; it can change {', '.join(lifecycle.CHANGEABLE)}"
        )
    record = normalise_record({"text": "unchanged", **changes}, tz=memory.config.tz, now_us=memory.clock.now_us())
    checked: dict[str, Any] = {name: getattr(record, name) for name in changes if name != "created_at"}
    for name, value in checked.items():
        if isinstance(value, str):
            checked[name] = memory.redact(value)
    if "tags" in checked:
        checked["tags"] = [memory.redact(tag) for tag in record.tags]
    if "metadata" in checked:
        checked["metadata"] = memory.redactor.clean_value(record.metadata)[0]
    if "created_at" in changes:
        checked["created_at"] = record.created_at_us
    if "type" in checked:
        checked["type"] = clean_type(checked["type"]) or DEFAULT_TYPE
    if "collection" in checked and not checked["collection"]:
        checked["collection"] = DEFAULT_COLLECTION
    chunk = lifecycle.update(memory, identity, checked)
    view = memory.view()
    origin = origin_of_row(memory, view, chunk.row)
    return lifecycle.confirm(memory, chunk.row, origin) if origin or chunk.needs_review else chunk


def _defaults(fields: Mapping[str, Any], memory: Memory) -> Record | None:
    if not fields:
        return None
    return normalise_record({"text": "unused", **fields}, tz=memory.config.tz, now_us=memory.clock.now_us())


def _kinds(types: Sequence[str | None], collections: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """Fill in missing types and collections; a missing collection follows from the type."""
    known: dict[str, str] = {}
    found_types: list[str] = []
    for value in types:
        if value is None:
            found_types.append(DEFAULT_TYPE)
        else:
            if value not in known:
                known[value] = clean_type(value) or DEFAULT_TYPE
            found_types.append(known[value])
    pairs = zip(found_types, collections, strict=True)
    return found_types, [c or COLLECTION_OF_TYPE.get(t, DEFAULT_COLLECTION) for t, c in pairs]


def _vectors(records: Sequence[Record]) -> Any:
    given = [r.vector for r in records if r.vector is not None]
    if not given:
        return None
    if len(given) < len(records):
        raise InvalidArgument(
            f"{len(given)} of {len(records)} records have a vector; give all of them one, or none; nothing was written"
        )
    if len({len(vector) for vector in given}) > 1:
        raise InvalidArgument("the records' vectors differ in dimension; nothing was written")
    return np.stack(given)


def _json(metadata: Mapping[str, Any] | None) -> str | None:
    import msgspec

    return msgspec.json.encode(metadata, order="sorted").decode() if metadata else None


__all__ = ["NAME_FIELDS", "add", "batch_of_columns", "batch_of_records", "redact", "update", "write"]
