"""Clawpy tasks: task files into chunks and links, and back unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import numpy as np

from lamina_engine.atomic_write import atomic_write
from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.errors import IngestError, InvalidArgument, name_cause
from lamina_engine.graph import links, log
from lamina_engine.graph.links import links_of
from lamina_engine.graph.log import Draft, LinkCounts
from lamina_engine.graph.registry import IMPORTED, imported_relation
from lamina_engine.index.state import ACTIVE, INVALIDATED
from lamina_engine.ingest import adding, taskfile
from lamina_engine.ingest.taskfile import CorruptTasks, Edge, Node, Raw, TaskFile
from lamina_engine.reports import Problem, Report
from lamina_engine.results import Chunk, Link

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

TYPE: Final = "agent_task"
COLLECTION: Final = "tasks"
ORIGIN: Final = "clawpy"
REST: Final = "tasks_file"
"""Kind of the events that keep what of a file belongs to no task; detail: ``top``, ``meta`` and ``edges``, and by whom it is
said: the path ``file``, and the tasks that it lists, ``nodes``."""
KEPT: Final = "clawpy"
"""Name in a chunk's metadata of what a file says in a way that its fields cannot: see `kept`."""


@dataclass(slots=True)
class TasksReport(Report):
    """Counts and problems of one import."""

    ids: list[str] = field(default_factory=list)
    """Of its tasks."""
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    """Tasks that the file listed when it was last read, and no longer lists."""
    invalidated: int = 0
    links: LinkCounts = field(default_factory=LinkCounts)
    aside: str | None = None
    """New path of a corrupt file."""
    problems: list[Problem] = field(default_factory=list)


def import_tasks(memory: Memory, path: Path, *, recover: bool = False) -> TasksReport:
    """Import a task file.

    Tasks become chunks of type ``agent_task`` with the task's id; unknown fields go to their metadata. Marks of
    invalidation become events. Links of origin ``clawpy`` between tasks of the file are made to match it. A corrupt file
    raises; with ``recover`` it is renamed and reported.
    """
    report = TasksReport()
    try:
        file = taskfile.read_task_file(path.read_bytes())
    except CorruptTasks as error:
        if not recover:
            raise IngestError(
                f"{path} is not a task file ({error}) and was left as it is; restore a copy, or set it aside with recover=True"
            ) from error
        report.aside = str(_rename_corrupt(path))
        message = f"{path} is not a task file ({error}); renamed to {report.aside}"
        report.problems.append(Problem(path.name, "corrupt", message))
        return report
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({name_cause(error)}); give the JSON file of a task graph") from error
    _set_aside_edges(file)
    report.problems += [Problem(path.name, "record", message) for message in file.problems]
    report.ids = list(file.nodes)
    if file.nodes:
        _write_nodes(memory, file, report)
    _write_links(memory, file, report)
    report.removed = _remove_unlisted(memory, path, file)
    _keep_rest(memory, path, file)
    return report


