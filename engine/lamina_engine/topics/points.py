"""Checked vectors: used as they are where possible, else copied."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_kernels.layouts import F32, F64, Points

Metric = Literal["cosine", "euclidean"]

_LANES = 8
"""Rows end in zeros up to a multiple of this: the kernels measure eight numbers at a time."""

_BLOCK = 512
"""Rows widened to float64 at a time: their squares stay in the second cache."""

_UNIT_BLOCK = 8192
"""Rows brought to unit length at a time."""

_SMALLEST, _LARGEST = 1e-18, 1e18
"""Lengths of rows between which float32 can form products; outside, rows are refused."""


def as_points(vectors: NDArray[np.generic], metric: Metric) -> Points:
    """Check vectors and return them as points."""
    if vectors.ndim != 2:
        raise InvalidArgument(
            f"vectors have {vectors.ndim} dimension(s), shape {vectors.shape}; give one row per item, shape (n, d)"
        )
    if vectors.dtype.kind not in "fiub":
        raise InvalidArgument(f"vectors have dtype {vectors.dtype}; give float32 or float16")
    if vectors.shape[1] == 0:
        raise InvalidArgument(f"vectors have shape {vectors.shape}: rows without a number have no distance")
    values = _single(vectors)
    lengths = _lengths(values)
    _refuse(lengths, vectors, metric)
    factors = 1.0 / lengths if metric == "cosine" else np.ones(lengths.size)
    return Points(values.reshape(-1), factors, values.shape[1])


def _single(vectors: NDArray[np.generic]) -> F32:
    """Return float32 rows, contiguous and filled up with zeros."""
    n, d = vectors.shape
    wide = -(-d // _LANES) * _LANES
    with np.errstate(over="ignore"):  # what becomes infinite is refused by its row
        if wide == d:
            return np.ascontiguousarray(vectors, np.float32)
        padded = np.zeros((n, wide), np.float32)
        padded[:, :d] = vectors
    return padded


def _lengths(values: F32) -> F64:
    """Return the length of each row, in float64."""
    lengths = np.empty(len(values))
    squares = np.empty((min(_BLOCK, len(values)), values.shape[1]))
    for start in range(0, len(values), _BLOCK):
        part = values[start : start + _BLOCK]
        held = squares[: len(part)]
        held[...] = part  # widened first: a product that widens takes twice as long
        np.multiply(held, held, out=held)
        np.add.reduce(held, axis=1, out=lengths[start : start + _BLOCK])
    return np.sqrt(lengths, out=lengths)


def _refuse(lengths: F64, vectors: NDArray[np.generic], metric: Metric) -> None:
    bad = np.flatnonzero(~np.isfinite(lengths))
    if bad.size:
        row = vectors[bad[0]].astype(np.float64)
        what = "NaN" if np.isnan(row).any() else "inf" if np.isinf(row).any() else "numbers beyond float32"
        raise InvalidArgument(
            f"row {bad[0]} contains {what} ({bad.size} of {lengths.size} rows do); leave such rows out"
        )
    large = np.flatnonzero(lengths > _LARGEST)
    if large.size:
        raise InvalidArgument(
            f"row {large[0]} has length {lengths[large[0]]:.3g}, allowed is up to {_LARGEST:.0e}; scale the vectors"
        )
    if metric == "cosine":
        small = np.flatnonzero(lengths < _SMALLEST)
        if small.size:
            raise InvalidArgument(
                f"row {small[0]} is zero ({small.size} of {lengths.size} rows are): it has no direction, so no cosine; "
                "leave such rows out or use metric='euclidean'"
            )


def unit_rows(vectors: NDArray[np.floating], out: F32 | None = None) -> F32:
    """Return rows of unit length, float32 (n, d); zero rows stay zero."""
    out = np.empty(vectors.shape, np.float32) if out is None else out
    for start in range(0, len(vectors), _UNIT_BLOCK):
        part = vectors[start : start + _UNIT_BLOCK]
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64, casting="same_kind"))
        lengths[lengths == 0.0] = 1.0
        out[start : start + _UNIT_BLOCK] = part / lengths[:, None]
    return out
