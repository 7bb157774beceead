"""Subprocesses beside this process, which work for it unasked where that is worth while.

`lamina_engine.executor.ProcessExecutor` runs the main script again in each of its processes, as Python's pools do, which
a script has to be written for. Here a process gets the module path and nothing else, and work that it cannot do is done
in this one: if none can be started, if it ends early, if the work cannot be pickled.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, Final, Generic, TypeVar, cast

from lamina_engine.executor import AHEAD, Executor, map_in_pool, usable_cpus

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS: Final = 2
"""More would wait for the one process that writes."""
_PIPE_BYTES: Final = 1 << 20
"""What a pipe holds, where the system lets it: each time that a reader finds one empty it may wait 5 ms for the
interpreter's lock."""
_EXIT_TIMEOUT_S: Final = 10.0
"""Time for a process to end after its pipes were closed."""
# -P: modules of the working folder, which may belong to anybody, must not be imported
_BOOTSTRAP: Final = (
    "import sys, pickle; sys.path[:] = pickle.load(sys.stdin.buffer); "
    f"from {__name__} import serve; serve(sys.stdin.buffer)"
)


def count_workers() -> int:
    """Return the number of processes that read: the one that writes mostly waits for them."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return 0  # there is no interpreter to start
    cpus = usable_cpus()
    return min(cpus, MAX_WORKERS) if cpus > 1 else 0


def spare_executor() -> Executor | None:
    """Return an executor of processes beside this one; None where there is no CPU for them."""
    workers = count_workers()
    return SubprocessExecutor(workers) if workers else None


class SubprocessExecutor:
    """An `Executor` of subprocesses; work that they cannot do is done here."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @property
    def remote(self) -> bool:
        """True."""
        return True

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order; each process has its own copy of ``fn``."""
        try:
            function = pickle.dumps(fn)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            logger.debug("the work cannot travel and is done here: %r", error)
            yield from map(fn, items)
            return
        helpers: list[_Subprocess[T, R]] = [_Subprocess(function) for _ in range(self.workers)]
        idle: queue.SimpleQueue[_Subprocess[T, R]] = queue.SimpleQueue()
        for helper in helpers:
            idle.put(helper)

        def run(item: T) -> R:
            helper = idle.get()
            try:
                return helper.run(item)
            finally:
                idle.put(helper)

        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="lamina-aside")
        try:
            yield from map_in_pool(pool, run, items, AHEAD * self.workers)
        finally:  # also where the caller stops early
            for helper in helpers:
                helper.close()


class _Subprocess(Generic[T, R]):
    """One process, used by one thread at a time; started when it is first asked."""

    def __init__(self, function: bytes) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._here: Callable[[T], R] | None = None

    def run(self, item: T) -> R:
        """Return the function's result for an item, from a worker or else in this process."""
        here = self._here
        if here is None:
            try:
                done, answer = self._request(item)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                logger.debug("the work of a process beside this one is done here: %r", error)
                self.close()
                here = self._here = cast("Callable[[T], R]", pickle.loads(self._function))
            else:
                if isinstance(answer, Exception) and not done:
                    raise answer
                return cast("R", answer)
        return here(item)

    def _request(self, item: T) -> tuple[bool, Any]:
        process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise EOFError("the process has no pipes")
        pickle.dump(item, process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        answer: tuple[bool, Any] = pickle.load(process.stdout)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOTSTRAP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            pipesize=_PIPE_BYTES,
        )  # fmt: skip
        self._process = process
        if process.stdin is not None:
            pickle.dump(sys.path, process.stdin)
            process.stdin.write(self._function)
            process.stdin.flush()
        return process

    def close(self) -> None:
        """Let the process end; it has no work left, or none that is still wanted."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # its buffer has no reader any more
                    pipe.close()
        try:
            process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def serve(source: IO[bytes]) -> None:
    """Serve requests of the parent process until its pipe closes."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the one that asks; when it ends, so does this
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of libraries must not mix with the answers
    fn: Callable[[Any], Any] = pickle.load(source)
    with contextlib.suppress(BrokenPipeError), sink:
        while True:
            try:
                item = pickle.load(source)
            except EOFError:
                return
            sink.write(_answer(fn, item))
            sink.flush()


def _answer(fn: Callable[[Any], Any], item: Any) -> bytes:
    try:
        return pickle.dumps((True, fn(item)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            answer = pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
            pickle.loads(answer)  # some exceptions travel one way only
        except Exception:
            return pickle.dumps((False, RuntimeError(repr(error))), pickle.HIGHEST_PROTOCOL)
        return answer
