"""Adding: an Arrow table with vectors, redacted, durable and searchable; and one small memory at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.corpus import Corpus, Query, words_of
from bench.handwritten import HandWritten
from bench.peers import skip_unless
from bench.rivals import Bm25s, Lance, QdrantEdge, SqliteVec
from bench.systems import Lamina, System
from bench.timing import describe, over, processor_seconds

KINDS = (Lamina, HandWritten, Lance, SqliteVec, QdrantEdge, Bm25s)
SMALL_ADDS = 100


@pytest.mark.parametrize("found", [False, True], ids=["durable", "durable-and-found"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def bench_bulk(benchmark: BenchmarkFixture, corpus: Corpus, tmp_path: Path, kind: type[System], *, found: bool) -> None:
    versions = skip_unless(*kind.packages)
    if corpus.size > kind.most_rows:
        pytest.skip(f"{kind.label} is left out above {kind.most_rows:,} rows: building it takes too long")
    folders = count()

    def start() -> tuple[tuple[Path], dict[str, object]]:
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        return (folder,), {}

    def build(folder: Path) -> System:
        started = processor_seconds()
        system = kind.build(corpus, folder)
        if found:
            _check(system, corpus)
        spent.append(processor_seconds() - started)
        return system

    def end(folder: Path) -> None:
        built.pop().close()
        shutil.rmtree(folder)

    built: list[System] = []
    spent: list[float] = []
    pedantic: Any = benchmark.pedantic  # it has no types
    pedantic(
        lambda folder: built.append(build(folder)), setup=start, teardown=end, rounds=3 if corpus.size <= 100_000 else 1,
        warmup_rounds=int(benchmark.enabled and corpus.size <= 10_000),
    )  # fmt: skip
    redaction = "redaction on, log durable" if kind is Lamina else "no redaction"
    describe(
        benchmark, group=f"Adding a table with vectors{', found by a search' if found else ''}", system=kind.label, kind="rate",
        settings=redaction, size=corpus.size, amount=corpus.size, unit="rows/s", versions=versions, real_rows=corpus.real,
        cpu=float(np.median(spent)),
    )  # fmt: skip


def bench_durable_steps(benchmark: BenchmarkFixture, size: int, tmp_path: Path) -> None:
    """What a disk takes for the least that is durable: a new file, its name, and the folder that holds it."""

    def write(name: str) -> None:
        aside, path = tmp_path / f"{name}.tmp", tmp_path / name
        with aside.open("wb") as file:
            file.write(bytes(1024))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        folder = os.open(tmp_path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    over(
        benchmark, write, [str(i) for i in range(SMALL_ADDS)], group="Adding one memory", size=size, unit="ms",
        system="open, write, fsync, rename, fsync of the folder", settings="1 KiB",
    )  # fmt: skip


@pytest.mark.parametrize("found", [False, True], ids=["durable", "durable-and-found"])
def bench_small(
    benchmark: BenchmarkFixture, vaults: Callable[[int], Path], size: int, tmp_path: Path, found: bool
) -> None:
    copy = tmp_path / "vault"
    shutil.copytree(vaults(size), copy)
    with lamina.open(copy) as vault:
        numbers = count()

        def add(word: str) -> None:
            unique = f"{word}{next(numbers)}"
            text = f"The deployment {unique} was rolled back because its migration could not be undone."
            (identity,) = vault.add(text, type="agent_memory")
            if found:
                assert vault.recall(unique, k=1)[0].id == identity

        over(
            benchmark, add, ["zebrafish"] * SMALL_ADDS, group="Adding one memory", size=size, unit="ms",
            system="Lamina, durable and found by recall" if found else "Lamina, durable",
            settings="text embedded, redacted, flushed to disk",
        )  # fmt: skip


def _check(system: System, corpus: Corpus) -> None:
    """What was added can be found: a stored text is its own best hit, by whichever lane the system has."""
    row = corpus.size // 2
    # words alone: signs of code may be operators to Lamina
    query = Query(" ".join(words_of(corpus.texts[row].as_py())[:40]), corpus.vectors[row])
    lane = getattr(system, "dense", None) or getattr(system, "lexical", None)
    assert lane is not None
    assert row in lane(query)
