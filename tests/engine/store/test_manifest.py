from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lamina_engine.errors import VaultCorrupt, VaultNotFound, VaultTooNew, VaultTooOld
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store import manifest as manifests
from lamina_engine.store.manifest import Manifest, SegmentRef, Space
from tests.engine.store.faults import Quick

A = SegmentRef("000000000000-3-0123456789ab.arrow", 0, 3, 100, "0" * 64, 5)
B = SegmentRef("000000000003-2-0123456789ab.arrow", 3, 2, 80, "1" * 64, 9)
SPACES = {"default": Space("model", 4)}
FULL = Manifest(FORMAT_VERSION, 7, "token", 9, {"chunks": [A, B]}, SPACES, "default", {"keys": {"rows": 4, "ids": "x"}})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / manifests.MANIFESTS).mkdir()
    return tmp_path


def published(root: Path, **changes: Any) -> str:
    manifests.publish(Quick(), root, msgspec.structs.replace(FULL, **changes))
    return manifests.read_current(root)


def test_the_newest_is_read_though_writers_replace_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = published(root)
    newer = published(root, version=8)
    (root / manifests.MANIFESTS / stale).unlink()
    names = iter([stale, newer])
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "read_current", lambda _: next(names))
        assert manifests.load_newest(root) == (newer, msgspec.structs.replace(FULL, version=8))
    (root / manifests.MANIFESTS / newer).unlink()
    with pytest.raises(FileNotFoundError):
        manifests.load_newest(root)


def test_round_trip(root: Path) -> None:
    name = published(root)
    got = manifests.load(root, name)
    assert got == FULL
    assert manifests.encode(got) == manifests.encode(FULL)
    assert (got.rows("chunks"), got.rows("events")) == (5, 0)
    assert manifests.is_manifest_name(name)
    assert manifests.version_of(name) == 7


def test_every_flipped_byte_is_seen(root: Path) -> None:
    name = published(root)
    path = root / manifests.MANIFESTS / name
    content = path.read_bytes()
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :])
        with pytest.raises(VaultCorrupt, match="verify"):
            manifests.load(root, name)
    path.write_bytes(content[:-1])
    with pytest.raises(VaultCorrupt):
        manifests.load(root, name)


@pytest.mark.parametrize("content", [b"", b"\0" * 32, b"garbage", b"../../x", b"0000000007-0123.json", b"\xff" * 9])
def test_a_torn_current_is_an_error_that_says_what_to_do(root: Path, content: bytes) -> None:
    published(root)
    (root / manifests.CURRENT).write_bytes(content)
    with pytest.raises(VaultCorrupt, match="lamina verify"):
        manifests.read_current(root)


def test_a_missing_current_is_no_vault_only_where_nothing_was_written(root: Path) -> None:
    with pytest.raises(VaultNotFound, match="lamina init"):
        manifests.read_current(root)
    published(root, version=1, logs={})
    (root / manifests.CURRENT).unlink()
    with pytest.raises(VaultNotFound):
        manifests.read_current(root)
    published(root)
    (root / manifests.CURRENT).unlink()
    with pytest.raises(VaultCorrupt, match="lamina verify"):
        manifests.read_current(root)
    with pytest.raises(VaultNotFound):
        manifests.read_current(root / "nowhere")


def test_a_newer_format_is_refused_before_its_fields_are_read(root: Path) -> None:
    content = msgspec.json.encode({"format": FORMAT_VERSION + 1, "something": "else"})
    name = f"0000000009-{hashlib.sha256(content).hexdigest()[:16]}.json"
    (root / manifests.MANIFESTS / name).write_bytes(content)
    with pytest.raises(VaultTooNew, match="install a newer Lamina"):
        manifests.load(root, name)


def test_an_older_format_says_what_to_do(root: Path) -> None:
    content = msgspec.json.encode({"format": FORMAT_VERSION - 1, "something": "else"})
    name = f"0000000009-{hashlib.sha256(content).hexdigest()[:16]}.json"
    (root / manifests.MANIFESTS / name).write_bytes(content)
    with pytest.raises(VaultTooOld, match=r"export it with the Lamina that wrote it"):
        manifests.load(root, name)


@pytest.mark.parametrize(
    "changes",
    [
        {"logs": {"chunks": [A, msgspec.structs.replace(B, start=4)]}},
        {"logs": {"chunks": [B]}},
        {"logs": {"chunks": [msgspec.structs.replace(A, rows=0)]}},
        {"logs": {"chunks": [msgspec.structs.replace(A, name="../../x.arrow")]}},
        {"logs": {"../chunks": [A]}},
        {"indexes": {"lexical": {"folder": "../../home"}}},
        {"indexes": {"lexical": {"folder": ".."}}},
    ],
)
def test_what_no_writer_would_say_is_refused(root: Path, changes: dict[str, Any]) -> None:
    name = published(root, **changes)
    with pytest.raises(VaultCorrupt, match="Lamina never writes that"):
        manifests.load(root, name)


def test_a_manifest_that_is_no_manifest(root: Path) -> None:
    for content in (b"{}", b"[1]", b'{"format": %d, "version": "x"}' % FORMAT_VERSION):
        name = f"0000000009-{hashlib.sha256(content).hexdigest()[:16]}.json"
        (root / manifests.MANIFESTS / name).write_bytes(content)
        with pytest.raises((VaultCorrupt, VaultTooNew)):
            manifests.load(root, name)
