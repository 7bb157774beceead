"""How many tokens the chunks of some rows have: counted once for each row, as long as its vault is open."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from lamina_engine import after_fork
from lamina_engine.recall.pack import count_tokens
from lamina_kernels.layouts import I32, I64

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View

_UNKNOWN = -1
_SPARE = 8
"""Room for an eighth more rows is left where the counts are copied to grow."""

_lock = after_fork.make_lock()
_counts: weakref.WeakKeyDictionary[Tables, I32] = weakref.WeakKeyDictionary()


def token_counts(view: View, rows: I64) -> I32:
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
    counts, rows = _counts.get(view.tables), view.snapshot.rows("chunks")
    if counts is None or len(counts) < rows:
        with _lock:
            counts = _counts.get(view.tables)
            if counts is None or len(counts) < rows:
                longer = np.full(rows + rows // _SPARE, _UNKNOWN, np.int32)
                if counts is not None:
                    longer[: len(counts)] = counts
                counts = _counts[view.tables] = longer
    return counts
