"""Real files: opened through no link, never cut short, removed from an open folder.

A vault may come from somebody else, so what is at one of its paths may be a link, a pipe, a device, or a second name of a
file elsewhere. Only the standard library is imported: hooks count milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Final

NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link is an error, and a pipe without a reader is one, too, not a wait."""
_BINARY: Final = getattr(os, "O_BINARY", 0)  # Windows would translate newlines
_BY_FOLDER: Final = os.unlink in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_ATTEMPTS: Final = 3

Name = str | os.PathLike[str]


def open_to_read(path: Name) -> int:
    """Open a regular file for reading; whatever else lies there raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | _BINARY | NO_FOLLOW)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{os.fspath(path)} is not a regular file")


def read_file(path: Name, most: int) -> bytes:
    """Return the content of a regular file; more than ``most`` bytes raise OSError."""
    with os.fdopen(open_to_read(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read() if size <= most else None  # with a number, as many bytes would be allocated
    if content is None or len(content) > most:
        raise OSError(f"{os.fspath(path)} has more than {most} bytes")
    return content


def create_file(path: Name, mode: int = 0o666) -> int:
    """Create a file for writing; what had its name is removed, and never cut short."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileExistsError):
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | NO_FOLLOW, mode)
        remove_file(path)
    raise FileExistsError(
        f"{os.fspath(path)} is made again as fast as it is removed; is another program at work there?"
    )


def open_to_append(path: Name, mode: int = 0o600) -> int:
    """Open a regular file for appending; one with a second name elsewhere is copied first."""
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY | NO_FOLLOW, mode)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
            return descriptor
        os.close(descriptor)
        if not stat.S_ISREG(found.st_mode):
            break
        content = read_file(path, found.st_size)
        aside = f"{os.fspath(path)}.tmp"
        with os.fdopen(create_file(aside, mode), "wb") as copy:
            copy.write(content)
        os.replace(aside, path)  # noqa: PTH105
    raise OSError(f"{os.fspath(path)} is not a regular file of its own")


def remove_file(path: Name) -> None:
    """Remove a file by its name in its folder, which must not be a link."""
    folder, name = os.path.split(os.fspath(path))
    if not _BY_FOLDER:
        os.unlink(path)  # noqa: PTH108
        return
    descriptor = _open_folder(folder or os.curdir)
    try:
        os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _open_folder(folder: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY
    try:
        return os.open(folder, flags | os.O_NOFOLLOW)
    except OSError:
        if not os.path.lexists(f"{folder}{os.sep}CURRENT"):
            raise
        return os.open(folder, flags)  # the user may reach a vault's own folder through a link
