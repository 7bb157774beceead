"""Locks that a forked child finds free: a thread of its parent that held one is not there to let go of it.

What such a thread was changing may be half done, so where a lock was held, everything in memory that such locks guard is
begun anew; the log and its mapped segments do not change, and are kept. A parent at rest hands its child all it knows.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_keepers: Final[weakref.WeakSet[Keeper]] = weakref.WeakSet()


class Keeper(Protocol):
    """Has in memory what locks guard."""

    def begin_anew_in_child(self) -> None:
        """Forget what may be half done; called in a forked child where a lock was held, after all of them are free."""


def lock() -> threading.Lock:
    """Return a lock."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> Any:
    """Return a lock that its thread may take again."""
    made = threading.RLock()
    _locks.add(made)
    return made


def keeper(made: Keeper) -> None:
    """Have something told in a forked child where a lock was held; nothing needs to be done when it goes."""
    _keepers.add(made)


def guarded(cls: type[T]) -> type[T]:
    """Count in the locks that cached properties of a class share (Python 3.11 alone has them)."""
    for name in vars(cls):
        found = getattr(vars(cls)[name], "lock", None)
        if isinstance(vars(cls)[name], functools.cached_property) and found is not None:
            _locks.add(found)
    return cls


def _begin_in_child() -> None:
    held = [each for each in list(_locks) if not _is_free(each)]
    for each in held:
        each._at_fork_reinit()
    for made in list(_keepers) if held else ():
        made.begin_anew_in_child()


def _is_free(each: Any) -> bool:
    free: bool = each.acquire(blocking=False)
    if free:
        each.release()
    return free


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