def _rename_corrupt(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    path.rename(aside)
    return aside


def _set_aside_edges(file: TaskFile) -> None:
    """Set edges aside that cannot be links: of unknown relations, and of a task to itself."""
    kept: list[Edge] = []
    for edge in file.edges:
        try:
            imported_relation(ORIGIN, edge.relation)
            message = f"task {edge.source!r} is linked to itself" if edge.source == edge.target else None
        except InvalidArgument as error:
            message = str(error)
        if message is None:
            kept.append(edge)
        elif edge.source == edge.target:
            file.problems.append(f"{message}; not linked")
        else:
            file.problems.append(f"{message}; edge kept as written")
            file.loose.append(taskfile.edge_text(edge))
    file.edges = kept


# ---------------------------------------------------------------------- tasks


def text_of(identity: str, title: str, body: str) -> str:
    """Return the text of a task's chunk: its description, else its title, else its id."""
    found = next((text for text in (body, title) if text.strip()), identity)
    return found.replace("\r\n", "\n")


def _write_nodes(memory: Memory, file: TaskFile, report: TasksReport) -> None:
    names = list(file.nodes)
    view = memory.view()
    before = view.rows_of_ids(names)
    former = _status(view, before)
    known = marks_of(view, names, revoked=True)
    written = adding.write(memory, _batch(file, _success(view, before)))
    report.added, report.updated, report.unchanged = written.added, written.updated, written.unchanged
    marks: list[tuple[str, str, str, bool]] = []
    after = _status(memory.view(), memory.view().rows_of_ids(names))
    for name, was, now in zip(names, former, after, strict=True):
        former_marks = known.get(name, [])
        marked = [(memory.redact(stamp), memory.redact(reason)) for stamp, reason in file.nodes[name].marks]
        if marked[: len(former_marks)] == former_marks:
            new = marked[len(former_marks) :]
        else:
            new = [mark for mark in marked if mark not in former_marks]
        marks += [(name, stamp, reason, False) for stamp, reason in new]
        if not new and was == INVALIDATED and now == ACTIVE and marked:
            # its text changed: the new version is as little true as the old one
            marks.append((name, *marked[-1], True))
        report.invalidated += bool(new)
    if marks:
        _invalidate(memory, marks)


def _status(view: View, rows: Any) -> list[int]:
    return [int(view.state.status[row]) if row >= 0 else ACTIVE for row in rows.tolist()]


def _success(view: View, rows: Any) -> dict[str, bool | None]:
    """Return the stored outcome of each existing task."""
    there = rows[rows >= 0]
    names = view.snapshot.values("chunks", "id", there)
    return dict(zip(names, view.snapshot.values("chunks", "success", there), strict=True))


def _batch(file: TaskFile, outcomes: Mapping[str, bool | None]) -> ChunkBatch:
    nodes = list(file.nodes.values())
    n = len(nodes)
    extras: dict[str, list[Edge]] = {}
    for edge in file.edges:
        if edge.extra or edge.created_at != taskfile.seconds(taskfile.instant(edge.created_at)):
            extras.setdefault(edge.source, []).append(edge)
    return ChunkBatch(
        texts=[text_of(node.id, node.title, node.description) for node in nodes],
        ids=[node.id for node in nodes],
        titles=[node.title.strip() or None for node in nodes],
        types=[TYPE] * n,
        collections=[COLLECTION] * n,
        created_at=[taskfile.instant(node.timestamp) for node in nodes],
        # a mark resets the outcome in the file; the vault keeps what it was, beside the mark
        success=[outcomes.get(node.id) if node.marks and node.success is None else node.success for node in nodes],
        metadata=[_metadata(node, extras.get(node.id, [])) for node in nodes],
        fallback_created_at=[None] * n,  # pyright: ignore[reportArgumentType]
    )


def _metadata(node: Node, edges: Sequence[Edge]) -> str | None:
    values: dict[str, Any] = {name: msgspec.json.decode(text) for name, text in node.extra.items() if name != KEPT}
    beside = kept(node, edges)
    return taskfile.encode({**values, KEPT: beside} if beside else values) if values or beside else None


def kept(node: Node, edges: Sequence[Edge]) -> dict[str, Any]:
    """Return the parts of a task that the chunk's fields cannot hold.

    ``description``, ``title``, ``timestamp``: as the file has them, where the chunk has them otherwise; ``raw``: JSON
    texts of unknown fields that are not in their shortest form; ``edges``: those with unknown fields or odd times.
    """
    found: dict[str, Any] = {}
    if text_of(node.id, node.title, node.description) != node.description:
        found["description"] = node.description
    if (node.title.strip() or None) != node.title:
        found["title"] = node.title
    if node.timestamp is not None and node.timestamp != taskfile.seconds(taskfile.instant(node.timestamp)):
        found["timestamp"] = node.timestamp
    raw = {n: text for n, text in node.extra.items() if n == KEPT or text != taskfile.encode(msgspec.json.decode(text))}
    if raw:
        found["raw"] = raw
    if edges:
        found["edges"] = [[e.target, e.relation, e.created_at, e.extra] for e in edges]
    return found


# ---------------------------------------------------------------------- invalidations


def marks_of(view: View, names: Iterable[str], *, revoked: bool = False) -> dict[str, list[tuple[str, str]]]:
    """Return stamp and reason of the invalidations of chunks, oldest first. O(events).

    ``revoked`` includes those taken back by a later ``restore``. Events that a new row repeats to carry an old mark on are
    left out.
    """
    wanted = set(names)
    found: dict[str, list[tuple[str, str]]] = {}
    for event in _events(view, ("invalidate", "restore")):
        name = event["chunk"]
        if name not in wanted:
            continue
        if event["kind"] == "restore":
            if not revoked:
                found.pop(name, None)
            continue
        detail = msgspec.json.decode(event["detail"]) if event["detail"] else {}
        made = view.snapshot.numbers("chunks", "recorded_at", np.array([event["row"]], np.int64))
        if not detail.get("carried") and int(made[0]) != event["recorded_at"]:
            found.setdefault(name, []).append((detail.get("stamp", ""), event["reason"] or ""))
    return found


def _events(view: View, kinds: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield from view.snapshot.records("events", view.snapshot.rows_with("events", "kind", kinds))


def _invalidate(memory: Memory, marks: Sequence[tuple[str, str, str, bool]]) -> None:
    with memory.write() as (transaction, view):
        names = [name for name, *_ in marks]
        reasons = [reason for _, _, reason, _ in marks]
        details = [
            taskfile.encode({"carried": True} if carried else {"stamp": stamp}) if carried or stamp else None
            for _, stamp, _, carried in marks
        ]
        rows = view.rows_of_ids(names)
        writing.add_events(transaction, "invalidate", names, rows, transaction.stamps(len(rows)), reasons, details)


# ---------------------------------------------------------------------- links


def _write_links(memory: Memory, file: TaskFile, report: TasksReport) -> None:
    best: dict[tuple[str, str, str], Draft] = {}
    for edge in file.edges:
        relation = imported_relation(ORIGIN, edge.relation)
        ends = (edge.source, edge.target)
        if relation.symmetric:
            ends = (min(ends), max(ends))
        draft = Draft(*ends, relation.name, 1.0, edge.note or None, taskfile.instant(edge.created_at))
        known = best.get(draft[:3])
        if known is None or (draft.created_at or 0) < (known.created_at or 0):
            best[draft[:3]] = draft  # of a pair written twice the earliest stands
    former = links.claims_of(memory.view(), ORIGIN)
    gone = [
        (link.source, link.target, link.relation)
        for link in former
        if link.source in file.nodes and link.target in file.nodes
        and (link.source, link.target, link.relation) not in best
    ]  # fmt: skip
    if best:
        report.links.add(log.write(memory, list(best.values()), origin=ORIGIN))
    if gone:
        report.links.add(log.withdraw(memory, gone, origin=ORIGIN))


# ---------------------------------------------------------------------- what belongs to no task


def rest_of(view: View) -> dict[str, Any]:
    """Return the newest import's data beside tasks: ``top``, ``meta`` and ``edges``."""
    newest: dict[str, Any] = {"top": {}, "meta": {}, "edges": []}
    for event in _events(view, (REST,)):
        newest = msgspec.json.decode(event["detail"])
    return newest


def _listed(view: View) -> dict[str, list[str]]:
    """Return the tasks that each file listed when it was last read, by path."""
    details = (msgspec.json.decode(event["detail"]) for event in _events(view, (REST,)))
    return {detail["file"]: detail["nodes"] for detail in details if "file" in detail}


def _remove_unlisted(memory: Memory, path: Path, file: TaskFile) -> int:
    """Remove the tasks that have left the file, unless another file lists them; count them."""
    view = memory.view()
    listed = _listed(view)
    gone = set(listed.pop(path.resolve().as_posix(), ())).difference(file.nodes, *listed.values())
    names = [chunk.id for chunk in chunks_at(view, _current_rows(view, sorted(gone))) if chunk.type == TYPE]
    if names:
        with memory.write() as (transaction, view):
            rows = view.rows_of_ids(names)
            reasons = [f"no longer in {path.name}"] * len(names)
            writing.add_events(transaction, "remove", names, rows, transaction.stamps(len(names)), reasons)
    return len(names)


def _current_rows(view: View, names: list[str]) -> Any:
    """Return the rows of the chunks among some ids that are active or invalidated."""
    rows = view.rows_of_ids(names)
    rows = rows[rows >= 0]
    return rows[np.isin(view.state.status[rows], (ACTIVE, INVALIDATED))]


def _keep_rest(memory: Memory, path: Path, file: TaskFile) -> None:
    said = {"top": file.top, "meta": file.meta, "edges": file.loose}
    said |= {"file": path.resolve().as_posix(), "nodes": sorted(file.nodes)}
    clean, _ = memory.redact_json(taskfile.encode(said))
    if msgspec.json.decode(clean) == rest_of(memory.view()):
        return
    with memory.write() as (transaction, _):
        none = np.array([-1], np.int64)
        writing.add_events(transaction, REST, [""], none, transaction.stamps(1), [None], [clean])


def export_tasks(memory: Memory, path: Path, rows: Rows) -> int:
    """Write the tasks among some rows to a task file, atomically; return how many.

    The file keeps the mode of the one it replaces.
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
        aside.write_bytes(taskfile.write_task_file(file, memory.clock.now_us()))
    return len(chunks)


def _node(chunk: Chunk, marks: Sequence[tuple[str, str]]) -> Node:
    beside = cast("dict[str, Any]", chunk.metadata.get(KEPT) or {})
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
    """Return unknown fields as JSON texts, as the file had them where the values still agree."""
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
        for target, relation, created, extra in cast("dict[str, Any]", chunk.metadata.get(KEPT) or {}).get("edges", ()):
            odd[chunk.id, target, relation] = [created, extra]
    found: dict[tuple[str, str, str], Link] = {}
    for name in names if view.snapshot.rows("links") else ():
        for link in links_of(view, name, relations=relations):
            if link.source in names and link.target in names:
                found[link.source, link.target, link.relation] = link
    ordered = sorted(found.items(), key=lambda item: (item[1].created_at_us or 0, item[0]))
    return [_edge(link, odd) for _, link in ordered]


def _edge(link: Link, odd: dict[tuple[str, str, str], list[Any]]) -> Edge:
    ends = (link.source, link.target)
    if (*ends[::-1], link.relation) in odd and (*ends, link.relation) not in odd:
        ends = ends[::-1]  # a pair without direction, as the file wrote it
    created, extra = odd.get((*ends, link.relation), (taskfile.seconds(link.created_at_us), {}))  # pyright: ignore[reportArgumentType, reportCallIssue]
    return Edge(*ends, link.relation, created, link.note or "", extra)  # pyright: ignore[reportCallIssue]
