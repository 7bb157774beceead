"""Work in processes beside this one that begin by themselves, so that a library may use them unasked.

`lamina_engine.executor.ProcessExecutor` runs the main script again in each of its processes, as Python's pools do, which
a script has to be written for. Here a process is told where modules are and nothing else, and what it cannot do is done
in this one: where none can be started, where it ends before its time, where work cannot travel.
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
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, Final, Generic, TypeVar, cast

from lamina_engine.executor import usable_cpus

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

MOST_WORKERS: Final = 2
"""More would wait for the one process that writes."""
_AHEAD: Final = 2
"""Items under way for each process: one that is worked on, one that waits for it."""
_PIPE_BYTES: Final = 1 << 20
"""What a pipe holds, where the system lets it: each time that a reader finds one empty it may wait 5 ms for the
interpreter's lock."""
_PATIENCE_S: Final = 10.0
"""How long a process may take to notice that it is not asked any more."""
# -P: the folder that somebody stands in, which may be anybody's, must not give the modules that begin it
_BEGIN: Final = (
    "import sys, pickle; sys.path[:] = pickle.load(sys.stdin.buffer); "
    f"from {__name__} import serve; serve(sys.stdin.buffer)"
)


def spare_workers() -> int:
    """Return how many processes would have a CPU of their own beside this one's, at most `MOST_WORKERS`."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return 0  # there is no interpreter to start
    return min(usable_cpus() - 1, MOST_WORKERS)


class AsideExecutor:
    """Does the work in processes of its own, and here what they cannot do; a `lamina_engine.executor.Executor`.

    Parameters
    ----------
    workers : int
        Processes.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @property
    def remote(self) -> bool:
        """True."""
        return True

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order; each process has its own copy of ``fn``, and so has this one.

        Raises
        ------
        Exception
            What ``fn`` raised, at the place of its item.
        """
        try:
            told = pickle.dumps(fn)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            logger.debug("the work cannot travel and is done here: %r", error)
            yield from map(fn, items)
            return
        helpers: list[_Helper[T, R]] = [_Helper(told) for _ in range(self.workers)]
        idle: queue.SimpleQueue[_Helper[T, R]] = queue.SimpleQueue()
        for helper in helpers:
            idle.put(helper)

        def ask(item: T) -> R:
            helper = idle.get()
            try:
                return helper.ask(item)
            finally:
                idle.put(helper)

        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="lamina-aside")
        try:
            pending: deque[Future[R]] = deque()
            for item in items:
                pending.append(pool.submit(ask, item))
                if len(pending) >= _AHEAD * self.workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # also where the caller stops early
            pool.shutdown(wait=True, cancel_futures=True)
            for helper in helpers:
                helper.close()


class _Helper(Generic[T, R]):
    """One process, used by one thread at a time; started when it is first asked.

    Parameters
    ----------
    told : bytes
        The function, pickled.
    """

    def __init__(self, told: bytes) -> None:
        self._told = told
        self._process: subprocess.Popen[bytes] | None = None
        self._here: Callable[[T], R] | None = None

    def ask(self, item: T) -> R:
        """Return what the function makes of an item, there or else here."""
        here = self._here
        if here is None:
            try:
                done, answer = self._asked(item)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                logger.debug("the work of a process beside this one is done here: %r", error)
                self.close()
                here = self._here = cast("Callable[[T], R]", pickle.loads(self._told))
            else:
                if isinstance(answer, Exception) and not done:
                    raise answer
                return cast("R", answer)
        return here(item)

    def _asked(self, item: T) -> tuple[bool, Any]:
        process = self._process or self._started()
        if process.stdin is None or process.stdout is None:
            raise EOFError("the process has no pipes")
        pickle.dump(item, process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        answer: tuple[bool, Any] = pickle.load(process.stdout)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            pipesize=_PIPE_BYTES,
        )  # fmt: skip
        self._process = process
        if process.stdin is not None:
            pickle.dump(sys.path, process.stdin)
            process.stdin.write(self._told)
            process.stdin.flush()
        return process

    def close(self) -> None:
        """Let the process end; it has no work left, or none that is still wanted."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what is still in its buffer finds nobody
                    pipe.close()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def serve(source: IO[bytes]) -> None:
    """Do what the process that started this one asks for, until it asks no more."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the one that asks; when it ends, so does this
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand among the answers
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
