"""Teams of threads that share a list of work items; kernels release the GIL.

The caller's thread waits and, a few times a second, reports progress; an exception there (Ctrl-C, or a caller who
has had enough) stops the workers between two kernels. No thread outlives the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
Work = Callable[[int, T], None]
Tick = Callable[[float], None]

_WAIT_S: Final = 0.1


class Halted(Exception):
    """Another thread failed, or the caller stopped: the piece of work in hand is given up."""


class ThreadTeam:
    """A number of threads with a common stop signal.

    Parameters
    ----------
    threads : int
        At least 1; one means the caller's own.
    tick : callable, optional
        Gets the share of a stage that is done, in [0, 1]; what it raises ends the work.
    """

    def __init__(self, threads: int, tick: Tick | None = None) -> None:
        self.threads = threads
        self.tick = tick
        self._stop = threading.Event()

    def part(self, begin: float, end: float) -> ThreadTeam:
        """Return the same team, for work that takes a stage from one share to another."""
        tick = self.tick
        made = ThreadTeam(self.threads, None if tick is None else lambda share: tick(begin + share * (end - begin)))
        made._stop = self._stop
        return made

    def check(self) -> None:
        """Raise `Halted` where work is to end; called between kernels."""
        if self._stop.is_set():
            raise Halted

    def run(self, work: Work[T], items: Sequence[T], costs: Sequence[float] | None = None) -> None:
        """Call ``work(slot, item)`` for each item, taken in order by whichever thread is free.

        Parameters
        ----------
        work : callable
            ``slot`` is 0 to threads − 1: work in one slot never runs twice at once.
        items : sequence
        costs : sequence of float, optional
            Share of each item in the whole, for progress; all equal unless given.
        """
        done = [0.0]
        whole = float(sum(costs)) if costs is not None else float(len(items))
        threads = min(self.threads, len(items))
        if threads <= 1:
            for number, item in enumerate(items):
                work(0, item)
                self._report(done, costs[number] if costs is not None else 1.0, whole)
            return
        pending, lock = iter(enumerate(items)), threading.Lock()
        failures: list[BaseException] = []

        def labour(slot: int) -> None:
            try:
                while not self._stop.is_set():
                    with lock:
                        taken = next(pending, None)
                    if taken is None:
                        return
                    work(slot, taken[1])
                    with lock:
                        done[0] += costs[taken[0]] if costs is not None else 1.0
            except Halted:
                return
            except BaseException as failure:  # handed to the caller's thread below
                failures.append(failure)
                self._stop.set()

        workers = [threading.Thread(target=labour, args=(slot,), name=f"lamina-{slot}") for slot in range(threads)]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                while worker.is_alive():
                    worker.join(_WAIT_S)
                    if self.tick is not None and worker.is_alive():
                        self.tick(done[0] / whole)
        except BaseException:
            self._stop.set()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
            raise
        if failures:
            self._stop.clear()
            raise failures[0]

    def _report(self, done: list[float], cost: float, whole: float) -> None:
        done[0] += cost
        if self.tick is not None:
            self.tick(done[0] / whole)
