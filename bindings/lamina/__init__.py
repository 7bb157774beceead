"""Lamina: a local memory engine for AI agents.

>>> import lamina
>>> vault = lamina.open("vault/", create=True)  # doctest: +SKIP
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, whose import would cost a skipped hook half of its time
if TYPE_CHECKING:
    from lamina.aio import AsyncVault, aopen
    from lamina.clustering import HDBSCAN
    from lamina.results import Answers, Hits, Results
    from lamina.vault import Vault
    from lamina.vault import open_vault as open
    from lamina_engine.clock import FixedClock, SystemClock
    from lamina_engine.embed.remote import CallableEmbedder, EndpointEmbedder
    from lamina_engine.errors import (
        AmbiguousEntity,
        AmbiguousId,
        CallTimedOut,
        ChunkExists,
        ChunkNotFound,
        ClusterBusy,
        ClusterUnreachable,
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
        StoreDenied,
        StoreUnreachable,
        StoreUnsafe,
        TopicNotFound,
        VaultCorrupt,
        VaultExists,
        VaultIncomplete,
        VaultLocked,
        VaultNotFound,
        VaultReadOnly,
        VaultTooNew,
        VaultTooOld,
        VaultUntrusted,
    )
    from lamina_engine.recall.absence import Absence
    from lamina_engine.recall.diff import Diff
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
        NamedScope,
        Neighbor,
        Project,
        Reconstruction,
        Session,
        Snippet,
        Story,
        Timeline,
        UnresolvedLink,
    )

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - as sorted() has them
    "Absence",
    "AmbiguousEntity",
    "AmbiguousId",
    "Answer",
    "Answers",
    "AsyncVault",
    "CallTimedOut",
    "CallableEmbedder",
    "Cause",
    "Chunk",
    "ChunkExists",
    "ChunkNotFound",
    "ClusterBusy",
    "ClusterUnreachable",
    "Contradiction",
    "Diff",
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
    "NamedScope",
    "Neighbor",
    "Project",
    "Reconstruction",
    "Redactor",
    "ReindexGateError",
    "Results",
    "SchemaMismatch",
    "Session",
    "SessionNotFound",
    "Snippet",
    "StoreDenied",
    "StoreUnreachable",
    "StoreUnsafe",
    "Story",
    "SystemClock",
    "Timeline",
    "TopicNotFound",
    "UnresolvedLink",
    "Vault",
    "VaultCorrupt",
    "VaultExists",
    "VaultIncomplete",
    "VaultLocked",
    "VaultNotFound",
    "VaultReadOnly",
    "VaultTooNew",
    "VaultTooOld",
    "VaultUntrusted",
    "aopen",
    "open",
]

_RESULTS = "lamina_engine.results"
_ERRORS = "lamina_engine.errors"
_LAZY = {
    "Absence": "lamina_engine.recall.absence",
    "Diff": "lamina_engine.recall.diff",
    **dict.fromkeys(("Answers", "Hits", "Results"), "lamina.results"),
    "Vault": "lamina.vault",
    "open": "lamina.vault",
    "aopen": "lamina.aio",
    "AsyncVault": "lamina.aio",
    "CallableEmbedder": "lamina_engine.embed.remote",
    "EndpointEmbedder": "lamina_engine.embed.remote",
    "FixedClock": "lamina_engine.clock",
    "HDBSCAN": "lamina.clustering",
    "Redactor": "lamina_engine.redact.redactor",
    "SystemClock": "lamina_engine.clock",
    **dict.fromkeys(
        (
            "Answer", "Cause", "Chunk", "Contradiction", "Event", "Fact", "Hit", "Link", "NamedScope", "Neighbor", "Project",
            "Reconstruction", "Session", "Snippet", "Story", "Timeline", "UnresolvedLink",
        ),
        _RESULTS,
    ),
}  # fmt: skip
"""By public name: the module that has it. Those not named here are errors."""

_OTHER_NAMES = {"open": "open_vault"}
"""Names that their module spells otherwise."""


def __getattr__(name: str) -> object:
    """Import a name on first use: a hook that has nothing to say must not wait for the rest."""
    if name not in __all__:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_LAZY.get(name, _ERRORS)), _OTHER_NAMES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
