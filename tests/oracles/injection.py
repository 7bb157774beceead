"""Neighbour injection over lists: what lies around hits, and which of it each brings along."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.oracles.khop import Rows


def around(
    forward: Rows, backward: Rows, hits: Sequence[int], walked: Collection[int], closed: Collection[int]
) -> list[tuple[int, int, int]]:
    """Owner, node, and 1 for an outward link; of several links the first."""
    found = []
    for owner, hit in enumerate(hits):
        seen: set[int] = set()
        for rows, outward in ((forward, 1), (backward, 0)):
            for v, kind, _ in rows[hit] if hit >= 0 else []:
                if kind in walked and v not in closed and v not in seen:
                    seen.add(v)
                    found.append((owner, v, outward))
    return found


def choose(
    owners: Sequence[int],
    nodes: Sequence[int],
    scores: Sequence[float],
    worth: Sequence[float],
    places: Sequence[int],
    most: int,
    best: bool,
) -> list[int]:
    chosen: dict[int, int] = {}
    for owner in sorted(set(owners)):
        mine = [i for i in range(len(owners)) if owners[i] == owner and (best or nodes[i] not in chosen)]
        for i in sorted(mine, key=lambda i: (-scores[i], places[i]))[:most]:
            known = chosen.get(nodes[i])
            if known is None or worth[i] > worth[known]:
                chosen[nodes[i]] = i
    return sorted(chosen.values())
