from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lamina_engine.embed.places import CACHE_VARIABLE, cache_folder, cached_path, package_folder, write_aside


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
    assert write_aside(path, b"one")
    assert write_aside(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_write_aside_reports_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert not write_aside(tmp_path / "file" / "a.bin", b"data")
    (tmp_path / "taken").mkdir()
    assert not write_aside(tmp_path / "taken", b"data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


def test_package_folder_imports_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "lamina_probe_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert package_folder("lamina_probe_package") == package
    assert package_folder("lamina_no_such_package") is None
    assert package_folder("this") is None  # a module, not a package
