from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.harvest import chunks
from lamina_engine.errors import InvalidArgument
from lamina_engine.reports import Progress
from lamina_engine.topics.hdbscan import Hierarchy, condensed_table, cut, grow, linkage_matrix, merge_table
from lamina_engine.topics.points import as_points
from lamina_kernels.hdbscan.packed import Arithmetic, pack
from tests.oracles.density import core_distances, distances, mutual_reachability

PORTABLE: tuple[Arithmetic, ...] = ("float32", "int16-portable", "int8-portable")
Rows = NDArray[np.float32]


def blobs(n: int, d: int = 16, seed: int = 1) -> Rows:
    """Groups of different density on all sides of the origin, and a third of noise."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * rng.standard_normal((6, d))
    which = rng.integers(0, 9, n)
    rows = rng.standard_normal((n, d))
    spread = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    grouped = which < 6
    rows[grouped] = centres[which[grouped]] + rows[grouped] * spread[which[grouped], None]
    return rows.astype(np.float32)


def text_vectors(n: int, data: Path) -> Rows:
    """Embeddings of real sentences by the bundled model."""
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    if n > 1000:  # more than the dialogues hold
        texts = dict.fromkeys(chunk.text for chunk in islice(chunks(), 2 * n))
    else:
        raw = (data / "locomo-dev" / "locomo-dev.json").read_text(encoding="utf-8")
        texts = dict.fromkeys(json.loads(found) for found in re.findall(r'"text": ("(?:[^"\\]|\\.)*")', raw))
    return np.asarray(WordLlamaEmbedder().embed_documents(list(texts)[:n]), np.float32)


def data_sets(n: int, data: Path) -> dict[str, Rows]:
    rng = np.random.default_rng(2)
    line = np.zeros((n, 8), np.float32)
    line[:, 0] = np.sort(rng.random(n))
    return {
        "text": text_vectors(n, data),
        "clusterable": np.load(data / "clustering" / "clusterable_data.npy").astype(np.float32)[:n],
        "uniform noise": rng.random((n, 32)).astype(np.float32),
        "duplicates": np.repeat(blobs(-(-n // 4)), 4, axis=0)[:n],
        "line": line,
    }


SETS = ("text", "clusterable", "uniform noise", "duplicates", "line")


def vectorised_prim(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    from tests.oracles.density import dense_prim

    return dense_prim(weights)


def check_exact(rows: Rows, metric: Any) -> None:
    points = as_points(rows, metric)
    wide = points.values.reshape(len(rows), -1) * points.factors[:, None]
    matrix = distances(wide)
    weights = mutual_reachability(matrix, core_distances(matrix, 5))
    ref = vectorised_prim(weights)
    labels = []
    for arithmetic in (None, *PORTABLE):
        for threads in (1, 2):
            got = grow(rows, min_samples=5, metric=metric, arithmetic=arithmetic, threads=threads)
            assert got.spanning_tree.weights.tobytes() == ref.tobytes()
            assert got.core_distances.tobytes() == core_distances(matrix, 5).tobytes()
            labels.append(cut(got, min_cluster_size=5).labels.tobytes())
    assert len(set(labels)) == 1


@pytest.mark.parametrize("name", SETS)
def test_weights_equal_dense_prim_to_the_bit(name: str, data: Path) -> None:
    rows = data_sets(400, data)[name]
    check_exact(rows, "euclidean")
    if name == "text":
        check_exact(rows, "cosine")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("n", [2000, 6000])
def test_weights_equal_dense_prim_to_the_bit_at_full_size(name: str, n: int, data: Path) -> None:
    rows = data_sets(n, data)[name]
    check_exact(rows, "cosine" if name == "text" else "euclidean")


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("name", SETS)
def test_rows_in_another_order_get_the_same_labels(name: str, method: Any, data: Path) -> None:
    """To the bit: of equally large clusters, of which leaves are full, the denser one is named first."""
    rows = data_sets(900, data)[name]
    metric: Any = "cosine" if name == "text" else "euclidean"
    ref = cut(grow(rows, metric=metric), method=method)
    assert ref.clusters.size > 1
    ways: tuple[tuple[int, Arithmetic, int], ...] = ((4, "int16-portable", 2), (5, "float32", 1))
    for seed, arithmetic, threads in ways:
        order = np.random.default_rng(seed).permutation(len(rows))
        got = cut(grow(rows[order], metric=metric, arithmetic=arithmetic, threads=threads), method=method)
        assert got.labels.tobytes() == ref.labels[order].tobytes()
        assert got.probabilities.tobytes() == ref.probabilities[order].tobytes()
        assert got.outlier_scores.tobytes() == ref.outlier_scores[order].tobytes()


FRESH = """
import hashlib, sys
from tests.engine.topics.test_hdbscan import blobs
from lamina_engine.topics.hdbscan import cut, grow

