"""A real Ray cluster for tests: a head and workers as processes of their own, which can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest


class Cluster:
    """A head without CPUs, and workers with one each; every node a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self._log = (folder / "ray.log").open("ab")
        self._folder = folder
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._head = self._start("--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false")
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and self._head.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.2)
        pytest.fail(f"the head does not start: {(folder / 'ray.log').read_text()[-2000:]}")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        return subprocess.Popen(
            [*command, "--node-ip-address=127.0.0.1", "--object-store-memory=100000000", *words],
            stdout=self._log, stderr=self._log, cwd=self._folder, start_new_session=True,
            env={**os.environ, "RAY_AUTH_MODE": "disabled"},  # whatever lies in this user's ~/.ray
        )  # fmt: skip

    def add_worker(self, resources: str = "{}") -> None:
        self.workers.append(self._start(f"--address={self.address}", "--num-cpus=1", f"--resources={resources}"))

    def wait_for(self, cpus: int) -> None:
        """Return when the cluster has so many CPUs; a worker that gives up at its start, as on a full machine, is started again."""
        ray = pytest.importorskip("ray")
        deadline = time.monotonic() + 150
        while ray.cluster_resources().get("CPU", 0) < cpus:
            assert time.monotonic() < deadline, "the workers do not join"
            for position, worker in enumerate(self.workers):
                if worker.poll() is not None:
                    self.workers[position] = self._start(*worker.args[-3:])  # type: ignore[index]
            time.sleep(0.2)

    def kill_worker(self, position: int = 0) -> None:
        _kill(self.workers.pop(position))

    def stop(self) -> None:
        for each in [*self.workers, self._head]:
            _kill(each)
        self._log.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _kill(node: subprocess.Popen[bytes]) -> None:
    """Kill a node with all that it started: its raylet puts itself and its workers into that group."""
    for pid in _descendants(node.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    node.wait()


def _descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        found = [int(each) for each in children.read_text().split()]
    except OSError:
        found = []
    return [pid, *(below for child in found for below in _descendants(child))]
