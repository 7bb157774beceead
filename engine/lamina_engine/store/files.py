"""Every durable step on disk goes through here, so that tests can stop, fail or shorten any one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from lamina_engine.store import flushing
from lamina_engine.store.shape import NO_FOLLOW

TEMPORARY_SUFFIX = ".tmp"
_WRITTEN = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | NO_FOLLOW  # Windows would translate newlines
_ALONE = 2
"""Fewer are flushed by the caller itself."""
_HOLDS = os.name == "posix"
"""Elsewhere a file that is open cannot be replaced."""


Name: TypeAlias = str | os.PathLike[str]
"""A file's name. Text where it is made for each write: a Path costs as much as opening the file."""


class Begun(NamedTuple):
    """A file that is being written aside."""

    descriptor: int
    aside: str
    """Where it lies; the same as ``path`` where it was written under its own name."""
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

    def begin(self, path: Name, parts: Iterable[bytes | memoryview], *, aside: bool = True) -> Begun:
        """Write a file from its parts, without waiting for the disk; a failure leaves nothing.

        Parameters
        ----------
        path : path
            The name it is to have.
        parts : iterable of bytes
            Its content.
        aside : bool
            Write it under another name until `place`. False for a file that nobody looks for before something else names
            it: a name that is taken already is left alone, and it is written aside all the same.
        """
        begun = self._made(os.fspath(path), aside=aside)
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

    def _made(self, name: str, *, aside: bool) -> Begun:
        if not aside:
            with contextlib.suppress(FileExistsError):
                return Begun(os.open(name, _WRITTEN | os.O_EXCL, 0o666), name, name)
        other = name + TEMPORARY_SUFFIX
        return Begun(os.open(other, _WRITTEN | os.O_TRUNC, 0o666), other, name)

    def settle(
        self,
        files: Sequence[Begun],
        folders: Sequence[Path] = (),
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Flush files that were begun, and folders, side by side, and close the files: those aside then wait for `place`.

        Parameters
        ----------
        files, folders
            What to flush.
        meanwhile : callable, optional
            What is done beside it. Where it raises, so does this, when all is closed.
        """
        try:
            self.together(self._flush_either, [*(begun.descriptor for begun in files), *folders], meanwhile)
        finally:
            self.close(files)

    def _flush_either(self, what: int | Path) -> None:
        if isinstance(what, int):
            self.flush(what)
        else:
            self.flush_folder(what)

    def close(self, files: Iterable[Begun]) -> None:
        """Close files that were begun and are not to be settled."""
        for begun in files:
            os.close(begun.descriptor)

    def place(self, files: Iterable[Begun]) -> None:
        """Give settled files their names; their folders are left to the caller to flush."""
        for begun in files:
            if begun.aside != begun.path:
                self.replace(begun.aside, begun.path)

    def swap(self, file: Begun) -> None:
        """Give a settled file the name of another, and flush their folder; the other is let go of on a thread.

        A file that loses its last name is freed by whoever took it: on a disk that is told of free blocks that is a wait.
        """
        held = _opened(file.path) if _HOLDS else None
        try:
            self.replace(file.aside, file.path)
            self.flush_folder(Path(file.path).parent)
        finally:
            if held is not None:
                flushing.soon(os.close, held)

    def abandon(self, files: Iterable[Begun]) -> None:
        """Remove what was begun and is not to be."""
        for begun in files:
            with contextlib.suppress(OSError):
                self.remove(begun.aside)

    def together(
        self, act: Callable[[Any], None], items: Sequence[Any], meanwhile: Callable[[], None] | None = None
    ) -> None:
        """Do something to several files or folders at once, and wait for all: a disk takes flushes that wait together."""
        if len(items) < _ALONE:
            for item in items:
                act(item)
            if meanwhile is not None:
                meanwhile()
        else:
            flushing.together(act, items, meanwhile)

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
        flushing.soon(self.discard, paths, left_behind)

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


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:  # there is none yet
        return None
