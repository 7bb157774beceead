"""The writer lock: an operating-system lock on one file that dies with its process.

A forked child does not keep it. Whoever has to wait takes a turn, a file that it holds locked, and the oldest turn is next: a
writer that comes again at once waits behind those that were there before it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lamina_engine.errors import VaultLocked, VaultReadOnly
from lamina_engine.real_files import NO_FOLLOW, remove_file

LOCK = "writer.lock"
LOCK_TIMEOUT_S = 10.0
TURNS = "turns"
"""Folder of the turns; it is there only while somebody waits."""
_TURN = re.compile(r"\d{20}-\d{20}-\d+-\d+")
_WAIT_S = 0.002
"""Pause of the first in line; the second waits twice as long, and so on."""
_LONGEST_WAIT_S = 0.05


@contextlib.contextmanager
def write_lock(root: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the vault's writer lock."""
    if not os.access(root, os.W_OK):
        raise VaultReadOnly(f"{root} cannot be written by this user; open it with mode='r', or change its permissions")
    try:
        descriptor = _acquire(os.fspath(root), timeout_s)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise VaultReadOnly(
                f"{root / LOCK} cannot be opened for writing ({error.strerror}); open the vault with mode='r'"
            ) from error
        raise
    if descriptor is None:
        raise VaultLocked(
            f"another process has been writing to {root} for more than {timeout_s:g} s; "
            "wait for it (lamina.open takes a longer lock_timeout_s)"
        )
    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:  # a forked child that leaves this block must not free its parent's lock
            _release(descriptor)


@contextlib.contextmanager
def try_lock(path: str) -> Iterator[bool]:
    """Hold the lock of one file; yield False at once where another holds it."""
    descriptor = _try(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _release(descriptor)


def _acquire(root: str, timeout_s: float) -> int | None:
    """Return the descriptor of the locked file; None when the time is up."""
    path = f"{root}{os.sep}{LOCK}"
    folder = f"{root}{os.sep}{TURNS}"
    deadline = time.monotonic() + timeout_s
    if not _turns(folder) and (descriptor := _try(path)) is not None:
        return descriptor
    turn = _Turn(folder, deadline)
    try:
        while time.monotonic() < deadline:
            before = turn.count_before()
            if not before and (descriptor := _try(path)) is not None:
                return descriptor
            time.sleep(max(0.0, min((1 + before) * _WAIT_S, _LONGEST_WAIT_S, deadline - time.monotonic())))
        return None
    finally:
        turn.leave()


class _Turn:
    """Place of one who waits, named by its beginning and its end on the machine's clock."""

    def __init__(self, folder: str, deadline: float) -> None:
        self._folder = Path(folder)
        self._name = f"{time.monotonic_ns():020}-{int(deadline * 1e9):020}-{os.getpid()}-{threading.get_ident()}"
        self._descriptor: int | None = None

    def count_before(self) -> int:
        """Return the number of those who came before and still wait."""
        if self._descriptor is None:
            with contextlib.suppress(FileExistsError):  # not exist_ok: it raises where the folder goes meanwhile
                self._folder.mkdir()
            with contextlib.suppress(FileNotFoundError):  # the last to leave has just removed the folder
                self._descriptor = _try(self._path(self._name))
        names = _turns(self._folder)
        if self._name not in names:  # removed before it was locked
            self._close()
            return 1
        before = names[: names.index(self._name)]
        while before and self._is_over(before[0]):
            del before[0]
        return len(before)

    def leave(self) -> None:
        """Give the place up."""
        with contextlib.suppress(OSError):
            remove_file(self._path(self._name))
        self._close()
        with contextlib.suppress(OSError):  # others still wait
            self._folder.rmdir()

    def _is_over(self, name: str) -> bool:
        """Return True where nobody waits any more; a turn that a killed process left is removed."""
        descriptor = _look(self._path(name))
        if descriptor is None:
            return int(name.split("-")[1]) < time.monotonic_ns()  # its time is up, and it stands still
        with contextlib.suppress(OSError):
            remove_file(self._path(name))
        _release(descriptor)
        return True

    def _path(self, name: str) -> str:
        return os.fspath(self._folder / name)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            _release(descriptor)


def _turns(folder: str | Path) -> list[str]:
    """Return the names of all turns, the oldest first."""
    try:
        return sorted(name for name in os.listdir(folder) if _TURN.fullmatch(name))  # noqa: PTH208
    except FileNotFoundError:
        return []


if sys.platform == "win32":
    import msvcrt

    def _try(path: str) -> int | None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o666)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return None
            raise
        return descriptor

    _look = _try

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

else:
    import fcntl

    _held: set[int] = set()
    """Descriptors of the locks that this process holds or is trying to get."""
    _guard = threading.Lock()
    """Held around every change of `_held`, and around a fork: so a child knows every descriptor it was born with."""

    def _look(path: str) -> int | None:
        # shared: one that is stopped while it looks keeps nobody from seeing that the owner is gone
        return _try(path, fcntl.LOCK_SH)

    def _try(path: str, kind: int = fcntl.LOCK_EX) -> int | None:
        with _guard:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o666)
            _held.add(descriptor)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):  # noqa: PTH116
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass
        except BaseException:
            _close(descriptor)
            raise
        # taken by another, or the file was replaced between opening and locking it: that lock guards nothing
        _close(descriptor)
        return None

    def _close(descriptor: int) -> None:
        with _guard:
            if descriptor in _held:
                _held.discard(descriptor)
                os.close(descriptor)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        _close(descriptor)

    def _forget_in_child() -> None:
        # closing leaves the parent's lock alone, unlocking would free it; kept open, the lock would outlive the parent
        for descriptor in _held:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        _held.clear()
        _guard.release()

    os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forget_in_child)
