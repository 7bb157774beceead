""""""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lamina_engine.embed.weights import (
    CACHE_VARIABLE,
    cache_folder,
    cached_path,
    check_sha256,
    map_tensors,
    package_folder,
    write_cached,
)
from lamina_engine.errors import EmbeddingError


def test_the_variable_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cached_path("a.bin") == tmp_path / "a.bin"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG is Linux's convention")
def test_a_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lamina"
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "lamina"


def test_no_home_means_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cached_path("a.bin") is None


def test_write_aside_replaces_whole_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "made" / "a.bin"
    assert write_cached(path, b"one")
    assert write_cached(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_write_aside_reports_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert not write_cached(tmp_path / "file" / "a.bin", b"data")
    (tmp_path / "taken").mkdir()
    assert not write_cached(tmp_path / "taken", b"data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


def test_package_folder_imports_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "lamina_probe_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert package_folder("lamina_probe_package") == package
    assert package_folder("lamina_no_such_package") is None
    assert package_folder("this") is None  # a module, not a package


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
    with pytest.raises(EmbeddingError, match="not a readable safetensors"):
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
