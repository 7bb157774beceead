"""An agent's hooks as the agent pays for them: whole processes, CPU time beside wall time."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import Corpus
from bench.timing import describe, repeat

ROOT = Path(__file__).parents[1]
ROUNDS = 9
GROUP = "Hooks"
TURNS = 200


def bench_gated_prompt(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _time(benchmark, "prompt", lambda _: {"prompt": "ok thanks", "cwd": str(tmp_path)}, "hook prompt, gated out", None)


def bench_prompt(benchmark: BenchmarkFixture, vaults: Callable[[int], Path], corpus: Corpus, tmp_path: Path) -> None:
    vault = _copy(vaults(corpus.size), tmp_path)
    question = f"{corpus.queries[0].text}, what do we know of it?"
    payload = lambda i: {"prompt": f"{question} {i}", "session_id": f"s{i}", "cwd": str(tmp_path)}  # noqa: E731
    _time(benchmark, "prompt", payload, "hook prompt", corpus.size, vault)


def bench_session_start(
    benchmark: BenchmarkFixture, vaults: Callable[[int], Path], corpus: Corpus, tmp_path: Path
) -> None:
    vault = _copy(vaults(corpus.size), tmp_path)
    payload = lambda i: {"session_id": f"s{i}", "cwd": str(ROOT), "source": "startup"}  # noqa: E731
    _time(benchmark, "session-start", payload, "hook session-start", corpus.size, vault)


def bench_session_end(
    benchmark: BenchmarkFixture, vaults: Callable[[int], Path], corpus: Corpus, tmp_path: Path
) -> None:
    vault = _copy(vaults(corpus.size), tmp_path)
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(_transcript(TURNS))
    payload = lambda i: {"session_id": "s", "transcript_path": str(transcript), "cwd": str(tmp_path)}  # noqa: E731
    _time(benchmark, "session-end", payload, "hook session-end, until it returns", corpus.size, vault)
    queue = vault / "queue"
    began = time.monotonic()
    while any(path.suffix in (".json", ".taken") for path in queue.iterdir()):
        assert time.monotonic() - began < 120
        time.sleep(0.05)


def _copy(vault: Path, folder: Path) -> Path:
    """Copy a vault: hooks write journals, and benches share the original."""
    return Path(shutil.copytree(vault, folder / ".lamina"))


def _transcript(turns: int) -> str:
    lines: list[dict[str, object]] = []
    for i in range(turns):
        common: dict[str, object] = {
            "sessionId": "s",
            "cwd": "/home/ada/shop",
            "timestamp": f"2026-11-22T{8 + i // 60:02}:{i % 60:02}:00.000Z",
        }
        asked = {"role": "user", "content": f"How does part {i} of the checkout round its totals?"}
        said = {
            "role": "assistant",
            "content": [{"type": "text", "text": f"Part {i} rounds half to even, says review {i}."}],
        }
        lines.append(
            {**common, "type": "user", "uuid": f"u{i}", "parentUuid": f"a{i - 1}" if i else None, "message": asked}
        )
        lines.append({**common, "type": "assistant", "uuid": f"a{i}", "parentUuid": f"u{i}", "message": said})
    return "".join(json.dumps(line) + "\n" for line in lines)


def _time(
    benchmark: BenchmarkFixture, event: str, payload: Callable[[int], dict[str, str]], system: str, size: int | None,
    vault: Path | None = None,
) -> None:  # fmt: skip
    command = [sys.executable, "-m", "lamina", "hook", event, "--deadline=60000"]
    environment = (
        os.environ | {"PYTHONPATH": str(ROOT), "LAMINA_HOOKS": ""} | ({"LAMINA_VAULT": str(vault)} if vault else {})
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    turn = iter(range(10_000))
    cpu: list[float] = []

    def run() -> None:
        given = json.dumps(payload(next(turn))).encode()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, input=given, capture_output=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert isinstance(json.loads(done.stdout), dict)

    repeat(benchmark, run, rounds=ROUNDS, warm=2)
    describe(
        benchmark, group=GROUP, system=system, kind="latency", unit="ms", size=size,
        settings=f"interpreter start counted; least CPU of {len(cpu)}: {min(cpu) * 1e3:.0f} ms",
    )  # fmt: skip


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="CPU of children is measured on POSIX")
