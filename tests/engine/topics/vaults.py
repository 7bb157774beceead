"""Vaults with vectors of the test's own, for tests of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import US_PER_DAY, parse_instant
from lamina_engine.memory import Memory
from lamina_kernels.layouts import F32

DIM = 16
WORDS = ("garden rose soil", "python numpy array", "bread oven flour", "guitar chord song", "train track ticket")


class Given:
    """An embedder whose vectors the test gives."""

    identity, dim, max_tokens, lane_weight = "given@1", DIM, None, 0.5

    def embed_documents(self, texts: Sequence[str]) -> F32:
        return np.zeros((len(texts), DIM), np.float32)

    def embed_query(self, text: str) -> F32:
        return np.zeros(DIM, np.float32)


def blobs(sizes: Sequence[int], *, spread: float = 0.15, seed: int = 0, dim: int = DIM) -> tuple[F32, list[int]]:
    """Unit rows around the first axes, so many each, and the axis of each."""
    rng = np.random.default_rng(seed)
    owners = [blob for blob, size in enumerate(sizes) for _ in range(size)]
    rows = np.eye(dim, dtype=np.float32)[owners] + spread * rng.standard_normal((len(owners), dim)).astype(np.float32)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), owners


def fill(memory: Memory, vectors: F32, owners: Sequence[int], *, prefix: str = "c") -> list[str]:
    """Add chunks with these vectors; the i-th is called prefix + i and speaks of its owner's words."""
    n = len(vectors)
    ids: list[str | None] = [f"{prefix}{i}" for i in range(n)]
    ones: dict[str, Any] = {
        name: [value] * n
        for name, value in {
            "titles": None, "types": "note", "collections": "notes", "projects": None, "sessions": None, "agents": None,
            "sources": None, "ordinals": -1, "starts": -1, "stops": -1, "success": None, "commits": None, "blobs": None,
            "metadata": None,
        }.items()
    }  # fmt: skip
    day = parse_instant("2026-01-01")
    batch = ChunkBatch(
        texts=[f"{WORDS[owner % len(WORDS)]} number{i} {prefix}" for i, owner in enumerate(owners)], ids=ids,
        headings=[[] for _ in ids], tags=[[] for _ in ids], created_at=[day + i * US_PER_DAY for i in range(n)],
        vectors=vectors, **ones,
    )  # fmt: skip
    writing.write(memory, batch)
    return [str(identity) for identity in ids]
