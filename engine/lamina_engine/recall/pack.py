"""The cut: k hits, or as many as fit a budget of tokens counted on the text that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

_CHARS_PER_TOKEN: Final = 4
_WIDE: Final = 0x2E80
"""From here on (CJK and beyond) a character counts as a token of its own."""


def count_tokens(text: str) -> int:
    """Estimate how many tokens a language model sees in a text, offline and without a model's own tokenizer.

    One for every four characters of alphabetic scripts, rounded up, and one for every character of CJK and later blocks.
    English prose is over-counted by about a tenth by this, so a budget is kept.
    """
    if text.isascii():
        return -(-len(text) // _CHARS_PER_TOKEN)
    wide = sum(ord(char) >= _WIDE for char in text)
    return -(-(len(text) - wide) // _CHARS_PER_TOKEN) + wide


def pack(rows: Sequence[int], k: int, budget: int | None, text_of: Callable[[int], str]) -> list[int]:
    """Return the positions that are kept: in order, at most ``k``, skipping what does not fit the rest of the budget.

    Parameters
    ----------
    rows : sequence of int
        Ranked rows.
    k : int
        Most hits.
    budget : int, optional
        Tokens; no text is cut to fit.
    text_of : callable
        Gives the text that is shown for a row.
    """
    if budget is None:
        return list(range(min(k, len(rows))))
    kept: list[int] = []
    for position, row in enumerate(rows):
        if len(kept) == k or budget <= 0:
            break
        tokens = count_tokens(text_of(row))
        if tokens <= budget:
            kept.append(position)
            budget -= tokens
    return kept
