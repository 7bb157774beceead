"""Chains: the walk from five seeds, beside the same walk in plain Python and over SQLite; a whole chain query; and what
chains are for, planted stories.

One project for all: sessions of 200 chunks in lines, every twentieth chunk of which sends a sub-agent off that comes
back five chunks later. All walks give the same chains, which is checked before any is timed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.stories import fill, measure, plant
from bench.timing import describe, over, repeat
from lamina_engine.graph.log import Draft, write
from lamina_kernels.graph import chains, csr, hops
from lamina_kernels.graph.chains import Limits
from lamina_kernels.layouts import I32, U8, Csr

LINE: Final = 200
EVERY: Final = 20
HELPED: Final = 5
DIM: Final = 256
SEEDS: Final = 5
LIMITS: Final = Limits(tokens=20_000, depth=50, skips=5, chains=10, expansions=200)
WALK, QUERY, STORIES = "Chain walk from five seeds", "Chain query", "Planted stories: the cause is told"
Found = list[tuple[int, ...]]


class Project(NamedTuple):
    """Links of a project, and sizes of its chunks."""

    n: int
    source: I32
    target: I32
    backward: Csr
    blocked: U8
    tokens: I32
    seeds: list[I32]


def links_of(n: int) -> tuple[list[int], list[int]]:
    """Return sources and targets: sessions of a main thread, and sub-agents that leave it and come back."""
    source: list[int] = []
    target: list[int] = []
    for start in range(0, n, LINE):
        main: list[int] = []
        helpers: list[tuple[int, list[int]]] = []
        at, stop = start, min(start + LINE, n)
        while at < stop:
            main.append(at)
            at += 1
            if len(main) % EVERY == 0 and at + HELPED < stop:
                helpers.append((len(main) - 1, list(range(at, at + HELPED))))
                at += HELPED
        source += main[:-1]
        target += main[1:]
        for place, helper in helpers:
            source += [main[place], *helper]
            target += [*helper, main[min(place + 1, len(main) - 1)]]
    return source, target


@pytest.fixture(scope="module")
def project(pytestconfig: pytest.Config) -> Project:
    chains.walk_chains.warm()
    n = 400_000 if pytestconfig.getoption("benchmark_enable") else 2_000
    rng = np.random.default_rng(4)
    source, target = (np.array(ends, np.int32) for ends in links_of(n))
    m = len(source)
    forward = csr.build(n, source, target, np.ones(m, np.float32), np.zeros(m, np.uint8))
    tokens = rng.integers(100, 900, n).astype(np.int32)
    seeds = [np.unique(rng.integers(0, n, SEEDS)).astype(np.int32) for _ in range(100)]
    return Project(n, source, target, _transpose(forward), hops.block(np.ones(n, np.bool_)), tokens, seeds)


def known(node: int) -> None:
    raise AssertionError(f"the size of {node} is known")


def by_kernel(project: Project) -> Callable[[I32], Any]:
    walked, others = np.ones(256, np.uint8), np.zeros_like(project.blocked)

    def ask(seeds: I32) -> chains.Chains:
        return chains.chains(project.backward, seeds, walked, project.blocked, others, project.tokens, LIMITS, known)

    return ask


def listed(found: chains.Chains) -> Found:
    bounds = found.starts.tolist()
    return [tuple(found.nodes[a:b].tolist()) for a, b in pairwise(bounds)]


def by_steps(onward: Callable[[int], Sequence[int]], size: Callable[[int], int]) -> Callable[[Any], Found]:
    """The walk in plain Python, over whatever gives a chunk's links and size."""

    def ask(seeds: Any) -> Found:
        found: Found = []
        for seed in map(int, seeds):
            told: Found = []
            count = 0

            def step(way: list[int], used: int, told: Found = told) -> bool:
                nonlocal count
                count += 1
                if count > LIMITS.expansions or len(told) >= LIMITS.chains:
                    return False
                any_told = cut = False
                if len(way) < LIMITS.depth:
                    for v in onward(way[-1]):
                        if count > LIMITS.expansions or len(told) >= LIMITS.chains:
                            break
                        if v in way:
                            continue
                        need = size(v)
                        if used + need > LIMITS.tokens:
                            if not cut and len(told) < LIMITS.chains:
                                told.append(tuple(way))
                                any_told = True
                            cut = True
                            continue
                        way.append(v)
                        any_told |= step(way, used + need)
                        way.pop()
                if not any_told and len(told) < LIMITS.chains:
                    told.append(tuple(way))
                    any_told = True
                return any_told

            step([seed], size(seed))
            found += told
        return found

    return ask


def walked(benchmark: BenchmarkFixture, project: Project, ask: Callable[[I32], Any], **note: Any) -> None:
    """Compare what a walk finds, then time it."""
    kernel = by_kernel(project)
    for seeds in project.seeds[:5]:
        got = ask(seeds)
        assert (listed(got) if isinstance(got, chains.Chains) else got) == listed(kernel(seeds))
    over(benchmark, ask, project.seeds, group=WALK, size=project.n, **note)


def bench_lamina_walk(benchmark: BenchmarkFixture, project: Project) -> None:
    walked(benchmark, project, by_kernel(project), system="Lamina", settings="depth 50, 20,000 tokens")


def bench_python_walk(benchmark: BenchmarkFixture, project: Project) -> None:
    rows: list[list[int]] = [[] for _ in range(project.n)]
    for u, v in zip(project.source.tolist(), project.target.tolist(), strict=True):
        rows[v].append(u)
    for row in rows:
        row.sort()
    sizes = project.tokens.tolist()
    walked(
        benchmark, project, by_steps(rows.__getitem__, sizes.__getitem__), system="plain Python",
        settings="lists of lists in memory",
    )  # fmt: skip


