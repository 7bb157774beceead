"""Chunks by name, and links between them, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import US_PER_DAY, parse_instant
from lamina_engine.graph import links, log
from lamina_engine.graph.log import Draft
from lamina_engine.memory import Memory

DAY_0 = parse_instant("2026-01-01")


def fill(memory: Memory, names: Sequence[str], **columns: Any) -> None:
    """Add chunks with these ids; the i-th was written on day i unless ``created_at`` says otherwise."""
    n = len(names)
    ones: dict[str, Any] = {
        "titles": None, "headings": (), "types": "note", "collections": "notes", "projects": None, "sessions": None,
        "agents": None, "sources": None, "ordinals": -1, "starts": -1, "stops": -1, "tags": (), "success": None,
        "commits": None, "blobs": None, "metadata": None,
    }  # fmt: skip
    values: dict[str, Any] = {name: [list(one) if one == () else one] * n for name, one in ones.items()}
    values |= {"texts": [f"text of {name}" for name in names], "ids": list(names)}
    values |= {"created_at": [DAY_0 + i * US_PER_DAY for i in range(n)]}
    values |= columns
    writing.write(memory, ChunkBatch(**values))


def tie(memory: Memory, links: str, relation: str = "causal", weight: float = 1.0, origin: str = "user") -> None:
    """Write links given as ``"a>b b>c"``."""
    pairs = [pair.split(">") for pair in links.split()]
    log.write(memory, [Draft(source, target, relation, weight) for source, target in pairs], origin=origin)


def claimed(memory: Memory, origin: str) -> Mapping[tuple[str, str, str], float]:
    """What an origin says now."""
    found = links.claims_of(memory.view(), origin)
    return {(link.source, link.target, link.relation): link.weight for link in found}
