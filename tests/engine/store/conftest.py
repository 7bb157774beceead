from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.store.objectstores import BUCKET, KEY, SECRET, Machines, SeaweedFS


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A running S3 server, the same for all tests."""
    pytest.importorskip("obstore", reason="needs lamina[cluster]")
    server = SeaweedFS(tmp_path_factory.mktemp("seaweed"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def s3(seaweed: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> SeaweedFS:
    """The S3 server, with its address and keys in the environment."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": seaweed.endpoint,
        "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return seaweed


@pytest.fixture
def s3_machines(s3: SeaweedFS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    """Machines that share a vault on the S3 server."""
    return Machines(f"s3://{BUCKET}/{os.urandom(6).hex()}/vault", tmp_path, monkeypatch)


@pytest.fixture
def folder_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    """Machines that share a vault in a folder, as object storage has it."""
    pytest.importorskip("obstore", reason="needs lamina[cluster]")
    return Machines(f"file://{tmp_path / 'objects'}", tmp_path, monkeypatch)


@pytest.fixture(params=["folder", "s3"])
def machines(request: pytest.FixtureRequest) -> Machines:
    """Machines that share a vault: in a folder, and on the S3 server."""
    found: Machines = request.getfixturevalue(f"{request.param}_machines")
    return found
