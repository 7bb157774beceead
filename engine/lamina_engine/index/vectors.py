"""Vectors of one log: unit rows in mapped segments, and exact nearest rows.

Row i of the log is the vector of chunk row i; an all-zero row has no vector and is never returned. Every score that
leaves this module is exact: products summed in float64 and rounded once to float32, so it depends on the row and the
query alone, not on segments, batches, threads or the index that found the row. Order: score, then the higher row.
`search` decides whether an index proposes rows or all are scanned: neither a narrow filter nor a moment long past is
answered by too few rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lamina_engine.columns import split_rows
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.helper import Helper
from lamina_kernels.distances import (
    Located,
    best_proposals,
    exact_dots,
    fill_exact_dots,
    gather_dots,
    gather_exact_dots,
    pairwise_plan,
    row_dots,
)

F32: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_] | NDArray[np.uint8]

_SLICE: Final = 65_536
"""Rows of one product over a contiguous range."""
_GATHER: Final = 512
"""Rows gathered at once: 512 KiB at 256 dimensions stays in the second-level cache (14 against 23 ms at 50k rows)."""
_DENSE: Final = 4
"""Reading every row of a range is cheaper than gathering where at least one in four is wanted."""


class Nearest(NamedTuple):
    """Rows with their exact scores, best first; equal scores: the higher row first.

    rows : int64 (k,);  scores : float32 (k,)
    """

    rows: Rows
    scores: F32

    @classmethod
    def best(cls, rows: Rows, scores: F32, k: int) -> Nearest:
        """Return the k best of some rows with exact scores."""
        order = _rank(rows, scores)[:k]
        return cls(rows[order], scores[order])

    @classmethod
    def nothing(cls) -> Nearest:
        """Return no rows."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))


