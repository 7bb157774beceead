"""What the vault knows of the sources it was fed: the newest row of each in the sources log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina_engine.ingest.scan import SourceState
from lamina_engine.store.snapshot import Snapshot

PRESENT, REMOVED, SKIPPED = "present", "removed", "skipped"


@dataclass(frozen=True, slots=True)
class Source:
    """The newest row of one source."""

    root: str
    """Label of its root: the absolute path of the folder it was ingested from."""
    source: str
    """Path below the root."""
    state: str
    facts: SourceState

    @property
    def path(self) -> str:
        """Absolute path, with ``/``."""
        return f"{self.root.rstrip('/')}/{self.source}"


def load(snapshot: Snapshot) -> dict[str, Source]:
    """Return the newest row of every source, by absolute path. O(rows of the sources log)."""
    found: dict[str, Source] = {}
    rows = np.arange(snapshot.rows("sources"), dtype=np.int64)
    names = ("recorded_at", "source", "root", "state", "digest", "size", "mtime_ns", "commit", "blob", "settings", "chunks")
    for record in snapshot.records("sources", rows, names):
        source = _source(record)
        found[source.path] = source
    return found


def _source(record: dict[str, Any]) -> Source:
    facts = SourceState(
        digest=record["digest"], size=record["size"], mtime_ns=record["mtime_ns"], settings=record["settings"],
        chunks=tuple(record["chunks"]), scanned_us=record["recorded_at"], blob=record["blob"], commit=record["commit"],
    )  # fmt: skip
    return Source(record["root"], record["source"], record["state"], facts)


@dataclass(slots=True)
class SourceRows:
    """Rows on their way into the sources log, column by column."""

    columns: dict[str, list[Any]]

    @classmethod
    def empty(cls) -> SourceRows:
        """Return no rows."""
        names = ("source", "root", "state", "digest", "size", "mtime_ns", "commit", "blob", "settings", "chunks", "starts", "stops", "links")
        return cls({name: [] for name in names})

    def __len__(self) -> int:
        return len(self.columns["source"])

    def add(self, **values: Any) -> None:
        """Add one row; every column is named."""
        for name, column in self.columns.items():
            column.append(values[name])
