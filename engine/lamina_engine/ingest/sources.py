"""What the vault knows of the sources it was fed: the newest row of each in the sources log."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lamina_engine.ingest.scan import Reading, SourceState
from lamina_engine.store.snapshot import Snapshot

PRESENT, REMOVED, SKIPPED = "present", "removed", "skipped"

_FACTS = (
    "recorded_at",
    "source",
    "root",
    "state",
    "digest",
    "size",
    "mtime_ns",
    "commit",
    "blob",
    "settings",
    "chunks",
)
_CONTENTS = ("chunks", "starts", "stops", "links", "commit", "blob")
_COLUMNS = (*_FACTS[1:], "starts", "stops", "links")


@dataclass(frozen=True, slots=True)
class Source:
    """The newest row of one source."""

    root: str
    """Label of its root: the absolute path of the folder it was ingested from."""
    source: str
    """Path below the root."""
    state: str
    facts: SourceState
    row: int
    """Its row in the sources log."""

    @property
    def path(self) -> str:
        """Absolute path, with ``/``."""
        return absolute(self.root, self.source)


def absolute(root: str, source: str) -> str:
    """Return the absolute path of a source below a root."""
    return f"{root.rstrip('/')}/{source}"


def load(snapshot: Snapshot) -> dict[str, Source]:
    """Return the newest row of every source, by absolute path. O(rows of the sources log)."""
    found: dict[str, Source] = {}
    rows = np.arange(snapshot.rows("sources"), dtype=np.int64)
    for row, record in enumerate(snapshot.records("sources", rows, _FACTS)):
        source = _source(record, row)
        found[source.path] = source
    return found


def below(everything: Mapping[str, Source], folder: Path) -> dict[str, Source]:
    """Return the sources below a folder, by path below it."""
    prefix = absolute(folder.as_posix(), "")
    return {path.removeprefix(prefix): source for path, source in everything.items() if path.startswith(prefix)}


def contents(snapshot: Snapshot, known: Sequence[Source]) -> list[dict[str, Any]]:
    """Return what the rows of some sources say of their chunks, links and commits."""
    rows = np.array([source.row for source in known], np.int64)
    return [{name: record[name] for name in _CONTENTS} for record in snapshot.records("sources", rows, _CONTENTS)]


def removed(source: Source) -> dict[str, Any]:
    """Return the row that says that a source is gone. It keeps the ids of its chunks: they come back with it."""
    facts = source.facts
    return {
        "source": source.source,
        "root": source.root,
        "state": REMOVED,
        "digest": facts.digest,
        "size": facts.size,
        "mtime_ns": facts.mtime_ns,
        "commit": facts.commit,
        "blob": facts.blob,
        "settings": facts.settings,
        "chunks": list(facts.chunks),
        "starts": [],
        "stops": [],
        "links": None,
    }


def continued(
    everything: Mapping[str, Source],
    folder: Path,
    added: Sequence[str],
    readings: Mapping[str, Reading],
    taken: Collection[str] = (),
) -> dict[str, Source]:
    """Return for new paths the source that each continues.

    Parameters
    ----------
    everything : mapping of str to Source
        All sources, by absolute path.
    folder : Path
        What is being ingested.
    added : sequence of str
        New paths below it.
    readings : mapping of str to Reading
        What they hold.
    taken : collection of str
        Absolute paths of sources that something else continues already.

    Returns
    -------
    dict of str to Source
        The removed source of the same path, else one of the same bytes that was removed before, or whose file is no
        longer where it was (a root that was renamed as a whole). No source is continued twice.
    """
    found: dict[str, Source] = {}
    taken = set(taken)
    prefix = absolute(folder.as_posix(), "")
    for path in added:
        source = everything.get(prefix + path)
        if source is not None and source.state == REMOVED and source.facts.chunks:
            found[path] = source
            taken.add(source.path)
    wanted = {readings[path].digest for path in added if path not in found}
    by_digest: dict[bytes, list[Source]] = defaultdict(list)
    for name, source in sorted(everything.items(), reverse=True):
        if source.facts.digest in wanted and name not in taken and source.facts.chunks and _is_gone(source):
            by_digest[source.facts.digest].append(source)
    for path in sorted(added):
        if path not in found and by_digest[readings[path].digest]:
            found[path] = by_digest[readings[path].digest].pop()
    return found


def _is_gone(source: Source) -> bool:
    return source.state == REMOVED or not os.path.lexists(source.path)


def _source(record: Mapping[str, Any], row: int) -> Source:
    facts = SourceState(
        digest=record["digest"],
        size=record["size"],
        mtime_ns=record["mtime_ns"],
        settings=record["settings"],
        chunks=tuple(record["chunks"]),
        scanned_us=record["recorded_at"],
        blob=record["blob"],
        commit=record["commit"],
    )
    return Source(record["root"], record["source"], record["state"], facts, row)


@dataclass(slots=True)
class SourceRows:
    """Rows on their way into the sources log, column by column."""

    columns: dict[str, list[Any]]

    @classmethod
    def empty(cls) -> SourceRows:
        """Return no rows."""
        return cls({name: [] for name in _COLUMNS})

    def __len__(self) -> int:
        return len(self.columns["source"])

    def add(self, **values: Any) -> None:
        """Add one row; every column is named."""
        for name, column in self.columns.items():
            column.append(values[name])