class VectorBlocks:
    """The vectors of one log as one matrix in row order, over segments that stay where they are.

    Immutable; safe to share between threads.

    Parameters
    ----------
    arrays : sequence of float32 (n_i, d), C-contiguous
        The segments, in row order. Only views are kept.
    dim : int
        Dimension d; > 0.

    Raises
    ------
    InvalidArgument
        An array of another shape, type or layout.
    """

    __slots__ = ("arrays", "dim", "located")

    def __init__(self, arrays: Sequence[F32], dim: int) -> None:
        if dim < 1:
            raise InvalidArgument(f"vectors need at least one dimension, not {dim}")
        for position, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != dim or array.dtype != np.float32 or not array.flags.c_contiguous:
                raise InvalidArgument(
                    f"segment {position} is {array.dtype} {array.shape}; expected contiguous float32 (n, {dim})"
                )
        self.dim = dim
        self.arrays: tuple[F32, ...] = tuple(_read_only(array) for array in arrays if len(array))
        self.located = Located.of(self.arrays)
        """Where the rows lie, for kernels."""

    def continued(self, kept: int, arrays: Sequence[F32]) -> VectorBlocks:
        """Return the first blocks, and others behind them; none of ``kept`` was empty."""
        if kept == len(self.arrays) and not arrays:
            return self
        found = VectorBlocks(arrays, self.dim)
        if kept:
            before, behind = self.located, found.located
            addresses = np.concatenate([before.addresses[:kept], behind.addresses])
            starts = np.concatenate([before.starts[:kept], behind.starts + before.starts[kept]])
            addresses.flags.writeable = starts.flags.writeable = False
            found.arrays, found.located = (*self.arrays[:kept], *found.arrays), Located(addresses, starts)
        return found

    @property
    def starts(self) -> Rows:
        """First row of each array, and one past the last."""
        return self.located.starts

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    def gather(self, rows: Rows) -> F32:
        """Return float32 (m, d): the vectors of some rows, in their order.

        Raises
        ------
        InvalidArgument
            A row outside [0, rows).
        """
        out = np.empty((len(rows), self.dim), np.float32)
        for array, places, offsets in self._groups(rows):
            if isinstance(places, slice):
                # "clip" lets NumPy write in place; the offsets are known to lie inside
                array.take(offsets, axis=0, out=out[places], mode="clip")
            else:
                out[places] = array.take(offsets, axis=0)
        return out

    def dots(self, rows: Rows, query: F32) -> F32:
        """Return float32 (m,): the exact products of some rows with a query, in their order.

        Raises
        ------
        InvalidArgument
            A row outside [0, rows), or a query of another shape.

        Notes
        -----
        Each value is one float64 sum over its own row: equal for any batch, order or segmentation. O(m d).
        """
        return self.dots_of(rows, as_query(query, self.dim))

    def dots_of(self, rows: Rows, vector: F32) -> F32:
        """Return `dots` with a query that `as_query` has given."""
        out = np.empty(len(rows), np.float32)
        if gather_exact_dots.ready:
            if len(rows):
                rows = np.ascontiguousarray(rows, np.int64)
                self._check_rows(rows)
                gather_exact_dots(*self.located, rows, vector.astype(np.float64), pairwise_plan(self.dim), out)
            return out
        for start in range(0, len(rows), _GATHER):
            some = slice(start, start + _GATHER)
            out[some] = exact_dots(self.gather(rows[some]), vector)
        return out

    def fill_dots(self, rows: Rows, query: F32, out: NDArray[np.float64]) -> None:
        """Replace each NaN in float64 (m,) by what `dots` gives for its row, which exists."""
        if fill_exact_dots.ready and self.arrays:
            vector = as_query(query, self.dim).astype(np.float64)
            fill_exact_dots(*self.located, rows, vector, pairwise_plan(self.dim), out)
        elif len(unknown := np.isnan(out).nonzero()[0]):
            out[unknown] = self.dots(rows[unknown], query)

    def scan(
        self,
        query: F32,
        k: int,
        *,
        start: int = 0,
        stop: int | None = None,
        mask: Mask | None = None,
        floor: float | None = None,
    ) -> Nearest:
        """Return the k nearest of rows [start, stop), exactly.

        Parameters
        ----------
        query : float32 (d,)
            Finite. One that is all zero is near to nothing.
        k : int
            Number of rows wanted; > 0.
        start, stop : int
            Range of rows; all unless given.
        mask : bool or uint8 (>= stop,), optional
            Nonzero where a row may be returned, indexed by row.
        floor : float, optional
            A score that k rows elsewhere reach: rows that score less may be left out.

        Raises
        ------
        InvalidArgument
            A query that does not fit, ``k`` < 1, a range outside the log, or a mask that ends before ``stop``.

        Notes
        -----
        Single-precision products find the finalists, exact ones rank them. A product of d terms computed in any order is
        off by at most gamma = d u / (1 - d u), u = 2^-24, times the norms; the k best by value are therefore among the rows
        whose single-precision product is within 2 gamma of the k-th largest. O(n d).

        References
        ----------
        .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
        """
        vector, begin, end = check_request(self, query, k, start, stop, mask)
        if not vector.any():
            return Nearest.nothing()
        if mask is None:
            finalists = _finalists_of_one(self, begin, end, vector, k, floor or 0.0)
        else:
            finalists = _finalists_of_few(self, begin, end, vector, k, mask)
        if finalists is None:
            finalists = _finalists(self, _pieces(self, begin, end, mask), vector, k)
        return Nearest.best(finalists, self.dots_of(finalists, vector), k)

    def present(self, rows: Rows) -> NDArray[np.bool_]:
        """Return bool (m,): False where a row is all zero, that is, has no vector."""
        out = np.empty(len(rows), np.bool_)
        for start in range(0, len(rows), _GATHER):
            part = slice(start, start + _GATHER)
            out[part] = self.gather(rows[part]).any(axis=1)
        return out

    def slices(self, start: int, stop: int, length: int = _SLICE) -> Iterator[tuple[int, F32]]:
        """Yield ``(first row, float32 (m, d) view)`` over rows [start, stop), in slices."""
        for first, array in zip(self.starts.tolist(), self.arrays, strict=False):
            for begin in range(max(start - first, 0), min(stop - first, len(array)), length):
                yield first + begin, array[begin : min(begin + length, stop - first)]

    def _check_rows(self, rows: Rows) -> None:
        if rows.view(np.uint64).max() >= self.rows:  # one below 0 is a large one there
            raise InvalidArgument(f"rows {rows.min()} to {rows.max()} asked of a log with rows 0 to {self.rows - 1}")

    def _groups(self, rows: Rows) -> list[tuple[F32, slice | Rows, Rows]]:
        """Return each segment's array with some of the rows, their places and their offsets there."""
        if len(rows):
            self._check_rows(rows)
        parts = split_rows(rows, self.starts[:-1]) if self.arrays else []
        return [(self.arrays[number], places, offsets) for number, places, offsets in parts]


