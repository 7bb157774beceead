"""The files of a run, open in their order: short ones read ahead in other processes, long ones here as they come.

Files do not depend on each other before they are written, so where they are read shows in nothing but the time it takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from lamina_engine.ingest.sessions.aside import AsideExecutor, spare_workers
from lamina_engine.ingest.sessions.formats import format_of
from lamina_engine.ingest.sessions.packs import Pack
from lamina_engine.ingest.sessions.reading import Outcome, SessionFile, SessionOptions

if TYPE_CHECKING:
    from lamina_engine.executor import Executor
    from lamina_engine.redact.redactor import Redactor

ASIDE_BYTES: Final = 1 << 24
"""Bytes of a file that is not read elsewhere, because it would travel whole; and of all files together that repay a
process of their own."""
RUN_BYTES: Final = 1 << 20
"""Bytes of files that are handed to another process at once."""


class Task(msgspec.Struct, frozen=True):
    """A file that is to be read."""

    path: str
    """Where it lies."""
    source: str
    """Its path below the root, with ``/``."""
    suffix: str
    size: int
    """Bytes, when it was last looked at."""


class Whole(msgspec.Struct):
    """A file that was read at once; what a `SessionFile` gives bit by bit."""

    format: str
    packs: list[Pack]
    outcome: Outcome


Opened: TypeAlias = SessionFile | Whole | str | None
"""None for what is no file of sessions, a text for why one cannot be read."""


class Unread(Exception):
    """A file could not be read to its end; the message says why."""


class Reader:
    """Reads files, here or in a process beside this one: what it holds travels there, but for the names it has seen.

    Parameters
    ----------
    redactor : Redactor
    options : SessionOptions
    tz : str
        Zone of instants that name none.
    """

    def __init__(self, redactor: Redactor, options: SessionOptions, tz: str) -> None:
        self._given = redactor, options, tz
        self._harmless: dict[str, str] = {}

    def __reduce__(self) -> tuple[type[Reader], tuple[Redactor, SessionOptions, str]]:
        return Reader, self._given

    def open(self, task: Task) -> SessionFile | None:
        """Return a file as it will be read, None where it is no file of sessions.

        Raises
        ------
        OSError
        """
        path = Path(task.path)
        format = format_of(path, task.suffix)
        if format is None:
            return None
        redactor, options, tz = self._given
        return SessionFile(
            path, task.source, format, redactor=redactor, options=options, tz=tz, harmless=self._harmless
        )

    def __call__(self, tasks: Sequence[Task]) -> list[Whole | str | None]:
        """Read files at once; None where one is no file of sessions, what the system said where it cannot be read."""
        return [self._whole(task) for task in tasks]

    def _whole(self, task: Task) -> Whole | str | None:
        try:
            file = self.open(task)
            if file is None:
                return None
            packs = list(file.packs)
        except OSError as error:
            return error.strerror or str(error)
        return Whole(file.format, packs, file.outcome)


def opened(tasks: Sequence[Task], reader: Reader, executor: Executor | None = None) -> Generator[Opened]:
    """Yield files that are open, in their order.

    Parameters
    ----------
    tasks : sequence of Task
    reader : Reader
    executor : Executor, optional
        Reads those that are not too long; processes beside this one, where they repay themselves, unless given.
    """
    short = [task for task in tasks if task.size <= ASIDE_BYTES]
    executor = executor or _spare_executor(short)
    read = None if executor is None else iter(executor.map(reader, _runs(short)))
    there: deque[Opened] = deque()
    try:
        for task in tasks:
            if read is None or task.size > ASIDE_BYTES:
                yield _opened_here(task, reader)
                continue
            if not there:
                there.extend(next(read))
            yield there.popleft()
    finally:  # also where the caller stops early
        if isinstance(read, Generator):
            read.close()


def _opened_here(task: Task, reader: Reader) -> Opened:
    try:
        return reader.open(task)
    except OSError as error:
        return error.strerror or str(error)


def _spare_executor(tasks: Sequence[Task]) -> Executor | None:
    """Return where files are read beside this process; None where that costs more than it saves, or cannot be."""
    if len(tasks) < 2 or sum(task.size for task in tasks) < ASIDE_BYTES:
        return None
    workers = spare_workers()
    return AsideExecutor(workers) if workers else None


def _runs(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """Yield what is to be read in runs that repay being handed over."""
    run: list[Task] = []
    size = 0
    for task in tasks:
        if run and size + task.size > RUN_BYTES:
            yield run
            run, size = [], 0
        run.append(task)
        size += task.size
    if run:
        yield run


def packs_of(file: SessionFile | Whole) -> Iterator[Pack]:
    """Yield the chunks of a file; what goes wrong with it is told from what goes wrong with the vault.

    Raises
    ------
    Unread
    """
    try:
        yield from file.packs
    except OSError as error:
        raise Unread(error.strerror or str(error)) from error
