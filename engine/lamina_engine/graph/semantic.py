"""Chunks whose vectors are alike: each with at most six others above a threshold, exactly.

Candidates are found in one pass over all pairs in packed arithmetic, which proves for most chunks that none is missing
(`lamina_kernels.hdbscan.certified`). Few chunks, and those without a proof, are compared with all others by products of
blocks in single precision, with a margin for their error. Cosines in double precision decide in either way: a cosine of
exactly the threshold is no link, whatever the order of a product's terms was.
"""

from __future__ import annotations

import heapq
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from lamina_engine.arguments import whole_of
from lamina_engine.errors import InvalidArgument
from lamina_engine.executor import InlineExecutor, usable_cpus
from lamina_engine.graph import background
from lamina_engine.graph.log import Draft, LinkCounts, sync, write
from lamina_engine.index.state import ACTIVE
from lamina_kernels.distances import exact_dots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lamina_engine.executor import Executor
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F32, F64

MOST: Final = 6
SEMANTIC: Final = "semantic"
SIMILAR: Final = "similar"
"""Origins: of chunks of all types, and of tasks."""
_RELATIONS: Final = {SEMANTIC: "semantic", SIMILAR: "similar_to"}
_BLOCK: Final = 512
LISTED_ROWS: Final = 16_384
"""From here on one pass over all pairs is quicker than blocks, though it loads Numba."""
_ROUNDING: Final = 4e-6
"""More than a squared distance of unit rows differs from what their cosine, rounded to single precision, says."""


def build(
    memory: Memory,
    *,
    threshold: float | None = None,
    most: int = MOST,
    origin: str = SEMANTIC,
    types: tuple[str, ...] = (),
    executor: Executor | None = None,
) -> LinkCounts:
    """Link chunks whose cosine is strictly above a threshold, each to its nearest ones.

    Without a threshold it is that of the embedding space; see `lamina_engine.graph.background`. O(n² d / 2) for n chunks:
    exact at any n.
    """
    if threshold is not None and (not isinstance(threshold, (int, float)) or not 0.0 <= threshold < 1.0):
        raise InvalidArgument(f"threshold={threshold!r} must be at least 0 and below 1")
    whole_of(most, "most", 1, 1_000)
    view = memory.view()
    rows = _rows_of(view, types)
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    relation = _RELATIONS[origin]
    if threshold is None:
        threshold = background.threshold(view, rows, strict=origin == SIMILAR)
    drafts = [
        Draft(names[i], names[j], relation, min(cosine, 1.0))
        for i, j, cosine in pairs(view, rows, threshold, most, executor=executor)
    ]
    return sync(memory, drafts, origin=origin, relations=[relation], redacted=True)


def link_new(memory: Memory, identities: Sequence[str], types: tuple[str, ...]) -> LinkCounts:
    """Link new tasks to those alike, as `build` does, and nothing else. O(new · tasks)."""
    view = memory.view()
    rows = _rows_of(view, types)
    new = np.flatnonzero(np.isin(rows, view.rows_of_ids(list(identities))))
    if not new.size:
        return LinkCounts()
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    least = background.threshold(view, rows, strict=True)
    found = pairs(view, rows, least, MOST, wanted=new)
    drafts = [Draft(names[i], names[j], _RELATIONS[SIMILAR], min(cosine, 1.0)) for i, j, cosine in found]
    return write(memory, drafts, origin=SIMILAR)


def has_types(view: View, identities: Sequence[str], types: Sequence[str]) -> bool:
    """Return whether any of some chunks has one of these types."""
    rows = view.rows_of_ids(list(identities))
    found = view.categories.gather(view.snapshot, "type", rows[rows >= 0])
    return bool(np.isin(found, [view.categories.code("type", name) for name in types]).any())


def _rows_of(view: View, types: tuple[str, ...]) -> NDArray[np.int64]:
    rows = np.flatnonzero(view.state.status[: view.vector_rows] == ACTIVE)
    if types:
        found = view.categories.gather(view.snapshot, "type", rows)  # first: a name has a code once it was read
        rows = rows[np.isin(found, [view.categories.code("type", name) for name in types])]
    return rows[view.vectors.present(rows)] if len(rows) else rows


