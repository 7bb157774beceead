"""Import of an exported file into a vault, record by record.

A vault knows what it has seen of another: it remembers, for each vault that it imported from, the newest moment in
the file. What it has seen before is left as it is now, so an older export brings nothing back that was edited or
forgotten since. Nothing of a forgotten chunk is kept for that, not even a hash.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine import columns
from lamina_engine.chunks import lifecycle, writing
from lamina_engine.chunks.batch import ChunkBatch, Origin
from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.transfer import FactImport
from lamina_engine.graph.transfer import LinkLine, write_links
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.state import ACTIVE
from lamina_engine.ingest import adding
from lamina_engine.ingest.sources import absolute_path, load_sources
from lamina_engine.topics import generation
from lamina_engine.transfer.exporting import EVENTS
from lamina_engine.transfer.files import AT_ONCE, read_records
from lamina_engine.transfer.records import (
    FACT_LINES,
    SPANS,
    ClusteringLine,
    Exported,
    Happening,
    Header,
    MemberLine,
    Record,
    SourceLine,
    TopicLine,
)

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Snapshot

IMPORT: Final = "import"
"""Kind of the event that says what was seen of another vault."""


def import_(memory: Memory, path: Path, *, forgotten: bool = False) -> list[str]:
    """Import an exported file, or a ``.json`` file of tasks; return the ids of its chunks.

    What the vault has seen before stays as it is; with ``forgotten``, what is missing of it comes back.
    Raises IngestError if it cannot be read, and InvalidArgument for the first bad record; records before it have been added.
    """
    if path.suffix.lower() == ".json" and _is_task_file(path):
        from lamina_engine.ingest.tasks import import_tasks

        return import_tasks(memory, path).ids
    run = _Import(memory, forgotten=forgotten)
    for kind, same in itertools.groupby(read_records(path), key=_kind_of):
        while part := list(itertools.islice(same, AT_ONCE)):
            run.read(kind, part)
    run.finish()
    return run.ids


def _kind_of(record: Record) -> str:
    return "fact" if isinstance(record, FACT_LINES) else type(record).__name__


class _Import:
    """One import in progress."""

    def __init__(self, memory: Memory, *, forgotten: bool) -> None:
        self.ids: list[str] = []
        self._memory, self._forgotten = memory, forgotten
        self._header: Header | None = None
        self._seen_us = -1
        """Newest moment of the exporting vault that this one has seen."""
        self._facts = FactImport(memory)
        self._detail: generation.Detail | None = None
        self._topics: list[generation.TopicRow] = []
        self._members: list[MemberLine] = []

    def read(self, kind: str, part: Sequence[Any]) -> None:
        """Write some records of one kind."""
        if kind == "Exported":
            self._read_chunks(part)
        elif kind == "Header":
            self._header = part[0]
            self._seen_us = _seen_us(self._memory, part[0].vault)
        elif kind == "fact":
            self._facts.read(part)
        elif kind == "LinkLine":
            self._read_links(part)
        elif kind == "SourceLine":
            self._read_sources(part)
        elif kind == "ClusteringLine":
            self._read_clustering(part[0])
        elif kind == "TopicLine":
            self._topics += [_topic_of(line) for line in part]
        else:
            self._members += part

    def finish(self) -> None:
        """Write the topics, and what was seen of the vault that exported."""
        if self._detail is not None:
            self._write_topics(self._detail)
        header = self._header
        if header is None or header.until_us <= self._seen_us:
            return
        detail = msgspec.json.encode({"until_us": header.until_us, "vault": header.vault}).decode()
        with self._memory.write() as (transaction, _):
            nowhere = np.array([-1], np.int64)
            writing.add_events(transaction, IMPORT, [""], nowhere, transaction.stamps(1), [None], [detail])

    # ------------------------------------------------------------------ chunks

    def _read_chunks(self, records: Sequence[Exported]) -> None:
        self.ids += [record.id for record in records]
        view = self._memory.view()
        known = view.rows_of_ids([record.id for record in records]) >= 0
        wanted = [
            record
            for record, here in zip(records, known.tolist(), strict=True)
            if not self._was_seen(record) or (self._forgotten and not here)
        ]
        if not wanted:
            return
        new = {record.id for record, here in zip(records, known.tolist(), strict=True) if not here}
        batch = _batch(wanted)
        adding.redact(self._memory, batch)
        writing.write(self._memory, batch)
        self._tell([record for record in wanted if record.id in new])

    def _was_seen(self, record: Exported) -> bool:
        if self._header is None or record.recorded_at is None:
            return False
        return parse_instant(record.recorded_at, what="recorded_at") <= self._seen_us

    def _tell(self, records: Sequence[Exported]) -> None:
        """Write what happened to new chunks, and the last scans of their files."""
        happened = [(record.id, event) for record in records for event in _events_of(self._memory, record)]
        scanned = [(record.id, record.scan) for record in records if record.scan is not None]
        if not happened and not scanned:
            return
        with self._memory.write() as (transaction, view):
            if happened:
                names = [name for name, _ in happened]
                values = {
                    "kind": [event.kind for _, event in happened], "chunk": names, "row": view.rows_of_ids(names),
                    "reason": [None if event.reason is None else self._memory.redact(event.reason) for _, event in happened],
                    "detail": [_detail_of(event) for _, event in happened],
                }  # fmt: skip
                transaction.append("events", values, transaction.stamps(len(names)))
            if scanned:
                names = [name for name, _ in scanned]
                facts = {key: [getattr(scan, key) for _, scan in scanned] for key in _SCAN}
                facts["tier"] = [tier if tier in TIERS else "unknown" for tier in facts["tier"]]
                rows = {"chunk": names, "row": view.rows_of_ids(names)}
                transaction.append("freshness", rows | facts, transaction.stamps(len(names)))

    # ------------------------------------------------------------------ sources, links, topics

    def _read_sources(self, lines: Sequence[SourceLine]) -> None:
        """Write sources that this vault does not know, without chunks that are not here."""
        with self._memory.write() as (transaction, view):
            known = load_sources(view.snapshot)
            new = [line for line in lines if absolute_path(line.root, line.source) not in known]
            if not new:
                return
            here = _present(view, [name for line in new for name in line.chunks])
            rows = [_source_row(line, here) for line in new]
            values = {name: [row[name] for row in rows] for name in rows[0]}
            transaction.append("sources", values, transaction.stamps(len(rows)))

    def _read_links(self, lines: Sequence[LinkLine]) -> None:
        if self._header is None:
            write_links(self._memory, lines)
            return
        here = _present(self._memory.view(), [end for line in lines for end in (line.source, line.target)])
        write_links(self._memory, [line for line in lines if line.source in here and line.target in here])

    def _read_clustering(self, line: ClusteringLine) -> None:
        """Take the topics of the file where this vault has none, and vectors of the same model."""
        view = self._memory.view()
        try:
            detail = msgspec.convert(line.detail, generation.Detail)
        except msgspec.ValidationError as error:
            raise InvalidArgument(f"the clustering of the export cannot be read: {error}") from error
        if generation.latest(view.snapshot) is None and detail.space == generation.current_space(view):
            rows, events = view.rows, view.snapshot.rows("events")
            self._detail = msgspec.structs.replace(
                detail, full_generation=0, rows=rows, events=events, full_rows=rows, full_events=events
            )

    def _write_topics(self, detail: generation.Detail) -> None:
        view = self._memory.view()
        space = view.snapshot.space
        names = {topic.topic for topic in self._topics}
        dim = space.dim if space else 0
        if any(topic.centroid.shape != (dim,) or not {topic.parent} <= names | {None} for topic in self._topics):
            raise InvalidArgument("the topics of the export do not fit together; cluster the vault anew")
        rows = view.rows_of_ids([line.chunk for line in self._members])
        live = [i for i, row in enumerate(rows.tolist()) if row >= 0 and view.state.status[row] == ACTIVE]
        lines = [self._members[i] for i in live if self._members[i].topic in names]
        kept = rows[[i for i in live if self._members[i].topic in names]]
        members = generation.Members(
            [line.topic for line in lines], [line.chunk for line in lines], kept.astype(np.int64),
            np.array([line.probability for line in lines], np.float32), [line.origin for line in lines],
        )  # fmt: skip
        generation.write(self._memory, detail, self._topics, members.select(np.argsort(kept, kind="stable")))


_SCAN: Final = ("tier", "reason", "commits", "review", "path")


def _seen_us(memory: Memory, vault: str) -> int:
    """Return the newest moment of a vault that this one has seen; -1 for a stranger."""
    snapshot = memory.view().snapshot
    found = snapshot.manifest.last_us if snapshot.manifest.vault == vault else -1
    for text in _imports(snapshot):
        said = msgspec.json.decode(text)
        if said["vault"] == vault:
            found = max(found, said["until_us"])
    return found


def _imports(snapshot: Snapshot) -> Iterator[str]:
    """Yield the details of the imports that a vault has seen."""
    for segment in snapshot.segments("events"):
        column = segment.column("kind")
        names = column.dictionary.to_pylist()
        if IMPORT in names:
            offsets = np.flatnonzero(columns.numbers(column.indices) == names.index(IMPORT))
            yield from segment.values("detail", offsets)


def _present(view: View, ids: Iterable[str]) -> set[str]:
    names = list(dict.fromkeys(ids))
    return {name for name, row in zip(names, view.rows_of_ids(names).tolist(), strict=True) if row >= 0}


def _source_row(line: SourceLine, here: set[str]) -> dict[str, Any]:
    kept = [i for i, name in enumerate(line.chunks) if name in here]
    row = {name: getattr(line, name) for name in ("source", "root", "state", "size", "mtime_ns", "settings")}
    row |= {name: getattr(line, name) for name in ("commit", "blob", "links")}
    spans = {name: getattr(line, name) for name in SPANS}
    if any(len(values) not in (0, len(line.chunks)) for values in spans.values()):
        raise InvalidArgument(f"the source {line.source!r} of the export has places for other chunks than its own")
    row |= {name: [values[i] for i in kept] if values else [] for name, values in spans.items()}
    return row | {"digest": bytes.fromhex(line.digest), "chunks": [line.chunks[i] for i in kept]}


def _topic_of(line: TopicLine) -> generation.TopicRow:
    return generation.TopicRow(
        line.topic, line.parent, line.name, tuple(line.words), line.size, line.persistence, line.medoid,
        tuple(line.exemplars), np.array(line.centroid, np.float32),
    )  # fmt: skip


def _events_of(memory: Memory, record: Exported) -> list[Happening]:
    """Return what happened to a chunk; where its record does not list it, what gives its state."""
    if record.events is not None:
        wrong = sorted({event.kind for event in record.events}.difference(EVENTS))
        if wrong:
            raise InvalidArgument(f"chunk {record.id!r} has the event {wrong[0]!r}; allowed are {', '.join(EVENTS)}")
        return record.events
    kinds = {"invalidated": "invalidate", "removed": "remove", "archived": "archive"}
    reason = record.reason or "imported"
    found = [Happening(kinds[record.status], reason)] if record.status in kinds else []
    if record.pinned:
        found.append(Happening("pin", "imported"))
    if record.snoozed_until:
        until_us = parse_instant(record.snoozed_until, what="snoozed_until")
        found.append(Happening("snooze", "imported", {"until_us": until_us}))
    return found


def _detail_of(event: Happening) -> str | None:
    if event.kind != "snooze":
        return None if event.detail is None else msgspec.json.encode(event.detail, order="sorted").decode()
    until_us = (event.detail or {}).get("until_us")
    if not isinstance(until_us, int) or abs(until_us) >= 1 << 62:
        raise InvalidArgument(f"a snooze of the export lasts until {until_us!r}; microseconds since 1970 are wanted")
    return lifecycle.snooze_detail(until_us)


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
        origins=[None if r.origin is None else Origin(**msgspec.structs.asdict(r.origin)) for r in records],
    )
    batch.embed_like([r.version for r in records])
    return batch


def _is_task_file(path: Path) -> bool:
    """Return True for an intact task file."""
    from lamina_engine.ingest.taskfile import CorruptTasks, read_task_file

    if not path.is_file():
        return False
    try:
        return bool(read_task_file(path.read_bytes()).nodes)
    except CorruptTasks:
        return False
