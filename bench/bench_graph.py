"""Links are built and walked at the speed of memory: beside scipy, igraph, rustworkx, networkx and SQLite.

One power-law graph for all: 1M nodes and 10M weighted, typed links, where SQLite and networkx get a tenth of it (their
own tables beside Lamina's on the same tenth). What a peer reaches is compared with what Lamina reaches before either
is timed. A peer that is not installed is skipped by name.
"""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.timing import over, whole
from lamina_engine.index.vectors import VectorBlocks
from lamina_kernels import distances
from lamina_kernels.graph import beam, csr, hops
from lamina_kernels.layouts import F32, F64, I32, U8, Csr

LINKS_A_NODE: Final = 10
SEEDS: Final = 100
BUILD, EXPAND, WALK, ADAPT = "Links to rows", "Two hops from 100 seeds", "Beam 64 wide, 4 deep", "Adaptive traversal"
HOPS: Final = 2
ALL: Final = np.ones(hops.RELATIONS, np.uint8)
NONE: Final = np.zeros(hops.RELATIONS, np.uint8)


class Graph(NamedTuple):
    """Links as columns, and as rows."""

    n: int
    source: I32
    target: I32
    weight: F32
    relation: U8
    forward: Csr
    backward: Csr
    blocked: U8
    seeds: list[I32]

    @property
    def name(self) -> str:
        return f"{self.source.size // 1_000_000}M" if self.source.size >= 1_000_000 else f"{self.source.size // 1_000}k"


def make(n: int) -> Graph:
    rng = np.random.default_rng(3)
    m = n * LINKS_A_NODE
    turn = rng.permutation(n).astype(np.int32)
    source = np.where(rng.random(m) < 0.5, rng.integers(0, n, m), turn[_power(rng, n, m, 1.8)]).astype(np.int32)
    target = turn[_power(rng, n, m, 2.2)]
    weight = np.maximum(rng.random(m, np.float32), np.float32(1e-3))
    relation = rng.integers(0, 7, m).astype(np.uint8)
    forward = csr.build(n, source, target, weight, relation)
    seeds = [np.unique(rng.integers(0, n, SEEDS)).astype(np.int32) for _ in range(20)]
    blocked = hops.block(np.ones(n, np.bool_))
    return Graph(n, source, target, weight, relation, forward, _transpose(forward), blocked, seeds)


