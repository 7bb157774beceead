"""Opening, recalling, verifying, viewing and hooking make no connection.

Every Python process of a command carries an audit hook that refuses and records each attempt; where strace is installed,
the system calls of all its processes and threads are traced as well, those of compiled libraries included.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

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
EVENTS = ("session-start", "prompt", "session-end")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home and a project with a vault; what runs there may reach nothing."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(REFUSE)
    (tmp_path / "project").mkdir()
    run(tmp_path, ["init"])
    run(tmp_path, ["add", "We moved to PostgreSQL 16 because SQLite could not take two writers."])
    assert attempts(tmp_path) == []
    return tmp_path


def environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAMINA", "OPENAI", "ANTHROPIC"))}
    path = os.pathsep.join([str(folder / "hook"), *(part for part in sys.path if part)])
    return {
        **kept,
        "PYTHONPATH": path,
        "HOME": str(folder),
        "ATTEMPTS": str(folder / "attempts"),
        "XDG_CONFIG_HOME": str(folder / "c"),
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
    with subprocess.Popen(
        [sys.executable, "-m", "lamina", "view", "--no-open"], cwd=folder / "project", env=environ(folder),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as serving:  # fmt: skip
        assert serving.stdout is not None
        address = None
        for line in serving.stdout:
            address = re.search(r"http://[^\s'\"]+", line)
            if address:
                break
        assert address is not None
        try:
            with urllib.request.urlopen(address[0], timeout=30) as answer:
                assert answer.status == 200
        finally:
            serving.terminate()
            serving.communicate(timeout=30)
    assert attempts(folder) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (a Debian package)")
@pytest.mark.parametrize("name", ["recall", "verify", "context"])
def test_no_library_makes_a_connection(folder: Path, name: str) -> None:
    log = folder / "calls"
    run(folder, COMMANDS[name], before=("strace", "-f", "-qq", "-e", "trace=%network", "-o", str(log)))
    assert [line for line in log.read_text().splitlines() if CALLS.search(line)] == []
