from __future__ import annotations

import functools
import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.index import fastscan, helper, quantised
from lamina_engine.index.helper import claim_helper
from lamina_engine.index.quantised import QuantisedIndex, VectorsDamaged, covered_rows, train_rows
from lamina_engine.index.vectors import F32, Nearest, VectorBlocks, search


@functools.cache
def clustered(n: int, dim: int, seed: int = 0) -> F32:
    """Two hundred clusters on the sphere, as wide as they are far apart."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((200, dim), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = centres[random.integers(200, size=n)] + random.standard_normal((n, dim), np.float32) / np.sqrt(
        np.float32(dim)
    )
    unit: F32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    unit.flags.writeable = False
    return unit


def blocks_of(matrix: F32, cuts: list[int] | None = None) -> VectorBlocks:
    return VectorBlocks(np.split(matrix, cuts or []), matrix.shape[1])


def built(blocks: VectorBlocks, n_rows: int, *, threads: int = 1) -> QuantisedIndex:
    index = QuantisedIndex.build(blocks, n_rows, threads=threads)
    assert index is not None
    return index


@functools.cache
def sample_index() -> QuantisedIndex:
    return built(blocks_of(clustered(29_000, 32)), 20_500)


def of_version(index: QuantisedIndex, faiss_version: str) -> QuantisedIndex:
    """The same index, made by another FAISS."""
    parts = index._centroids, index._codes, index.rows
    return QuantisedIndex(*parts, dim=index.dim, trained_on=index.trained_on, faiss_version=faiss_version)


def bytes_of(index: QuantisedIndex, folder: Path) -> bytes:
    index.save(folder / "index")
    return (folder / "index").read_bytes()


def recall_at_10(matrix: F32, queries: F32) -> float:
    blocks = blocks_of(matrix, [7000, 18_000])
    index = built(blocks, len(matrix))
    assert index.rows == covered_rows(len(matrix))
    hits = 0
    for query in queries:
        ref, got = blocks.scan(query, 10), search(blocks, index, query, 10)
        hits += len(np.intersect1d(ref.rows, got.rows))
        same = np.isin(got.rows, ref.rows)
        np.testing.assert_array_equal(got.scores[same], ref.scores[np.isin(ref.rows, got.rows)])
    return hits / (10 * len(queries))


def test_row_counts() -> None:
    assert [train_rows(n) for n in (0, 8_191, 8_192, 16_383, 16_384, 131_071, 131_072, 10**7)] == [
        *(0, 0, 8_192, 8_192, 16_384, 65_536, 131_072, 262_144)
    ]
    assert [covered_rows(n) for n in (0, 8_191, 8_192, 8_319, 8_320, 65_535)] == [0, 0, 8_192, 8_192, 8_320, 65_408]
    assert [covered_rows(n) for n in (65_536, 100_000, 131_071, 131_072)] == [65_536, 99_968, 130_944, 131_072]
    assert [covered_rows(n) for n in (200_000, 300_000, 10**6, 5_000_000)] == [199_936, 299_520, 999_424, 4_999_168]


@pytest.mark.parametrize(("n", "dim"), [(50_000, 64), (20_500, 256)])
def test_recall_at_10(n: int, dim: int) -> None:
    assert recall_at_10(clustered(n, dim), clustered(50, dim, seed=1)) >= 0.99


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "MIN_ROWS", 4096)
    monkeypatch.setattr(quantised, "TRAINING_STEPS", (4096,))


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("dim", [33, 100, 384])
def test_dimensions(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "_ITERATIONS", 3)
    matrix = clustered(4096, dim)
    blocks = blocks_of(matrix)
    index = built(blocks, len(matrix))
    assert (index.dim, index.rows, index.trained_on) == (dim, 4096, 4096)
    for row in (0, 3000, 4095):
        assert search(blocks, index, matrix[row], 1, live=None).rows.tolist() == [row]
        assert row in index.search(matrix[row], 20).rows


@pytest.mark.parametrize("dim", [1, 3, 31])
def test_few_dimensions_stay_exact(dim: int) -> None:
    assert QuantisedIndex.build(blocks_of(clustered(16_384, dim)), 16_384) is None


def test_each_step_doubles_the_rows_that_train(monkeypatch: pytest.MonkeyPatch) -> None:
    # rows of another kind than those that trained are coded badly: two sources one after the other, within the prefix
    steps = quantised.TRAINING_STEPS
    assert all(after == 2 * before for before, after in itertools.pairwise(steps))
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((2, 64))
    points = centres[np.repeat([0, 1], (12_000, 8_000))] + 0.6 * rng.standard_normal((20_000, 64))
    matrix = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    queries = matrix[12_000 + 100 * np.arange(60)] + np.float32(0.02) * rng.standard_normal((60, 64)).astype(np.float32)
    found = recall_at_10(matrix, queries)
    monkeypatch.setattr(quantised, "TRAINING_STEPS", steps[:1])
    alone = recall_at_10(matrix, queries)
    assert found >= alone + 0.2


def test_few_rows_or_vectors_stay_exact() -> None:
    matrix = clustered(20_500, 32).copy()
    assert QuantisedIndex.build(blocks_of(matrix), 8_191) is None
    matrix[1023:16_384] = 0
    assert QuantisedIndex.build(blocks_of(matrix), 20_500) is None
    matrix[8_000] = matrix[0]
    assert built(blocks_of(matrix), 20_500).rows == 20_480


@pytest.mark.parametrize("dim", [32, 33])
def test_bytes_depend_on_the_rows_alone(tmp_path: Path, dim: int) -> None:
    matrix = clustered(29_000, dim)
    ref = bytes_of(built(blocks_of(matrix), 29_000), tmp_path)
    cuts = np.random.default_rng(3).integers(0, 29_000, 12)
    split = blocks_of(matrix, sorted(cuts.tolist()))
    assert bytes_of(built(split, 29_000, threads=2), tmp_path) == ref
    assert bytes_of(built(blocks_of(matrix[:28_990]), 28_990), tmp_path) == ref  # both cover 28,928
    index = built(split, 16_384)
    for n_rows in (16_390, 20_480, 24_600, 29_000):
        longer = index.extend(split, n_rows)
        assert longer is not None
        assert longer.rows == covered_rows(n_rows)
        index = longer
    assert bytes_of(index, tmp_path) == ref


@pytest.mark.usefixtures("small_steps")
def test_codebook_is_equal_on_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of(clustered(4096, 32))

    ref = built(blocks, 4096)._centroids.tobytes()
    before = quantised._threads
    monkeypatch.setattr(quantised, "_threads", lambda count: before(2))
    assert built(blocks, 4096)._centroids.tobytes() == ref


def test_extending_past_a_training_step_builds_afresh(tmp_path: Path) -> None:
    matrix = clustered(34_000, 32)
    blocks = blocks_of(matrix, [20_000])
    index = built(blocks, 25_000).extend(blocks, 34_000)
    assert index is not None
    assert index.trained_on == 32_768
    assert bytes_of(index, tmp_path) == bytes_of(built(blocks, 34_000), tmp_path)


def test_extending_leaves_the_former_index_alone() -> None:
    blocks = blocks_of(clustered(29_000, 32))
    index = built(blocks, 16_384)
    assert index.extend(blocks, 16_500) is index
    longer = index.extend(blocks, 29_000)
    assert longer is not None
    assert (index.rows, longer.rows) == (16_384, 28_928)
    assert index.search(clustered(29_000, 32)[28_000], 16_384).rows.max() < 16_384
    shorter = longer.extend(blocks, 20_480)
    assert shorter is not None
    assert shorter.rows == 20_480


def test_another_faiss_builds_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of(clustered(29_000, 32))
    index = of_version(sample_index(), "0.0.0").extend(blocks, 20_500)
    assert index is not None
    assert index.faiss_version == faiss.__version__


def test_rows_without_a_vector_never_surface() -> None:
    matrix = clustered(50_000, 64).copy()
    matrix[np.random.default_rng(5).random(50_000) < 0.6] = 0
    blocks = blocks_of(matrix)
    index = built(blocks, 50_000)
    present = np.abs(matrix).max(axis=1) > 0
    assert not present[index.search(-clustered(1, 64)[0], 50_000).rows].all()
    hits = 0
    for query in (*clustered(20, 64, seed=1), *-clustered(20, 64, seed=1)):
        got = search(blocks, index, query, 50)
        assert len(got.rows) == 50
        assert present[got.rows].all()
        hits += len(np.intersect1d(got.rows, blocks.scan(query, 50).rows))
    assert hits >= 0.95 * 2000  # half of the queries are far from everything


def test_filters_and_past_watermarks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = clustered(50_000, 64)
    blocks = blocks_of(matrix)
    index = built(blocks, 50_000)
    monkeypatch.setattr("lamina_engine.index.vectors.NARROW_ROWS", 1000)
    monkeypatch.setattr("lamina_engine.index.vectors.PAST_ROWS", 1000)
    mask = np.random.default_rng(5).random(50_000) < 0.1
    hits = 0
    for query in clustered(50, 64, seed=1):
        filtered = search(blocks, index, query, 10, live=mask, n_rows=40_000)
        assert mask[filtered.rows].all()
        assert filtered.rows.max() < 40_000
        hits += len(np.intersect1d(filtered.rows, blocks.scan(query, 10, mask=mask, stop=40_000).rows))
    assert hits >= 0.99 * 500


def test_save_and_open(tmp_path: Path) -> None:
    index = sample_index()
    index.save(tmp_path / "index", sync=True)
    for verify in (True, False):
        got = QuantisedIndex.open(tmp_path / "index", verify=verify)
        assert (got.dim, got.rows, got.trained_on, got.faiss_version) == (32, 20_480, 16_384, faiss.__version__)
        for query in clustered(5, 32, seed=1):
            np.testing.assert_array_equal(got.search(query, 100).rows, index.search(query, 100).rows)
    blocks = blocks_of(clustered(29_000, 32))
    longer = got.extend(blocks, 29_000)
    assert longer is not None
    assert bytes_of(longer, tmp_path) == bytes_of(built(blocks, 29_000), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("at", [0, 40, 5000, -1])
def test_a_flipped_bit_is_found(tmp_path: Path, at: int) -> None:
    path = tmp_path / "index"
    raw = bytearray(bytes_of(sample_index(), tmp_path))
    raw[at] ^= 16
    path.write_bytes(raw)
    with pytest.raises(VectorsDamaged, match="rebuild") as caught:
        QuantisedIndex.open(path)
    assert isinstance(caught.value, LaminaError)
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("keep", [0, 1000, -1])
def test_a_torn_file_is_found_without_reading_it(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "index"
    path.write_bytes(bytes_of(sample_index(), tmp_path)[:keep])
    with pytest.raises(VectorsDamaged, match="rebuild"):
        QuantisedIndex.open(path, verify=False)
    with pytest.raises(FileNotFoundError):
        QuantisedIndex.open(tmp_path / "none")


@pytest.mark.parametrize(
    ("dim", "rows", "kept"),
    [
        *((32, rows, 20_480) for rows in (20_479 - 31, 20_512, 0, 10**15)),
        *((32, 20_480, kept) for kept in (20_448, 10_240, 0)),
        *((dim, 20_480, 20_480) for dim in (0, 30, 34, 64, 2**32 - 1)),
    ],
)
def test_codes_of_other_rows_than_the_header_says_are_never_scanned(
    tmp_path: Path, dim: int, rows: int, kept: int
) -> None:
    index, path = sample_index(), tmp_path / "index"
    payload = [index._centroids.view(np.uint8).data, index._codes[: kept * 8].data]
    quantised._SEAL.write(path, (dim, rows, 16_384, b"\xff"), payload, sync=False)
    with pytest.raises(VectorsDamaged, match="header says"):
        QuantisedIndex.open(path)


def test_an_index_of_no_rows_and_codes_anywhere_in_memory() -> None:
    centroids = sample_index()._centroids
    for start in range(0, 64, 8):
        empty = np.empty(64, np.uint8)[start:start]
        assert fastscan.load(centroids, empty, 0).ntotal == fastscan.scan(centroids, empty, 0).ntotal == 0
    room = np.zeros(32 * 8 + 64, np.uint8)
    codes = room[-room.ctypes.data % 32 + 16 :][: 32 * 8]
    assert fastscan.load(centroids, codes, 32).ntotal == 32
    with pytest.raises(ValueError, match="multiple of 32"):
        fastscan.scan(centroids, codes, 32)


def test_codes_stay_in_the_file(tmp_path: Path) -> None:
    sample_index().save(tmp_path / "index")
    index = QuantisedIndex.open(tmp_path / "index")
    first, scan = index._pieces[0]
    assert (first, type(scan)) == (0, fastscan.Scan)
    table = fastscan._Table.from_address(int(fastscan._bare(scan._extension.IndexFastScan_codes_get(scan._raw))))
    assert table.address == index._codes.ctypes.data
    assert not index._codes.flags.writeable
    ref = index.search(clustered(1, 32)[0], 50).rows
    (tmp_path / "index").unlink()  # a forget replaces the file while somebody reads
    np.testing.assert_array_equal(index.search(clustered(1, 32)[0], 50).rows, ref)


def test_progress_and_cancelling() -> None:
    blocks = blocks_of(clustered(29_000, 32), [5000])
    seen: list[tuple[int, int]] = []
    QuantisedIndex.build(blocks, 29_000, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(5000, 28_928), (21_384, 28_928), (28_928, 28_928)]
    assert QuantisedIndex.build(blocks, 29_000, cancelled=lambda: True) is None
    answers = iter([False, False, True])
    assert QuantisedIndex.build(blocks, 29_000, cancelled=lambda: next(answers)) is None
    assert sample_index().extend(blocks, 29_000, cancelled=lambda: True) is None


def test_threads_agree_and_keep_their_openmp_setting() -> None:
    index, queries = sample_index(), clustered(64, 32, seed=1)
    ref = [index.search(query, 100).rows for query in queries]
    start = threading.Barrier(8)

    def work(number: int) -> int:
        faiss.omp_set_num_threads(1 + number % 3)
        start.wait()
        for one, query in zip(ref, queries, strict=True):
            np.testing.assert_array_equal(index.search(query, 100).rows, one)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [1 + number % 3 for number in range(8)]


def test_duplicates_are_ordered_by_row() -> None:
    matrix = clustered(20_480, 32).copy()
    matrix[::100] = matrix[0]
    blocks = blocks_of(matrix)
    got = search(blocks, built(blocks, 20_480), matrix[0], 5)
    np.testing.assert_array_equal(got.rows, [20_400, 20_300, 20_200, 20_100, 20_000])


def test_bad_queries_are_refused() -> None:
    index = sample_index()
    with pytest.raises(InvalidArgument, match=r"\(31,\).* 32 dimensions"):
        index.search(np.zeros(31, np.float32), 10)
    with pytest.raises(InvalidArgument, match="not finite"):
        index.search(np.full(32, np.nan, np.float32), 10)
    assert len(index.search(clustered(1, 32)[0], 10**9).rows) == index.rows


def test_importing_the_lane_loads_neither_faiss_nor_numba() -> None:
    code = (
        "import sys, lamina_engine.index.quantised, lamina_engine.index.keys; "
        "sys.exit(bool({'faiss', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("is_sorted", [False, True])
def test_pieces_promise_what_the_whole_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_sorted: bool) -> None:
    matrix, queries = clustered(29_000, 32).copy(), clustered(64, 32, seed=1)
    matrix[100:140] = matrix[100]  # one promise many times
    if is_sorted:  # one piece has all that is near
        matrix = matrix[np.argsort(-(matrix @ queries[0]), kind="stable")]
    whole = built(blocks_of(matrix), 29_000)
    monkeypatch.setattr(quantised, "SPLIT_ROWS", 8_192)
    monkeypatch.setattr(quantised, "_PIECE_ROWS", 5_000)
    ref = bytes_of(whole, tmp_path)
    for index in (QuantisedIndex.open(tmp_path / "index"), built(blocks_of(matrix), 29_000)):
        assert (len(index._pieces), sum(piece.ntotal for _, piece in index._pieces)) == (6, index.rows)
        with ThreadPoolExecutor(4) as pool:
            many = list(pool.map(lambda query, index=index: index.search(query, 300), queries))
        for query, found in zip(queries, many, strict=True):
            former = whole.search(query, 300)
            np.testing.assert_array_equal(found.scores, former.scores)
            sure = former.scores > former.scores[-1]  # which of those that tie at the end are named is left to chance
            assert set(found.rows[sure].tolist()) == set(former.rows[sure].tolist())
        assert len(index.search(queries[0], 10**6).rows) == index.rows
        assert bytes_of(index, tmp_path) == ref
        longer = index.extend(blocks_of(clustered(30_000, 32)), 30_000)
        assert longer is not None
        assert longer.rows == 29_952


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "usable_cpus", lambda: 2)


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> QuantisedIndex:
    monkeypatch.setattr(quantised, "SPLIT_ROWS", 8_192)
    monkeypatch.setattr(quantised, "_PIECE_ROWS", 5_000)
    return built(blocks_of(clustered(29_000, 32)), 29_000)


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize("has", ["the helper", "a helper that is busy", "none"])
def test_pieces_find_what_one_scan_does_whoever_helps(in_pieces: QuantisedIndex, has: str) -> None:
    may_end = threading.Event()
    claimed = claim_helper()
    assert claimed is not None
    if has == "a helper that is busy":
        claimed.give(may_end.wait)
    for query in clustered(20, 32, seed=1):
        found = in_pieces.search(query, 300, None if has == "none" else claimed)
        whole = in_pieces.search(query, in_pieces.rows)
        np.testing.assert_array_equal(found.scores, whole.scores[:300])
        sure = found.scores > found.scores[-1]  # of those that tie with the last any may be left out
        assert set(found.rows[sure]) == set(whole.rows[: np.count_nonzero(sure)])
    may_end.set()


@pytest.mark.usefixtures("two_cpus")
def test_the_helper_scans_pieces(in_pieces: QuantisedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    names, query, both = set[str](), clustered(1, 32)[0], threading.Barrier(2, timeout=10.0)
    search = quantised._search

    def note(index: Any, first: int, vector: F32, n: int) -> Nearest:
        name = threading.current_thread().name
        if name not in names:
            names.add(name)
            both.wait()  # neither thread takes all pieces before the other has begun
        return search(index, first, vector, n)

    monkeypatch.setattr(quantised, "_search", note)
    in_pieces.search(query, 300)
    assert len(names) == 2
    assert any(name.startswith("lamina-helper") for name in names)


def test_an_error_of_the_helper_is_raised(in_pieces: QuantisedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    search, query, begun = quantised._search, clustered(1, 32)[0], threading.Event()
    monkeypatch.setattr(helper, "usable_cpus", lambda: 2)

    def fail(index: Any, first: int, vector: F32, n: int) -> Nearest:
        if threading.current_thread().name.startswith("lamina-helper"):
            begun.set()
            raise OSError("cut off")
        assert begun.wait(10.0)
        return search(index, first, vector, n)

    with monkeypatch.context() as patch:
        patch.setattr(quantised, "_search", fail)
        with pytest.raises(OSError, match="cut off"):
            in_pieces.search(query, 300)
    assert len(in_pieces.search(query, 300).rows) == 300
