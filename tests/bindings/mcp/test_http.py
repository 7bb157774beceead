"""The server over HTTP: loopback, a token, this host's names, and both eras."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "a-token-of-this-test-alone"


class Served:
    """The program in a process, and where it listens."""

    def __init__(self, folder: Path, *options: str, token: str | None = TOKEN) -> None:
        environ = {**os.environ, **({"LAMINA_MCP_TOKEN": token} if token else {})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lamina", "mcp", "--http", "--vault", str(folder), *options],
            stderr=subprocess.PIPE, env=environ, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.line)
        assert found, self.line
        self.url, self.port = found[0], int(found[1])

    def post(self, *, token: str | None = TOKEN, **headers: str) -> int:
        """Send one request with these headers; return the status."""
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        if token:
            sent["authorization"] = f"Bearer {token}"
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        deadline = time.monotonic() + 30
        while True:
            try:
                return int(httpx2.post(self.url, json=body, headers=sent, timeout=30).status_code)
            except httpx2.ConnectError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    it = Served(folder)
    yield it
    it.process.kill()
    it.process.wait()
    assert it.process.stderr is not None
    it.process.stderr.close()


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_clients_of_both_eras(served: Served, mode: str, version: str) -> None:
    async def run() -> None:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        with anyio.fail_after(120):
            async with http, Client(streamable_http_client(served.url, http_client=http), mode=mode) as client:
                assert client.protocol_version == version
                assert len((await client.list_tools()).tools) == 7
                result = await client.call_tool("memory_recall", {"query": "PostgreSQL"})
                assert result.structured_content is not None
                assert result.structured_content["hits"]

    served.post()
    anyio.run(run)


def test_strangers_reach_nothing(served: Served) -> None:
    assert served.post() == 200
    assert served.post(token=None) == 401
    assert served.post(token="another") == 401
    assert served.post(host="evil.example") in (403, 421)
    assert served.post(host=f"127.0.0.1:{served.port + 1}") in (403, 421)
    assert served.post(origin="https://evil.example") == 403
    assert served.post(origin="null") == 403
    assert served.post(origin=f"http://localhost:{served.port}") == 200
    assert TOKEN not in served.line


def test_it_listens_on_loopback_alone_and_ends_on_sigterm(served: Served) -> None:
    served.post()
    table = Path("/proc/net/tcp")
    if table.exists():
        addresses = {line.split()[1] for line in table.read_text().splitlines()[1:]}
        assert {address for address in addresses if address.endswith(f":{served.port:04X}")} <= {
            f"0100007F:{served.port:04X}"
        }
    served.process.send_signal(signal.SIGTERM)
    served.process.wait(10)


def test_a_token_is_made_where_none_is_given(folder: Path) -> None:
    it = Served(folder, token=None)
    found = re.search(r"Bearer ([\w-]{40,})'", it.line)
    assert found
    assert it.post(token=found[1]) == 200
    it.process.kill()
    it.process.wait()
    assert it.process.stderr is not None
    it.process.stderr.close()


def test_wrong_options_are_said(folder: Path, served: Served) -> None:
    def run(*options: str, **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "lamina", "mcp", "--vault", str(folder), *options], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, env={**os.environ, **environ}, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "--port is for --http" in run("--port", "8080")
    assert "cannot be used" in run("--http", "--port", str(served.port))
    assert "16 printable" in run("--http", LAMINA_MCP_TOKEN="short")
