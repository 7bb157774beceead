"""Literal names that options accept: editors complete them, type checkers catch a typo.

Profiles are open: a vault may define its own in ``vault.toml``, so options that name one are typed ``ProfileName | str``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lamina_engine.clock import Instant


class ArrowStream(Protocol):
    """Table that speaks Arrow's protocol: of PyArrow, pandas, polars, DuckDB.

    PyArrow has no types, so its own classes would make every call that names them unknown to a strict type checker.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with the rows."""
        ...


class ArrowArray(Protocol):
    """Column that speaks Arrow's protocol."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        """Return capsules with the type and the values."""
        ...


ProfileName: TypeAlias = Literal["default", "lexical", "temporal", "task", "causal", "episodic", "entity"]
"""Profiles that ship with Lamina."""
Lane: TypeAlias = Literal["lexical", "vector", "facts"]
TimeMode: TypeAlias = Literal["prefer", "filter", "off"]
ScopeMode: TypeAlias = Literal["prefer", "filter", "off"]
Intent: TypeAlias = Literal["why", "when", "entity", "what"]
OnConflict: TypeAlias = Literal["version", "skip", "error", "overwrite"]
OpenMode: TypeAlias = Literal["r", "w"]
Direction: TypeAlias = Literal["both", "out", "in"]
CauseDirection: TypeAlias = Literal["both", "causes", "caused_by"]
ChainDirection: TypeAlias = Literal["backward", "forward"]
ShardKey: TypeAlias = Literal["source", "project"]
SourceKind: TypeAlias = Literal[
    "auto", "markdown", "text", "rst", "asciidoc", "org", "code", "html", "notebook", "mail", "pdf", "docx",
    "jsonl", "csv", "tsv", "parquet", "arrow",
    "sessions", "beads", "tasks", "github", "jira", "gitlog", "diff",
]  # fmt: skip
LinkKind: TypeAlias = Literal[
    "sequence", "temporal", "semantic", "wikilinks", "markdown", "mention", "entity", "similar", "judged"
]
ExportFormat: TypeAlias = Literal["jsonl", "parquet", "clawpy", "facts", "links", "graph-json"]
IndexName: TypeAlias = Literal["lexical", "vectors", "keys"]
Tier: TypeAlias = Literal["fresh", "aging", "stale", "expired", "unknown"]
ObjectKind: TypeAlias = Literal["auto", "entity", "literal"]
Trigger: TypeAlias = Literal["startup", "resume", "compact", "clear"]
StoryMode: TypeAlias = Literal["timeline", "briefing"]
KeepEnd: TypeAlias = Literal["newest", "oldest"]
ClusterMethod: TypeAlias = Literal["auto", "exact", "approx", "parts"]
ClusterSelection: TypeAlias = Literal["topics", "eom", "leaf"]
TopicNames: TypeAlias = Literal["auto", "words", "model"]
Where: TypeAlias = Mapping[str, object]
"""A filter: ``{"field": value}`` or ``{"field": {"in": [...]}}``, with ``AND``, ``OR`` and ``NOT``."""
PathLike: TypeAlias = str | os.PathLike[str]


class RankOptions(TypedDict, total=False):
    """Options of `lamina.Vault.recall` that a comparison of two moments takes too."""

    k: int
    profile: ProfileName | str | None
    where: Where | None
    lanes: Sequence[Lane] | None
    vector: ArrayLike | None
    intent: Intent | None
    session: str | None
    time: TimeMode | None
    scope: ScopeMode | None
    tz: str | None
    syntax: bool
    per_source: int | None


class RecallOptions(RankOptions, total=False):
    """Options of `lamina.Vault.recall`."""

    since: Instant | None
    until: Instant | None
    as_of: Instant | None
    now: Instant | None
    token_budget: int | None
    offset: int
    fill: bool
    min_confidence: float | None
    candidates: Iterable[tuple[str, float]] | None
