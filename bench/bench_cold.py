"""From a bare process to the first answer: what a command line or a hook pays each time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import NOW_S, Corpus
from bench.handwritten import HandWritten
from bench.peers import skip_unless
from bench.timing import describe, repeat

ROOT = Path(__file__).parents[1]
ROUNDS = 15
GROUP = "Fresh process"

OURS = """
import sys, numpy, lamina
vault = lamina.open(sys.argv[1], mode="r")
hits = vault.recall(sys.argv[2], profile="temporal", vector=numpy.load(sys.argv[3]), now={now})
print(hits[0].text)
"""
EMBEDDED = """
import sys, lamina
print(lamina.open(sys.argv[1], mode="r").recall(sys.argv[2], profile="temporal", now={now})[0].text)
"""
THEIRS = """
import sys, pathlib, numpy
from bench.handwritten import HandWritten
from bench.corpus import Query
print(HandWritten(pathlib.Path(sys.argv[1])).hybrid(Query(sys.argv[2], numpy.load(sys.argv[3])))[0])
"""


@pytest.mark.parametrize("code", ["pass", "import numpy", "import lamina"])
def bench_import(benchmark: BenchmarkFixture, code: str) -> None:
    _time(benchmark, [sys.executable, "-c", code], f"python -c '{code}'", None)


@pytest.mark.parametrize("embedded", [False, True], ids=["vector-given", "text-only"])
def bench_first_hit(
    benchmark: BenchmarkFixture, vaults: Callable[[int], Path], corpus: Corpus, tmp_path: Path, embedded: bool
) -> None:
    code = (EMBEDDED if embedded else OURS).format(now=NOW_S)
    out = _time(
        benchmark, [sys.executable, "-c", code, str(vaults(corpus.size)), *_question(corpus, tmp_path)],
        f"Lamina, {'text to' if embedded else 'vector given,'} first hybrid hit", corpus.size,
    )  # fmt: skip
    assert out.strip()


def bench_first_hit_handwritten(benchmark: BenchmarkFixture, corpus: Corpus, tmp_path: Path) -> None:
    skip_unless(*HandWritten.packages)
    folder = tmp_path / "stack"
    folder.mkdir()
    HandWritten.write(corpus, folder)
    command = [sys.executable, "-c", THEIRS, str(folder), *_question(corpus, tmp_path)]
    out = _time(benchmark, command, "hand-written, vector given, first hybrid hit", corpus.size)
    assert out.strip()


def bench_command_line(benchmark: BenchmarkFixture, vaults: Callable[[int], Path], corpus: Corpus) -> None:
    question = corpus.queries[0].text
    command = [sys.executable, "-m", "lamina", "recall", question, "--vault", str(vaults(corpus.size))]
    out = _time(benchmark, command, "lamina recall", corpus.size)
    assert question.split()[0] in out.lower()


def _question(corpus: Corpus, folder: Path) -> list[str]:
    np.save(folder / "vector.npy", corpus.queries[0].vector)
    return [corpus.queries[0].text, str(folder / "vector.npy")]


def _time(benchmark: BenchmarkFixture, command: list[str], system: str, size: int | None) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not for each process

    def run() -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    out: str = repeat(benchmark, run, rounds=ROUNDS, warm=2)
    describe(
        benchmark, group=GROUP, system=system, kind="latency", unit="ms", size=size,
        settings="interpreter start counted, bytecode compiled, page cache warm",
    )  # fmt: skip
    return out