got = cut(grow(blobs(400), threads=int(sys.argv[1])), method="leaf")
print(hashlib.sha256(got.labels.tobytes() + got.probabilities.tobytes() + got.outlier_scores.tobytes()).hexdigest())
"""


def test_a_fresh_process_gets_the_same_bytes() -> None:
    told = set()
    for seed, threads in (("0", "1"), ("1", "2")):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", FRESH, threads]
        told.add(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)
    got = cut(grow(blobs(400)), method="leaf")
    mine = hashlib.sha256(got.labels.tobytes() + got.probabilities.tobytes() + got.outlier_scores.tobytes())
    assert told == {mine.hexdigest() + "\n"}


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_rows_are_noise(n: int) -> None:
    hierarchy = grow(blobs(n) if n else np.empty((0, 16), np.float32))
    got = cut(hierarchy)
    assert got.labels.tolist() == [-1] * n
    assert got.probabilities.tolist() == [0.0] * n
    assert condensed_table(got.condensed_tree).num_rows == (n if n > 1 else 0)
    assert merge_table(hierarchy.merge_tree).num_rows >= n
    assert linkage_matrix(hierarchy.merge_tree).shape == (max(n - 1, 0), 4)


def test_all_identical_rows() -> None:
    hierarchy = grow(np.ones((20, 8), np.float32))
    assert cut(hierarchy).labels.tolist() == [-1] * 20
    assert cut(hierarchy, allow_single_cluster=True).labels.tolist() == [0] * 20


@pytest.mark.parametrize("kind", ["strided", "read-only", "Fortran", "float64", "float16", "unpadded"])
def test_how_rows_lie_in_memory_changes_nothing(kind: str) -> None:
    rows = blobs(120).astype(np.float16).astype(np.float32)  # the same numbers in every type
    if kind == "unpadded":
        ref = grow(np.ascontiguousarray(np.pad(rows[:, :13], ((0, 0), (0, 3)))))
        given: NDArray[Any] = rows[:, :13]
    else:
        ref, given = grow(rows), rows
    if kind == "strided":
        given = np.repeat(rows, 2, axis=0)[::2]
    elif kind == "read-only":
        given = rows.copy()
        given.flags.writeable = False
    elif kind == "Fortran":
        given = np.asfortranarray(rows)
    elif kind.startswith("float"):
        given = rows.astype(kind)
    assert grow(given).spanning_tree.weights.tobytes() == ref.spanning_tree.weights.tobytes()


def test_rows_that_fit_are_not_copied() -> None:
    rows = blobs(10)
    rows.flags.writeable = False
    assert np.shares_memory(as_points(rows, "cosine").values, rows)


@pytest.mark.parametrize(
    ("value", "row", "words"),
    [(np.nan, 7, "NaN"), (np.inf, 3, "inf"), (3e38, 5, "beyond|length"), (0.0, 2, "zero")],
)
def test_the_first_bad_row_is_named(value: float, row: int, words: str) -> None:
    rows = blobs(12)
    rows[row] = value
    rows[10] = value
    with pytest.raises(InvalidArgument, match=rf"row {row} .*({words})"):
        grow(rows, metric="cosine")


@pytest.mark.parametrize(
    "rows", [np.zeros(5), np.zeros((2, 2, 2)), np.zeros((3, 0)), np.zeros((3, 2), complex), np.array([["a"], ["b"]])]
)
def test_what_is_no_matrix_of_numbers_is_refused(rows: NDArray[Any]) -> None:
    with pytest.raises(InvalidArgument, match="vectors have"):
        grow(rows, metric="euclidean")


@pytest.mark.parametrize(
    "options",
    [{"min_samples": 0}, {"min_samples": 2.5}, {"metric": "manhattan"}, {"method": "fast"}, {"threads": 0}],
)
def test_wrong_options_of_growth(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"must be"):
        grow(blobs(5), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"min_cluster_size": 1}, {"min_cluster_size": True}, {"method": "best"}, {"epsilon": -1.0},
        {"epsilon": float("nan")}, {"epsilon": "1"}, {"max_cluster_size": 3},
    ],
)  # fmt: skip
def test_wrong_options_of_a_cut(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"must be"):
        cut(grow(blobs(5)), **options)


def test_progress_comes_and_may_end_the_run() -> None:
    seen: list[Progress] = []
    grow(blobs(900), threads=1, progress=seen.append)
    assert {step.stage for step in seen} == {"neighbours"} | {step.stage for step in seen}
    assert all(0 <= step.done <= step.total for step in seen)

    class Enough(Exception):
        pass

    def stop(step: Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        grow(blobs(900), threads=1, progress=stop)


def test_coarse_arithmetic_gives_way_where_it_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_kernels.hdbscan import certified

    monkeypatch.setattr(certified, "_SAMPLE", 64)
    rows = (5.0 + 0.001 * np.random.default_rng(6).standard_normal((300, 16))).astype(np.float32)
    used: list[str] = []
    real = pack

    def watched(points: Any, arithmetic: Arithmetic, **options: Any) -> Any:
        used.append(arithmetic)
        return real(points, arithmetic, **options)

    monkeypatch.setattr(certified, "pack", watched)
    got = grow(rows, arithmetic="int8-portable", metric="cosine")
    assert used[-1] == "int16-portable"
    assert got.spanning_tree.weights.tobytes() == grow(rows, arithmetic="float32").spanning_tree.weights.tobytes()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("n", [2, 3, 40, 300])
def test_few_rows_without_numba_give_the_same_to_the_bit(
    n: int, metric: Literal["cosine", "euclidean"], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamina_engine.topics import hdbscan

    rows = blobs(n)
    ref = grow(rows, metric=metric, arithmetic="float32")
    monkeypatch.setattr(hdbscan, "is_ready", lambda kernel: False)
    monkeypatch.setattr(hdbscan, "_patience", hdbscan._Patience(2 * n * n))
    monkeypatch.setattr(hdbscan, "pack_for_proofs", None)  # would be called next
    for _ in range(2):
        got = grow(rows, metric=metric)
        assert got.core_distances.tobytes() == ref.core_distances.tobytes()
        assert got.spanning_tree.weights.tobytes() == ref.spanning_tree.weights.tobytes()
        assert got.merge_tree.parent.tobytes() == ref.merge_tree.parent.tobytes()
    with pytest.raises(TypeError, match="not callable"):
        grow(rows, metric=metric)  # so many rows have been looked at that Numba is worth loading


def test_a_first_clustering_of_few_rows_needs_no_numba() -> None:
    code = (
        "import sys, numpy as np; from lamina.clustering import HDBSCAN; "
        "rows = np.random.default_rng(1).standard_normal((300, 16)).astype(np.float32); "
        "HDBSCAN().fit(rows); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def agreement(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Adjusted Rand index."""
    table = np.zeros((int(a.max()) + 2, int(b.max()) + 2))
    np.add.at(table, (a + 1, b + 1), 1)
    pairs = [float((counts * (counts - 1) / 2).sum()) for counts in (table, table.sum(0), table.sum(1))]
    whole = len(a) * (len(a) - 1) / 2
    chance = pairs[1] * pairs[2] / whole
    return (pairs[0] - chance) / ((pairs[1] + pairs[2]) / 2 - chance)


