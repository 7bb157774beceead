"""Teams of threads that share a list of work items; kernels release the GIL.

The caller's thread works as the others do, and reports progress after each of its own items; an exception there (Ctrl-C,
or a caller who has had enough) stops all between two items. No thread outlives the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Work = Callable[[int, T], None]
Tick = Callable[[float], None]


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
        whole = float(sum(costs)) if costs is not None else float(len(items))
        done, pending, lock = 0.0, iter(enumerate(items)), threading.Lock()
        failures: list[BaseException] = []

        def labour(slot: int) -> None:
            nonlocal done
            try:
                while not self._stop.is_set():
                    with lock:
                        taken = next(pending, None)
                    if taken is None:
                        return
                    work(slot, taken[1])
                    with lock:
                        done += costs[taken[0]] if costs is not None else 1.0
                    if slot == 0 and self.tick is not None:
                        self.tick(done / whole)
            except Halted:
                return
            except BaseException as failure:  # raised below, when all have ended
                failures.append(failure)
                self._stop.set()

        slots = range(1, min(self.threads, len(items)))
        workers = [threading.Thread(target=labour, args=(slot,), name=f"lamina-{slot}") for slot in slots]
        try:
            for worker in workers:
                worker.start()
            labour(0)
            for worker in workers:
                worker.join()
        except BaseException:
            self._stop.set()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()
            raise
        if failures:
            self._stop.clear()
            raise failures[0]