def _power(rng: np.random.Generator, n: int, m: int, exponent: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.minimum((n * rng.random(m) ** exponent).astype(np.int64), n - 1)


@pytest.fixture(scope="module")
def large(pytestconfig: pytest.Config) -> Graph:
    warm()
    return make(1_000_000 if pytestconfig.getoption("benchmark_enable") else 2_000)


@pytest.fixture(scope="module")
def tenth(pytestconfig: pytest.Config) -> Graph:
    warm()
    return make(100_000 if pytestconfig.getoption("benchmark_enable") else 1_000)


def warm() -> None:
    for each in (
        csr.fill_csr, hops.k_hop, beam.meet_hop, beam.take_hop, beam.beam_walk, distances.gather_exact_dots,
    ):  # fmt: skip
        each.warm()


def peer(name: str) -> Any:
    try:
        found = version(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} not installed; pip install {name}")
    module = importlib.import_module({"scipy": "scipy.sparse"}.get(name, name))
    return module, {name: found}


def reached(graph: Graph, seeds: I32) -> set[int]:
    walk = hops.neighbours(graph.forward, graph.backward, seeds, ALL, NONE, graph.blocked, HOPS, graph.n)
    return set(walk.nodes.tolist())


def expand(benchmark: BenchmarkFixture, graph: Graph, ask: Callable[[I32], Iterable[int]], **note: Any) -> None:
    """Compare what a peer reaches, then time it."""
    for seeds in graph.seeds[:2]:
        assert set(map(int, ask(seeds))) == reached(graph, seeds)
    over(benchmark, ask, graph.seeds, group=f"{EXPAND}, {graph.name} links", **note)


# ---------------------------------------------------------------------- Lamina


def bench_lamina_build(benchmark: BenchmarkFixture, large: Graph) -> None:
    got = csr.build(large.n, large.source, large.target, large.weight, large.relation)
    assert np.array_equal(got.indptr, large.forward.indptr)
    assert sum(column.nbytes for column in got) <= 12 * large.source.size
    _build(
        benchmark, large, lambda: csr.build(large.n, large.source, large.target, large.weight, large.relation), "Lamina"
    )


def bench_lamina_build_tenth(benchmark: BenchmarkFixture, tenth: Graph) -> None:
    _build(
        benchmark, tenth, lambda: csr.build(tenth.n, tenth.source, tenth.target, tenth.weight, tenth.relation), "Lamina"
    )


@pytest.mark.parametrize("which", ["large", "tenth"])
def bench_lamina_expand(benchmark: BenchmarkFixture, request: pytest.FixtureRequest, which: str) -> None:
    graph: Graph = request.getfixturevalue(which)

    def ask(seeds: I32) -> Any:
        return hops.neighbours(graph.forward, graph.backward, seeds, ALL, NONE, graph.blocked, HOPS, graph.n).nodes

    expand(benchmark, graph, ask, system="Lamina")


def bench_lamina_beam(benchmark: BenchmarkFixture, large: Graph) -> None:
    gain = np.ones(hops.RELATIONS)

    def ask(seed: int) -> Any:
        return beam.beam(
            large.forward, large.backward, np.array([seed], np.int32), np.ones(1), gain, ALL, NONE, large.blocked,
            64, 4, 1_000,
        )  # fmt: skip

    over(benchmark, ask, large.seeds[0].tolist(), group=f"{WALK}, {large.name} links", system="Lamina")


def bench_lamina_adaptive(benchmark: BenchmarkFixture, large: Graph) -> None:
    """Cosines with a question of 256 dimensions, for every node that is met."""
    rng = np.random.default_rng(5)
    vectors = VectorBlocks([rng.standard_normal((large.n, 256), dtype=np.float32)], 256)
    query = vectors.gather(np.zeros(1, np.int64))[0]
    inward = NONE.copy()
    inward[:2] = 1
    gain = np.exp(0.6 * rng.choice([0.5, 1.0, 2.0, 5.0], hops.RELATIONS))

    def lift(met: I32) -> F64:
        raised: F64 = np.exp(0.4 / 256 * vectors.dots(met.astype(np.int64), query).astype(np.float64))
        return raised

    def ask(seed: int) -> Any:
        walk = beam.beam(
            large.forward, large.backward, np.array([seed], np.int32), np.ones(1), gain, ALL, inward, large.blocked,
            32, 3, 500, lift,
        )  # fmt: skip
        assert walk.nodes.size <= 500
        return walk

    settings = "depth 3, beam 32, budget 500, 256 dimensions"
    over(
        benchmark,
        ask,
        large.seeds[0].tolist(),
        group=f"{ADAPT}, {large.name} links",
        system="Lamina",
        settings=settings,
    )


# ---------------------------------------------------------------------- peers


def _build(benchmark: BenchmarkFixture, graph: Graph, work: Callable[[], Any], system: str, **note: Any) -> None:
    whole(
        benchmark, work, graph.source.size / 1e6, rounds=1 if system not in ("Lamina", "scipy") else 5,
        group=f"{BUILD}, {graph.name} links", unit="million links/s", system=system, **note,
    )  # fmt: skip


def bench_scipy_build(benchmark: BenchmarkFixture, large: Graph) -> None:
    sparse, versions = peer("scipy")

    def work() -> Any:
        return sparse.csr_matrix((large.weight, (large.source, large.target)), shape=(large.n, large.n))

    _build(benchmark, large, work, "scipy", settings="without relations", versions=versions)


def bench_scipy_expand(benchmark: BenchmarkFixture, large: Graph) -> None:
    sparse, versions = peer("scipy")
    rows = sparse.csr_matrix((large.weight, (large.source, large.target)), shape=(large.n, large.n))

    def ask(seeds: I32) -> Any:
        seen = np.zeros(large.n, np.bool_)
        seen[seeds] = True
        found = [seeds]
        for _ in range(HOPS):
            met = np.unique(rows[found[-1]].indices)
            found.append(met[~seen[met]])
            seen[met] = True
        return np.concatenate(found)

    expand(benchmark, large, ask, system="scipy", versions=versions)


def bench_igraph_expand(benchmark: BenchmarkFixture, large: Graph) -> None:
    igraph, versions = peer("igraph")
    graph = igraph.Graph(n=large.n, edges=np.stack([large.source, large.target], 1), directed=True)

    def ask(seeds: I32) -> set[int]:
        return set().union(*graph.neighborhood(seeds.tolist(), order=HOPS, mode="out"))

    expand(benchmark, large, ask, system="igraph", versions=versions)


def bench_rustworkx_expand(benchmark: BenchmarkFixture, large: Graph) -> None:
    rustworkx, versions = peer("rustworkx")
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(large.n))
    graph.extend_from_weighted_edge_list(
        list(zip(large.source.tolist(), large.target.tolist(), large.weight.tolist(), strict=True))
    )
    expand(benchmark, large, _by_sets(graph.successor_indices), system="rustworkx", versions=versions)


def bench_networkx_expand(benchmark: BenchmarkFixture, tenth: Graph) -> None:
    networkx, versions = peer("networkx")
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(tenth.n))
    graph.add_weighted_edges_from(zip(tenth.source.tolist(), tenth.target.tolist(), tenth.weight.tolist(), strict=True))
    expand(benchmark, tenth, _by_sets(graph.successors), system="networkx", versions=versions)


def _by_sets(successors: Callable[[int], Iterable[int]]) -> Callable[[I32], set[int]]:
    def ask(seeds: I32) -> set[int]:
        seen = edge = set(seeds.tolist())
        for _ in range(HOPS):
            met: set[int] = set()
            for node in edge:
                met.update(successors(node))
            edge = met - seen
            seen = seen | edge
        return seen

    return ask


@pytest.fixture
def database(tenth: Graph) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table link(source int, target int, weight real)")
    rows = zip(tenth.source.tolist(), tenth.target.tolist(), tenth.weight.tolist(), strict=True)
    connection.executemany("insert into link values(?, ?, ?)", rows)
    connection.execute("create index by_source on link(source, target, weight)")
    yield connection
    connection.close()


def bench_sqlite_expand(benchmark: BenchmarkFixture, tenth: Graph, database: sqlite3.Connection) -> None:
    def ask(seeds: I32) -> list[int]:
        values = ",".join(f"({seed}, 0)" for seed in seeds.tolist())
        rows = database.execute(
            f"with recursive walk(node, hop) as (values {values} union select target, hop + 1 from walk "
            f"join link on source = node where hop < {HOPS}) select distinct node from walk"
        )
        return [node for (node,) in rows]

    expand(
        benchmark, tenth, ask, system="SQLite", settings="recursive CTE, covering index, in memory",
        versions={"sqlite": sqlite3.sqlite_version},
    )  # fmt: skip


def _transpose(links: Csr) -> Csr:
    return csr.build(links.indptr.size - 1, links.indices, csr.sources(links), links.weights, links.relations)
