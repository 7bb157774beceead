"""Executors: run work in this process or in others.

Work is a function of its item alone and its results come back in the order of the items, so where it ran cannot be
seen in what it gave; an item that is done twice does no harm.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Items under way for each worker: one that is worked on, one that waits for it."""


class Executor(Protocol):
    """Applies a function to items."""

    @property
    def remote(self) -> bool:
        """True where functions, items and results must be picklable."""
        ...

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item in order; items are read a few ahead at most."""
        ...


class InlineExecutor:
    """Does the work in the calling thread, one item at a time, when its result is asked for."""

    @property
    def remote(self) -> bool:
        """False."""
        return False

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order."""
        return map(fn, items)


class ProcessExecutor:
    """Pool of freshly started processes, never forked: a parent may have threads.

    Notes
    -----
    As always with started processes, a script must guard its own entry with ``if __name__ == "__main__":``.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise InvalidArgument(f"workers={workers!r} must be a whole number from 1 up, or None for one per CPU")
        self.workers = workers or usable_cpus()

    @property
    def remote(self) -> bool:
        """True."""
        return True

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order; at most `_AHEAD` items a worker are under way."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        try:
            pending: deque[Future[R]] = deque()
            for item in items:
                pending.append(pool.submit(fn, item))
                if len(pending) >= _AHEAD * self.workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # also where the caller stops early
            pool.shutdown(wait=True, cancel_futures=True)


def usable_cpus() -> int:
    """Return how many CPUs this process may use; at least 1."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
