"""The writer lock: an operating-system lock on one file that dies with its process.

A forked child does not keep it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lamina_engine.errors import VaultLocked, VaultReadOnly
from lamina_engine.store.shape import NO_FOLLOW

LOCK = "writer.lock"
LOCK_TIMEOUT_S = 10.0
_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.025


@contextlib.contextmanager
def write_lock(root: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the vault's writer lock."""
    if not os.access(root, os.W_OK):
        raise VaultReadOnly(f"{root} cannot be written by this user; open it with mode='r', or change its permissions")
    try:
        descriptor = _acquire(f"{root}{os.sep}{LOCK}", timeout_s)
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


def _acquire(path: str, timeout_s: float) -> int | None:
    """Return the descriptor of the locked file; None when the time is up."""
    deadline = time.monotonic() + timeout_s
    wait_s = _FIRST_WAIT_S
    while True:
        descriptor = _try(path)
        if descriptor is not None or time.monotonic() >= deadline:
            return descriptor
        time.sleep(max(0.0, min(wait_s, deadline - time.monotonic())))
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


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

    def _try(path: str) -> int | None:
        with _guard:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o666)
            _held.add(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
