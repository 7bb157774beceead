"""MCP servers as clients start them: a process, lines of JSON, and the CPU time of the whole process."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

HELLO: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}


@dataclass
class Talk:
    """One conversation with a server: seconds from its start, of each call, and of its CPU."""

    listed_s: float = 0.0
    list_characters: int = 0
    calls_s: list[float] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    cpu_s: float = 0.0
    peak_bytes: int = 0


def talk(
    command: Sequence[str],
    calls: Sequence[tuple[str, Mapping[str, Any]]] = (),
    environ: Mapping[str, str] | None = None,
) -> Talk:
    """Start a server, list its tools, make some calls one after the other, and end it."""
    found = Talk()
    began = time.perf_counter()
    process = subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, **(environ or {})},
    )  # fmt: skip
    try:
        _ask(process, 0, "initialize", HELLO)
        _send(process, {"method": "notifications/initialized"})
        listed = _ask(process, 1, "tools/list", {})
        found.listed_s = time.perf_counter() - began
        found.list_characters = len(json.dumps({"tools": listed["tools"]}, separators=(",", ":"), ensure_ascii=False))
        for number, (tool, arguments) in enumerate(calls, 2):
            at = time.perf_counter()
            found.answers.append(_ask(process, number, "tools/call", {"name": tool, "arguments": dict(arguments)}))
            found.calls_s.append(time.perf_counter() - at)
        assert process.stdin is not None
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        found.cpu_s, found.peak_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return found


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    _send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == number:
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            answer: dict[str, Any] = message["result"]
            return answer
    raise RuntimeError(f"{method}: the server ended")
