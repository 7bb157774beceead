"""Byte-pair encoding by its definition: join the best pair, look again."""

from __future__ import annotations

from itertools import pairwise


def join(tokens: list[int], merges: dict[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Return the tokens that a word becomes; ``merges`` gives rank and joined token of a pair."""
    while True:
        found = [(merges[pair][0], i) for i, pair in enumerate(pairwise(tokens)) if pair in merges]
        if not found:
            return tokens
        _, i = min(found)
        tokens = [*tokens[:i], merges[tokens[i], tokens[i + 1]][1], *tokens[i + 2 :]]
