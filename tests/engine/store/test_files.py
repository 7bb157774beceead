from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.store.files import Files
from tests.engine.store.faults import Crash, FaultyFiles


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class Noted(Files):
    """Notes flushes: the path of a folder, ``file`` for a file."""

    def __init__(self) -> None:
        self.flushed: list[str] = []

    def flush(self, descriptor: int) -> None:
        found = Path(f"/proc/self/fd/{descriptor}").resolve()
        self.flushed.append(found.name if found.is_dir() else "file")
        super().flush(descriptor)


def test_a_file_is_written_from_its_parts_and_flushed(tmp_path: Path) -> None:
    files = Noted()
    files.publish(tmp_path / "a", [b"one", memoryview(b"two"), b"", memoryview(bytearray(8))])
    assert (tmp_path / "a").read_bytes() == b"onetwo" + bytes(8)
    assert files.flushed == ["file"]
    files.publish(tmp_path / "a", [])
    assert (tmp_path / "a").read_bytes() == b""


@pytest.mark.parametrize("kind", ["nospace", "io", "crash"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_failed_publication_leaves_what_stood_there(tmp_path: Path, kind: str, at: int) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with pytest.raises((OSError, Crash)):
        FaultyFiles(at, kind).publish(target, [b"new content"])
    assert target.read_bytes() == b"old"
    assert kind == "crash" or names(tmp_path) == ["a"]
    Files().publish(target, [b"new content"])
    assert target.read_bytes() == b"new content"
    assert names(tmp_path) == ["a"]


def test_the_descriptor_is_closed_when_a_write_fails(tmp_path: Path) -> None:
    before = len(names(Path("/proc/self/fd")))
    with pytest.raises(OSError, match="space"):
        FaultyFiles(1, "nospace").publish(tmp_path / "a", [b"x"])
    assert len(names(Path("/proc/self/fd"))) == before


def test_every_folder_made_is_flushed_into_its_parent(tmp_path: Path) -> None:
    files = Noted()
    files.make_folder(tmp_path / "a" / "b" / "c")
    assert files.flushed == [tmp_path.name, "a", "b"]
    files.make_folder(tmp_path / "a" / "b" / "c")
    assert len(files.flushed) == 3
    (tmp_path / "file").touch()
    with pytest.raises((FileExistsError, NotADirectoryError)):
        files.make_folder(tmp_path / "file" / "below")


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    Files().remove(tmp_path / "a")
    Files().remove(tmp_path / "a")
    assert names(tmp_path) == []


def test_several_flushes_are_all_waited_for_and_the_first_failure_is_raised(tmp_path: Path) -> None:
    class Slow(Files):
        done = 0

        def flush(self, descriptor: int) -> None:
            if self.done == 0 and self.fail:
                self.fail = False
                raise OSError("the first")
            super().flush(descriptor)
            self.done += 1

        fail = True

    files = Slow()
    before = len(names(Path("/proc/self/fd")))
    begun = [files.begin(tmp_path / name, [name.encode()]) for name in "abc"]
    with pytest.raises(OSError, match="the first"):
        files.settle(begun)
    assert files.done == 2
    assert len(names(Path("/proc/self/fd"))) == before
    files.abandon(begun)
    assert names(tmp_path) == []
    files.settle(again := [files.begin(tmp_path / name, [name.encode()]) for name in "abc"])
    files.place(again)
    assert {name: (tmp_path / name).read_bytes() for name in "abc"} == {"a": b"a", "b": b"b", "c": b"c"}
