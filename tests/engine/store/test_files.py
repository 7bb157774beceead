""""""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lamina_engine.store import files
from lamina_engine.store.files import Files, Name
from lamina_engine.store.store import Store
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


def test_a_file_may_have_its_name_from_the_beginning(tmp_path: Path) -> None:
    files = Noted()
    pending = files.write_pending(tmp_path / "a", [b"one"], aside=False)
    assert (pending.path, names(tmp_path)) == (pending.aside, ["a"])
    files.fsync_all([pending], [tmp_path])
    files.publish_all([pending])
    assert sorted(files.flushed) == sorted(["file", tmp_path.name])
    other = files.write_pending(tmp_path / "a", [b"two"], aside=False)
    assert (tmp_path / "a").read_bytes() == b"one"  # somebody may have it mapped
    files.fsync_all([other])
    files.publish_all([other])
    assert (tmp_path / "a").read_bytes() == b"two"
    files.fsync_all([gone := files.write_pending(tmp_path / "b", [b"three"], aside=False)])
    files.discard_pending([gone])
    assert names(tmp_path) == ["a"]


def test_a_swap_flushes_the_folder_and_keeps_no_file_open(tmp_path: Path) -> None:
    files = Noted()
    (tmp_path / "a").write_bytes(b"old")
    before = len(names(Path("/proc/self/fd")))
    for content in (b"new", b"newer"):
        files.fsync_all([pending := files.write_pending(tmp_path / "a", [content])])
        files.swap(pending)
        assert (tmp_path / "a").read_bytes() == content
    files.fsync_all([pending := files.write_pending(tmp_path / "first", [b"1"])])
    files.swap(pending)
    assert files.flushed == ["file", tmp_path.name] * 3
    until = time.monotonic() + 10
    while len(names(Path("/proc/self/fd"))) > before and time.monotonic() < until:
        time.sleep(0.001)
    assert len(names(Path("/proc/self/fd"))) <= before


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


def test_what_is_discarded_soon_is_gone_soon_and_what_stays_is_told(tmp_path: Path) -> None:
    class Stubborn(Files):
        def remove(self, path: Name) -> None:
            if Path(path).name == "b":
                raise PermissionError("it is mapped")
            super().remove(path)

    for name in "abc":
        (tmp_path / name).touch()
    told: list[int] = []
    Stubborn().delete_in_background([tmp_path / name for name in "abcd"], lambda: told.append(1))
    until = time.monotonic() + 10
    while names(tmp_path) != ["b"] and time.monotonic() < until:
        time.sleep(0.001)
    assert names(tmp_path) == ["b"]
    assert told == [1]


def test_a_handler_of_the_exit_can_still_write(tmp_path: Path) -> None:
    code = (
        "import atexit, sys, lamina; vault = lamina.open(sys.argv[1], create=True, embedder='none');"
        "atexit.register(lambda: [vault.add(f'note {i}', id=f'n{i}') for i in range(10)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "vault")], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert Store(tmp_path / "vault").snapshot().rows("chunks") == 10


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
    pending = [files.write_pending(tmp_path / name, [name.encode()]) for name in "abc"]
    with pytest.raises(OSError, match="the first"):
        files.fsync_all(pending)
    assert files.done == 2
    assert len(names(Path("/proc/self/fd"))) == before
    files.discard_pending(pending)
    assert names(tmp_path) == []
    files.fsync_all(again := [files.write_pending(tmp_path / name, [name.encode()]) for name in "abc"])
    files.publish_all(again)
    assert {name: (tmp_path / name).read_bytes() for name in "abc"} == {"a": b"a", "b": b"b", "c": b"c"}


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("beside", [False, True])
def test_all_is_done_once_and_waited_for(n: int, beside: bool) -> None:
    done: list[int] = []
    callers: list[int] = []

    def act(item: int) -> None:
        time.sleep(0.001)
        done.append(item)
        callers.append(threading.get_ident())

    files.run_parallel(act, range(n), (lambda: done.append(-1)) if beside else None)
    assert sorted(done) == ([-1] if beside else []) + list(range(n))
    assert (threading.get_ident() in callers) is not beside


@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_failure_is_raised_when_all_is_done(at: int) -> None:
    done: list[int] = []

    def act(item: int) -> None:
        if item == at:
            raise OSError(f"item {item}")
        time.sleep(0.002)
        done.append(item)

    with pytest.raises(OSError, match=f"item {at}"):
        files.run_parallel(act, range(5))
    assert len(done) == 4


def test_a_failure_of_what_is_done_meanwhile_is_raised_when_all_is_done() -> None:
    done: list[int] = []

    def fails() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        files.run_parallel(done.append, range(5), fails)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_many_callers_share_the_threads() -> None:
    sums = [0] * 8

    def call(at: int) -> None:
        for _ in range(50):
            lock = threading.Lock()

            def act(item: int, lock: threading.Lock = lock) -> None:
                with lock:
                    sums[at] += item

            files.run_parallel(act, range(6))

    threads = [threading.Thread(target=call, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [50 * 15] * 8


def test_what_is_done_soon_fails_in_silence(tmp_path: Path) -> None:
    files.run_in_background(os.unlink, tmp_path / "nothing")
    files.run_in_background((tmp_path / "made").touch)
    until = time.monotonic() + 10
    while not (tmp_path / "made").exists() and time.monotonic() < until:
        time.sleep(0.001)
    assert (tmp_path / "made").exists()


def test_tasks_that_fail_leave_no_one_waiting(tmp_path: Path) -> None:
    # more than there are threads: each would have died, and the next who waits for tasks would have waited for ever
    for _ in range(20):
        files.run_in_background(_fail)
    paths = [tmp_path / f"{i}" for i in range(3)]
    waiting = threading.Thread(target=files.run_parallel, args=(Path.touch, paths), daemon=True)
    waiting.start()
    waiting.join(10)
    assert not waiting.is_alive()
    assert all(path.exists() for path in paths)


def _fail() -> None:
    raise Crash


AT_THE_END = """
import atexit, os, sys, time
from lamina_engine.store import files
path = sys.argv[1]
def late():
    time.sleep(0.05)
    open(path + "/soon", "w").close()
atexit.register(lambda: files.run_parallel(lambda name: open(f"{path}/{name}", "w").close(), ["x", "y", "z"]))
class Last:
    def __del__(self, together=files.run_parallel, open=open, path=path):
        together(lambda name: open(f"{path}/{name}", "w").close(), ["p", "q"])
last = Last()
files.run_in_background(late)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        files.run_parallel(lambda name: open(f"{path}/{name}", "w").close(), ["c", "d"])
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    "more", [[], pytest.param(["fork"], marks=pytest.mark.skipif(os.name != "posix", reason="no fork"))]
)
def test_nothing_is_lost_when_a_process_ends(tmp_path: Path, more: list[str]) -> None:
    """What was pending is done, and what handlers and finalisers begin is done by themselves."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", AT_THE_END, str(tmp_path), *more], check=True, timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["soon", *"xyzpq", *("cd" if more else "")])
