from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamina_engine import schema
from lamina_engine.store.arrays import batch_of

SAMPLES: tuple[dict[str, Any], ...] = (
    {"kind": "pin", "chunk": "a", "row": 7, "reason": None, "detail": None},
    {"kind": "pin", "chunk": None, "row": -1, "reason": "why", "detail": "{}"},
    {"kind": "x" * 100, "chunk": "", "row": 0, "reason": "", "detail": None},
)


@pytest.mark.parametrize("row", SAMPLES)
def test_one_row_is_what_many_rows_give(row: dict[str, Any]) -> None:
    layout = schema.log_schema("events")
    stamps = np.arange(2, dtype=np.int64)
    ref = batch_of("events", layout, {name: [value, value] for name, value in row.items()}, stamps).slice(0, 1)
    for _ in range(2):  # the second time from memory
        got = batch_of("events", layout, {name: [value] for name, value in row.items()}, stamps[:1])
        assert got.schema.equals(layout)
        assert got.to_pylist() == ref.to_pylist() == [{"recorded_at": 0, **row}]


def test_arrays_are_taken_as_they_are_and_cast_where_they_differ() -> None:
    layout = schema.log_schema("vectors.default", 2)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0], pa.float32()), 2)
    got = batch_of("vectors.default", layout, {"vector": vectors}, np.zeros(1, np.int64))
    assert got.column("vector").to_pylist() == [[1.0, 2.0]]
    events = {
        "kind": ["pin"],
        "chunk": pa.array(["a"], pa.large_string()),
        "row": np.array([3]),
        "reason": [None],
        "detail": [None],
    }
    assert (
        batch_of("events", schema.log_schema("events"), events, np.zeros(1, np.int64)).column("chunk").type
        == pa.string()
    )