@pytest.fixture
def database(project: Project) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table link(source integer, target integer)")
    connection.execute("create table chunk(id integer primary key, tokens integer)")
    connection.executemany(
        "insert into link values(?, ?)", zip(project.source.tolist(), project.target.tolist(), strict=True)
    )
    connection.executemany("insert into chunk values(?, ?)", enumerate(project.tokens.tolist()))
    connection.execute("create index by_target on link(target, source)")
    yield connection
    connection.close()


def bench_sqlite_walk(benchmark: BenchmarkFixture, project: Project, database: sqlite3.Connection) -> None:
    def onward(node: int) -> list[int]:
        rows = database.execute("select source from link where target = ? order by source", (node,))
        return [source for (source,) in rows]

    def size(node: int) -> int:
        return int(database.execute("select tokens from chunk where id = ?", (node,)).fetchone()[0])

    walked(
        benchmark, project, by_steps(onward, size), system="SQLite", settings="a query a hop, covering index, in memory",
        versions={"sqlite": sqlite3.sqlite_version},
    )  # fmt: skip


# ---------------------------------------------------------------------- a whole query

_SYLLABLES: Final = ("ba", "ce", "do", "fi", "gu", "ka", "le", "mo", "ni", "ru", "sa", "te", "vo")
_WORDS: Final = ["".join(parts) for parts in product(_SYLLABLES, repeat=3)]
"""2,197 words, each in one chunk of seventy: rarer than stop words, which a question leaves out, and more common than names."""


def records(n: int) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of chunks with vectors: text of some sixty words, a direction of their session and one of their own."""
    rng = np.random.default_rng(8)
    for start in range(0, n, 10 * LINE):
        batch = []
        for first in range(start, min(start + 10 * LINE, n), LINE):
            theme = rng.standard_normal(DIM)
            about = rng.integers(0, len(_WORDS), 40)
            count = min(LINE, n - first)
            vectors = theme + 1.5 * rng.standard_normal((count, DIM))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            words = rng.choice(about, (count, 60))
            batch += [
                {
                    "id": f"c{first + i:07d}", "text": " ".join(_WORDS[w] for w in words[i]), "vector": vectors[i].astype(np.float32),
                    "type": "conversation", "collection": "discussions", "project": "p", "session": f"s{first // LINE}",
                    "created_at": f"2026-01-{1 + first // LINE % 28:02d}T{i // 60:02d}:{i % 60:02d}:00Z",
                }
                for i in range(count)
            ]  # fmt: skip
        yield batch


@pytest.fixture(scope="module")
def vault(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lamina.Vault]:
    from lamina import CallableEmbedder

    n = 400_000 if pytestconfig.getoption("benchmark_enable") else 1_000
    embedder = CallableEmbedder(lambda texts: np.zeros((len(texts), DIM), np.float32), DIM, identity="given")
    folder: Path = tmp_path_factory.mktemp("chains")
    with lamina.open(folder / "vault", create=True, embedder=embedder) as opened:
        for batch in records(n):
            opened.add(batch)
        source, target = links_of(n)
        drafts = [Draft(f"c{u:07d}", f"c{v:07d}", "next") for u, v in zip(source, target, strict=True)]
        write(opened._memory, drafts, origin="within-session")
        yield opened


def bench_lamina_query(benchmark: BenchmarkFixture, vault: lamina.Vault) -> None:
    """A question of six words of a session, with a vector near one of its chunks."""
    rows = vault._memory.view().rows
    rng = np.random.default_rng(9)
    view = vault._memory.view()
    asked = []
    for row in rng.integers(0, rows, 50).tolist():
        text = str(view.snapshot.values("chunks", "text", np.array([row]))[0])
        near = view.vectors.gather(np.array([row]))[0] + 0.03 * rng.standard_normal(DIM)
        asked.append((" ".join(text.split()[:6]), near.astype(np.float32)))

    def ask(question: tuple[str, Any]) -> Any:
        return vault.chain(question[0], vector=question[1])

    told = [ask(question) for question in asked[:20]]
    assert sum(story.mode == "chain" for story in told) >= 15
    over(benchmark, ask, asked, group=QUERY, size=rows, system="Lamina", settings="words, vectors, walk, best median")


# ---------------------------------------------------------------------- what it is for


@pytest.mark.parametrize(("embedder", "across"), [("wordllama", False), ("wordllama", True), ("none", False)])
def bench_stories(benchmark: BenchmarkFixture, tmp_path: Path, embedder: str, across: bool) -> None:
    corpus = plant(192 if benchmark.enabled else 24, across=across)
    with lamina.open(tmp_path / "vault", create=True, embedder=embedder) as vault:
        fill(vault, corpus)
        got = repeat(benchmark, lambda: measure(vault, corpus.stories), rounds=1)
    assert got.chain >= 0.9 > got.search
    space = "bundled model" if embedder == "wordllama" else "words alone"
    space += ", sessions linked to each other" if across else ""
    shares = {"chain": got.chain, "search, ten hits": got.search, "search, as many tokens as the chain": got.as_long}
    said = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    describe(
        benchmark, group=STORIES, system=f"Lamina, chain, {space}", kind="value", value=got.chain, unit="share of stories",
        settings=said, size=None, shares=shares, tokens=got.tokens, by_distance=got.by_distance,
    )  # fmt: skip


def _transpose(links: Csr) -> Csr:
    return csr.build(links.indptr.size - 1, links.indices, csr.sources(links), links.weights, links.relations)
