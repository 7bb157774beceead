"""What reading a source gives: drafts, before ids, rows and vectors exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong with one source; the rest of the run goes on."""

    source: str
    """Path or name of the source."""
    code: str
    """Stable short name: unreadable, binary, too_large, encoding, frontmatter, symlink, record, redacted_skip, ..."""
    message: str
    """What was found, and what was done about it."""


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A wikilink or embed as written in a source."""

    target: str
    """Note name or path as written, without heading, block and alias; empty for a link inside the same note."""
    heading: str | None
    alias: str | None
    embed: bool
    chunk: int
    """Index of the chunk it stands in."""
    block: str | None = None
    """Name of the block it points at, without ``^``."""


@dataclass(frozen=True, slots=True)
class DraftChunk:
    """A piece of a source that will become one chunk."""

    text: str
    """Redacted text with LF newlines. All of a source, concatenated, give its whole redacted text after frontmatter."""
    headings: tuple[str, ...]
    """Heading path at its start, outermost first, without the title."""
    start: int
    """First byte in the file that it covers."""
    stop: int
    """One past the last byte; the next chunk starts here."""


@dataclass(slots=True)
class SourceDraft:
    """One source, read, redacted and cut."""

    source: str
    """Path below the ingested root, with ``/``."""
    kind: str
    """markdown, text, rst or code."""
    chunks: list[DraftChunk]
    title: str | None = None
    title_is_name: bool = False
    """True where the source has no title of its own, only a file name, which changes when the file moves."""
    type: str | None = None
    collection: str | None = None
    project: str | None = None
    created_at_us: int | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    """Remaining frontmatter, JSON values only."""
    links: list[SourceLink] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    redactions: int = 0
    """How many findings were masked."""
