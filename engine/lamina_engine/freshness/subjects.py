"""Subjects of a scan: active chunks, their files, and reviews of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.index.state import FORGOTTEN
from lamina_engine.ingest import sources
from lamina_engine.ingest.sources import Source
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.store.snapshot import Rows

SOURCE_FILE: Final = "source_file"
"""Key of a chunk's metadata that names its file."""
_COLUMNS: Final = (
    "id", "source", "type", "collection", "project", "created_at", "recorded_at", "commit", "blob", "metadata",
)  # fmt: skip
_ORIGIN: Final = ("recorded_at", "repository", "path", "commit", "blob")


@dataclass(frozen=True, slots=True)
class Subject:
    """One chunk to be judged."""

    row: int
    id: str
    source: str | None
    type: str
    collection: str
    project: str | None
    created_us: int | None
    recorded_us: int
    file: Path | None
    """Last known path of its file."""
    named: str | None
    """A path that the chunk names, below some repository: where ``file`` is elsewhere, or was never found."""
    commit: str | None
    """Commit that was checked out when the chunk was written, or confirmed since."""
    blob: str | None
    """Blob id of the file's bytes then."""
    since_us: int
    """When that was."""
    ingested: bool
    """True for a slice of its file, cut by `ingest`."""


def read_subjects(view: View, rows: Rows) -> list[Subject]:
    """Return the subjects of rows, in their order. O(rows).

    What came out of recorded sessions has no file in this sense: it goes by its age.
    """
    known = sources.load_sources(view.snapshot)
    home = {
        chunk: source
        for source in known.values()
        if source.state == sources.PRESENT and not source.facts.settings.startswith(sources.SESSIONS_MARK)
        for chunk in source.facts.chunks
    }
    origins = _origins(view)
    records = view.snapshot.records("chunks", rows, _COLUMNS)
    return [
        _subject(row, record, home.get(record["id"]), origins.get(row))
        for row, record in zip(rows.tolist(), records, strict=True)
    ]


def _subject(row: int, record: Mapping[str, Any], home: Source | None, origin: Mapping[str, Any] | None) -> Subject:
    file: Path | None = None
    commit, blob, since_us = record["commit"], record["blob"], record["recorded_at"]
    named = _named_file(record)
    if origin is not None:
        file, named = Path(origin["repository"]) / origin["path"], origin["path"]
        commit, blob, since_us = origin["commit"], origin["blob"], origin["recorded_at"]
    if home is not None:
        file, named = Path(home.path), home.source
        if origin is None or origin["recorded_at"] < home.facts.scanned_us:
            commit, blob, since_us = home.facts.commit, home.facts.blob, home.facts.scanned_us
    return Subject(
        row=row,
        id=record["id"],
        source=record["source"],
        type=record["type"],
        collection=record["collection"],
        project=record["project"],
        created_us=record["created_at"],
        recorded_us=record["recorded_at"],
        file=file,
        named=named,
        commit=commit,
        blob=blob,
        since_us=since_us,
        ingested=home is not None,
    )


def _named_file(record: Mapping[str, Any]) -> str | None:
    """Return the file that a chunk's metadata names."""
    text = record["metadata"]
    if not text or f'"{SOURCE_FILE}"' not in text:
        return None
    name = read_json(text).get(SOURCE_FILE)
    return name.replace(os.sep, "/") if isinstance(name, str) and name.strip() else None


def _origins(view: View) -> dict[int, dict[str, Any]]:
    """Return the newest origin of every row that has one."""
    snapshot = view.snapshot
    count = snapshot.rows("origins")
    if not count:
        return {}
    every = np.arange(count, dtype=np.int64)
    rows = snapshot.values("origins", "row", every)
    newest = {row: i for i, row in enumerate(rows) if row >= 0}
    records = snapshot.records("origins", np.array(list(newest.values()), np.int64), _ORIGIN)
    return dict(zip(newest, records, strict=True))


REVIEW: Final = "review"
REVIEWED: Final = "reviewed"


@dataclass(frozen=True, slots=True)
class ReviewMarks:
    """Reviews by row of the chunks log."""

    requested: dict[int, str]
    """Reason for the review."""
    cleared_us: dict[int, int]
    """Moment of the last confirmation."""


def read_review_marks(view: View) -> ReviewMarks:
    """Return the reviews in the events log. O(events); nothing is read where none is a review."""
    requested: dict[int, str] = {}
    cleared: dict[int, int] = {}
    rows = view.snapshot.rows_with("events", "kind", (REVIEW, REVIEWED))
    facts = (view.snapshot.values("events", name, rows) for name in ("kind", "row", "reason", "recorded_at"))
    for name, row, reason, recorded_us in zip(*facts, strict=True):
        if name == REVIEWED:
            requested.pop(row, None)
            cleared[row] = recorded_us
        else:
            requested[row] = reason or "a review was asked for"
    status = view.state.status
    return ReviewMarks({row: reason for row, reason in requested.items() if status[row] != FORGOTTEN}, cleared)
