"""Breadth first with a dictionary."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tests.oracles.csr import Entry

Rows = Sequence[Sequence[Entry]]
Taken = tuple[int, int, int, int, int]
"""Node, hop, parent's position, entry, outward."""


def lead_on(
    forward: Rows, backward: Rows, frontier: Sequence[int], walk_out: Collection[int], walk_in: Collection[int]
) -> Iterator[tuple[int, int, int, int, int, float]]:
    """Position in the frontier, the node led to, entry, outward, relation, weight."""
    for rows, walked, outward in ((forward, walk_out, 1), (backward, walk_in, 0)):
        offsets = [sum(map(len, rows[:u])) for u in range(len(rows))]
        for position, u in enumerate(frontier):
            for i, (v, relation, weight) in enumerate(rows[u]):
                if relation in walked:
                    yield position, v, offsets[u] + i, outward, relation, weight


def neighbours(
    forward: Rows,
    backward: Rows,
    seeds: Sequence[int],
    walk_out: Collection[int],
    walk_in: Collection[int],
    blocked: Collection[int],
    max_hops: int,
    limit: int,
) -> list[Taken]:
    wanted = dict.fromkeys(seed for seed in seeds if seed not in blocked)
    found: dict[int, Taken] = {}
    for seed in list(wanted)[:limit]:
        found[seed] = (seed, 0, -1, -1, 0)
    start = 0
    for hop in range(1, max_hops + 1):
        frontier = list(found)[start:]
        for position, v, entry, outward, _, _ in lead_on(forward, backward, frontier, walk_out, walk_in):
            if v not in found and v not in blocked and len(found) < limit:
                found[v] = (v, hop, start + position, entry, outward)
        start += len(frontier)
    return list(found.values())
