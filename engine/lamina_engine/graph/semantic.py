"""Chunks whose vectors are alike: each with at most ten others above a threshold, exactly.

Products of blocks in single precision find the candidates, with a margin for their error; cosines in double precision
decide. So a cosine of exactly the threshold is no link, whatever the order of a product's terms was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.index.state import ACTIVE
from lamina_kernels.distances import exact_dots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

THRESHOLD: Final = 0.7
SIMILAR: Final = 0.8
"""Threshold for ``similar_to`` between tasks; Lamina's choice, the source system states none."""
MOST: Final = 10
_BLOCK: Final = 512


def build(
    memory: Memory,
    *,
    threshold: float = THRESHOLD,
    most: int = MOST,
    relation: str = "semantic",
    origin: str = "semantic",
    types: tuple[str, ...] = (),
) -> LinkCounts:
    """Link chunks whose cosine is strictly above a threshold, each to its nearest ones.

    O(n² d / block) products for n chunks: exact at any n, meant for up to 100,000.
    """
    if not isinstance(threshold, (int, float)) or not 0.0 <= threshold < 1.0:
        raise InvalidArgument(f"threshold={threshold!r} must be at least 0 and below 1")
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= 1_000:
        raise InvalidArgument(f"most={most!r} must be a whole number from 1 to 1000")
    view = memory.view()
    rows = _rows_of(view, types)
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    drafts = [
        Draft(names[i], names[j], relation, min(cosine, 1.0)) for i, j, cosine in pairs(view, rows, threshold, most)
    ]
    return sync(memory, drafts, origin=origin, relations=[relation], redacted=True)


def _rows_of(view: View, types: tuple[str, ...]) -> NDArray[np.int64]:
    rows = np.flatnonzero(view.state.status[: view.vector_rows] == ACTIVE)
    if types:
        found = view.categories.gather(view.snapshot, "type", rows)  # first: a name has a code once it was read
        rows = rows[np.isin(found, [view.categories.code("type", name) for name in types])]
    return rows[view.vectors.present(rows)] if len(rows) else rows


def pairs(view: View, rows: NDArray[np.int64], threshold: float, most: int) -> Iterator[tuple[int, int, float]]:
    """Yield (i, j, cosine) of each row's nearest above a threshold, as positions; ties by id."""
    matrix = view.vectors.gather(rows)
    n, d = matrix.shape
    names = view.snapshot.values("chunks", "id", rows)
    # a product of d terms is off by at most d u / (1 − d u), u = 2^-24, times the norms, which are 1
    margin = 2.0 * d * 2.0**-24 + 1e-6
    for start in range(0, n, _BLOCK):
        products = matrix[start : start + _BLOCK] @ matrix.T
        block = np.arange(start, min(start + _BLOCK, n))
        products[block - start, block] = -2.0
        owners, others = np.nonzero(products > threshold - margin)
        bounds = np.searchsorted(owners, np.arange(len(block) + 1))
        for i, begin, end in zip(block.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            near = others[begin:end]
            if len(near) > most:
                cut = np.partition(products[i - start, near], len(near) - most)[len(near) - most]
                near = near[products[i - start, near] >= cut - 2.0 * margin]
            if len(near):
                cosines = exact_dots(matrix[near], matrix[i]).tolist()
                best = sorted((-cosine, names[j], j) for cosine, j in zip(cosines, near.tolist(), strict=True))
                yield from ((i, j, -cosine) for cosine, _, j in best[:most] if -cosine > np.float32(threshold))
