"""A vault behind a server, and calls of its tools without a process between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.mcp.access import VaultAccess
from lamina.mcp.answers import Answer
from lamina.mcp.calls import answer_call
from lamina.mcp.tools import TOOLS

Call = Callable[..., Answer]

MEMORIES: list[dict[str, Any]] = [
    {"id": "outage", "text": "SQLite locked under four writers; requests timed out for an hour.", "type": "problem",
     "project": "api", "created_at": "2026-02-10"},
    {"id": "db", "text": "We moved to PostgreSQL 16 because SQLite locked under four writers.", "title": "Database",
     "type": "decision", "project": "api", "created_at": "2026-02-15", "source": "adr/7.md"},
    {"id": "pool", "text": "PgBouncer in transaction mode keeps PostgreSQL connections low.", "type": "decision",
     "project": "api", "created_at": "2026-02-20"},
    {"id": "bread", "text": "Rye sourdough needs eighteen hours in the cold.", "type": "note", "project": "kitchen",
     "created_at": "2026-01-05"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, clock: lamina.FixedClock) -> Path:
    """A vault of four memories, three of them in a causal chain, and a few facts."""
    with lamina.open(tmp_path / "vault", create=True, clock=clock) as vault:
        vault.add(MEMORIES)
        vault.link("outage", "db", "causal", 0.9, "locks made us move")
        vault.link("db", "pool", "causal", 0.8)
        vault.facts.add("Keystone", "port", "3055", source="db")
        vault.facts.add("Keystone", "owner", "Ann")
    return tmp_path / "vault"


@pytest.fixture
def access(folder: Path, clock: lamina.FixedClock) -> VaultAccess:
    return VaultAccess(folder, clock=clock)


@pytest.fixture
def call(access: VaultAccess) -> Call:
    return caller(access)


def caller(access: VaultAccess) -> Call:
    """Return a function that calls tools of a vault by name."""

    def call_tool(tool: str, /, **given: Any) -> Answer:
        return answer_call(access, TOOLS[tool], given)

    return call_tool
