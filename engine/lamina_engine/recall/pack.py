"""Token counts, and the cut to k hits or a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine import after_fork
from lamina_kernels.layouts import I32, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View

_CHARS_PER_TOKEN: Final = 4
_WIDE: Final = 0x2E80
"""From here on (CJK and beyond) a character counts as a token of its own."""
_UNKNOWN: Final = -1
_SPARE: Final = 8
"""Room for an eighth more rows is left where the counts are copied to grow."""
_lock = after_fork.make_lock()


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


def count_row_tokens(view: View, rows: I64) -> I32:
    """Return int32 (n,): tokens of the text of some rows; see `lamina_engine.recall.pack.count_tokens`."""
    counts = _counts_of(view)
    found = counts[rows]
    unknown = np.unique(rows[found == _UNKNOWN])
    if unknown.size:
        # two threads may count the same row, and write the same number
        counts[unknown] = [count_tokens(str(text)) for text in view.snapshot.values("chunks", "text", unknown)]
        found = counts[rows]
    return found


def _counts_of(view: View) -> I32:
    """Return the counts of all rows as far as they are known; the array grows with the log."""
    rows = view.snapshot.rows("chunks")
    counts: I32 | None = view.tables.peek_cached("token counts")
    if counts is None or len(counts) < rows:
        with _lock:
            counts = view.tables.peek_cached("token counts")
            if counts is None or len(counts) < rows:
                longer = np.full(rows + rows // _SPARE, _UNKNOWN, np.int32)
                if counts is not None:
                    longer[: len(counts)] = counts
                counts = view.tables.put_cached("token counts", longer)
    return counts
