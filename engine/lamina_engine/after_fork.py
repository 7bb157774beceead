"""Forks beside threads: locks released in the child, imports finished before.

A thread of the parent that held a lock does not exist in the child, and what it was changing may be half done. So if any
lock was held, all in-memory state these locks guard is reset; the log and its mapped segments never change and are kept.
A module that another thread is importing would stay half imported, its lock held, for ever: a fork waits for it, and for a
kernel that another thread is loading, as that holds Numba's lock.
"""

from __future__ import annotations

import _imp
import functools
import importlib
import logging
import os
import sys
import threading
import time
import weakref
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_registered: Final[weakref.WeakSet[AfterFork]] = weakref.WeakSet()


class AfterFork(Protocol):
    """Object with in-memory state that locks guard."""

    def reset_after_fork(self) -> None:
        """Drop state that may be half done; called in a forked child if a lock was held."""


def make_lock() -> threading.Lock:
    """Return a lock that a forked child finds free."""
    made = threading.Lock()
    _locks.add(made)
    return made


def make_rlock() -> Any:
    """Return a reentrant lock that a forked child finds free."""
    made = threading.RLock()
    _locks.add(made)
    return made


def register_after_fork(made: AfterFork) -> None:
    """Reset an object in forked children where a lock was held; it is referenced weakly."""
    _registered.add(made)


def track_property_locks(cls: type[T]) -> type[T]:
    """Register the locks that a class's cached properties share (Python 3.11 only)."""
    for name in vars(cls):
        found = getattr(vars(cls)[name], "lock", None)
        if isinstance(vars(cls)[name], functools.cached_property) and found is not None:
            _locks.add(found)
    return cls


def _reset_in_child() -> None:
    held = [each for each in list(_locks) if not _is_free(each)]
    for each in held:
        each._at_fork_reinit()
    for made in list(_registered) if held else ():
        made.reset_after_fork()


def _is_free(each: Any) -> bool:
    free: bool = each.acquire(blocking=False)
    if free:
        each.release()
    return free


_WAIT_S = 10.0
"""For an import or a kernel that never ends a fork does not wait longer."""


def _finish_imports() -> None:
    """Wait until no other thread is importing, and let none begin before the fork."""
    locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap"), "_module_locks", {})  # noqa: B009  private, and typed nowhere
    until, me = time.monotonic() + _WAIT_S, threading.get_ident()
    while True:
        _imp.acquire_lock()  # a module's own lock is made under this one
        alive = [each for found in list(locks.values()) if (each := found()) is not None]
        if time.monotonic() > until or all(getattr(each, "owner", None) in (None, me) for each in alive):
            return
        _imp.release_lock()
        time.sleep(0.001)


_held: Final = list[Any]()
"""The lock of kernels, while this process forks."""


def _finish_loading() -> None:
    """Wait until no other thread loads a kernel, then until none imports.

    Loading imports: the other way round each would wait for the other.
    """
    kernels = sys.modules.get("lamina_kernels._jit")
    lock = getattr(kernels, "loading", None)  # without it no kernel has been asked for
    if lock is not None:
        _locks.add(lock)
        if lock.acquire(timeout=_WAIT_S):
            _held.append(lock)
    _finish_imports()


def _go_on() -> None:
    _imp.release_lock()
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    # what is registered last is called first, and a thread that imports may need a logger: its lock is taken after ours
    logging.getLogger(__name__)
    os.register_at_fork(before=_finish_loading, after_in_parent=_go_on, after_in_child=_go_on)
    os.register_at_fork(after_in_child=_reset_in_child)
