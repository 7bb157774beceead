from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from lamina_engine.atomic_write import atomic_write
from lamina_engine.errors import InvalidArgument


def stopped_in_the_middle(path: Path) -> None:
    with atomic_write(path) as aside:
        aside.write_bytes(b"half")
        raise RuntimeError


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with atomic_write(path) as aside:
        aside.write_bytes(b"one\n")
        assert not path.exists()
    assert path.read_bytes() == b"one\n"
    path.chmod(0o640)
    with pytest.raises(RuntimeError):
        stopped_in_the_middle(path)
    assert path.read_bytes() == b"one\n"
    with atomic_write(path) as aside:
        aside.write_bytes(b"two\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as aside:
        aside.write_bytes(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(pipe) as aside:
        aside.write_bytes(b"through")
    reader.join()
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_or_a_place_in_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "out"):
        with pytest.raises(InvalidArgument, match="folder"), atomic_write(path):
            pass
