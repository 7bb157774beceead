"""Counts and sizes of a vault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from lamina_engine.clock import MISSING_US, format_instant
from lamina_engine.facts.view import fact_view
from lamina_engine.index import nodes
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.index.tables import LEXICAL
from lamina_engine.ingest import sources
from lamina_engine.judging.queue import read_note
from lamina_engine.results import Project
from lamina_engine.topics import generation

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory


class EmbeddingStats(TypedDict):
    """The embedding space in use."""

    model: str | None
    dim: int
    space: str | None


class IndexStats(TypedDict):
    """One derived index."""

    rows: int | None


class ContentStats(TypedDict):
    """Counts of what a vault holds now; the document of ``lamina stats --content --json``.

    Two vaults that hold the same have the same, whatever they held before and however it lies on disk.
    """

    chunks: int
    sources: int
    links: int
    facts: int
    entities: int
    topics: int
    embedding: EmbeddingStats
    status: dict[str, int]
    types: dict[str, int]


class JudgingStats(TypedDict):
    """End of the last run of the language model."""

    at: str
    left: int
    stopped: str | None


class Stats(ContentStats):
    """Counts and sizes of a vault; the document of ``lamina stats --json``."""

    segments: int
    bytes: int
    snapshot: int
    incomplete: list[str]
    """Shards without which this was counted."""
    indexes: dict[str, IndexStats]
    rows: int
    judging: JudgingStats | None


_FORMER: Final = ("superseded", "forgotten")
"""States of rows that no export holds."""


def content(memory: Memory) -> ContentStats:
    """Return counts of what a vault holds now. O(rows)."""
    found = _content(memory, memory.view())
    found["status"] = {name: count for name, count in found["status"].items() if name not in _FORMER}
    return found


def stats(memory: Memory) -> Stats:
    """Return counts and sizes. O(rows)."""
    view = memory.view()
    manifest = view.snapshot.manifest
    text = memory.tables.text(view.snapshot)
    indexes: dict[str, IndexStats] = {
        name: {"rows": record.get("rows")} for name, record in sorted(manifest.indexes.items())
    }
    if LEXICAL in indexes:  # grows between versions
        indexes[LEXICAL] = {"rows": 0 if text is None else text.rows}
    return {
        **_content(memory, view),
        "segments": sum(len(refs) for own in view.snapshot.holders for refs in own.manifest.logs.values()),
        "bytes": size_of(memory.root)
        + sum(size_of(shard.root) for shard in memory.shards if not shard.root.is_relative_to(memory.root)),
        "snapshot": manifest.version,
        "incomplete": list(view.snapshot.missing),
        "indexes": indexes,
        "rows": view.rows,
        "judging": _judging(memory),
    }


def _judging(memory: Memory) -> JudgingStats | None:
    note = read_note(memory.root)
    if note is None:
        return None
    return {"at": format_instant(note.at_us) or "", "left": note.left, "stopped": note.stopped}


def _content(memory: Memory, view: View) -> ContentStats:
    status = np.bincount(view.state.status, minlength=len(STATUS_NAMES)).tolist()
    types = view.categories.column(view.snapshot, "type")[: view.rows][view.state.active()]
    names = view.categories.values("type")
    counts = np.bincount(types[types >= 0], minlength=len(names)).tolist()
    space = view.snapshot.space
    kg = fact_view(view)
    made = generation.latest(view.snapshot, view.state.events)
    stop = view.snapshot.watermark("sources", view.as_of_us)
    present = sum(source.state == sources.PRESENT for source in sources.load_sources(view.snapshot, stop).values())
    return {
        "chunks": status[0],
        "sources": present,
        "links": nodes.state_of(view).graph.links,
        "facts": kg.count_current(memory.clock.now_us()),
        "entities": kg.entities,
        "topics": len(generation.read_topics(view.snapshot, made.generation)) if made is not None else 0,
        "embedding": {
            "model": space.identity if space else None,
            "dim": space.dim if space else 0,
            "space": view.snapshot.manifest.space or None,
        },
        "status": dict(zip(STATUS_NAMES, status, strict=False)),
        "types": {name: count for name, count in sorted(zip(names, counts, strict=True)) if count},
    }


def projects(memory: Memory) -> list[Project]:
    """Return the projects of the current chunks, the largest first, then by name. O(rows)."""
    view = memory.view()
    rows = np.flatnonzero(view.state.active())
    codes = view.categories.gather(view.snapshot, "project", rows)
    created = view.created_us[rows]
    found = []
    for code in np.unique(codes[codes >= 0]).tolist():
        own = created[codes == code]
        dated = own[own != MISSING_US]
        first, last = (int(dated.min()), int(dated.max())) if dated.size else (None, None)
        found.append(Project(str(view.categories.value("project", code)), int(own.size), first, last))
    return sorted(found, key=lambda each: (-each.chunks, each.project))


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; files and folders that vanish count 0."""
    total, folders = 0, [os.fspath(folder)]
    while folders:
        # Path.rglob raises where the index builder removes a folder that it has just listed
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += _size_of_entry(entry, folders)
        except OSError:
            continue
    return total


def _size_of_entry(entry: os.DirEntry[str], folders: list[str]) -> int:
    """Return the bytes of a file; a folder is added to those still to be walked."""
    try:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.path)
        elif entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return 0
