from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lamina_engine.errors import LaminaError
from lamina_engine.index.sealed import ALIGNMENT, Seal


class Damaged(LaminaError, OSError):
    pass


def seal_of(magic: bytes = b"LMNATEST", version: int = 3, fields: str = "IQ16s") -> Seal:
    return Seal(magic, version, fields, what="test index", damaged=Damaged)


FIELDS = (7, 2**40, b"maker")
PAYLOAD: list[bytes | memoryview] = [b"one", np.arange(5, dtype=np.uint32).data, b"", b"end"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    seal_of().write(tmp_path / "index", FIELDS, PAYLOAD)
    return tmp_path / "index"


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("sync", [True, False])
def test_what_was_written_is_read(tmp_path: Path, sync: bool, verify: bool) -> None:
    path = tmp_path / "index"
    for payload in (PAYLOAD, [], [bytes(1000)]):
        seal_of().write(path, FIELDS, payload, sync=sync)
        got = seal_of().open(path, verify=verify)
        assert got.fields == (7, 2**40, b"maker".ljust(16, b"\0"))
        assert bytes(got.payload) == b"".join(payload)
        assert got.payload.readonly
    assert [found.name for found in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("fields", ["", "Q", "IQQ16s", "24sQQ", "32s", "100s"])
def test_the_payload_is_aligned(tmp_path: Path, fields: str) -> None:
    seal = seal_of(fields=fields)
    assert seal.header_bytes % ALIGNMENT == 0
    values = {"": (), "Q": (1,), "IQQ16s": (1, 2, 3, b"a"), "24sQQ": (b"b", 1, 2), "32s": (b"c",), "100s": (b"d",)}
    seal.write(tmp_path / "index", values[fields], [bytes(8)])
    payload = seal.open(tmp_path / "index", verify=True).payload
    assert np.frombuffer(payload, np.uint8).ctypes.data % ALIGNMENT == 0


def test_every_flipped_byte_is_found(path: Path) -> None:
    whole = path.read_bytes()
    start = seal_of().header_bytes
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(Damaged, match=r"test index .* rebuild it from the log"):
            seal_of().open(path, verify=True)
        if at >= start:  # without verifying, only the header and the size are looked at
            assert seal_of().open(path, verify=False).fields[0] == 7


def test_every_torn_end_is_found_without_reading_it(path: Path) -> None:
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(Damaged, match="rebuild"):
            seal_of().open(path, verify=False)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Damaged, match=f"size {len(whole) + 1}, its header says {len(whole)}"):
        seal_of().open(path, verify=False)


def test_a_file_cut_while_it_is_opened_is_torn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_header = Seal._read_header

    def read_and_cut(self: Seal, raw: bytes, path: Path) -> tuple[int, int, tuple[object, ...]]:
        header = read_header(self, raw, path)
        path.write_bytes(b"")
        return header

    monkeypatch.setattr(Seal, "_read_header", read_and_cut)
    with pytest.raises(Damaged, match=r"(?s)torn.*rebuild it from the log"):
        seal_of().open(path, verify=True)


def test_other_kinds_and_formats_are_refused(path: Path) -> None:
    for other, told in (
        (seal_of(magic=b"LMNAELSE"), "not begin as one"),
        (seal_of(version=4), "format 3, expected 4"),
        (seal_of(fields="IQ99s"), "another format"),
    ):
        with pytest.raises(Damaged, match=told):
            other.open(path, verify=False)
    with pytest.raises(FileNotFoundError):
        seal_of().open(path.with_name("none"), verify=False)


def test_a_failed_write_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError("full")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        with pytest.raises(OSError, match="full"):
            seal_of().write(path, FIELDS, [b"other"])
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["index"]


def test_a_mapped_file_may_be_replaced(path: Path) -> None:
    got = seal_of().open(path, verify=True)
    seal_of().write(path, FIELDS, [b"new"])
    assert bytes(got.payload) == b"".join(PAYLOAD)
    assert bytes(seal_of().open(path, verify=True).payload) == b"new"
