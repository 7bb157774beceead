"""Sessions of agents into a vault: all of them, none of them changed, one that has grown; made-up sessions.

Nothing is embedded, so that what is timed is reading, redacting, cutting, indexing, linking and the disk. A size is
about so many chunks: 400k are 2,000 sessions with two agents each.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.session_corpus import CHUNKS, write_sessions
from bench.timing import describe, repeat

FIRST, AGAIN = "Sessions into an empty vault", "Sessions again"


class Sessions(NamedTuple):
    """Sessions on disk."""

    folder: Path
    files: int
    size: int
    """Bytes."""


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Sessions]:
    """``written(size)``: sessions of about so many chunks."""

    @cache
    def write(size: int) -> Sessions:
        folder = tmp_path_factory.mktemp("sessions")
        return Sessions(folder, *write_sessions(folder, max(1, size // CHUNKS)))

    return write


@pytest.fixture(scope="session")
def filled(
    written: Callable[[int], Sessions], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], tuple[lamina.Vault, Path]]]:
    """``filled(size)``: a vault of them, and a copy of their files that may be changed."""
    opened: list[lamina.Vault] = []

    @cache
    def fill(size: int) -> tuple[lamina.Vault, Path]:
        folder = tmp_path_factory.mktemp("filled")
        shutil.copytree(written(size).folder, folder / "files")
        vault = lamina.open(folder / "vault", create=True, embedder="none")
        opened.append(vault)
        vault.ingest(folder / "files", kind="sessions")
        return vault, folder / "files"

    yield fill
    for vault in opened:
        vault.close()


def bench_first(benchmark: BenchmarkFixture, written: Callable[[int], Sessions], size: int, tmp_path: Path) -> None:
    numbers = count()

    def ingest() -> int:
        with lamina.open(tmp_path / str(next(numbers)), create=True, embedder="none") as vault:
            report = vault.ingest(written(size).folder, kind="sessions")
            assert not report.problems
            return report.chunks

    chunks = repeat(benchmark, ingest, rounds=1 if size > 20_000 else 3)
    told = f"redacted, cut, indexed, linked, durable; {written(size).size / chunks:,.0f} bytes read for each chunk"
    describe(
        benchmark, group=FIRST, system="Lamina", kind="rate", settings=told, size=size, amount=chunks, unit="chunks/s"
    )


def bench_first_sqlite(
    benchmark: BenchmarkFixture, written: Callable[[int], Sessions], size: int, tmp_path: Path
) -> None:
    """Turns as rows of an FTS5 table, by the shortest script that does it: nothing redacted, cut or linked."""
    numbers = count()

    def ingest() -> int:
        with sqlite3.connect(tmp_path / f"{next(numbers)}.db") as database:
            database.execute("create virtual table turns using fts5(session unindexed, place unindexed, text)")
            for path in sorted(written(size).folder.rglob("*.jsonl")):
                database.executemany("insert into turns values (?, ?, ?)", _turns(path))
            (rows,) = database.execute("select count(*) from turns").fetchone()
        return int(rows)

    turns = repeat(benchmark, ingest, rounds=1 if size > 20_000 else 3)
    told = "one row a turn in FTS5, one transaction; neither redacted nor cut nor linked"
    describe(
        benchmark, group=FIRST, system="hand-written: json + SQLite FTS5", kind="rate", settings=told, size=size,
        amount=turns, unit="chunks/s",
    )  # fmt: skip


def _turns(path: Path) -> Iterator[tuple[str, int, str]]:
    turn: list[str] = []
    place = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            content = json.loads(line)["message"]["content"]
            if isinstance(content, str):
                if turn:
                    yield path.stem, place, "\n\n".join(turn)
                    place += 1
                turn = [content]
            else:
                turn += [
                    str(block.get("text") or block.get("content") or block.get("input") or "") for block in content
                ]
    if turn:
        yield path.stem, place, "\n\n".join(turn)


def bench_unchanged(benchmark: BenchmarkFixture, filled: Callable[[int], tuple[lamina.Vault, Path]], size: int) -> None:
    vault, folder = filled(size)
    report = repeat(benchmark, lambda: vault.ingest(folder, kind="sessions"), rounds=5, warm=1)
    assert not report.chunks
    describe(
        benchmark, group=AGAIN, system="Lamina, nothing changed", kind="latency", settings="files listed, none opened",
        size=size, unit="ms",
    )  # fmt: skip


def bench_grown(benchmark: BenchmarkFixture, filled: Callable[[int], tuple[lamina.Vault, Path]], size: int) -> None:
    """One session has one more turn each time; its whole file is read again."""
    vault, folder = filled(size)
    path = min(path for path in folder.rglob("*.jsonl") if "subagents" not in path.parts)
    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    numbers = count()

    def grow() -> None:
        line = last | {"type": "user", "timestamp": datetime.now(UTC).isoformat()}
        line["message"] = {"role": "user", "content": f"turn {next(numbers)} " + "of some words " * 30}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def ingest() -> int:
        grow()
        return vault.ingest(path, kind="sessions").chunks

    assert repeat(benchmark, ingest, rounds=10, warm=1) in (1, 2)
    told = f"a file of {path.stat().st_size / 1e6:.1f} MB, one turn more; links included"
    describe(benchmark, group=AGAIN, system="Lamina, one grown", kind="latency", settings=told, size=size, unit="ms")
