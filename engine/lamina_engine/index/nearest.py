"""Nearest rows: exact scores of proposed rows, an exact scan of unindexed ones.

Whether a recall asks the index or scans is decided here, so that neither a narrow filter nor a moment long past is
answered by too few rows.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np

from lamina_engine.index.vectors import F32, Mask, Nearest, Rows, VectorBlocks, check_request, have_vectors, scan

CANDIDATES: Final = 200
"""Rows taken from the quantised scan before exact scoring: recall@10 >= 0.99 at a million rows."""
NARROW_ROWS: Final = 6_000
NARROW_SHARE: Final = 0.02
"""Up to NARROW_ROWS + NARROW_SHARE × rows selected rows are scored exactly: that is cheaper than proposals."""
PAST_ROWS: Final = 200_000
"""A moment with at most so many rows is answered exactly, whatever the index has learned since."""

_SPARE_CANDIDATES: Final = 3
"""Times k: rows scored exactly where many are wanted."""
_TIED: Final = 64
"""Rows asked for beside the candidates, so that what ties with the last of them by its codes is among them; they cost nothing."""
_MOST: Final = 8
"""A proposal of an eighth of a million rows takes three times as long as one of 200; of a fiftieth, a quarter more."""


class Candidates(Protocol):
    """An index that proposes rows: it covers rows [0, rows) and may miss some."""

    @property
    def rows(self) -> int:
        """Number of rows covered."""
        ...

    def search(self, query: F32, n: int) -> Nearest:
        """Return at most ``n`` rows with the index's own scores, best first."""
        ...


def search(
    blocks: VectorBlocks,
    index: Candidates | None,
    query: F32,
    k: int,
    *,
    n_rows: int | None = None,
    live: Mask | None = None,
    candidates: int = CANDIDATES,
) -> Nearest:
    """Return the k nearest rows: index proposals rescored exactly, and a scan of the tail.

    Parameters
    ----------
    blocks : VectorBlocks
        The vectors.
    index : Candidates, optional
        Without one every row is scanned. It may end before the log (the tail is scanned) or after ``n_rows``.
    query : float32 (d,)
        Finite; all zero gives no rows.
    k : int
        Number of rows wanted; > 0.
    n_rows : int, optional
        Only rows below this watermark; all unless given.
    live : bool or uint8 (>= n_rows,), optional
        Nonzero where a row may be returned. Narrow filters (`NARROW_ROWS`, `NARROW_SHARE`) are scanned exactly,
        wide ones over-fetch until as many selected rows are scored as without a filter.
    candidates : int
        Rows scored exactly; raised to `_SPARE_CANDIDATES` times k (decision 0004).

    Raises
    ------
    InvalidArgument
        A query that does not fit, ``k`` < 1, a watermark outside the log, a mask that ends before it.

    Notes
    -----
    At a past watermark up to `PAST_ROWS` the answer is exact. Beyond, the codebook may have been trained after that
    moment: the same rows compete with the same scores, but a row that the older index missed may be found, or the
    reverse.
    """
    vector, _, stop = check_request(blocks, query, k, 0, n_rows, live)
    if not vector.any():
        return Nearest.nothing()
    selected = stop if live is None else int(np.count_nonzero(live[:stop]))
    if index is None or _exact_is_better(selected, stop, index.rows):
        return scan(blocks, vector, k, stop=stop, mask=live)
    covered = min(index.rows, stop)
    head = _proposed(blocks, index, vector, k, covered, live, max(candidates, _SPARE_CANDIDATES * k))
    if head is None:
        return scan(blocks, vector, k, stop=stop, mask=live)
    if covered == stop:
        return Nearest(head.rows[:k], head.scores[:k])
    # of the tail only what can be among the k best of both is scored
    floor = float(head.scores[k - 1]) if len(head.rows) >= k else None
    tail = scan(blocks, vector, k, start=covered, stop=stop, mask=live, floor=floor)
    return Nearest.best(np.concatenate([head.rows, tail.rows]), np.concatenate([head.scores, tail.scores]), k)


def _exact_is_better(selected: int, stop: int, indexed: int) -> bool:
    # a moment long past leaves few of the indexed rows, just as a narrow filter does
    narrow = selected <= NARROW_ROWS + NARROW_SHARE * max(stop, indexed)
    return narrow or (stop < indexed and stop <= PAST_ROWS)


def _proposed(
    blocks: VectorBlocks, index: Candidates, query: F32, k: int, covered: int, live: Mask | None, wanted: int
) -> Nearest | None:
    """Score the index's proposals among selected rows; None if it takes too many.

    As many selected rows are scored as without a filter, so that recall does not depend on the filter.
    """
    selected = covered if live is None else int(np.count_nonzero(live[:covered]))
    share = selected / index.rows
    while selected:
        fetch = min(wanted if share == 1.0 else math.ceil(1.25 * wanted / share), index.rows)
        if fetch > max(index.rows // _MOST, CANDIDATES):
            return None
        rows, promises = index.search(query, min(fetch + _TIED, index.rows))
        # a row with the codes of another promises the same, and which of them the index names is left to chance
        end = int(np.searchsorted(-promises, -promises[fetch - 1], side="right"))
        fits = rows[:end] < covered
        if live is not None:
            fits &= live[np.minimum(rows[:end], covered - 1)] != 0
        best, promise = _scored(blocks, rows[:end][fits], promises[:end][fits], query)
        # copies of one vector promise the same: where so many tie with a hit, the newest copy may be missing
        whole = end < len(promises) or len(promises) == index.rows
        settled = whole or (len(promise) >= k and promise[:k].min() > promises[-1])
        if settled and len(best.rows) >= max(k, wanted // 2):
            return best
        if fetch == index.rows:
            return None
        wanted *= 2
    return Nearest.nothing()


def _scored(blocks: VectorBlocks, rows: Rows, promises: F32, query: F32) -> tuple[Nearest, F32]:
    """Return rows that have a vector by exact score, and beside them what the index promised."""
    scores = blocks.dots(rows, query)
    keep = np.flatnonzero(have_vectors(blocks, rows, scores))
    order = keep[np.lexsort((-rows[keep], -scores[keep]))]
    return Nearest(rows[order], scores[order]), promises[order]
