from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lamina_engine.embed.tensors import check_sha256, map_tensors
from lamina_engine.errors import EmbeddingError


def test_equals_the_safetensors_library(tmp_path: Path) -> None:
    ref: dict[str, np.ndarray] = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([[1.5], [-2.0]], dtype=np.float16),
        "c": np.array([2**40], dtype=np.int64),
        "empty": np.zeros((0, 4), dtype=np.float32),
    }
    save_file(ref, tmp_path / "t.safetensors", {"format": "np"})
    got = map_tensors(tmp_path / "t.safetensors")
    assert set(got) == set(ref)
    for name, array in ref.items():
        assert got[name].dtype == array.dtype
        np.testing.assert_array_equal(got[name], array)
        assert not got[name].flags.writeable


def _file(path: Path, header: object, body: bytes, *, length: int | None = None) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + body)
    return path


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 16]},  # beyond the end
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},  # shape and bytes disagree
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]},
        {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"shape": [2]},
        [],
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, entry: object) -> None:
    with pytest.raises(EmbeddingError, match="no readable safetensors"):
        map_tensors(_file(tmp_path / "t", {"x": entry}, bytes(8)))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "short").write_bytes(b"abc")
    _file(tmp_path / "long", {}, b"", length=2**60)
    (tmp_path / "text").write_bytes((4).to_bytes(8, "little") + b"nope")
    for name in ("empty", "short", "long", "text", "missing"):
        with pytest.raises(EmbeddingError, match="install"):
            map_tensors(tmp_path / name)


def test_check_sha256(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"data")
    check_sha256(tmp_path / "a", hashlib.sha256(b"data").hexdigest(), remedy="")
    with pytest.raises(EmbeddingError, match="do this"):
        check_sha256(tmp_path / "a", "0" * 64, remedy="do this")
    with pytest.raises(EmbeddingError, match="do this"):
        check_sha256(tmp_path / "missing", "0" * 64, remedy="do this")
