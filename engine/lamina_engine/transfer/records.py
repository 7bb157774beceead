"""Records of an export: one struct for each kind of line."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from lamina_engine.facts.transfer import EntityLine, FactLine, PredicateLine
from lamina_engine.graph.transfer import LinkLine

Name = Annotated[str, Meta(min_length=1)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Span = Annotated[int, Meta(ge=-(2**62), le=2**62)]
SPANS: Final = ("starts", "stops", "lines", "end_lines")


class Header(Struct, frozen=True, tag_field="record", tag="export"):
    """First line of a whole export: the vault, and the newest moment that it had recorded."""

    vault: Name
    until_us: int


class Happening(Struct, frozen=True, omit_defaults=True):
    """Event of a chunk, such as invalidate, pin or snooze."""

    kind: Name
    reason: str | None = None
    detail: dict[str, Any] | None = None


class Scan(Struct, frozen=True):
    """Last scan of a chunk's file; see `lamina_engine.schema.FRESHNESS`."""

    tier: Name
    reason: Name
    commits: int
    review: bool
    path: str | None = None


class FileOrigin(Struct, frozen=True):
    """File that an added chunk speaks of; see `lamina_engine.schema.ORIGINS`."""

    repository: Name
    path: Name
    commit: str | None = None
    blob: str | None = None


class Exported(Struct, frozen=True):
    """One chunk of an export; see `lamina_engine.schema.CHUNKS` for the fields."""

    id: Name
    text: Name
    type: Name
    collection: Name
    title: str | None = None
    headings: list[str] | None = None
    project: str | None = None
    session: str | None = None
    agent: str | None = None
    source: str | None = None
    ordinal: int = -1
    start: int = -1
    stop: int = -1
    after: str | None = None
    created_at: str | None = None
    recorded_at: str | None = None
    tags: list[str] | None = None
    success: bool | None = None
    commit: str | None = None
    blob: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = None
    version: str | None = None
    status: str = "active"
    reason: str | None = None
    pinned: bool = False
    snoozed_until: str | None = None
    events: list[Happening] | None = None
    """What happened to it; without, status, reason, pin and snooze say so."""
    scan: Scan | None = None
    origin: FileOrigin | None = None


class SourceLine(Struct, frozen=True, tag_field="record", tag="source"):
    """Newest state of a source; see `lamina_engine.schema.SOURCES`."""

    source: str
    root: str
    state: Annotated[str, Meta(pattern="^(present|removed|skipped)$")]
    digest: Digest
    size: Span
    mtime_ns: Span
    settings: str
    chunks: list[str]
    starts: list[Span]
    stops: list[Span]
    lines: list[Span]
    end_lines: list[Span]
    commit: str | None = None
    blob: str | None = None
    links: str | None = None


class ClusteringLine(Struct, frozen=True, tag_field="record", tag="clustering"):
    """Making of the topics that follow; see `lamina_engine.topics.generation.Detail`."""

    detail: dict[str, Any]


class TopicLine(Struct, frozen=True, tag_field="record", tag="topic"):
    """One topic; see `lamina_engine.schema.TOPICS`."""

    topic: Name
    name: str
    words: list[str]
    size: int
    persistence: float
    exemplars: list[str]
    centroid: list[float]
    parent: str | None = None
    medoid: str | None = None


class MemberLine(Struct, frozen=True, tag_field="record", tag="member"):
    """One chunk of a topic; see `lamina_engine.schema.MEMBERS`."""

    topic: Name
    chunk: Name
    probability: float
    origin: Name


Record = (
    Header
    | Exported
    | SourceLine
    | ClusteringLine
    | TopicLine
    | MemberLine
    | LinkLine
    | PredicateLine
    | EntityLine
    | FactLine
)
_TAGGED: Final[Any] = (
    Header | SourceLine | ClusteringLine | TopicLine | MemberLine | LinkLine | PredicateLine | EntityLine | FactLine
)
FACT_LINES: Final = (PredicateLine, EntityLine, FactLine)


def record_of(values: dict[str, Any]) -> Record:
    """Return a decoded line as its struct; raises msgspec.ValidationError for any other."""
    if "record" not in values:
        return msgspec.convert(values, Exported)
    found: Record = msgspec.convert(values, _TAGGED)
    return found
