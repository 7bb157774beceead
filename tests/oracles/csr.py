"""Links as a list of tuples, and rows as lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lamina_kernels.graph import csr
from lamina_kernels.layouts import Csr


class Link(NamedTuple):
    source: int
    target: int
    relation: int
    weight: float


Entry = tuple[int, int, float]
"""The other end, the relation, the weight."""


def rows(n: int, links: Iterable[Link]) -> list[list[Entry]]:
    found: list[list[Entry]] = [[] for _ in range(n)]
    for link in links:
        found[link.source].append((link.target, link.relation, link.weight))
    return found


def turned(n: int, links: Sequence[Link]) -> list[list[Entry]]:
    """Rows by target; sources ascend."""
    found: list[list[Entry]] = [[] for _ in range(n)]
    for u, row in enumerate(rows(n, links)):
        for v, relation, weight in row:
            found[v].append((u, relation, weight))
    return found


def unpack(links: Csr) -> list[list[Entry]]:
    bounds = links.indptr.tolist()
    entries = list(zip(links.indices.tolist(), links.relations.tolist(), links.weights.tolist(), strict=True))
    return [entries[start:stop] for start, stop in itertools.pairwise(bounds)]


def pack(found: Sequence[Sequence[Entry]]) -> Csr:
    flat = [entry for row in found for entry in row]
    return Csr(
        np.cumsum([0, *(len(row) for row in found)], dtype=np.int64),
        np.array([v for v, _, _ in flat], np.int32),
        np.array([weight for _, _, weight in flat], np.float32),
        np.array([relation for _, relation, _ in flat], np.uint8),
    )


def transpose(links: Csr) -> Csr:
    """The same links by the node at their other end; sources ascend within a row."""
    return csr.build(links.indptr.size - 1, links.indices, csr.sources(links), links.weights, links.relations)
