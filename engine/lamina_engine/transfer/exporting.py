"""Export of a vault, or of the chunks that a filter accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.transfer import export_facts, export_graph, fact_lines
from lamina_engine.graph.transfer import export_links, link_lines
from lamina_engine.index.state import ARCHIVED, REMOVED
from lamina_engine.ingest.sources import load_sources
from lamina_engine.json_lines import write_json_lines
from lamina_engine.recall.filters import evaluate, fields_of, live_mask, parse_filter
from lamina_engine.schema import vector_log
from lamina_engine.stored_json import read_json
from lamina_engine.topics import generation
from lamina_engine.transfer.files import AT_ONCE, write_parquet
from lamina_engine.transfer.records import (
    SPANS,
    ClusteringLine,
    Exported,
    FileOrigin,
    Happening,
    Header,
    MemberLine,
    Record,
    Scan,
    SourceLine,
    TopicLine,
)

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk
    from lamina_engine.store.snapshot import Rows, Snapshot

SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "clawpy": (".json",),
    "facts": (".jsonl", ".ndjson"),
    "links": (".jsonl", ".ndjson"),
    "graph-json": (".json",),
}
FORMATS: Final = tuple(SUFFIXES)
_FOREIGN: Final = frozenset({".csv", ".tsv", ".db", ".sqlite", ".xlsx", ".md", ".txt", ".arrow", ".feather", ".zip"})
EVENTS: Final = (
    "invalidate", "restore", "remove", "archive", "pin", "unpin", "snooze", "wake", "review", "reviewed",
)  # fmt: skip
"""Events that are exported; the others say what is in the rows themselves."""


def format_of(path: Path, format_: str | None) -> str:
    """Return the format to write: the one that was asked for, else by the file's suffix."""
    suffix = path.suffix.lower()
    if format_ is None:
        format_ = "jsonl" if not suffix else next((n for n in ("jsonl", "parquet") if suffix in SUFFIXES[n]), None)
        if format_ is None:
            raise InvalidArgument(
                f"{path.name!r} has the suffix {suffix!r}, which is no format of an export; "
                "name the file .jsonl or .parquet, or give the format"
            )
    if format_ not in SUFFIXES:
        raise InvalidArgument(f"format={format_!r} is not known; allowed are {', '.join(FORMATS)}")
    known = _FOREIGN.union(*SUFFIXES.values())
    if suffix in known and suffix not in SUFFIXES[format_]:
        raise InvalidArgument(
            f"{path.name!r} has the suffix {suffix!r}, and format={format_!r} writes {' or '.join(SUFFIXES[format_])}; "
            "rename the file, or give another format"
        )
    return format_


def export(memory: Memory, path: Path, format_: str | None, filter_: Mapping[str, Any] | None) -> int:
    """Write a vault to a file, in the order things were written; return the number of chunks.

    With a filter: only chunks it accepts, and the links between them. ``clawpy`` writes tasks alone, ``facts`` and
    ``graph-json`` facts, ``links`` links, and return how many. The file appears whole or not at all.
    """
    format_ = format_of(path, format_)
    newest = memory.view().snapshot
    for log in newest.manifest.logs:  # a copy of damaged rows would have digests of its own
        if not log.startswith(vector_log("")):
            newest.require_intact(log)
    if format_ in ("facts", "graph-json", "links"):
        if filter_:
            raise InvalidArgument(
                f"where={filter_!r} chooses chunks; format={format_!r} writes all {format_.partition('-')[0]}"
            )
        return {"facts": export_facts, "graph-json": export_graph, "links": export_links}[format_](memory, path)
    view = memory.view()
    node = parse_filter(filter_, memory.config.tz, memory.clock.now_us())
    live = live_mask(view, node, invalidated=True)
    if format_ != "clawpy" and "status" not in fields_of(node):  # tasks have no such state
        live |= view.state.status == ARCHIVED
        if not filter_:
            live |= view.state.status == REMOVED
    rows = np.flatnonzero(evaluate(node, view, live))
    if format_ == "clawpy":
        from lamina_engine.ingest.tasks import export_tasks

        return export_tasks(memory, path, rows)
    records = _part(view, rows) if filter_ else _everything(memory, view, rows)
    if format_ == "jsonl":
        write_json_lines(path, records)
    else:
        write_parquet(path, records)
    return len(rows)


def _everything(memory: Memory, view: View, rows: Rows) -> Iterator[Record]:
    manifest = view.snapshot.manifest
    yield Header(manifest.vault, manifest.last_us)
    yield from _chunks(view, rows)
    yield from _sources(view.snapshot)
    yield from fact_lines(memory)
    yield from link_lines(view)
    yield from _topics(view.snapshot)


def _part(view: View, rows: Rows) -> Iterator[Record]:
    names = set(generation.chunk_ids(view.snapshot, rows))
    links = (line for line in link_lines(view) if line.source in names and line.target in names)
    return chain(_chunks(view, rows), links)


