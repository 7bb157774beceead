"""Matches passed along links, link by link, in the words of the formula."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tests.oracles.khop import Rows, lead_on

Taken = tuple[int, float, int, int, int, int]
"""Node, score, hop, parent's position, entry, outward."""
FAN, LEAST = 8, 0.01


def spread(
    forward: Rows,
    backward: Rows,
    starts: Sequence[tuple[int, float]],
    shares_out: Mapping[int, float],
    shares_in: Mapping[int, float],
    hashes: Sequence[int],
    blocked: Collection[int],
    depth: int,
    width: int,
) -> list[Taken]:
    walk: list[Taken] = [(node, score, 0, -1, -1, 0) for node, score in starts]
    own, reached = {node for node, _ in starts}, set[int]()
    frontier = list(range(len(walk)))
    for hop in range(1, depth + 1):
        best: dict[int, Taken] = {}
        lead = list(lead_on(forward, backward, [walk[place][0] for place in frontier], shares_out, shares_in))
        fan = Counter((outward, place) for place, _, _, outward, _, _ in lead)
        for place, v, entry, outward, relation, weight in lead:
            share = (shares_out if outward else shares_in)[relation]
            factor = min(1.0, math.sqrt(FAN / fan[outward, place]))
            passed = share * weight * factor * walk[frontier[place]][1]
            if v not in blocked and v not in reached and passed >= LEAST and (v not in best or passed > best[v][1]):
                best[v] = (v, passed, hop, frontier[place], entry, outward)
        met = sorted(best.values(), key=lambda each: (-each[1], hashes[each[0]]))[:width]
        frontier = [len(walk) + i for i, each in enumerate(met) if each[0] not in own]
        walk += met
        reached |= own | {each[0] for each in met}
    return walk
