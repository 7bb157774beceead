"""Token counts, and packing of hits into k places or a token budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
"""The array of counts grows by an eighth beyond the log."""
_lock = after_fork.make_lock()


def count_tokens(text: str) -> int:
    """Estimate a language model's tokens of a text: 1 per 4 characters, 1 per CJK character."""
    # no model's tokenizer is needed; English prose is over-counted by about a tenth, so budgets hold
    if text.isascii():
        return -(-len(text) // _CHARS_PER_TOKEN)
    wide = int(np.count_nonzero(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") >= _WIDE))
    return -(-(len(text) - wide) // _CHARS_PER_TOKEN) + wide


def pack(sizes: Iterable[int], k: int, budget: int | None) -> list[int]:
    """Return at most ``k`` positions in order, skipping sizes that exceed the remaining budget."""
    left = math.inf if budget is None else budget
    kept: list[int] = []
    for position, size in enumerate(sizes):
        if len(kept) >= k or left <= 0:
            break
        if size <= left:
            kept.append(position)
            left -= size
    return kept


def count_row_tokens(view: View, rows: I64) -> I32:
    """Return token counts of some rows' texts, int32 (n,), cached."""
    counts = _counts_of(view)
    found = counts[rows]
    unknown = np.unique(rows[found == _UNKNOWN])
    if unknown.size:
        # two threads may count the same row, and write the same number
        counts[unknown] = [count_tokens(str(text)) for text in view.snapshot.values("chunks", "text", unknown)]
        found = counts[rows]
    return found


def _counts_of(view: View) -> I32:
    """Return the cached counts of all rows, grown to the length of the log."""
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