def test_the_approximate_way_finds_the_same_groups() -> None:
    rows = blobs(3000)
    exact, near = grow(rows, metric="euclidean"), grow(rows, metric="euclidean", method="approx")
    assert (exact.method, near.method) == ("exact", "approx")
    assert (near.core_distances >= exact.core_distances).all()
    assert np.mean(near.core_distances == exact.core_distances) > 0.8
    assert agreement(cut(exact, min_cluster_size=20).labels, cut(near, min_cluster_size=20).labels) > 0.95
    again = grow(rows, metric="euclidean", method="approx", threads=2)
    assert again.spanning_tree.weights.sum() == pytest.approx(near.spanning_tree.weights.sum(), rel=1e-3)


def test_tables_are_consistent() -> None:
    hierarchy: Hierarchy = grow(blobs(200))
    table = merge_table(hierarchy.merge_tree).to_pydict()
    for node, parent in zip(table["node"][:-1], table["parent"][:-1], strict=True):
        assert table["height"][node] < table["height"][parent] or table["height"][node] == 0.0
    matrix = linkage_matrix(hierarchy.merge_tree)
    assert matrix[-1, 3] == 200
    assert sorted(matrix[:, :2].ravel().tolist()) == list(range(398))
    assert all(a <= b for a, b in pairwise(matrix[:, 2].tolist()))
    assert matrix[:, 2].tolist() == hierarchy.spanning_tree.weights.tolist()
    condensed = condensed_table(cut(hierarchy).condensed_tree).to_pydict()
    assert sorted(child for child in condensed["child"] if child < 200) == list(range(200))