# ---------------------------------------------------------------------- chunks


def _chunks(view: View, rows: Rows) -> Iterator[Exported]:
    happenings = _ByRow(view.snapshot, "events", ("kind", "reason", "detail"))
    scans = _ByRow(view.snapshot, "freshness", ("tier", "reason", "commits", "review", "path"))
    origins = _ByRow(view.snapshot, "origins", ("repository", "path", "commit", "blob"))
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        previous = view.snapshot.numbers("chunks", "previous", part).astype(np.int64)
        followed = np.flatnonzero(np.isin(previous, rows))
        names = view.snapshot.values("chunks", "id", previous[followed])
        after = dict(zip(followed.tolist(), names, strict=True))
        outcomes = view.snapshot.values("chunks", "success", part)  # an invalidated chunk shows none
        told = zip(happenings.of(part), scans.of(part), origins.of(part), strict=True)
        for i, (chunk, events, scan, origin) in enumerate(
            (c, *others) for c, others in zip(chunks_at(view, part), told, strict=True)
        ):
            yield _exported(chunk, after.get(i), outcomes[i], events, scan[-1:], origin[-1:])


class _ByRow:
    """Rows of a log that speak of rows of the chunks log."""

    def __init__(self, snapshot: Snapshot, log: str, columns: tuple[str, ...]) -> None:
        self._snapshot, self._log, self._columns = snapshot, log, columns
        numbers = np.arange(snapshot.rows(log), dtype=np.int64)
        about = snapshot.numbers(log, "row", numbers).astype(np.int64) if numbers.size else numbers
        self._order = np.argsort(about, kind="stable")
        self._about = about[self._order]

    def of(self, rows: Rows) -> Iterator[list[dict[str, Any]]]:
        """Yield what is said of each row, oldest first."""
        starts = np.searchsorted(self._about, rows, "left")
        stops = np.searchsorted(self._about, rows, "right")
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            found = self._order[start:stop]
            yield self._snapshot.records(self._log, found, self._columns) if found.size else []


def _exported(
    chunk: Chunk,
    after: str | None,
    success: bool | None,
    events: Sequence[dict[str, Any]],
    scan: Sequence[dict[str, Any]],
    origin: Sequence[dict[str, Any]],
) -> Exported:
    happened = [_happening(event) for event in events if event["kind"] in EVENTS]
    return Exported(
        id=chunk.id, text=chunk.text, title=chunk.title, headings=list(chunk.headings), type=chunk.type,
        collection=chunk.collection, project=chunk.project, session=chunk.session, agent=chunk.agent,
        source=chunk.source, ordinal=chunk.ordinal, start=chunk.start, stop=chunk.stop, after=after,
        created_at=format_instant(chunk.created_at_us), recorded_at=format_instant(chunk.recorded_at_us),
        tags=list(chunk.tags), success=success, commit=chunk.commit, blob=chunk.blob, role=chunk.role,
        metadata=dict(sorted(chunk.metadata.items())), version=chunk.version, status=chunk.status, reason=chunk.reason,
        pinned=chunk.pinned, snoozed_until=format_instant(chunk.snoozed_until_us), events=happened,
        scan=Scan(**scan[0]) if scan else None, origin=FileOrigin(**origin[0]) if origin else None,
    )  # fmt: skip


def _happening(event: Mapping[str, Any]) -> Happening:
    detail = event["detail"]
    return Happening(event["kind"], event["reason"], read_json(detail) if detail else None)


# ---------------------------------------------------------------------- sources and topics


def _sources(snapshot: Snapshot) -> Iterator[SourceLine]:
    rows = np.array(sorted(source.row for source in load_sources(snapshot).values()), np.int64)
    names = (
        "source", "root", "state", "digest", "size", "mtime_ns", "settings", "chunks", "commit", "blob", "links", *SPANS,
    )  # fmt: skip
    for start in range(0, len(rows), AT_ONCE):
        for record in snapshot.records("sources", rows[start : start + AT_ONCE], names):
            yield SourceLine(**record | {"digest": record["digest"].hex()})


def _topics(snapshot: Snapshot) -> Iterator[Record]:
    detail = generation.latest(snapshot)
    if detail is None:
        return
    yield ClusteringLine(msgspec.to_builtins(detail))
    for topic in generation.read_topics(snapshot, detail.generation):
        yield TopicLine(
            topic.topic, topic.name, list(topic.words), topic.size, float(topic.persistence), list(topic.exemplars),
            topic.centroid.tolist(), topic.parent, topic.medoid,
        )  # fmt: skip
    members = generation.read_members(snapshot, detail.generation)
    columns = zip(members.topics, members.chunks, members.probabilities.tolist(), members.origins, strict=True)
    for columns_of_one in columns:
        yield MemberLine(*columns_of_one)
