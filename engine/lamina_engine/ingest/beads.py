"""Beads importer: one chunk per issue, one link per dependency; later exports update both."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, name_cause
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.registry import KNOWN, imported_relation
from lamina_engine.index.state import ACTIVE
from lamina_engine.reports import Problem, Report

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

ORIGIN: Final = "beads"
COLLECTION: Final = "beads"
_DELETED: Final = "tombstone"
_TEXTS: Final = ("description", "design", "acceptance_criteria", "notes", "close_reason")
_KEPT: Final = ("status", "priority", "assignee", "updated_at", "closed_at", "external_ref", "estimated_minutes")

_MOST_BYTES = 1 << 27
"""A compressed file may unpack to anything."""


@dataclass(slots=True)
class BeadsReport(Report):
    """Counts and problems of one import."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    """Issues that are marked as deleted: they make no chunk, and known ones are removed."""
    links: LinkCounts = field(default_factory=LinkCounts)
    problems: list[Problem] = field(default_factory=list)


def import_beads(memory: Memory, path: Path) -> BeadsReport:
    """Import an export of Beads: one JSON issue per line, optionally gzipped.

    Broken lines and dependencies on missing issues are reported; everything else is imported. Links of origin ``beads``
    are made to match this export.
    """
    report = BeadsReport()
    issues = dict(_issues(path, report.problems))
    alive = {name: issue for name, issue in issues.items() if issue.get("status") != _DELETED}
    report.deleted = len(issues) - len(alive)
    if alive:
        written = writing.write(memory, _batch(memory, alive))
        report.added, report.updated, report.unchanged = written.added, written.updated, written.unchanged
    _remove(memory, issues.keys() - alive.keys())
    drafts = list(_links(memory, alive, path.name, report.problems))
    relations = sorted(KNOWN)
    report.links = sync(memory, drafts, origin=ORIGIN, relations=relations, redacted=True)
    return report


def export_of(path: Path) -> Path:
    """Return the file of issues of a project, of its ``.beads`` folder, or the file itself."""
    if not path.is_dir():
        return path
    for folder in (path / ".beads", path):
        for name in ("issues.jsonl", "beads.jsonl"):
            if (folder / name).is_file():
                return folder / name
    raise IngestError(
        f"{path} has no issues of Beads (.beads/issues.jsonl); export them with `bd export`, or name the file"
    )


def _issues(path: Path, problems: list[Problem]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield issues by id; of several lines with one id the last counts."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise IngestError(f"{path} holds more than {_MOST_BYTES:,} bytes; split it")
        lines = content.split(b"\n")
    except IngestError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise IngestError(
            f"{path} cannot be read ({name_cause(error)}); give the issues.jsonl of a Beads folder"
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            issue = msgspec.json.decode(line)
            if not isinstance(issue, dict) or not _text(issue.get("id")) or not _text(issue.get("title")):
                raise ValueError("no object with an id and a title")
            for name in ("labels", "dependencies"):
                if type(issue.get(name) or []) is not list:
                    raise ValueError(f"{name} are no list")
            for name in ("created_at", "updated_at"):
                if issue.get(name) is not None:
                    parse_instant(issue[name], what=name)
        except (ValueError, InvalidArgument, RecursionError) as error:  # msgspec's own error is a ValueError
            problems.append(Problem(path.name, "record", f"line {number} is not an issue ({error}); skipped"))
        else:
            yield issue["id"], issue


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _batch(memory: Memory, issues: Mapping[str, dict[str, Any]]) -> ChunkBatch:
    n = len(issues)
    records = list(issues.values())
    clean = memory.redact
    metadata: list[str | None] = [
        memory.redact_json(
            msgspec.json.encode({k: r[k] for k in _KEPT if r.get(k) is not None}, order="sorted").decode()
        )[0]
        for r in records
    ]
    return ChunkBatch(
        texts=[clean(_body(record)) for record in records],
        ids=list(issues),
        titles=[clean(record["title"].strip()) for record in records],
        types=[_name(record.get("issue_type")) or "task" for record in records],
        collections=[COLLECTION] * n,
        agents=[_name(record.get("created_by")) for record in records],
        created_at=[None if r.get("created_at") is None else parse_instant(r["created_at"]) for r in records],
        tags=[[label for label in record.get("labels") or () if _text(label)] for record in records],
        success=[True if record.get("status") == "closed" else None for record in records],
        metadata=metadata,
        fallback_created_at=[None] * n,  # pyright: ignore[reportArgumentType]
    )


def _name(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _body(issue: Mapping[str, Any]) -> str:
    parts = [issue[name].strip() for name in _TEXTS if _text(issue.get(name))]
    return "\n\n".join(parts).replace("\r\n", "\n") or str(issue["title"])


def _remove(memory: Memory, identities: Iterable[str]) -> None:
    """Remove the chunks of issues that were deleted in the tracker."""
    import numpy as np

    names = sorted(identities)
    with memory.write() as (transaction, view):
        rows = view.rows_of_ids(names)
        kept = [i for i, row in enumerate(rows.tolist()) if row >= 0 and view.state.status[row] == ACTIVE]
        if kept:
            reasons = ["deleted in the tracker"] * len(kept)
            writing.add_events(
                transaction,
                "remove",
                [names[i] for i in kept],
                rows[np.array(kept)],
                transaction.stamps(len(kept)),
                reasons,
            )


def _links(
    memory: Memory, issues: Mapping[str, dict[str, Any]], source: str, problems: list[Problem]
) -> Iterator[Draft]:
    """Yield the links of all dependencies.

    A cause points at its effect: what an issue waits for leads to it. Other kinds point the way they are written.
    """
    for name, issue in issues.items():
        for dependency in issue.get("dependencies") or ():
            given: Any = dependency if isinstance(dependency, dict) else {}
            to, kind, made = given.get("depends_on_id"), given.get("type"), given.get("created_at")
            if to == name:
                continue
            if not _text(to) or to not in issues or not _text(kind):
                message = f"{name} depends on {to!r} ({kind!r}), which is not in the file; not linked"
                problems.append(Problem(source, "dependency", message))
                continue
            relation = imported_relation(ORIGIN, kind)
            first, second = (to, name) if relation.name == "causal" else (name, to)
            try:
                created = parse_instant(made) if _text(made) else None
            except InvalidArgument:
                created = None
            yield Draft(first, second, relation.name, 1.0, memory.redact(kind), created)