def _documents_of(view: View, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for the document of each row; a chunk without a source is one itself."""
    sources, collections = (view.snapshot.values("chunks", name, rows) for name in ("source", "collection"))
    known: dict[object, int] = {}
    keys = ((c, s) if s is not None else i for i, (c, s) in enumerate(zip(collections, sources, strict=True)))
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


Pair: TypeAlias = tuple[int, int, float]
"""Two positions, and their cosine."""


def pairs(
    view: View,
    rows: NDArray[np.int64],
    threshold: float,
    most: int,
    wanted: NDArray[np.int64] | None = None,
    executor: Executor | None = None,
) -> Iterator[Pair]:
    """Yield wanted rows' nearest above a threshold, in the order of their positions; ties by id."""
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    finder = PairFinder(view.vectors.gather(rows), _documents_of(view, rows), names, threshold, most)
    listed: list[Pair] = []
    if wanted is None:
        wanted = np.arange(len(rows))
        if len(rows) >= LISTED_ROWS and not (executor is not None and executor.remote):
            listed, wanted = finder.find_listed(usable_cpus())
    blocks = (wanted[start : start + _BLOCK] for start in range(0, len(wanted), _BLOCK))
    compared = chain.from_iterable((executor or InlineExecutor()).map(finder, blocks))
    yield from heapq.merge(listed, compared, key=itemgetter(0))


class PairFinder:
    """Finder of the nearest of some rows, here or in a worker."""

    def __init__(
        self, vectors: F32, documents: NDArray[np.int64], names: Sequence[str], threshold: float, most: int
    ) -> None:
        # chunks of one document follow each other: that they are alike too says nothing more
        self._vectors, self._documents, self._names = vectors, documents, names
        self._threshold, self._most = threshold, most

    def __call__(self, block: NDArray[np.int64]) -> list[Pair]:
        """Return the pairs of each position of a block, compared with all others."""
        matrix, most, d = self._vectors, self._most, self._vectors.shape[1]
        # a product of d terms is off by at most d u / (1 − d u), u = 2^-24, times the norms, which are 1
        margin = 2.0 * d * 2.0**-24 + 1e-6
        products = matrix[block] @ matrix.T
        products[self._documents[block][:, None] == self._documents] = -2.0
        owners, others = np.nonzero(products > self._threshold - margin)
        bounds = np.searchsorted(owners, np.arange(len(block) + 1))
        result: list[Pair] = []
        for at, i in enumerate(block.tolist()):
            near = others[bounds[at] : bounds[at + 1]]
            if len(near) > most:
                cut = np.partition(products[at, near], len(near) - most)[len(near) - most]
                near = near[products[at, near] >= cut - 2.0 * margin]
            result += self._best(i, near)
        return result

    def find_listed(self, threads: int) -> tuple[list[Pair], NDArray[np.int64]]:
        """Return the pairs that one pass over all pairs proves, and the positions without a proof.

        Of two unit rows the squared distance is 2 − 2 cosine. A row that is not listed is at least ``bound`` away, so
        a list is complete where that is beyond the threshold, or where enough of its rows are nearer.
        """
        rows, squares, bound = _list_nearest(self._vectors, self._most, threads)
        reach = 2.0 - 2.0 * self._threshold + _ROUNDING
        limit = np.minimum(bound * bound - _ROUNDING, reach)
        near = (squares < limit[:, None]) & (self._documents[rows] != self._documents[:, None])
        complete = (limit == reach) | (near.sum(axis=1) >= self._most)
        near[~complete] = False
        found: list[Pair] = []
        for i in np.flatnonzero(near.any(axis=1)).tolist():
            found += self._best(i, rows[i, near[i]])
        return found, np.flatnonzero(~complete)

    def _best(self, i: int, near: NDArray[np.integer]) -> list[Pair]:
        """Return the best pairs of a position with some that are near."""
        if not len(near):
            return []
        cosines = exact_dots(self._vectors[near], self._vectors[i]).tolist()
        best = sorted((-cosine, self._names[j], j) for cosine, j in zip(cosines, near.tolist(), strict=True))
        return [(i, j, -cosine) for cosine, _, j in best[: self._most] if -cosine > np.float32(self._threshold)]


def _list_nearest(vectors: F32, k: int, threads: int) -> tuple[NDArray[np.int32], F64, F64]:
    """Return near rows of each unit row, their squared distances, and the least of all others."""
    from lamina_kernels.hdbscan.certified import list_length, nearest, pack_for_proofs  # few builds are so large
    from lamina_kernels.hdbscan.packed import fastest
    from lamina_kernels.layouts import Points
    from lamina_kernels.threads import ThreadTeam

    n, d = vectors.shape
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    values = np.pad(vectors, ((0, 0), (0, -d % 8)))  # they are measured eight numbers at a time
    points, team, k = Points(values.reshape(-1), 1.0 / lengths, values.shape[1]), ThreadTeam(threads), min(k, n - 1)
    packed = pack_for_proofs(points, k, fastest(), team, centred=False)
    found = nearest(points, packed, k, list_length(packed.arithmetic, k, n), team)
    return found.rows, found.distances**2, found.bound
