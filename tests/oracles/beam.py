"""The adaptive walk, link by link, with the exponential as it is written."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from tests.oracles.khop import Rows, lead_on

Taken = tuple[int, float, int, int, int, int]
"""Node, score, hop, parent's position, entry, outward."""


def transition(parent: float, exponent: float | None, affinity: float, weight: float) -> float:
    """``exponent`` is 0.6 · W, or None for a relation that never raises a score."""
    return parent * 0.9 + (0.0 if exponent is None else math.exp(exponent + 0.4 * affinity)) * weight


def beam(
    forward: Rows,
    backward: Rows,
    anchors: Sequence[tuple[int, float]],
    exponents: Mapping[int, float | None],
    affinity: Mapping[int, float],
    walk_out: Collection[int],
    walk_in: Collection[int],
    blocked: Collection[int],
    width: int,
    max_hops: int,
    budget: int,
) -> list[Taken]:
    taken: list[Taken] = [(node, score, 0, -1, -1, 0) for node, score in anchors[:budget]]
    start = 0
    for hop in range(1, max_hops + 1):
        frontier = taken[start:]
        seen = {each[0] for each in taken}
        best: dict[int, Taken] = {}
        lead = lead_on(forward, backward, [each[0] for each in frontier], walk_out, walk_in)
        for position, v, entry, outward, relation, weight in lead:
            if v in seen or v in blocked:
                continue
            score = transition(frontier[position][1], exponents[relation], affinity.get(v, 0.0), weight)
            if v not in best or score > best[v][1]:
                best[v] = (v, score, hop, start + position, entry, outward)
        # sorted is stable: who was met first goes before its equals
        start = len(taken)
        room = min(width, budget - len(taken))
        taken += sorted(best.values(), key=lambda each: -each[1])[:room]
    return taken
