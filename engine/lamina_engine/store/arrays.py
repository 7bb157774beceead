"""Rows on their way into a segment: Python and NumPy values as the Arrow columns that a log's schema names."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import schema

_SHORT = 64
"""Characters of a category's value up to which its column of one row is remembered."""


def batch_of(log: str, layout: pa.Schema, values: dict[str, Any], stamps: NDArray[np.int64]) -> pa.RecordBatch:
    """Return rows of a log as a batch.

    Parameters
    ----------
    log : str
        Name of the log.
    layout : Schema
        Its schema.
    values : dict
        Every column but recorded_at: Python lists, NumPy arrays or Arrow arrays of one length.
    stamps : int64 (n,)
        recorded_at.
    """
    one = len(stamps) == 1 and log in schema.LOGS
    columns = [
        pa.array(stamps)
        if name == "recorded_at"
        else _single(log, name, kind, values[name])
        if one
        else _array(values[name], kind)
        for name, kind in _columns(layout)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=layout)


@functools.lru_cache(64)
def _columns(layout: pa.Schema) -> tuple[tuple[str, pa.DataType], ...]:
    return tuple((field.name, field.type) for field in layout)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    return pa.array(values, kind)


def _single(log: str, name: str, kind: pa.DataType, values: Any) -> pa.Array:
    """Return a column of one row: most say what the same column of the row before said, and an array may serve twice."""
    if isinstance(values, list):
        value = values[0]
        if value is None or (isinstance(value, int) and value == -1):
            return _remembered(log, name, value)
        if isinstance(value, list) and not value:
            return _remembered(log, name, ())
        if isinstance(value, str) and len(value) <= _SHORT and pa.types.is_dictionary(kind):
            return _remembered(log, name, value)
    return _array(values, kind)


@functools.lru_cache(512)
def _remembered(log: str, name: str, value: Any) -> pa.Array:
    return pa.array([value], schema.log_schema(log).field(name).type)
