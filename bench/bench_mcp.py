"""Memory over MCP as an agent meets it: start to the list of tools, the first recall, recalls and adds one after the other."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.corpus import Corpus
from bench.mcp_wire import Talk, talk
from bench.timing import describe, repeat

ROUNDS = 9
CALLS = 200
START, WARM = "MCP: start to the list of tools", "MCP: recall round trip, warm"
OURS = [sys.executable, "-m", "lamina", "mcp"]
SDK = [sys.executable, "-c", "from mcp.server import MCPServer; MCPServer('empty').run()"]
NODE_MODULES, PEER = "LAMINA_NODE_MODULES", "LAMINA_MCP_PEER"


def node_peer() -> list[str]:
    """Return the command of server-memory, or skip."""
    script = Path(os.environ.get(NODE_MODULES, "")) / "node_modules" / ".bin" / "mcp-server-memory"
    node = shutil.which("node")
    if not os.environ.get(NODE_MODULES) or not script.exists() or node is None:
        pytest.skip(f"no server-memory: ${NODE_MODULES} names a folder where npm installed it")
    return [node, str(script.resolve())]


def python_peer() -> list[str]:
    """Return the command of another Python server, or skip."""
    command = os.environ.get(PEER, "").split()
    if not command:
        pytest.skip(f"no other Python server: ${PEER} is the command that starts one")
    return command


@pytest.fixture
def folder(vaults: Callable[[int], Path], corpus: Corpus) -> Path:
    return vaults(corpus.size)


@pytest.mark.parametrize("server", ["lamina", "sdk", "server-memory", "python"])
def bench_start(benchmark: BenchmarkFixture, server: str, folder: Path, corpus: Corpus) -> None:
    commands: dict[str, Callable[[], list[str]]] = {
        "lamina": lambda: [*OURS, "--vault", str(folder)], "sdk": lambda: SDK, "server-memory": node_peer,
        "python": python_peer,
    }  # fmt: skip
    command = commands[server]()
    system = {"lamina": "Lamina", "sdk": "the SDK, an empty server", "python": Path(command[-1]).name}.get(
        server, server
    )
    talks: list[Talk] = []
    repeat(benchmark, lambda: talks.append(talk(command)), rounds=ROUNDS, warm=1)
    least = min(talks, key=lambda each: each.cpu_s)
    describe(
        benchmark, group=START, system=system, kind="latency", unit="ms", settings="interpreter start counted, and its end",
        cpu_s=least.cpu_s, peak_bytes=least.peak_bytes, list_characters=least.list_characters,
    )  # fmt: skip


def bench_first_recall(benchmark: BenchmarkFixture, folder: Path, corpus: Corpus) -> None:
    calls = [("memory_recall", {"query": corpus.queries[0].text})]
    talks: list[Talk] = []
    repeat(benchmark, lambda: talks.append(talk([*OURS, "--vault", str(folder)], calls)), rounds=ROUNDS, warm=1)
    bare = min(talk([*OURS, "--vault", str(folder)]).cpu_s for _ in range(ROUNDS if benchmark.enabled else 1))
    least = min(talks, key=lambda each: each.cpu_s)
    assert least.answers[0]["structuredContent"]["hits"]
    describe(
        benchmark, group="MCP: start to the first recall", system="Lamina", kind="latency", unit="ms", size=corpus.size,
        cpu_s=least.cpu_s, cpu_of_the_recall_s=least.cpu_s - bare, first_call_s=min(each.calls_s[0] for each in talks),
    )  # fmt: skip


def bench_recall(benchmark: BenchmarkFixture, folder: Path, corpus: Corpus) -> None:
    asked = [corpus.queries[n % len(corpus.queries)].text for n in range(CALLS if benchmark.enabled else 5)]
    # the first calls run beside a thread that loads the kernels
    calls = [("memory_recall", {"query": text}) for text in [*asked, *asked]]
    _many(benchmark, WARM, [*OURS, "--vault", str(folder)], calls, len(asked), corpus.size)


def bench_add(benchmark: BenchmarkFixture, folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    copy = tmp_path / "vault"
    shutil.copytree(folder, copy)
    count = CALLS // 2 if benchmark.enabled else 3
    calls: list[tuple[str, Mapping[str, object]]] = [
        ("memory_add", {"text": f"Decision {n}: {corpus.queries[n % len(corpus.queries)].text}"})
        for n in range(count + 5)
    ]
    _many(benchmark, "MCP: memory_add round trip, durable", [*OURS, "--vault", str(copy)], calls, count, corpus.size)


def bench_server_memory(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    command = node_peer()
    entities = [
        {"name": f"entity {n}", "entityType": "note", "observations": [f"observation {n} of the gateway"]}
        for n in range(10_000)
    ]
    count = 50 if benchmark.enabled else 2
    calls: list[tuple[str, Mapping[str, object]]] = [
        ("create_entities", {"entities": entities}),
        *[("search_nodes", {"query": f"entity {n} "}) for n in range(count)],
    ]
    environ = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    _many(benchmark, WARM, command, calls, count, 10_000, "server-memory, search_nodes", environ)


def _many(
    benchmark: BenchmarkFixture, group: str, command: list[str], calls: Sequence[tuple[str, Mapping[str, object]]], count: int,
    size: int, system: str = "Lamina", environ: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Time one conversation; its last ``count`` calls are what counts."""
    talks: list[Talk] = []
    repeat(benchmark, lambda: talks.append(talk(command, calls, environ)), rounds=1)
    times = sorted(talks[-1].calls_s[-count:])
    assert not any(answer.get("isError") for answer in talks[-1].answers)
    describe(
        benchmark, group=group, system=system, kind="value", unit="s, median", size=size, value=times[len(times) // 2],
        low=times[0], high=times[-1], p95=times[int(len(times) * 0.95) - 1], cpu_s=talks[-1].cpu_s,
    )  # fmt: skip
