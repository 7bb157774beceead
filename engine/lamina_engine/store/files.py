"""Every durable step on disk goes through here, so that tests can stop, fail or shorten any one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

TEMPORARY_SUFFIX = ".tmp"
_WRITTEN_ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)  # Windows would translate newlines
_FLUSHERS = 4
_ALONE = 2
"""Fewer are flushed by the caller itself."""


Name: TypeAlias = str | os.PathLike[str]
"""A file's name. Text where it is made for each write: a Path costs as much as opening the file."""


class Begun(NamedTuple):
    """A file that is being written aside."""

    descriptor: int
    aside: str
    path: str


class Files:
    """The operating system's files, as the commit protocol uses them.

    A step either happens or raises ``OSError``; `replace` is atomic. A subclass may inject faults.
    """

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents durably; nothing happens where it exists."""
        if path.is_dir():
            return
        self.make_folder(path.parent)
        self.make_one_folder(path)
        self.flush_folder(path.parent)

    def make_one_folder(self, path: Path) -> None:
        """Create one folder in a folder that exists; one that is there already is fine."""
        path.mkdir(exist_ok=True)

    def begin(self, path: Name, parts: Iterable[bytes | memoryview]) -> Begun:
        """Write a file aside, from its parts, without waiting for the disk; a failure leaves nothing."""
        name = os.fspath(path)
        aside = name + TEMPORARY_SUFFIX
        begun = Begun(os.open(aside, _WRITTEN_ANEW, 0o666), aside, name)
        try:
            for part in parts:
                view = memoryview(part).cast("B")
                while len(view):  # a short write is legal; the rest follows
                    view = view[self.write_some(begun.descriptor, view) :]
        except BaseException:  # Ctrl-C included
            os.close(begun.descriptor)
            self.abandon([begun])
            raise
        return begun

    def settle(self, files: Sequence[Begun]) -> None:
        """Flush files that were begun, side by side, and close them: they then wait for `place`."""
        try:
            self.together(self.flush, [begun.descriptor for begun in files])
        finally:
            self.close(files)

    def close(self, files: Iterable[Begun]) -> None:
        """Close files that were begun and are not to be settled."""
        for begun in files:
            os.close(begun.descriptor)

    def place(self, files: Iterable[Begun]) -> None:
        """Give settled files their names; their folders are left to the caller to flush."""
        for begun in files:
            self.replace(begun.aside, begun.path)

    def abandon(self, files: Iterable[Begun]) -> None:
        """Remove what was written aside and has not been given its name."""
        for begun in files:
            with contextlib.suppress(OSError):
                self.remove(begun.aside)

    def together(self, act: Callable[[Any], None], items: Sequence[Any]) -> None:
        """Do something to several files or folders at once, and wait for all: a disk takes flushes that wait together."""
        if len(items) < _ALONE:
            for item in items:
                act(item)
            return
        done = [_on_a_thread(act, item) for item in items[1:]]
        try:
            act(items[0])  # one by the caller, who would only wait
        finally:
            wait(done)
        for each in done:
            each.result()

    def write_some(self, descriptor: int, view: memoryview) -> int:
        """Write what the system takes at once; return how many bytes that was."""
        return os.write(descriptor, view)

    def flush(self, descriptor: int) -> None:
        """Flush one open file to disk."""
        os.fsync(descriptor)

    def replace(self, source: Name, target: Name) -> None:
        """Give ``source`` the name ``target``, atomically."""
        os.replace(source, target)  # noqa: PTH105  see `Name`

    def flush_folders(self, paths: Sequence[Path]) -> None:
        """Make renames in several folders durable."""
        self.together(self.flush_folder, paths)

    def flush_folder(self, path: Path) -> None:
        """Make renames in a folder durable; systems that cannot open folders do this by themselves."""
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except PermissionError:  # Windows
            return
        try:
            self.flush(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: Name) -> None:
        """Remove a file that nothing names any more; one that is gone already is fine."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108

    def discard(self, paths: Iterable[Name], left_behind: Callable[[], None]) -> None:
        """Remove files that nothing names any more; a failure costs disk, never data.

        Parameters
        ----------
        paths : iterable of path
            The files.
        left_behind : callable
            Called where one cannot be removed (Windows: a reader has it mapped).
        """
        for path in paths:
            try:
                self.remove(path)
            except OSError:
                left_behind()

    def discard_soon(self, paths: Iterable[Name], left_behind: Callable[[], None]) -> None:
        """`discard` on a thread: taking a file off a disk may wait for what that disk is writing."""
        _on_a_thread(self.discard, paths, left_behind)

    def publish(self, path: Name, parts: Iterable[bytes | memoryview]) -> None:
        """Write aside, flush, and rename into place; the folder is left to the caller to flush.

        A failure leaves what stood at ``path`` as it was.
        """
        begun = self.begin(path, parts)
        try:
            self.settle([begun])
            self.place([begun])
        except BaseException:
            self.abandon([begun])
            raise


def _on_a_thread(act: Callable[..., None], *given: Any) -> Future[None]:
    """Begin something on one of the threads that wait for the disk; when the process ends, do it at once."""
    try:
        return _threads().submit(act, *given)
    except RuntimeError:  # the interpreter has stopped its pools, and a handler of the exit still writes
        done: Future[None] = Future()
        try:
            act(*given)
            done.set_result(None)
        except OSError as error:
            done.set_exception(error)
        return done


def _threads() -> ThreadPoolExecutor:
    """Return the process's threads that wait for the disk; a forked child makes its own."""
    global _pool
    if _pool is None or _pool[0] != os.getpid():
        _pool = (os.getpid(), ThreadPoolExecutor(_FLUSHERS, thread_name_prefix="lamina-flush"))
    return _pool[1]


_pool: tuple[int, ThreadPoolExecutor] | None = None
