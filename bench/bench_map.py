"""Map of vectors in two dimensions, beside umap-learn at its own settings and a fixed seed; quality before times.

Trustworthiness (Venna and Kaski 2001) and the share of the 15 nearest rows that stay among the 15 nearest, of 2,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.timing import describe, repeat
from lamina_engine.topics.layout import lay_out
from lamina_engine.topics.points import unit_rows

NEIGHBOURS: Final = 15
_LOOKED_AT: Final = 2000
_LEAST: Final = 0.95
Vectors = NDArray[np.float32]


def _mixture(n: int) -> Vectors:
    """Made-up rows: 50 clusters in 256 dimensions, a tenth of them noise."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((50, 256))
    rows = centres[rng.integers(0, 50, n)] + rng.standard_normal((n, 256))
    noise = rng.random(n) < 0.1
    rows[noise] = 1.4 * rng.standard_normal((int(noise.sum()), 256))
    return unit_rows(rows.astype(np.float32))


def _umap(vectors: Vectors) -> Vectors:
    umap = pytest.importorskip("umap", reason="umap-learn is not installed")
    # a seed makes it take one thread; without one, each run gives another map
    found: Vectors = umap.UMAP(metric="cosine", random_state=0, n_jobs=1).fit_transform(vectors)
    return found


def measure(vectors: Vectors, places: Vectors) -> tuple[float, float]:
    """Return trustworthiness and the share of neighbours kept."""
    n = len(vectors)
    rows = np.random.default_rng(1).permutation(n)[:_LOOKED_AT]
    kept = lost = 0
    for row in rows.tolist():
        likeness = vectors @ vectors[row]
        likeness[row] = -np.inf
        rank = np.empty(n, np.int64)
        rank[np.argsort(-likeness, kind="stable")] = np.arange(n)
        apart = ((places - places[row]) ** 2).sum(axis=1)
        apart[row] = np.inf
        found = rank[np.argpartition(apart, NEIGHBOURS)[:NEIGHBOURS]]
        kept += int((found < NEIGHBOURS).sum())
        lost += int(np.maximum(found + 1 - NEIGHBOURS, 0).sum())
    whole = rows.size * NEIGHBOURS
    return 1.0 - 2.0 * lost / (whole * (2 * n - 3 * NEIGHBOURS - 1)), kept / whole


@pytest.mark.parametrize("data", ["text", "mixture"])
@pytest.mark.parametrize("name", ["lamina", "umap-learn"])
def bench_map(
    benchmark: BenchmarkFixture, sentences: Callable[[int], Vectors], size: int, data: str, name: str
) -> None:
    vectors = _mixture(size) if data == "mixture" else unit_rows(sentences(size))
    draw = lay_out if name == "lamina" else _umap
    draw(vectors[:500])  # compiled
    places = repeat(benchmark, lambda: draw(vectors), rounds=3 if name == "lamina" else 1)
    trust, kept = measure(vectors, places)
    assert trust > 0.7
    if name == "lamina" and benchmark.enabled:
        pytest.importorskip("umap", reason="umap-learn is not installed")
        peer = measure(vectors, _umap(vectors))
        assert trust >= _LEAST * peer[0]
        assert kept >= _LEAST * peer[1]
    describe(
        benchmark,
        group=f"Map of {data}, 256-d",
        system=name,
        kind="latency",
        settings="15 neighbours, cosine, fixed seed",
        size=size,
        versions={} if name == "lamina" else {"umap-learn": version("umap-learn")},
        trustworthiness=round(trust, 4),
        kept=round(kept, 4),
    )
