"""Every durable step on disk goes through here, so that tests can stop, fail or shorten any one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"


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

    def write(self, path: Path, parts: Iterable[bytes | memoryview]) -> None:
        """Write a file from its parts and flush it to disk; what was there is lost."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)  # Windows would translate newlines
        descriptor = os.open(path, flags, 0o666)
        try:
            for part in parts:
                view = memoryview(part).cast("B")
                while len(view):  # a short write is legal; the rest follows
                    view = view[self.write_some(descriptor, view) :]
            self.flush(descriptor)
        finally:
            os.close(descriptor)

    def write_some(self, descriptor: int, view: memoryview) -> int:
        """Write what the system takes at once; return how many bytes that was."""
        return os.write(descriptor, view)

    def flush(self, descriptor: int) -> None:
        """Flush one open file to disk."""
        os.fsync(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Give ``source`` the name ``target``, atomically."""
        source.replace(target)

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

    def remove(self, path: Path) -> None:
        """Remove a file that nothing names any more; one that is gone already is fine."""
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

    def publish(self, path: Path, parts: Iterable[bytes | memoryview]) -> None:
        """Write aside, flush, and rename into place; the folder is left to the caller to flush.

        A failure leaves what stood at ``path`` as it was.
        """
        aside = path.with_name(path.name + TEMPORARY_SUFFIX)
        try:
            self.write(aside, parts)
            self.replace(aside, path)
        except BaseException:  # Ctrl-C included
            with contextlib.suppress(OSError):
                self.remove(aside)
            raise
