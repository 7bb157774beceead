"""HDBSCAN of sentence embeddings against the exact peers and the fast one, at equal settings, results checked first.

min_cluster_size = 5, five other points, excess of mass, unit rows. Peers that count the row itself get six. An exact
peer must have the spanning-tree weights of Lamina; peers that are approximate or another algorithm are only compared by
their times, and named so.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.timing import describe, percentiles, repeat
from lamina_engine.topics.hdbscan import cut, grow

LEAST: Final = 5
NEIGHBOURS: Final = 5
Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]


class Engine(NamedTuple):
    """A way to cluster: what it is called, whether it is exact, and up to how many rows it is asked."""

    label: str
    package: str
    exact: bool
    most_rows: int
    make: Callable[[Vectors], Callable[[], Labels]]


def _lamina(vectors: Vectors) -> Callable[[], Labels]:
    return lambda: cut(grow(vectors, min_samples=NEIGHBOURS, method="exact"), min_cluster_size=LEAST).labels


def _lamina_alone(vectors: Vectors) -> Callable[[], Labels]:
    return lambda: cut(grow(vectors, min_samples=NEIGHBOURS, method="exact", threads=1), min_cluster_size=LEAST).labels


def _lamina_approx(vectors: Vectors) -> Callable[[], Labels]:
    return lambda: cut(grow(vectors, min_samples=NEIGHBOURS, method="approx"), min_cluster_size=LEAST).labels


class Peer:
    """An exact peer: a model that is fitted, and the heights of its single linkage afterwards."""

    def __init__(self, model: Any, vectors: NDArray[Any], heights: Callable[[Any], NDArray[np.float64]]) -> None:
        self._model, self._vectors, self._heights = model, vectors, heights

    def __call__(self) -> Labels:
        return np.asarray(self._model.fit_predict(self._vectors))

    def heights(self) -> NDArray[np.float64]:
        return np.sort(self._heights(self._model))


def _sklearn(vectors: Vectors) -> Callable[[], Labels]:
    cluster = import_module("sklearn.cluster")
    model = cluster.HDBSCAN(min_cluster_size=LEAST, min_samples=NEIGHBOURS + 1, algorithm="brute", n_jobs=-1, copy=True)
    return Peer(model, vectors, lambda fitted: np.asarray(fitted._single_linkage_tree_["value"]))


def _hdbscan(vectors: Vectors) -> Callable[[], Labels]:
    hdbscan = import_module("hdbscan")
    options = {"approx_min_span_tree": False, "core_dist_n_jobs": -1}
    model = hdbscan.HDBSCAN(min_cluster_size=LEAST, min_samples=NEIGHBOURS, **options)
    wide = vectors.astype(np.float64)
    return Peer(model, wide, lambda fitted: np.asarray(fitted.single_linkage_tree_.to_numpy()[:, 2]))


def _fast_hdbscan(vectors: Vectors) -> Callable[[], Labels]:
    fast_hdbscan = import_module("fast_hdbscan")
    model = fast_hdbscan.HDBSCAN(min_cluster_size=LEAST, min_samples=NEIGHBOURS)
    return lambda: np.asarray(model.fit_predict(vectors))


def _evoc(vectors: Vectors) -> Callable[[], Labels]:
    evoc = import_module("evoc")
    model = evoc.EVoC(base_min_cluster_size=LEAST, min_samples=NEIGHBOURS, random_state=0)
    return lambda: np.asarray(model.fit_predict(vectors))


ENGINES: Final = {
    "lamina": Engine("Lamina, exact", "lamina", True, 200_000, _lamina),
    "lamina-alone": Engine("Lamina, exact, one thread", "lamina", True, 200_000, _lamina_alone),
    "lamina-approx": Engine("Lamina, approx", "lamina", False, 2_000_000, _lamina_approx),
    "sklearn": Engine("scikit-learn brute", "scikit-learn", True, 20_000, _sklearn),
    "hdbscan": Engine("hdbscan, its default", "hdbscan", True, 6_000, _hdbscan),
    "fast_hdbscan": Engine("fast_hdbscan (approximate)", "fast_hdbscan", False, 200_000, _fast_hdbscan),
    "evoc": Engine("EVoC (another algorithm)", "evoc", False, 50_000, _evoc),
}


@pytest.mark.parametrize("name", ENGINES)
def bench_hdbscan(benchmark: BenchmarkFixture, sentences: Callable[[int], Vectors], size: int, name: str) -> None:
    engine = ENGINES[name]
    vectors = sentences(size)
    if name != "lamina":
        pytest.importorskip(name.partition("-")[0], reason=f"{engine.package} is not installed")
    if size > engine.most_rows:
        pytest.skip(f"{engine.label} is left out above {engine.most_rows:,} rows: too slow or out of memory")
    work = engine.make(vectors)
    if benchmark.enabled or engine.exact:
        labels = work()  # compiled, and its result looked at before any time is
        _check(work, vectors, labels)
    found = repeat(benchmark, work, rounds=5 if size <= 20_000 else 3)
    describe(
        benchmark,
        group="HDBSCAN of sentence embeddings, 256-d",
        system=engine.label,
        kind="latency",
        settings=f"min_cluster_size={LEAST}, {NEIGHBOURS} other points, EOM",
        size=size,
        versions={} if engine.package == "lamina" else {engine.package: version(engine.package)},
        clusters=int(found.max() + 1),
        noise=round(float(np.mean(found < 0)), 4),
    )


def _check(work: Callable[[], Labels], vectors: Vectors, labels: Labels) -> None:
    """An exact peer has Lamina's spanning-tree weights; labels may differ by ties alone, which are many in text."""
    assert labels.shape == (len(vectors),)
    if isinstance(work, Peer):
        ref = grow(vectors, min_samples=NEIGHBOURS, metric="euclidean").spanning_tree.weights
        # peers take distances near 0 from dot products, which loses half of the digits
        np.testing.assert_allclose(work.heights(), ref, atol=1e-6)


FIRST = """
import sys, time
start = time.perf_counter()
import numpy as np
vectors = np.load(sys.argv[1])[:600]
from lamina.clustering import HDBSCAN
begin = time.perf_counter()
HDBSCAN(min_cluster_size=5).fit(vectors)
print(time.perf_counter() - begin)
"""


def bench_first_call(benchmark: BenchmarkFixture, sentences: Callable[[int], Vectors], tmp_path: Path) -> None:
    """The first clustering of a fresh process with a warm cache, Numba's import included."""
    file = tmp_path / "vectors.npy"
    np.save(file, sentences(2000))

    def first() -> float:
        done = subprocess.run(
            [sys.executable, "-c", FIRST, str(file)], capture_output=True, text=True, timeout=120, check=True
        )
        return float(done.stdout)

    first()
    times: list[float] = []

    def note() -> None:
        times.append(first())

    repeat(benchmark, note, rounds=5 if benchmark.enabled else 1)
    settings = "the call alone, with what it loads; the process and NumPy are there"
    describe(
        benchmark,
        group="First HDBSCAN of a process, 600 rows",
        system="Lamina, exact",
        kind="latency",
        settings=settings,
    )
    if benchmark.enabled:
        benchmark.extra_info.update(percentiles(sorted(times)))
