"""Opening, recalling, verifying, viewing, hooking and serving tools make no connection.

Every Python process of a command carries an audit hook that refuses and records each attempt; where strace is installed,
the system calls of all its processes and threads are traced as well, those of compiled libraries included.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamina_kernels._jit import _user_cache

REFUSE = r"""
import os, sys
EVENTS = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto", "socket.sendmsg"}
def refuse(event, given):
    if event in EVENTS and not (event == "socket.connect" and isinstance(given[1], (str, bytes))):
        with open(os.environ["ATTEMPTS"], "a") as file:
            file.write(f"{event} {given[1:]!r} of {sys.argv}\n")
        raise OSError("no network in this test")
sys.addaudithook(refuse)
"""
CALLS = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(.*sa_family=AF_INET")
COMMANDS: dict[str, list[str]] = {
    "recall": ["recall", "why did we leave SQLite"],
    "recall, another profile": ["recall", "why did we leave SQLite", "--profile", "causal", "--json"],
    "list": ["list", "--json"],
    "verify": ["verify", "--deep"],
    "stats": ["stats", "--json"],
    "context": ["context", "turn", "why did we leave SQLite"],
    "add": ["add", "The nightly backup runs at 02:00 UTC."],
    "doctor": ["doctor"],
}
KERNELS = os.environ.get("NUMBA_CACHE_DIR") or str(_user_cache() / "lamina" / "numba")
"""Compiled kernels of this machine: another home has none, and each process would compile them."""
EVENTS = ("session-start", "prompt", "session-end")
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
CONVERSATION: tuple[dict[str, Any], ...] = (
    {"method": "initialize", "params": CLIENT},
    {"method": "tools/list"},
    {"method": "tools/call", "params": {"name": "memory_recall", "arguments": {"query": "why did we leave SQLite"}}},
    {"method": "tools/call", "params": {"name": "memory_add", "arguments": {"text": "The ferry leaves at noon."}}},
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home and a project with a vault; what runs there may reach nothing."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(REFUSE)
    (folder / "project").mkdir()
    run(folder, ["init"])
    run(folder, ["add", "We moved to PostgreSQL 16 because SQLite could not take two writers."])
    assert attempts(folder) == []
    return folder


@pytest.fixture
def folder(made: Path) -> Path:
    """The same for all tests: no answer of theirs hangs on what another one added."""
    (made / "attempts").unlink(missing_ok=True)
    return made


def environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAMINA", "OPENAI", "ANTHROPIC"))}
    path = os.pathsep.join([str(folder / "hook"), *(part for part in sys.path if part)])
    return {
        **kept,
        "PYTHONPATH": path,
        "HOME": str(folder),
        "ATTEMPTS": str(folder / "attempts"),
        "XDG_CONFIG_HOME": str(folder / "c"),
        "NUMBA_CACHE_DIR": KERNELS,
    }


def run(folder: Path, words: list[str], given: str = "", before: tuple[str, ...] = ()) -> str:
    done = subprocess.run(
        [*before, sys.executable, "-m", "lamina", *words], input=given, capture_output=True, text=True, timeout=300,
        cwd=folder / "project", env=environ(folder),
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def attempts(folder: Path) -> list[str]:
    log = folder / "attempts"
    return log.read_text().splitlines() if log.exists() else []


def payload(folder: Path) -> str:
    asked = {
        "session_id": "s1",
        "cwd": str(folder / "project"),
        "prompt": "why did we leave SQLite?",
        "transcript_path": "",
    }
    return json.dumps(asked)


def test_the_hook_sees_an_attempt(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import socket; socket.create_connection(('127.0.0.1', 9))"],
        env=environ(folder), capture_output=True, text=True,
    )  # fmt: skip
    assert "no network in this test" in done.stderr
    assert attempts(folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_makes_no_connection(folder: Path, name: str) -> None:
    run(folder, COMMANDS[name])
    assert attempts(folder) == []


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_makes_no_connection(folder: Path, event: str) -> None:
    run(folder, ["hook", event, "--agent", "claude-code"], payload(folder))
    assert attempts(folder) == []


def test_the_viewer_makes_no_connection(folder: Path) -> None:
    view(folder)
    assert attempts(folder) == []


def test_serving_tools_makes_no_connection(folder: Path) -> None:
    serve_tools(folder)
    assert attempts(folder) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (a Debian package)")
@pytest.mark.parametrize("name", ["recall", "verify", "context", "hook", "mcp", "view"])
def test_no_library_makes_a_connection(folder: Path, name: str) -> None:
    log = folder / "calls"
    before = ("strace", "-f", "-qq", "-e", "trace=%network", "-o", str(log))
    match name:
        case "hook":
            run(folder, ["hook", "prompt", "--agent", "claude-code"], payload(folder), before)
        case "mcp":
            serve_tools(folder, before)
        case "view":
            view(folder, before)
        case _:
            run(folder, COMMANDS[name], before=before)
    assert [line for line in log.read_text().splitlines() if CALLS.search(line)] == []


def serve_tools(folder: Path, before: tuple[str, ...] = ()) -> None:
    """List the tools, search and write, as an agent does."""
    with serving(folder, ["mcp", "--tools", "all"], before) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for i, message in enumerate(CONVERSATION, 1):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message, "id": i}) + "\n")
            server.stdin.flush()
            answered = json.loads(server.stdout.readline())
            assert answered["id"] == i
            assert not answered["result"].get("isError")
            if i == 3:
                assert "PostgreSQL 16" in json.dumps(answered)
        server.stdin.close()
        assert server.wait(timeout=60) == 0


def view(folder: Path, before: tuple[str, ...] = ()) -> None:
    """Open the viewer and read its first page."""
    with serving(folder, ["view", "--no-open"], before) as server:
        assert server.stdout is not None
        addresses = (re.search(r"http://[^\s'\"]+", line) for line in server.stdout)
        address = next(found[0] for found in addresses if found)
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.status == 200


@contextmanager
def serving(folder: Path, words: list[str], before: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*before, sys.executable, "-m", "lamina", *words], cwd=folder / "project", env=environ(folder),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as server:  # fmt: skip
        try:
            yield server
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)  # strace alone would leave what it traces
