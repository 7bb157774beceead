"""The links log as a dictionary: each origin's last word, and whose word stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PRIORITY = ("user", "beads", "semantic", "usage", "zzz")


class Row(NamedTuple):
    source: str
    target: str
    relation: str
    weight: float
    origin: str
    active: bool


def standing(rows: Sequence[Row]) -> dict[tuple[str, str, str], float]:
    said = {(row.source, row.target, row.relation, row.origin): row for row in rows}
    found: dict[tuple[str, str, str], tuple[int, float]] = {}
    for row in said.values():
        if row.active:
            key, claim = row[:3], (PRIORITY.index(row.origin), row.weight)
            found[key] = min(found.get(key, claim), claim)
    return {key: weight / (weight + 3) if key[2] == "usage" else weight for key, (_, weight) in found.items()}
