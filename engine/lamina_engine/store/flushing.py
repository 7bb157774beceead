"""Threads that wait for the disk: each flush of a commit has one, because a disk takes flushes that wait together.

A pool of its own: what the standard library's does for every task costs a small write as much as one of its flushes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from lamina_engine import forking

_THREADS: Final = 7
"""One for each file and folder of a small write."""

Task: TypeAlias = Callable[[], None]


def together(act: Callable[[Any], None], items: Sequence[Any], meanwhile: Callable[[], None] | None = None) -> None:
    """Do something to several items at once, and wait for all; raise what failed first.

    Parameters
    ----------
    act : callable
        What is done to each.
    items : sequence
        Two or more.
    meanwhile : callable, optional
        What the caller does instead of waiting; where there is nothing, it takes one of the items.
    """
    theirs = items[1:] if meanwhile is None else items
    others = _Round(len(theirs))
    for item in theirs:
        _begin(functools.partial(others.run, act, item))
    try:
        if meanwhile is None:
            act(items[0])
        else:
            meanwhile()
    finally:
        others.wait()
    if others.failures:
        raise others.failures[0]


def soon(act: Callable[..., None], *given: Any) -> None:
    """Do something on a thread that nobody waits for; when the process ends, at once."""
    _begin(functools.partial(_quietly, act, *given))


class _Round:
    """Tasks that are waited for together: the last one done wakes who waits, and no other."""

    __slots__ = ("_done", "_guard", "_left", "failures")

    def __init__(self, tasks: int) -> None:
        self.failures: list[BaseException] = []
        self._left = tasks
        self._guard = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def run(self, act: Callable[[Any], None], item: Any) -> None:
        """Do one of the tasks."""
        try:
            act(item)
        except BaseException as error:  # raised by who waits
            self.failures.append(error)
        with self._guard:
            self._left -= 1
            last = not self._left
        if last:
            self._done.release()

    def wait(self) -> None:
        """Return when all tasks are done."""
        self._done.acquire()


class _Pool:
    """Threads that are there until the process ends."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Task | None] = SimpleQueue()
        self.threads = [
            threading.Thread(target=self._work, name=f"lamina-flush-{i}", daemon=True) for i in range(_THREADS)
        ]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()

    def stop(self) -> None:
        """Return when all that was begun is done."""
        for _ in self.threads:
            self.tasks.put(None)
        for thread in self.threads:
            thread.join()


def _begin(task: Task) -> None:
    """Give a task to the threads; when the process ends, do it at once: they are stopped, and a handler still writes."""
    global _pool
    if _ended:
        task()
        return
    if _pool is None:
        with _making:
            _pool = _pool or _Pool()
    _pool.tasks.put(task)


def _quietly(act: Callable[..., None], *given: Any) -> None:
    with contextlib.suppress(OSError):
        act(*given)


def _end() -> None:
    """Do what was begun, and have no threads from now on."""
    global _ended
    _ended = True
    if _pool is not None:
        _pool.stop()


def _begin_in_child() -> None:
    """Have no threads in a forked child: its parent's are not there."""
    global _pool
    _pool = None


_pool: _Pool | None = None
_making = forking.lock()
_ended = False
atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