def as_query(query: F32, dim: int) -> F32:
    """Return a query as contiguous float32 (dim,).

    Raises
    ------
    InvalidArgument
        Another dimension, or a value that is not finite.
    """
    vector = np.ascontiguousarray(query, np.float32)
    if vector.shape == (dim,) and math.isfinite(vector.dot(vector)):  # as a rule, and the squares of few overflow
        return vector
    if vector.shape != (dim,):
        raise InvalidArgument(
            f"the query has shape {vector.shape}, the vectors of this log have {dim} dimensions; "
            "embed it with the model that made them"
        )
    if not np.isfinite(vector).all():
        raise InvalidArgument("the query vector has values that are not finite (NaN or infinity)")
    return vector


def check_request(
    blocks: VectorBlocks, query: F32, k: int, start: int, stop: int | None, mask: Mask | None
) -> tuple[F32, int, int]:
    """Return a query as contiguous float32 (d,) and the range of rows meant.

    Raises
    ------
    InvalidArgument
        A query that does not fit, ``k`` < 1, a range outside the log, or a mask that ends before it does.
    """
    vector = as_query(query, blocks.dim)
    if k < 1:
        raise InvalidArgument(f"k is {k}; ask for at least one row")
    end = blocks.rows if stop is None else stop
    if not 0 <= start <= end <= blocks.rows:
        raise InvalidArgument(f"rows {start} to {end} asked of a log with {blocks.rows} rows")
    if mask is not None and len(mask) < end:
        raise InvalidArgument(f"the row mask has {len(mask)} entries, the rows end at {end}")
    return vector, start, end


def _rank(rows: Rows, scores: F32) -> Rows:
    """Return the positions of distinct rows, best first; equal scores: the higher row."""
    # bits of floats are in the order of the floats, but for a sign, so one sort of whole numbers does it
    bits = (scores + np.float32(0.0)).view(np.int32).astype(np.int64)  # and no zero has a sign
    bits ^= (bits >> 32) & 0x7FFF_FFFF
    return np.argsort((bits << 32) | rows)[::-1]


def have_vectors(blocks: VectorBlocks, rows: Rows, scores: F32) -> NDArray[np.bool_]:
    """Return True for rows with a vector, as one orthogonal to the query scores 0, too."""
    have: NDArray[np.bool_] = scores != 0.0
    doubtful = np.flatnonzero(~have)
    have[doubtful] = blocks.present(rows[doubtful])
    return have


class _Piece(NamedTuple):
    """Some rows of one segment: ``offsets`` into ``array``, ascending; row = start + offset."""

    start: int
    array: F32
    offsets: Rows

    def products(self, query: F32) -> F32:
        """Return float32 (m,) single-precision products, by whichever way reads least."""
        low, high = int(self.offsets[0]), int(self.offsets[-1]) + 1
        if high - low <= _DENSE * len(self.offsets):
            products = _products(self.array[low:high], query)
            return products if high - low == len(self.offsets) else products[self.offsets - low]
        if gather_dots.ready:  # half the time of a copy; never worth loading Numba for one query
            products = np.empty(len(self.offsets), np.float32)
            gather_dots(self.array, self.offsets, query, products)
            return products
        return _products(self.array[self.offsets], query)


def _products(matrix: F32, query: F32) -> F32:
    """Return float32 (m,) single-precision products of every row, on this thread alone.

    Not ``matrix @ query``: one core takes nearly all of the memory's bandwidth, and where the other is busy, as beside
    a lexical search, waiting for the threads of BLAS made the same scan five times slower.
    """
    if row_dots.ready:
        products = np.empty(len(matrix), np.float32)
        row_dots(matrix, query, products)
        return products
    found: F32 = np.vecdot(matrix, query)
    return found


def _pieces(blocks: VectorBlocks, start: int, stop: int, mask: Mask | None) -> Iterator[_Piece]:
    for first, array in blocks.slices(start, stop):
        if mask is None:
            yield _Piece(first, array, np.arange(len(array)))
            continue
        offsets = np.flatnonzero(mask[first : first + len(array)])
        sparse = len(array) > _DENSE * len(offsets)
        for begin in range(0, len(offsets), _GATHER if sparse else _SLICE):
            yield _Piece(first, array, offsets[begin : begin + (_GATHER if sparse else _SLICE)])


def _finalists_of_one(blocks: VectorBlocks, start: int, stop: int, query: F32, k: int, least: float) -> Rows | None:
    """Return `_finalists` for few rows of one segment, in a few calls; None if undecided.

    ``least`` is a score that k rows elsewhere reach, 0 for none.
    """
    if not 0 < stop - start <= _SLICE or not (k < stop - start or least > 0.0):
        return None
    segment = int(np.searchsorted(blocks.starts, start, side="right")) - 1
    first = int(blocks.starts[segment])
    if stop > int(blocks.starts[segment + 1]):
        return None
    products = _products(blocks.arrays[segment][start - first : stop - first], query)
    margin = _margin(query)
    floor = np.float32(least - margin)
    if not least > 0.0 or np.count_nonzero(products >= floor) > k:
        floor = max(floor, _floor(products, k, margin))
    # above 0 there are only rows that have a vector
    return np.flatnonzero(products >= floor) + start if floor > 0 else None


