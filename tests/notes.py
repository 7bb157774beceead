"""A folder of notes for tests: every write has a settled modification time of its own, later than all before it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina import Vault

_START_NS = 1_735_689_600_000_000_000  # 2025-01-01
_ticks = itertools.count(1)


def settle(path: Path) -> Path:
    """Give a file a modification time that is long past and that no other file has."""
    moment = _START_NS + next(_ticks) * 10_000_000_000
    os.utime(path, ns=(moment, moment))
    return path


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file below a folder, making the folders it lies in."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return settle(path)


def prose(subject: str, words: int = 150) -> str:
    """A paragraph about a subject, long enough to be a chunk of its own."""
    return " ".join(f"{subject} {i}th sentence says something." for i in range(words // 4))


class CountingEmbedder:
    """Hashes words into eight dimensions, and counts the texts it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        out = np.zeros((len(texts), 8), np.float32)
        for row, text in zip(out, texts, strict=True):
            for word in text.split():
                row[sum(word.encode()) % 8] += 1.0
        return out


def state(vault: Vault) -> dict[str, tuple[object, ...]]:
    """Every current chunk of a vault, by id: what it says, where it is from and whether it is alive."""
    statuses = ["active", "invalidated", "removed"]
    chunks = vault.list({"status": {"in": statuses}}, limit=None)
    return {
        chunk.id: (chunk.text, chunk.source, chunk.title, chunk.headings, chunk.type, chunk.status, chunk.created_at_us)
        for chunk in chunks
    }


def ids_by_text(vault: Vault, source: str | None = None) -> dict[str, str]:
    """Id of each active chunk by its text; of one source only, where it is named."""
    chunks = vault.list({"source": source} if source else None, limit=None)
    return {chunk.text: chunk.id for chunk in chunks}
