"""Turns at the writer lock: nobody is passed by those who came later, and the dead hold nobody up."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lamina_engine.errors import VaultLocked
from lamina_engine.store import lock
from lamina_engine.store.lock import TURNS, write_lock

_WAITER = """
import sys, pathlib, lamina_engine.store.lock as lock
acquire = lock._Turn.count_before
def count_before(self):
    found = acquire(self)
    print("waits", flush=True)
    return found
lock._Turn.count_before = count_before
with lock.write_lock(pathlib.Path(sys.argv[1]), float(sys.argv[2])):
    print("has it", flush=True)
"""


def waiter(root: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that waits for the lock; it has its turn when this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITER, str(root), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    return process


def close(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


def test_a_writer_that_comes_again_at_once_waits_behind_one_that_was_there(tmp_path: Path) -> None:
    stop, rounds = threading.Event(), 0

    def write_on_and_on() -> None:
        nonlocal rounds
        while not stop.is_set():
            with write_lock(tmp_path):
                rounds += 1
                time.sleep(0.02)

    thread = threading.Thread(target=write_on_and_on)
    thread.start()
    try:
        for _ in range(10):
            time.sleep(0.03)
            before = rounds
            with write_lock(tmp_path):
                assert rounds - before <= 2  # the one that was going on, and one that began before the turn was taken
    finally:
        stop.set()
        thread.join()
    assert not (tmp_path / TURNS).exists()


def test_a_folder_that_goes_while_it_is_made_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, times = Path.mkdir, [0]

    def gone(folder: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        times[0] += 1
        if times[0] == 1:  # there when it is made, and gone when one looks
            raise FileExistsError(17, "File exists")
        make(folder, mode, parents, exist_ok)

    monkeypatch.setattr(Path, "mkdir", gone)
    with write_lock(tmp_path):
        thread = threading.Thread(target=lambda: got.append(_taken(tmp_path)))
        got: list[bool] = []
        thread.start()
        while times[0] < 2 and thread.is_alive():
            time.sleep(0.001)
    thread.join()
    assert got == [True]


def _taken(root: Path) -> bool:
    with write_lock(root, 60):
        return True


def test_turns_are_in_order_of_coming(tmp_path: Path) -> None:
    got: list[int] = []

    def take(number: int) -> None:
        with write_lock(tmp_path, 60):
            got.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with write_lock(tmp_path):
        for number, thread in enumerate(threads):
            thread.start()
            while len(list((tmp_path / TURNS).glob("*"))) <= number if (tmp_path / TURNS).exists() else True:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert got == list(range(8))
    assert not (tmp_path / TURNS).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_dead_and_the_stopped_hold_nobody_up(tmp_path: Path) -> None:
    with write_lock(tmp_path):
        dead, stopped, alive = waiter(tmp_path, 60), waiter(tmp_path, 1.0), waiter(tmp_path, 60)
        dead.kill()
        dead.wait()
        stopped.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    assert alive.stdout is not None
    assert "has it\n" in iter(alive.stdout.readline, "")
    assert time.monotonic() - began < 20
    stopped.send_signal(signal.SIGCONT)
    close(dead, stopped, alive)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shared lock of one byte")
def test_one_that_stands_still_while_it_looks_at_a_dead_turn_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / TURNS).mkdir()
    now = time.monotonic_ns()
    dead = tmp_path / TURNS / f"{now:020}-{now + 60 * 10**9:020}-1-1"
    dead.touch()
    looker = lock._look(str(dead))
    assert looker is not None
    with write_lock(tmp_path, 5):
        assert not dead.exists()
    lock._release(looker)


def test_who_waits_too_long_leaves_no_turn(tmp_path: Path) -> None:
    with write_lock(tmp_path):
        for seconds in (0.0, 0.05):
            with pytest.raises(VaultLocked), write_lock(_other(tmp_path), seconds):
                pass
    assert not (tmp_path / TURNS).exists()
    with write_lock(tmp_path, 0.0):
        pass


def _other(root: Path) -> Path:
    return root / ".." / root.name