def _finalists_of_few(blocks: VectorBlocks, start: int, stop: int, query: F32, k: int, mask: Mask) -> Rows | None:
    """Return `_finalists` for few rows of a mask, in a few calls; None if undecided."""
    rows = start + np.flatnonzero(mask[start:stop])
    if not gather_dots.ready or not k < len(rows) <= _SLICE:
        return None
    products = np.empty(len(rows), np.float32)
    for number, places, offsets in split_rows(rows, blocks.starts[:-1]):  # ascending, so places are slices
        gather_dots(blocks.arrays[number], offsets, query, products[places])
    floor = _floor(products, k, _margin(query))
    # above 0 there are only rows that have a vector
    return rows[products >= floor] if floor > 0 else None


def _margin(query: F32) -> float:
    """Return the largest gap of single-precision products whose exact order is the opposite."""
    # 1.01: unit rows are unit up to rounding; 16: the roundings of the bound, of the exact score and of the comparison
    return 2 * 1.01 * (len(query) + 16) * 2.0**-24 * float(np.linalg.norm(query.astype(np.float64)))


def _finalists(blocks: VectorBlocks, pieces: Iterator[_Piece], query: F32, k: int) -> Rows:
    """Return the rows that may be among the k best, by float32 products and error bound."""
    margin = _margin(query)
    floor = np.float32(-np.inf)
    rows, near = np.empty(0, np.int64), np.empty(0, np.float32)
    for piece in pieces:
        products = piece.products(query)
        if floor <= 0:  # rows without a vector score 0: until the floor is above, they must not set it
            floor = max(floor, _floor(products[products != 0], k, margin))
        keep = np.flatnonzero(products >= floor)
        keep = keep[have_vectors(blocks, piece.start + piece.offsets[keep], products[keep])]
        rows = np.concatenate([rows, piece.start + piece.offsets[keep]])
        near = np.concatenate([near, products[keep]])
        floor = max(floor, _floor(near, k, margin))
        rows, near = rows[near >= floor], near[near >= floor]
    return rows


def _floor(products: F32, k: int, margin: float) -> np.float32:
    """Return the least product that may be among the k best; -inf with fewer than k."""
    if len(products) < k:
        return np.float32(-np.inf)
    kth = np.partition(products, len(products) - k)[len(products) - k]
    return np.float32(float(kth) - margin)


def _read_only(array: F32) -> F32:
    view = array.view()
    view.flags.writeable = False
    return view


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
_SHORT_TAIL: Final = 1_024
"""A tail of so few rows is scored with the proposals: fewer steps than a scan of its own."""
_MOST: Final = 8
"""A proposal of an eighth of a million rows takes three times as long as one of 200; of a fiftieth, a quarter more."""


class Candidates(Protocol):
    """An index that proposes rows: it covers rows [0, rows) and may miss some."""

    @property
    def rows(self) -> int:
        """Number of rows covered."""
        ...

    def search(self, query: F32, n: int, helper: Helper | None = None) -> Nearest:
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
    helper: Helper | None = None,
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
    helper : Helper, optional
        Searches the index too, where that has many rows.

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
    if not np.count_nonzero(vector):
        return Nearest.nothing()
    selected = stop if live is None else int(np.count_nonzero(live[:stop]))
    if index is None or _exact_is_better(selected, stop, index.rows):
        return blocks.scan(vector, k, stop=stop, mask=live)
    wanted = max(candidates, _SPARE_CANDIDATES * k)
    is_plain = live is None and index.rows <= stop <= index.rows + _SHORT_TAIL and wanted <= _most_fetched(index)
    first = None
    if is_plain and best_proposals.ready and blocks.arrays:  # without arrays of their own, rows lie in shards
        first = index.search(vector, _with_ties(index, min(wanted, index.rows)), helper)
        found = _best_of_all(blocks, index.rows, stop, first, vector, k, min(wanted, index.rows))
        if found is not None:
            return found
    covered = min(index.rows, stop)
    tail = np.arange(covered, stop)
    is_short = len(tail) <= _SHORT_TAIL
    if live is not None and is_short:
        tail = tail[live[covered:stop] != 0]
    beside = tail if is_short else tail[:0]
    head = _proposed(blocks, index, vector, k, covered, live, wanted, beside, first, helper)
    if head is None:
        return blocks.scan(vector, k, stop=stop, mask=live)
    if is_short:
        return Nearest(head.rows[:k], head.scores[:k])
    # of the tail only what can be among the k best of both is scored
    floor = float(head.scores[k - 1]) if len(head.rows) >= k else None
    rest = blocks.scan(vector, k, start=covered, stop=stop, mask=live, floor=floor)
    return Nearest.best(np.concatenate([head.rows, rest.rows]), np.concatenate([head.scores, rest.scores]), k)


