"""Tasks of a vault as a Clawpy task file: what came from one goes back as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lamina_engine.atomic_write import atomic_write
from lamina_engine.chunks.reading import Chunk, chunks_at
from lamina_engine.graph.registry import IMPORTED
from lamina_engine.graph.standing import Link, links_of
from lamina_engine.ingest import taskfile
from lamina_engine.ingest.taskfile import Edge, Node, Raw, TaskFile
from lamina_engine.ingest.tasks import KEPT, TYPE, marks_of, rest_of, text_of

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows


def export_tasks(memory: Memory, path: Path, rows: Rows) -> int:
    """Write the tasks among some rows to a task file; return how many.

    The file appears whole or not at all, and keeps the mode of the one it replaces.

    Parameters
    ----------
    memory : Memory
    path : Path
    rows : int64 (n,)
        Current rows; chunks of other types are left out.

    Raises
    ------
    OSError
    """
    view = memory.view()
    chunks = [chunk for chunk in chunks_at(view, rows) if chunk.type == TYPE]
    chunks.sort(key=lambda chunk: (chunk.created_at_us is None, chunk.created_at_us or 0, chunk.id))
    rest = rest_of(view)
    marks = marks_of(view, [chunk.id for chunk in chunks])
    file = TaskFile(loose=rest["edges"], top=rest["top"], meta=rest["meta"])
    file.nodes = {chunk.id: _node(chunk, marks.get(chunk.id, [])) for chunk in chunks}
    file.edges = _edges(view, chunks)
    with atomic_write(path) as aside:
        aside.write_bytes(taskfile.write(file, memory.clock.now_us()))
    return len(chunks)


def _node(chunk: Chunk, marks: Sequence[tuple[str, str]]) -> Node:
    beside: dict[str, Any] = chunk.metadata.get(KEPT) or {}
    title = beside.get("title", chunk.title or "")
    title = title if (title.strip() or None) == chunk.title else chunk.title or ""
    body = beside.get("description", chunk.text)
    body = body if text_of(chunk.id, title, body) == chunk.text else chunk.text
    invalidated = chunk.status == "invalidated"
    return Node(
        chunk.id,
        title,
        _time(beside.get("timestamp"), chunk.created_at_us),
        None if invalidated else chunk.success,
        body,
        tuple(marks) if invalidated else (),
        _extra(chunk.metadata, beside.get("raw", {})),
    )


def _extra(metadata: dict[str, Any], raw: Raw) -> Raw:
    """Return unknown fields as JSON texts: as the file had them, where they still say the same."""
    found = {name: taskfile.encode(value) for name, value in metadata.items() if name != KEPT}
    for name, text in raw.items():
        if name == KEPT or (name in found and msgspec.json.decode(text) == metadata[name]):
            found[name] = text
    return found


def _time(text: str | None, us: int | None) -> str | None:
    if text is not None and taskfile.instant(text) == us:
        return text
    return None if us is None else taskfile.seconds(us)


def _edges(view: View, chunks: Sequence[Chunk]) -> list[Edge]:
    names = {chunk.id for chunk in chunks}
    relations = list(IMPORTED["clawpy"])
    odd: dict[tuple[str, str, str], list[Any]] = {}
    for chunk in chunks:
        for target, relation, created, extra in (chunk.metadata.get(KEPT) or {}).get("edges", ()):
            odd[chunk.id, target, relation] = [created, extra]
    found: dict[tuple[str, str, str], Link] = {}
    for name in names if view.snapshot.rows("links") else ():
        for link in links_of(view, name, relations=relations):
            if link.source in names and link.target in names:
                found[link.source, link.target, link.relation] = link
    ordered = sorted(found.items(), key=lambda item: (item[1].created_at or 0, item[0]))
    return [_edge(link, odd) for _, link in ordered]


def _edge(link: Link, odd: dict[tuple[str, str, str], list[Any]]) -> Edge:
    ends = (link.source, link.target)
    if (*ends[::-1], link.relation) in odd and (*ends, link.relation) not in odd:
        ends = ends[::-1]  # a pair without direction, as the file wrote it
    created, extra = odd.get((*ends, link.relation), (taskfile.seconds(link.created_at), {}))  # pyright: ignore[reportArgumentType, reportCallIssue]
    return Edge(*ends, link.relation, created, link.note or "", extra)  # pyright: ignore[reportCallIssue]
