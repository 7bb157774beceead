"""Lamina: a local memory engine for AI agents.

>>> import lamina
>>> vault = lamina.open("vault/", create=True)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina.results import Hit, Hits
from lamina.vault import Vault
from lamina.vault import open_vault as open
from lamina_engine.clock import FixedClock, SystemClock
from lamina_engine.errors import (
    AmbiguousEntity,
    AmbiguousId,
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
    from lamina.awaitable import AsyncVault, aopen
    from lamina.clustering import HDBSCAN
    from lamina_engine.embed.callable import CallableEmbedder
    from lamina_engine.embed.endpoint import EndpointEmbedder
    from lamina_engine.redact.redactor import Redactor

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - as sorted() has them
    "AmbiguousEntity",
    "AmbiguousId",
    "AsyncVault",
    "CallableEmbedder",
    "ChunkNotFound",
    "EmbedderMismatch",
    "EmbeddingError",
    "EndpointEmbedder",
    "EntityNotFound",
    "FixedClock",
    "HDBSCAN",
    "Hit",
    "Hits",
    "IngestError",
    "InvalidArgument",
    "InvalidConfig",
    "LaminaError",
    "MissingExtra",
    "Redactor",
    "ReindexGateError",
    "SchemaMismatch",
    "SessionNotFound",
    "SystemClock",
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

_LAZY = {
    "aopen": "lamina.awaitable",
    "AsyncVault": "lamina.awaitable",
    "CallableEmbedder": "lamina_engine.embed.callable",
    "EndpointEmbedder": "lamina_engine.embed.endpoint",
    "HDBSCAN": "lamina.clustering",
    "Redactor": "lamina_engine.redact.redactor",
}


def __getattr__(name: str) -> Any:
    """Import what few programs need when it is first asked for: ``import lamina`` stays fast."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'lamina' has no attribute {name!r}")
