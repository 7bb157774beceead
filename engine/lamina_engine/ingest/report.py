"""Ingest reports: problems, progress, and the final counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamina_engine.reports import Report


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong with one source; the run goes on."""

    source: str
    """Path or name of the source."""
    code: str
    """Stable short name: unreadable, binary, too_large, encoding, frontmatter, symlink, record, redacted_skip, ..."""
    message: str
    """Finding and consequence, such as "not valid UTF-8; skipped"."""


@dataclass(slots=True)
class IngestReport(Report):
    """Counts of the sources of one ingest, each counted once, and its problems."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    moved: int = 0
    removed: int = 0
    skipped: int = 0
    """Not taken: unreadable, binary, too large, empty, or outside; each has its problem."""
    links: int = 0
    """Wikilinks and embeds that were found to lead to a source."""
    chunks: int = 0
    """Chunks written: new ones and new versions."""
    embedded: int = 0
    """Texts that the embedder was given."""
    redactions: int = 0
    """Secrets masked."""
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)
