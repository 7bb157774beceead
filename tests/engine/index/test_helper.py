"""One thread that helps one recall at a time."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from lamina_engine.index import helper
from lamina_engine.index.helper import Helper, claim_helper


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "usable_cpus", lambda: 2)


def claimed() -> Helper:
    found = claim_helper()
    assert found is not None
    return found


def test_work_runs_beside_in_the_order_it_was_given() -> None:
    names, order, mine = list[str](), list[int](), claimed()

    def work(number: int) -> int:
        names.append(threading.current_thread().name)
        order.append(number)
        return number

    tasks = [mine.give(functools.partial(work, number)) for number in range(5)]
    until = time.monotonic() + 10.0
    while len(order) < 5 and time.monotonic() < until:
        time.sleep(0.001)
    assert order == [0, 1, 2, 3, 4]
    assert set(names) == {"lamina-helper_0"}
    assert [task.result() for task in tasks] == order


def test_one_at_a_time_has_it_for_as_long_as_the_claim_lives() -> None:
    mine = claimed()
    assert claim_helper() is None
    mine.give(lambda: None).result()
    assert claim_helper() is None
    del mine
    assert claim_helper() is not None


def test_on_one_cpu_nobody_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "usable_cpus", lambda: 1)
    assert claim_helper() is None


def test_an_error_is_raised_to_who_asks_for_the_result() -> None:
    for _ in range(3):
        task = claimed().give(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            task.result()
    assert claimed().give(lambda: 7).result() == 7


def test_who_waits_does_what_has_not_begun() -> None:
    may_end = threading.Event()
    mine = claimed()
    busy = mine.give(lambda: may_end.wait(10.0))
    second = mine.give(threading.current_thread)
    assert second.result() is threading.current_thread()
    may_end.set()
    assert busy.result()


def test_an_interrupt_keeps_no_help_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    def ask() -> None:
        mine = claimed()
        monkeypatch.setattr(helper, "_thread", interrupted)
        mine.give(lambda: None)

    with pytest.raises(KeyboardInterrupt), monkeypatch.context():
        ask()
    monkeypatch.undo()
    monkeypatch.setattr(helper, "usable_cpus", lambda: 2)
    gc.collect()  # the frames of the traceback are gone
    assert claimed().give(lambda: 3).result() == 3


def test_a_claim_that_is_dropped_in_the_middle_of_work_leaves_nothing_behind() -> None:
    may_end, ended, mine = threading.Event(), threading.Event(), claimed()

    def work() -> None:
        may_end.wait(10.0)
        ended.set()

    mine.give(work)
    del mine
    other = claimed().give(lambda: 5)
    assert other.result() == 5  # done by who waits
    may_end.set()
    assert ended.wait(10.0)


def test_threads_that_claim_at_once_get_it_one_after_the_other() -> None:
    having, most, start = list[int](), list[int](), threading.Barrier(4)

    def claim_often() -> None:
        start.wait()
        for _ in range(300):
            mine = claim_helper()
            if mine is not None:
                having.append(1)
                most.append(len(having))
                having.pop()
            del mine

    threads = [threading.Thread(target=claim_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert claim_helper() is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_helper_of_its_own() -> None:
    program = """
import os, sys, threading
from lamina_engine.index import helper
helper.usable_cpus = lambda: 2
mine = helper.claim_helper()
assert mine.give(threading.get_ident).result()
child = os.fork()
if not child:
    other = helper.claim_helper()  # the parent's claim is nobody's here
    os._exit(0 if other is not None and other.give(lambda: 7).result() == 7 else 1)
assert helper.claim_helper() is None
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_work_is_done_by_who_asks_where_the_interpreter_is_ending() -> None:
    program = """
import atexit, threading
from lamina_engine.index import helper
helper.usable_cpus = lambda: 2
helper.claim_helper().give(int).result()

@atexit.register
def last():
    print(helper.claim_helper().give(lambda: threading.current_thread() is threading.main_thread()).result())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True"], found.stderr


def test_work_whose_thread_cannot_be_started_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done, kept = list[int](), list[functools.partial[Any]]()

    class Refusing:
        """An executor that keeps work whose thread it could not start, as that of the standard library does."""

        def submit(self, work: Callable[..., Any], *args: Any) -> Future[None]:
            kept.append(functools.partial(work, *args))
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(helper, "_thread", Refusing)
    task = claimed().give(lambda: done.append(1))
    kept[0]()
    assert done == []
    task.result()
    assert done == [1]
