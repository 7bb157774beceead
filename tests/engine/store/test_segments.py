""""""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamina_engine import schema
from lamina_engine.errors import VaultCorrupt
from lamina_engine.store import segments
from lamina_engine.store.manifest import SegmentRef
from lamina_engine.store.segments import (
    MERGE_FACTOR,
    SEGMENT_ROWS,
    Segment,
    find_bad_bounds,
    merge_start,
    record_batch,
    size_class,
)
from tests.engine.store.faults import Quick

N = 40


def put(root: Path, batch: pa.RecordBatch) -> SegmentRef:
    files = Quick()
    ref, pending = segments.write_segment(files, root, "things", 100, batch)
    files.fsync_all([pending])
    files.publish_all([pending])
    return ref


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, SegmentRef, pa.RecordBatch]:
    batch = pa.record_batch(
        {
            "recorded_at": pa.array(np.arange(N), pa.int64()),
            "text": pa.array([f"text {i}" for i in range(N)], pa.large_string()),
            "title": pa.array([None if i % 3 else f"title {i}" for i in range(N)], pa.string()),
            "tags": pa.array([[f"tag{i}"] * (i % 3) for i in range(N)], pa.list_(pa.string())),
            "type": pa.array([None if i == 5 else "abc"[i % 3] for i in range(N)]).dictionary_encode(),
        }
    )
    segments.log_folder(tmp_path, "things").mkdir(parents=True)
    return tmp_path, put(tmp_path, batch), batch


def test_round_trip(written: tuple[Path, SegmentRef, pa.RecordBatch]) -> None:
    root, ref, batch = written
    got = Segment(root, "things", ref)
    assert (got.start, got.rows, ref.last_us) == (100, N, N - 1)
    assert got.batch.to_pydict() == batch.to_pydict()
    assert got.column("title").to_pylist() == batch.column("title").to_pylist()
    assert got.check() is None
    assert got.is_intact()


def test_large_and_small_segments_are_the_same_bytes(
    written: tuple[Path, SegmentRef, pa.RecordBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, ref, batch = written
    content = (segments.log_folder(root, "things") / ref.name).read_bytes()
    monkeypatch.setattr(segments, "_LARGE_BYTES", 0)
    assert put(root, batch) == ref
    assert (segments.log_folder(root, "things") / ref.name).read_bytes() == content


def test_a_segment_is_compared_with_its_digest_without_a_copy(written: tuple[Path, SegmentRef, pa.RecordBatch]) -> None:
    root, _, _ = written
    texts = pa.array(["x" * (1 << 22)], pa.large_string())
    ref = put(root, pa.record_batch({"recorded_at": pa.array([0], pa.int64()), "text": texts}))
    got = Segment(root, "things", ref)
    tracemalloc.start()
    try:
        got.require_intact()
        assert tracemalloc.get_traced_memory()[1] < 1 << 18  # a reader's segments of 70 MB were copied one by one
    finally:
        tracemalloc.stop()


def test_a_segment_stays_readable_when_its_file_is_gone(written: tuple[Path, SegmentRef, pa.RecordBatch]) -> None:
    root, ref, batch = written
    got = Segment(root, "things", ref)
    got.path.unlink()
    assert got.batch.to_pydict() == batch.to_pydict()
    with pytest.raises(FileNotFoundError):
        Segment(root, "things", ref)


@pytest.mark.parametrize("size", [0, 1, 100, -8, -1])
def test_a_torn_segment_is_refused_at_once(written: tuple[Path, SegmentRef, pa.RecordBatch], size: int) -> None:
    root, ref, _ = written
    path = segments.log_folder(root, "things") / ref.name
    content = path.read_bytes()
    path.write_bytes(content[:size])
    with pytest.raises(VaultCorrupt, match="lamina verify"):
        Segment(root, "things", ref)


def test_no_flipped_byte_ends_the_process_and_all_are_found(written: tuple[Path, SegmentRef, pa.RecordBatch]) -> None:
    root, ref, _ = written
    path = segments.log_folder(root, "things") / ref.name
    content = bytearray(path.read_bytes())
    refused = 0
    for position in range(0, len(content), 11):
        for bit in (0x80, 0x01):
            content[position] ^= bit
            path.write_bytes(content)
            got = Segment(root, "things", ref)
            try:
                for name in ("text", "title", "tags", "type"):
                    got.column(name).to_pylist()
            except (VaultCorrupt, UnicodeDecodeError, pa.ArrowException, KeyError):
                refused += 1
            assert got.check() is not None
            content[position] ^= bit
    assert refused > 30


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "ccc"], pa.string()),
        pa.array(["a", None, "ccc"], pa.large_string())[1:],
        pa.array([], pa.string()),
        pa.array([["x"], None, []], pa.list_(pa.string())),
        pa.array(["a", None, "a"]).dictionary_encode(),
        pa.array([1, 2, None], pa.int64()),
        pa.array([None, None], pa.string()),
    ],
)
def test_good_columns_are_in_bounds(array: pa.Array) -> None:
    assert find_bad_bounds(array) is None


