"""Topics keep their id and name over a new clustering while most of their chunks stay together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from typing import Final

ALIKE: Final = 0.5
"""Jaccard index from which a topic is the same."""


def matched(old: Mapping[str, Set[str]], new: Sequence[Set[str]]) -> dict[int, str]:
    """Return for new topics the id of the old one that each continues.

    Parameters
    ----------
    old : mapping
        Chunk ids by topic id.
    new : sequence of set
        Chunk ids of each new topic.

    Returns
    -------
    dict
        Position of a new topic to an old id; each at most once.

    Notes
    -----
    Greedy, the most alike first; of equals the smaller old id, then the first new one. Linear in common members.
    """
    owners: dict[str, list[str]] = {}
    for identity in sorted(old):
        for chunk in old[identity]:
            owners.setdefault(chunk, []).append(identity)
    pairs: list[tuple[float, str, int]] = []
    for position, chunks in enumerate(new):
        common: dict[str, int] = {}
        for chunk in chunks:
            for identity in owners.get(chunk, ()):
                common[identity] = common.get(identity, 0) + 1
        for identity, both in common.items():
            alike = both / (len(chunks) + len(old[identity]) - both)
            if alike >= ALIKE:
                pairs.append((-alike, identity, position))
    found: dict[int, str] = {}
    taken: set[str] = set()
    for _, identity, position in sorted(pairs):
        if position not in found and identity not in taken:
            found[position] = identity
            taken.add(identity)
    return found


def new_id(chunks: Set[str], generation: int, used: Set[str]) -> str:
    """Return an id for a topic that continues none: ``t`` and eight hex digits of its members and its generation."""
    attempt = 0
    while True:
        digest = hashlib.blake2b(f"{generation}:{attempt}".encode(), digest_size=4)
        for chunk in sorted(chunks):
            digest.update(b"\0" + chunk.encode("utf-8", "surrogatepass"))
        identity = "t" + digest.hexdigest()
        if identity not in used:
            return identity
        attempt += 1
