"""Slow, obvious decisions about what changed between two states of a folder."""

from __future__ import annotations

from collections.abc import Mapping


def pair_moves(new: Mapping[str, bytes], vanished: Mapping[str, bytes]) -> dict[str, str]:
    """Try every pair, best first: equal file names, then the new path, then the former one."""
    pairs = [
        (target.split("/")[-1] != former.split("/")[-1], target, former)
        for target in new
        for former in vanished
        if new[target] == vanished[former]
    ]
    taken: dict[str, str] = {}
    for _, target, former in sorted(pairs):
        if target not in taken and former not in taken.values():
            taken[target] = former
    return taken
