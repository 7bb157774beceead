"""Forward push over dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from tests.oracles.khop import Rows


def push_path(
    forward: Rows,
    backward: Rows,
    seeds: Mapping[int, float],
    path: Sequence[int],
    inward: Collection[int],
    blocked: Collection[int],
) -> dict[int, float]:
    result = {node: score * 0.15 for node, score in seeds.items()}
    mass = dict(seeds)
    for relation in path:
        received: dict[int, float] = defaultdict(float)
        for node, amount in mass.items():
            if amount <= 1e-4:
                continue
            links = []
            for rows in (forward, backward) if relation in inward else (forward,):
                fits = [(v, weight) for v, kind, weight in rows[node] if kind == relation and v not in blocked]
                links += sorted(fits, key=lambda each: -each[1])
            links = links[:10]
            total = sum(weight for _, weight in links)
            for v, weight in links:
                received[v] += amount * 0.85 * (weight / total)
        for v, share in received.items():
            result[v] = result.get(v, 0.0) + share * 0.15
        mass = received
    return {node: score for node, score in result.items() if score > 1e-4}
