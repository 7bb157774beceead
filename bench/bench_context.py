"""What an agent waits for: context for a turn, from a hook that starts a process each time, and in a process that is there."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.corpus import NOW_S, PROJECTS, Corpus
from bench.timing import describe, over, repeat

ROOT = Path(__file__).parents[1]
GROUP = "Context for a turn"
SETTINGS = {"INJECTION_HARD_FLOOR": 0.0, "INJECTION_CONFIDENCE_THRESHOLD": 0.0, "INJECTION_THRESHOLD_DISCUSSIONS": 0.0}
"""As open a gate as settings make it: a made-up corpus has no meanings that it could measure."""


@pytest.fixture
def told(vaults: Callable[[int], Path], corpus: Corpus, tmp_path: Path) -> Path:
    """A copy of the vault, as each turn is written down in it."""
    return Path(shutil.copytree(vaults(corpus.size), tmp_path / "vault"))


def bench_fresh_process(benchmark: BenchmarkFixture, told: Path, corpus: Corpus) -> None:
    with lamina.open(told, settings=SETTINGS) as vault:
        prompt = next(
            query.text for query in corpus.queries if vault.inject(query.text, None, project=PROJECTS[0]).tokens
        )
    command = [
        sys.executable,
        "-m",
        "lamina",
        "context",
        "turn",
        prompt,
        "--vault",
        str(told),
        "--project",
        PROJECTS[0],
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | {name: str(value) for name, value in SETTINGS.items()}
    session = itertools.count()

    def run() -> str:
        said = [*command, "--session", f"fresh-{next(session)}"]
        return subprocess.run(said, capture_output=True, text=True, check=True, env=environment).stdout

    out = repeat(benchmark, run, rounds=15, warm=2)
    describe(
        benchmark, group=GROUP, system="lamina context turn", kind="latency", unit="ms", size=corpus.size,
        settings="interpreter start counted, page cache warm",
    )  # fmt: skip
    assert "<memory" in out


def bench_warm(benchmark: BenchmarkFixture, told: Path, corpus: Corpus) -> None:
    session = itertools.count()
    with lamina.open(told, settings=SETTINGS) as vault:

        def ask(text: str) -> int:
            return vault.inject(text, f"warm-{next(session)}", now=NOW_S).tokens

        tokens = over(
            benchmark, ask, [query.text for query in corpus.queries], group=GROUP, system="vault.inject", unit="ms",
            size=corpus.size, settings="a new session each time, so nothing is left out as told",
        )  # fmt: skip
    assert tokens >= 0
