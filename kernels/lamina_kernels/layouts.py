"""Array types by short names, and the NamedTuples of arrays that cross kernels.

A NamedTuple passes into compiled code as it is; all arrays are C-contiguous and may be read-only.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
U8: TypeAlias = NDArray[np.uint8]
U16: TypeAlias = NDArray[np.uint16]
U32: TypeAlias = NDArray[np.uint32]
BOOL: TypeAlias = NDArray[np.bool_]

Score = TypeVar("Score", np.float32, np.float64)


class TopK(NamedTuple, Generic[Score]):
    """The best rows, best first; equal scores stand in ascending row order.

    Attributes
    ----------
    rows : int64 (k,)
    scores : float32 or float64 (k,)
    """

    rows: I64
    scores: NDArray[Score]


class RowScores(NamedTuple):
    """Distinct rows in ascending order, each with its score.

    Attributes
    ----------
    rows : int64 (n,)
    scores : float64 (n,)
    """

    rows: I64
    scores: F64


class TermRows(NamedTuple):
    """Forward lists: for each row its distinct term hashes, with a count per zone.

    Attributes
    ----------
    indptr : int64 (n + 1,)
        Row ``i`` owns entries ``indptr[i]`` to ``indptr[i + 1]``.
    hashes : uint32 (nnz,)
        Ascending and distinct within a row.
    body, header, context : uint8 (nnz,)
        How often the term stands in each zone of the row.
    lengths : uint16 (n, 3)
        Terms in body, header and context, repeats counted.
    """

    indptr: I64
    hashes: U32
    body: U8
    header: U8
    context: U8
    lengths: U16
