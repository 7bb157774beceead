"""Parallel reading of transcript files: short ones ahead, in processes of their own.

Files do not depend on each other before they are written, so the place of reading shows in nothing but the time it takes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from lamina_engine.sessions.reading import ReadOutcome, SessionOptions, TranscriptFile, format_of
from lamina_engine.sessions.turns import ChunkPack
from lamina_engine.subprocesses import spare_executor

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
    return spare_executor()


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
