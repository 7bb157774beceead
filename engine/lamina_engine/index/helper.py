"""One thread that works for one recall at a time; others do without, so none waits."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from lamina_engine import after_fork
from lamina_engine.executor import usable_cpus

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")


class Task(Generic[T]):
    """Work given to the helper, done once."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._left = deque([work])
        """The work, for whoever takes it first."""
        self._later: Future[T | None] | None = None
        try:
            self._later = _thread().submit(_take, self._left)
        except RuntimeError:  # no thread can be started, or the interpreter is ending
            self._left = deque([self._left.pop()])  # what the executor may have kept finds nothing to do

    def result(self) -> T:
        """Return what came of the work, which is done here where the thread has not begun it."""
        try:
            work = self._left.pop()
        except IndexError:
            return cast("Future[T]", self._later).result()
        return work()


def _take(left: deque[Callable[[], T]]) -> T | None:
    try:
        work = left.pop()
    except IndexError:
        return None
    return work()


class Helper:
    """The right to the thread, which lasts as long as this object."""

    __slots__ = ("__weakref__",)

    def give(self, work: Callable[[], T]) -> Task[T]:
        """Let the thread do some work, after what it was given before."""
        return Task(work)


def claim_helper() -> Helper | None:
    """Return the right to the thread; None while somebody has it, or with one CPU."""
    global _holder
    if usable_cpus() < 2:
        return None
    made, process = Helper(), os.getpid()
    with _choosing:
        if _holder[0] == process and _holder[1]() is not None:
            return None
        _holder = process, weakref.ref(made)  # an interrupt cannot lose it: it ends with the object
    return made


def _thread() -> ThreadPoolExecutor:
    """Return the thread of this process; a forked child starts its own."""
    from concurrent.futures import ThreadPoolExecutor

    global _executor
    if _executor is None or _executor[0] != os.getpid():
        _executor = os.getpid(), ThreadPoolExecutor(1, thread_name_prefix="lamina-helper")
    return _executor[1]


_choosing: Final = after_fork.make_lock()
_holder: tuple[int, Callable[[], Helper | None]] = 0, lambda: None
"""The process and who has the right in it."""
_executor: tuple[int, ThreadPoolExecutor] | None = None
