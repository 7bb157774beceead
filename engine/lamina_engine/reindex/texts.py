"""What was embedded for a row, told from the log alone.

The log says neither whether a title is only a file's name (then it is not embedded) nor whether a date was embedded
with the text; but it holds the hash of what was embedded. So each possible text is hashed, and the one whose hash is
the row's version is the one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lamina_engine.chunks.batch import embedded_text, version_of
from lamina_engine.index.zones import date_words
from lamina_engine.store.snapshot import Rows, Snapshot

_COLUMNS = ("version", "text", "title", "headings", "created_at")


class Embedded(NamedTuple):
    """What is embedded for one row."""

    key: bytes
    """Its hash: rows with equal keys have equal vectors. Empty where there is nothing to embed."""
    text: str
    matched: bool
    """False where no text that the log can give has the row's version as its hash."""


def embedded(snapshot: Snapshot, rows: Rows) -> list[Embedded]:
    """Return what is embedded for some rows. O(bytes of their text)."""
    return [
        embedded_of(record["version"], record["text"], record["title"], record["headings"], record["created_at"])
        for record in snapshot.records("chunks", rows, _COLUMNS)
    ]


def embedded_range(snapshot: Snapshot, start: int, stop: int) -> list[Embedded]:
    """Return what is embedded for rows ``start`` to ``stop``."""
    return embedded(snapshot, np.arange(start, stop, dtype=np.int64))


def embedded_of(
    version: bytes, text: str, title: str | None, headings: Sequence[str] | None, created_at: int | None
) -> Embedded:
    """Return what is embedded for a row with these values."""
    for candidate in _candidates(text, title, headings, created_at):
        if version_of(candidate) == version:
            return Embedded(version if candidate.strip() else b"", candidate, matched=True)
    whole = embedded_text(title, headings, text)
    if not text.strip():  # a tombstone keeps its version and promises nothing
        return Embedded(b"", "", matched=True)
    return Embedded(version_of(whole), whole, matched=False)


def _candidates(text: str, title: str | None, headings: Sequence[str] | None, created_at: int | None) -> Iterator[str]:
    """Yield the texts that may have been embedded, the likeliest first."""
    date = date_words(created_at)
    for name in (title, None) if title else (None,):
        plain = embedded_text(name, headings, text)
        yield plain
        if date:
            yield f"{plain}\n{date}"
        yield plain.rstrip("\n")  # dated records of which no date was known