def _exact_is_better(selected: int, stop: int, indexed: int) -> bool:
    # a moment long past leaves few of the indexed rows, just as a narrow filter does
    narrow = selected <= NARROW_ROWS + NARROW_SHARE * max(stop, indexed)
    return narrow or (stop < indexed and stop <= PAST_ROWS)


def _most_fetched(index: Candidates) -> int:
    return max(index.rows // _MOST, CANDIDATES)


def _fetched(index: Candidates, wanted: int, share: float) -> int:
    """Return how many proposals hold so many rows of a share of them all."""
    return min(wanted if share == 1.0 else math.ceil(1.25 * wanted / share), index.rows)


def _with_ties(index: Candidates, fetch: int) -> int:
    return min(fetch + _TIED, index.rows)


def _best_of_all(
    blocks: VectorBlocks, covered: int, stop: int, proposed: Nearest, query: F32, k: int, fetch: int
) -> Nearest | None:
    """Return the best of the proposals and of all rows behind the index; None if undecided."""
    rows, scores = np.empty(k, np.int64), np.empty(k, np.float32)
    wide, plan = query.astype(np.float64), pairwise_plan(query.size)
    found = best_proposals(*blocks.located, *proposed, fetch, covered, stop, wide, plan, k, rows, scores)
    return Nearest(rows[:found], scores[:found]) if found >= 0 else None


def _proposed(
    blocks: VectorBlocks, index: Candidates, query: F32, k: int, covered: int, live: Mask | None, wanted: int, beside: Rows,
    first: Nearest | None, helper: Helper | None,
) -> Nearest | None:  # fmt: skip
    """Score the index's proposals among selected rows; None if it takes too many.

    Rows ``beside`` them are scored, too; ``first`` are the proposals of the first round, where they are known. As many
    selected rows are scored as without a filter, so that recall does not depend on the filter.
    """
    selected = covered if live is None else int(np.count_nonzero(live[:covered]))
    share = selected / index.rows
    while selected:
        fetch = _fetched(index, wanted, share)
        if fetch > _most_fetched(index):
            return None
        rows, promises = first or index.search(query, _with_ties(index, fetch), helper)
        first = None
        # a row with the codes of another promises the same, and which of them the index names is left to chance
        end = int(np.searchsorted(-promises, -promises[fetch - 1], side="right"))
        # copies of one vector promise the same: where so many tie with a hit, the newest copy may be missing
        whole, last = end < len(promises) or len(promises) == index.rows, promises[-1]
        rows, promises = rows[:end], promises[:end]
        if share < 1.0:
            fits = rows < covered
            if live is not None:
                fits &= live[np.minimum(rows, covered - 1)] != 0
            rows, promises = rows[fits], promises[fits]
        best, promise = _scored(blocks, rows, promises, query, beside)
        found = int(np.count_nonzero(promise < np.inf))
        settled = whole or (found >= k and promise[:k].min() > last)
        if settled and found >= max(k, wanted // 2):
            return best
        if fetch == index.rows:
            return None
        wanted *= 2
    return _scored(blocks, beside[:0], np.empty(0, np.float32), query, beside)[0]


def _scored(blocks: VectorBlocks, rows: Rows, promises: F32, query: F32, beside: Rows) -> tuple[Nearest, F32]:
    """Return rows that have a vector by exact score, and the promises; infinite ``beside`` them."""
    if len(beside):
        rows = np.concatenate([rows, beside])
        promises = np.concatenate([promises, np.full(len(beside), np.inf, np.float32)])
    scores = blocks.dots_of(rows, query)
    if not scores.all():
        keep = np.flatnonzero(have_vectors(blocks, rows, scores))
        rows, scores, promises = rows[keep], scores[keep], promises[keep]
    order = _rank(rows, scores)
    return Nearest(rows[order], scores[order]), promises[order]
