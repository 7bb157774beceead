"""Parallel reading of transcript files: short ones ahead, in processes of their own.

Files do not depend on each other before they are written, so the place of reading shows in nothing but the time it takes.
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
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

import msgspec

from lamina_engine.executor import AHEAD, map_in_pool, usable_cpus
from lamina_engine.sessions.reading import ReadOutcome, SessionOptions, TranscriptFile, format_of
from lamina_engine.sessions.turns import ChunkPack

if TYPE_CHECKING:
    from lamina_engine.executor import Executor
    from lamina_engine.redact.redactor import Redactor

PARALLEL_BYTES: Final = 1 << 24
"""Bytes of a file that is not read elsewhere, because it would travel whole; and of all files together that repay a
process of their own."""
RUN_BYTES: Final = 1 << 20
"""Bytes of files that are handed to another process at once."""


class ReadTask(msgspec.Struct, frozen=True):
    """A file to be read."""

    path: str
    """Absolute path."""
    source: str
    """Its path below the root, with ``/``."""
    suffix: str
    size: int
    """Bytes, when it was last looked at."""
    folder: str = ""
    """Folder of sessions that name none."""


class FileContent(msgspec.Struct):
    """A file read at once: everything a `TranscriptFile` yields in parts."""

    format: str
    packs: list[ChunkPack]
    outcome: ReadOutcome


OpenFile: TypeAlias = TranscriptFile | FileContent | str | None
"""None for what is no file of sessions, a text for why one cannot be read."""


logger = logging.getLogger(__name__)


class ReadFailure(Exception):
    """A file could not be read to its end; the message has the reason."""


class FileReader:
    """Reader of files, here or in another process: it pickles without the names it has seen."""

    def __init__(self, redactor: Redactor, options: SessionOptions, tz: str) -> None:
        self._given = redactor, options, tz
        self._harmless: dict[str, str] = {}

    def __reduce__(self) -> tuple[type[FileReader], tuple[Redactor, SessionOptions, str]]:
        return FileReader, self._given

    def open(self, task: ReadTask) -> TranscriptFile | None:
        """Return a file as it will be read, None where it is no file of sessions."""
        path = Path(task.path)
        format = format_of(path, task.suffix)
        if format is None:
            return None
        redactor, options, tz = self._given
        return TranscriptFile(
            path,
            task.source,
            format,
            redactor=redactor,
            options=options,
            tz=tz,
            harmless=self._harmless,
            folder=task.folder,
        )

    def __call__(self, tasks: Sequence[ReadTask]) -> list[FileContent | str | None]:
        """Read files in parallel; None for a file that is no transcript, a reason if unreadable."""
        return [self._read_file(task) for task in tasks]

    def _read_file(self, task: ReadTask) -> FileContent | str | None:
        try:
            file = self.open(task)
            if file is None:
                return None
            packs = list(file.packs)
        except Exception as error:  # whatever one file does to a reader, the others are read
            return _reason(error)
        return FileContent(file.format, packs, file.outcome)


def open_files(tasks: Sequence[ReadTask], reader: FileReader, executor: Executor | None = None) -> Generator[OpenFile]:
    """Yield open files in the order of their tasks; ``executor`` reads the shorter ones."""
    short = [task for task in tasks if task.size <= PARALLEL_BYTES]
    executor = executor or _spare_executor(short)
    read = None if executor is None else iter(executor.map(reader, _group_tasks(short)))
    there: deque[OpenFile] = deque()
    try:
        for task in tasks:
            if read is None or task.size > PARALLEL_BYTES:
                yield _open_here(task, reader)
                continue
            if not there:
                there.extend(next(read))
            yield there.popleft()
    finally:  # also where the caller stops early
        if isinstance(read, Generator):
            read.close()


def _open_here(task: ReadTask, reader: FileReader) -> OpenFile:
    try:
        return reader.open(task)
    except Exception as error:
        return _reason(error)


def _reason(error: Exception) -> str:
    logger.debug("reading a transcript failed", exc_info=error)
    return (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"


def _spare_executor(tasks: Sequence[ReadTask]) -> Executor | None:
    """Return an executor of processes beside this one; None where it costs more than it saves."""
    if len(tasks) < 2 or sum(task.size for task in tasks) < PARALLEL_BYTES:
        return None
    workers = count_workers()
    return SubprocessExecutor(workers) if workers else None


def _group_tasks(tasks: Iterable[ReadTask]) -> Iterator[list[ReadTask]]:
    """Yield the files to read in runs that are worth a process."""
    run: list[ReadTask] = []
    size = 0
    for task in tasks:
        if run and size + task.size > RUN_BYTES:
            yield run
            run, size = [], 0
        run.append(task)
        size += task.size
    if run:
        yield run


def read_packs(file: TranscriptFile | FileContent) -> Iterator[ChunkPack]:
    """Yield the chunks of a file; an error of reading becomes a `ReadFailure`."""
    try:
        yield from file.packs
    except Exception as error:
        raise ReadFailure(_reason(error)) from error


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