def test_bad_offsets_and_codes_are_out_of_bounds() -> None:
    data = pa.py_buffer(b"abcdef")
    for offsets in ([0, 9, 2, 6], [0, 4, 2, 6], [0, -5, 2, 6]):
        bad = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(np.array(offsets, np.int32)), data])
        assert "offsets" in str(find_bad_bounds(bad))
    for codes in ([0, 2], [-1, 0]):
        indices = pa.array(codes, pa.int32())
        bad = pa.DictionaryArray.from_arrays(indices, pa.array(["x", "y"]), safe=False)
        assert "codes" in str(find_bad_bounds(bad))


def test_size_classes() -> None:
    assert [size_class(n) for n in (1, 7, 8, 63, 64, SEGMENT_ROWS)] == [0, 0, 1, 1, 2, 5]


def appended(sizes: list[int]) -> tuple[list[SegmentRef], int]:
    """Return the segments after appends of these sizes, and how many rows were written in all."""
    refs: list[SegmentRef] = []
    written = 0
    for rows in sizes:
        keep = merge_start(refs, rows)
        total = rows + sum(ref.rows for ref in refs[keep:])
        assert total <= max(SEGMENT_ROWS, rows)
        written += total
        start = refs[keep - 1].start + refs[keep - 1].rows if keep else 0
        refs = [*refs[:keep], SegmentRef("", start, total, 0, "", 0)]
    return refs, written


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 512, 10_000])
def test_single_appends_leave_few_segments(n: int) -> None:
    refs, written = appended([1] * n)
    assert sum(ref.rows for ref in refs) == n
    assert len(refs) <= (MERGE_FACTOR - 1) * (size_class(n) + 1)
    assert written <= n * (size_class(n) + 1)


def test_any_sizes_keep_every_row_and_bounded_work() -> None:
    sizes = np.random.default_rng(3).integers(1, 400, 2_000).tolist()
    refs, written = appended(sizes)
    assert sum(ref.rows for ref in refs) == sum(sizes)
    assert len(refs) < 60
    assert written < 6 * sum(sizes)


def test_full_segments_are_left_alone() -> None:
    refs, _ = appended([SEGMENT_ROWS] * 20 + [1] * 8)
    assert [ref.rows for ref in refs] == [SEGMENT_ROWS] * 20 + [8]


SAMPLES: tuple[dict[str, Any], ...] = (
    {"kind": "pin", "chunk": "a", "row": 7, "reason": None, "detail": None},
    {"kind": "pin", "chunk": None, "row": -1, "reason": "why", "detail": "{}"},
    {"kind": "x" * 100, "chunk": "", "row": 0, "reason": "", "detail": None},
)


@pytest.mark.parametrize("row", SAMPLES)
def test_one_row_is_what_many_rows_give(row: dict[str, Any]) -> None:
    layout = schema.log_schema("events")
    stamps = np.arange(2, dtype=np.int64)
    ref = record_batch("events", layout, {name: [value, value] for name, value in row.items()}, stamps).slice(0, 1)
    for _ in range(2):  # the second time from memory
        got = record_batch("events", layout, {name: [value] for name, value in row.items()}, stamps[:1])
        assert got.schema.equals(layout)
        assert got.to_pylist() == ref.to_pylist() == [{"recorded_at": 0, **row}]


def test_arrays_are_taken_as_they_are_and_cast_where_they_differ() -> None:
    layout = schema.log_schema("vectors.default", 2)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0], pa.float32()), 2)
    got = record_batch("vectors.default", layout, {"vector": vectors}, np.zeros(1, np.int64))
    assert got.column("vector").to_pylist() == [[1.0, 2.0]]
    events = {
        "kind": ["pin"],
        "chunk": pa.array(["a"], pa.large_string()),
        "row": np.array([3]),
        "reason": [None],
        "detail": [None],
    }
    assert (
        record_batch("events", schema.log_schema("events"), events, np.zeros(1, np.int64)).column("chunk").type
        == pa.string()
    )
