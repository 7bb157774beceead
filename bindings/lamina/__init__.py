"""Lamina: a local memory engine for AI agents.

>>> import lamina
>>> vault = lamina.open("vault/", create=True)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.results import Answers, Hits, Results
from lamina.vault import Vault
from lamina.vault import open_vault as open
from lamina_engine.clock import FixedClock, SystemClock
from lamina_engine.errors import (
    AmbiguousEntity,
    AmbiguousId,
    ChunkExists,
    ChunkNotFound,
    EmbedderMismatch,
    EmbeddingError,
    EntityNotFound,
    IngestError,
    InvalidArgument,
    InvalidConfig,
    LaminaError,
    MissingExtra,
    ReindexGateError,
    SchemaMismatch,
    SessionNotFound,
    TopicNotFound,
    VaultCorrupt,
    VaultExists,
    VaultLocked,
    VaultNotFound,
    VaultReadOnly,
    VaultTooNew,
    VaultUntrusted,
)

if TYPE_CHECKING:
    from lamina.aio import AsyncVault, aopen
    from lamina.clustering import HDBSCAN
    from lamina_engine.embed.remote import CallableEmbedder, EndpointEmbedder
    from lamina_engine.redact.redactor import Redactor
    from lamina_engine.results import (
        Answer,
        Cause,
        Chunk,
        Contradiction,
        Event,
        Fact,
        Hit,
        Link,
        Neighbor,
        Reconstruction,
        Session,
        Snippet,
        Story,
        Timeline,
    )

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - as sorted() has them
    "AmbiguousEntity",
    "AmbiguousId",
    "Answer",
    "Answers",
    "AsyncVault",
    "CallableEmbedder",
    "Cause",
    "Chunk",
    "ChunkExists",
    "ChunkNotFound",
    "Contradiction",
    "EmbedderMismatch",
    "EmbeddingError",
    "EndpointEmbedder",
    "EntityNotFound",
    "Event",
    "Fact",
    "FixedClock",
    "HDBSCAN",
    "Hit",
    "Hits",
    "IngestError",
    "InvalidArgument",
    "InvalidConfig",
    "LaminaError",
    "Link",
    "MissingExtra",
    "Neighbor",
    "Reconstruction",
    "Redactor",
    "ReindexGateError",
    "Results",
    "SchemaMismatch",
    "Session",
    "SessionNotFound",
    "Snippet",
    "Story",
    "SystemClock",
    "Timeline",
    "TopicNotFound",
    "Vault",
    "VaultCorrupt",
    "VaultExists",
    "VaultLocked",
    "VaultNotFound",
    "VaultReadOnly",
    "VaultTooNew",
    "VaultUntrusted",
    "aopen",
    "open",
]

_RESULTS = "lamina_engine.results"
_LAZY = {
    "aopen": "lamina.aio",
    "AsyncVault": "lamina.aio",
    "CallableEmbedder": "lamina_engine.embed.remote",
    "EndpointEmbedder": "lamina_engine.embed.remote",
    "HDBSCAN": "lamina.clustering",
    "Redactor": "lamina_engine.redact.redactor",
    **dict.fromkeys(
        (
            "Answer", "Cause", "Chunk", "Contradiction", "Event", "Fact", "Hit", "Link", "Neighbor", "Reconstruction",
            "Session", "Snippet", "Story", "Timeline",
        ),
        _RESULTS,
    ),
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a name on first use, so that ``import lamina`` stays fast."""
    if name in _LAZY:
        from importlib import import_module

        value: object = getattr(import_module(_LAZY[name]), name)
        return value
    raise AttributeError(f"module 'lamina' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
