"""Which chunk of a source's new reading is which chunk of the old one: by content first, then by place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

_DIFF_LIMIT = 4_000
"""Sources of more chunks are matched by content and order alone: the diff is quadratic at worst."""


_DIFF_PAIRS = 1 << 20
"""Pairs of equal chunks from which on the same holds: a diff looks at each of them."""


def match(old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """Match two sequences of versions.

    Parameters
    ----------
    old, new : sequence of bytes
        Versions of the chunks of a source, in order.

    Returns
    -------
    list of int
        For each new chunk the position of the old one it continues, -1 for none. No old position is used twice.

    Notes
    -----
    Equal contents in equal order are matched first (a diff), then equal contents that moved within the source, then
    what stands in the same gap between matched neighbours: that is an edit.
    """
    matched = [-1] * len(new)
    free = [True] * len(old)
    if len(old) <= _DIFF_LIMIT and len(new) <= _DIFF_LIMIT and _equal_pairs(old, new) <= _DIFF_PAIRS:
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            for i in range(block.size):
                matched[block.b + i] = block.a + i
                free[block.a + i] = False
    _match_moved(old, new, matched, free)
    _match_gaps(matched, free)
    return matched


def _equal_pairs(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    counts = Counter(old)
    return sum(counts[version] for version in new)


def _match_moved(old: Sequence[bytes], new: Sequence[bytes], matched: list[int], free: list[bool]) -> None:
    places: dict[bytes, list[int]] = defaultdict(list)
    for i in reversed(range(len(old))):
        if free[i]:
            places[old[i]].append(i)
    for j, version in enumerate(new):
        if matched[j] < 0 and places[version]:
            matched[j] = places[version].pop()
            free[matched[j]] = False


def _match_gaps(matched: list[int], free: list[bool]) -> None:
    """Pair what is left between two matched neighbours, first with first."""
    before = -1
    for j, position in enumerate(matched):
        if position >= 0:
            before = position
            continue
        candidate = before + 1
        if candidate < len(free) and free[candidate]:
            matched[j] = before = candidate
            free[candidate] = False
