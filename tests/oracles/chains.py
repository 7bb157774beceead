"""The chain walk as a recursion over lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tests.oracles.csr import Entry

Chain = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Position of the seed, nodes, hops."""


@dataclass
class Walker:
    rows: Sequence[Sequence[Entry]]
    walked: Collection[int]
    blocked: Collection[int]
    others: Collection[int]
    tokens: Sequence[int]
    budget: int
    depth: int = 50
    skips: int = 5
    most: int = 10
    expansions: int = 200
    told: list[Chain] = field(default_factory=list)

    def walk(self, seeds: Sequence[int]) -> list[Chain]:
        found: list[Chain] = []
        for position, seed in enumerate(seeds):
            if seed in self.blocked:
                continue
            self.position, self.count, self.told = position, 0, []
            kept = [(seed, 0)] if self.size(seed) <= self.budget else []
            self.step(seed, [seed], kept, 0)
            if not self.told:
                self.tell(kept)
            found += self.told
        return found

    def size(self, node: int) -> int:
        return self.tokens[node] or 100

    def full(self) -> bool:
        return self.count > self.expansions or len(self.told) >= self.most

    def tell(self, kept: list[tuple[int, int]]) -> bool:
        if not kept or len(self.told) >= self.most:
            return False
        self.told.append((self.position, tuple(node for node, _ in kept), tuple(hop for _, hop in kept)))
        return True

    def step(self, at: int, way: list[int], kept: list[tuple[int, int]], skips: int) -> bool:
        self.count += 1
        if self.full():
            return False
        onward = [v for v, relation, _ in self.rows[at] if relation in self.walked and v not in way]
        if not onward or len(way) >= self.depth:
            return self.tell(kept)
        told = overflowed = False
        used = sum(self.size(node) for node, _ in kept)
        for v in onward:
            if self.full():
                break
            if v in self.blocked:
                continue
            if v in self.others:
                if skips < self.skips:
                    told |= self.step(v, [*way, v], kept, skips + 1)
            elif self.size(v) > self.budget:
                told |= self.step(v, [*way, v], kept, 0)
            elif used + self.size(v) > self.budget:
                if not overflowed:
                    told |= self.tell(kept)
                overflowed = True
            else:
                told |= self.step(v, [*way, v], [*kept, (v, len(way))], 0)
        return told or self.tell(kept)


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def best(found: Sequence[Chain], medians: Sequence[float]) -> int:
    """The first of the highest medians among chains of two nodes or more; -1 where there is none."""
    ranked = [(-median, i) for i, (median, chain) in enumerate(zip(medians, found, strict=True)) if len(chain[1]) > 1]
    return min(ranked)[1] if ranked else -1
