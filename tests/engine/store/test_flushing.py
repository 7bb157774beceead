from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lamina_engine.store import flushing


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("beside", [False, True])
def test_all_is_done_once_and_waited_for(n: int, beside: bool) -> None:
    done: list[int] = []
    callers: list[int] = []

    def act(item: int) -> None:
        time.sleep(0.001)
        done.append(item)
        callers.append(threading.get_ident())

    flushing.together(act, range(n), (lambda: done.append(-1)) if beside else None)
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
        flushing.together(act, range(5))
    assert len(done) == 4


def test_a_failure_of_what_is_done_meanwhile_is_raised_when_all_is_done() -> None:
    done: list[int] = []

    def fails() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        flushing.together(done.append, range(5), fails)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_many_callers_share_the_threads() -> None:
    sums = [0] * 8

    def call(at: int) -> None:
        for _ in range(50):
            lock = threading.Lock()

            def act(item: int, lock: threading.Lock = lock) -> None:
                with lock:
                    sums[at] += item

            flushing.together(act, range(6))

    threads = [threading.Thread(target=call, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [50 * 15] * 8


def test_what_is_done_soon_fails_in_silence(tmp_path: Path) -> None:
    flushing.soon(os.unlink, tmp_path / "nothing")
    flushing.soon((tmp_path / "made").touch)
    until = time.monotonic() + 10
    while not (tmp_path / "made").exists() and time.monotonic() < until:
        time.sleep(0.001)
    assert (tmp_path / "made").exists()


AT_THE_END = """
import atexit, os, sys, time
from lamina_engine.store import flushing
path = sys.argv[1]
def late():
    time.sleep(0.05)
    open(path + "/soon", "w").close()
atexit.register(lambda: flushing.together(lambda name: open(f"{path}/{name}", "w").close(), ["x", "y", "z"]))
class Last:
    def __del__(self, together=flushing.together, open=open, path=path):
        together(lambda name: open(f"{path}/{name}", "w").close(), ["p", "q"])
last = Last()
flushing.soon(late)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        flushing.together(lambda name: open(f"{path}/{name}", "w").close(), ["c", "d"])
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    "more", [[], pytest.param(["fork"], marks=pytest.mark.skipif(os.name != "posix", reason="no fork"))]
)
def test_nothing_is_lost_when_a_process_ends(tmp_path: Path, more: list[str]) -> None:
    """What was begun is done, and what handlers and finalisers begin is done by themselves."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", AT_THE_END, str(tmp_path), *more], check=True, timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["soon", *"xyzpq", *("cd" if more else "")])
