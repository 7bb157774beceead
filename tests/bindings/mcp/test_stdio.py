"""The program over standard input and output, by the SDK's own client and by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, stdio_client
from mcp.client.stdio import StdioServerParameters

import lamina

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
PROGRAM = [sys.executable, "-m", "lamina", "mcp"]


def talk(folder: Path, mode: str, work: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Start the program, connect the SDK's client in one era, and do some work."""

    async def run() -> None:
        parameters = StdioServerParameters(
            command=PROGRAM[0], args=[*PROGRAM[1:], "--vault", str(folder), *options], env=dict(os.environ)
        )
        with anyio.fail_after(120):
            async with Client(stdio_client(parameters), mode=mode) as client:
                await work(client)

    anyio.run(run)


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_of_each_era_lists_and_calls(folder: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == ERAS[mode]
        assert len((await client.list_tools()).tools) == 7
        added = await client.call_tool("memory_add", {"text": "Keystone runs behind nginx."})
        assert added.structured_content is not None
        found = await client.call_tool("memory_recall", {"query": "what does Keystone run behind", "k": 1})
        assert found.structured_content is not None
        assert found.structured_content["hits"][0]["id"] == added.structured_content["id"]
        wrong = await client.call_tool("memory_recall", {"query": "x", "k": 99})
        assert wrong.is_error

    talk(folder, mode, work)


class Wire:
    """The program, spoken to line by line."""

    def __init__(self, folder: Path, *options: str, command: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*(command or PROGRAM), "--vault", str(folder), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: list[bytes] = []

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self.send(id=number, method=method, params=params)
        return self.answer(number)

    def answer(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError(self.process.stderr.read() if self.process.stderr else "no answer")

    def begin(self) -> Wire:
        client = {"name": "test", "version": "0"}
        self.ask(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send(method="notifications/initialized")
        return self

    def call(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask(number, "tools/call", name=tool, arguments=arguments)

    def end(self) -> float:
        """Close the input; return how long the process lived on."""
        assert self.process.stdin is not None
        began = time.monotonic()
        self.process.stdin.close()
        self.process.wait(30)
        return time.monotonic() - began

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()


@pytest.fixture
def wire(folder: Path) -> Iterator[Callable[..., Wire]]:
    opened: list[Wire] = []

    def start(*options: str, command: list[str] | None = None) -> Wire:
        opened.append(Wire(folder, *options, command=command))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_revision_with_a_handshake_is_spoken(wire: Callable[..., Wire], version: str) -> None:
    it = wire()
    hello = it.ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "0"})
    assert hello["result"]["protocolVersion"] == version
    assert set(hello["result"]["capabilities"]) >= {"tools"}
    assert 100 < len(hello["result"]["instructions"]) <= 600
    it.send(method="notifications/initialized")
    listed = it.ask(1, "tools/list")["result"]
    assert len(json.dumps({"tools": listed["tools"]}, separators=(",", ":"))) <= 5_600
    assert len(it.call(2, "memory_recall", query="PostgreSQL")["result"]["structuredContent"]["hits"]) > 0


def test_the_end_of_the_input_ends_the_process_within_a_second(wire: Callable[..., Wire]) -> None:
    it = wire().begin()
    it.call(1, "memory_recall", query="PostgreSQL")
    assert it.end() < 1.0
    assert it.process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_within_a_second(wire: Callable[..., Wire], number: signal.Signals) -> None:
    it = wire().begin()
    began = time.monotonic()
    it.process.send_signal(number)
    it.process.wait(30)
    assert time.monotonic() - began < 1.0


def test_a_missing_extra_is_named_with_the_command_that_brings_it(folder: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from lamina.cli import main; sys.exit(main(['mcp', '--vault', sys.argv[1]]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert "[mcp]" in done.stderr
    assert done.stdout == ""


HEAVY = {"numpy", "pyarrow", "faiss", "numba", "tantivy", "pandas"}


def test_listing_loads_nothing_heavy_and_no_more_of_the_engine_than_import_lamina(wire: Callable[..., Wire]) -> None:
    bare = subprocess.run(
        [sys.executable, "-c", "import json, sys, lamina.cli.command; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code = (
        "import atexit, json, os, sys; exit_ = os._exit\n"
        "def leave(code): print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True); exit_(code)\n"
        "os._exit = leave\n"
        "from lamina.cli import main; main(['mcp', *sys.argv[1:]])"
    )
    it = wire(command=[sys.executable, "-c", code]).begin()
    it.ask(1, "tools/list")
    it.end()
    assert it.process.stderr is not None
    loaded = set(json.loads(it.process.stderr.read().splitlines()[-1]))
    assert loaded & HEAVY == set()
    engine = {name for name in loaded if name.startswith("lamina_engine")}
    assert engine <= set(json.loads(bare.stdout))


NOISY = """
import sys
import lamina, lamina.mcp.access as access
import numpy as np

def noisy(texts):
    print("printed by an embedder", flush=True)
    import os; os.write(1, b"written to file descriptor 1\\n"); os.system("echo from a child")
    return np.ones((len(texts), 8), np.float32)

folder = sys.argv[2]
with lamina.open(folder + "-noisy", create=True, embedder=noisy) as vault:
    pass
from lamina.mcp.server import run_stdio
run_stdio(access.VaultAccess(folder + "-noisy", embedder=noisy))
"""


def test_what_libraries_print_does_not_reach_the_protocol(wire: Callable[..., Wire]) -> None:
    it = wire(command=[sys.executable, "-c", NOISY]).begin()
    assert not it.call(1, "memory_add", text="The kiln fires at noon.")["result"].get("isError")
    assert it.call(2, "memory_recall", query="kiln")["result"]["structuredContent"]["hits"]
    it.end()
    assert it.process.stdout is not None
    for line in [*it.lines, *it.process.stdout.read().splitlines()]:
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert it.process.stderr is not None
    assert b"printed by an embedder" in it.process.stderr.read()


SLOW = """
import sys, time
import lamina
import lamina.mcp.access as access
recall = lamina.Vault.recall
def slow(self, query, *args, **given):
    if query == "slow": time.sleep(2)
    return recall(self, query, *args, **given)
lamina.Vault.recall = slow
from lamina.mcp.server import run_stdio
run_stdio(access.VaultAccess(sys.argv[2]))
"""


def test_a_cancelled_call_is_never_answered_and_holds_up_no_other(wire: Callable[..., Wire]) -> None:
    it = wire(command=[sys.executable, "-c", SLOW]).begin()
    it.call(1, "memory_recall", query="PostgreSQL")
    for number in range(10, 15):  # one more than there are threads
        it.send(id=number, method="tools/call", params={"name": "memory_recall", "arguments": {"query": "slow"}})
    for number in range(10, 15):
        it.send(method="notifications/cancelled", params={"requestId": number})
    began = time.monotonic()
    assert "result" in it.call(2, "memory_recall", query="PostgreSQL")
    assert time.monotonic() - began < 1.5
    time.sleep(2.5)
    assert "result" in it.call(3, "memory_recall", query="PostgreSQL")
    assert not {json.loads(line).get("id") for line in it.lines} & set(range(10, 15))


def test_a_call_that_takes_long_does_not_hold_the_end_up(wire: Callable[..., Wire]) -> None:
    it = wire(command=[sys.executable, "-c", SLOW.replace("sleep(2)", "sleep(20)")]).begin()
    it.send(id=10, method="tools/call", params={"name": "memory_recall", "arguments": {"query": "slow"}})
    assert it.end() < 3  # a second, and what a busy machine adds


def test_calls_run_beside_one_another(wire: Callable[..., Wire]) -> None:
    it = wire(command=[sys.executable, "-c", SLOW]).begin()
    it.call(1, "memory_recall", query="PostgreSQL")
    it.send(id=10, method="tools/call", params={"name": "memory_recall", "arguments": {"query": "slow"}})
    assert "result" in it.call(2, "memory_recall", query="PostgreSQL")
    order = [json.loads(line).get("id") for line in it.lines]
    assert 10 not in order
    assert "result" in it.answer(10)


def test_requests_that_come_through_a_pipe_are_answered(folder: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    asked: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list", "params": {}},
        {"id": 2, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked)
    done = subprocess.run([*PROGRAM, "--vault", str(folder)], input=lines, capture_output=True, text=True, check=True)
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == {0, 1, 2}
    assert len(answers[1]["result"]["tools"]) == 7
    assert set(answers[2]) & {"result", "error"}  # a vault that takes longer than that to open is not waited for


def test_foreign_lines_do_not_end_a_server(wire: Callable[..., Wire]) -> None:
    it = wire().begin()
    assert it.process.stdin is not None
    for line in (b"{not json\n", b"[]\n", b'"text"\n', b"\xff\xfe\n", b"\n", b'{"jsonrpc":"1.0","id":5}\n'):
        it.process.stdin.write(line)
    it.process.stdin.flush()
    assert "error" in it.ask(7, "no/such/method")
    assert "error" in it.ask(8, "tools/call", name="no_such_tool", arguments={})
    assert "result" in it.call(9, "memory_recall", query="PostgreSQL")


def test_a_question_cut_within_a_character_is_answered_without_it(wire: Callable[..., Wire]) -> None:
    it = wire().begin()
    for number, query in enumerate(("PostgreSQL \ud83d", "\udc4dPostgreSQL", "Postgre\ud83dSQL \U0001f44d"), 1):
        hits = it.call(number, "memory_recall", query=query)["result"]["structuredContent"]["hits"]
        assert hits == it.call(100 + number, "memory_recall", query="PostgreSQL")["result"]["structuredContent"]["hits"]
    assert "error" in it.ask(9, "no/such/\ud83dmethod")


def test_a_server_sees_what_others_write(wire: Callable[..., Wire], folder: Path) -> None:
    it = wire().begin()
    it.call(1, "memory_recall", query="kiln")
    with lamina.open(folder) as vault:
        (added,) = vault.add("The kiln fires at noon.")
    assert it.call(2, "memory_recall", query="kiln")["result"]["structuredContent"]["hits"][0]["id"] == added


def test_an_agent_that_wants_text_alone_gets_no_data_beside_it(wire: Callable[..., Wire]) -> None:
    it = wire("--text").begin()
    result = it.call(1, "memory_recall", query="PostgreSQL")["result"]
    assert "PostgreSQL" in result["content"][0]["text"]
    assert result.get("structuredContent") is None
