"""Cache of derived values: made once per key, for the life of their object."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from lamina_engine import after_fork

T = TypeVar("T")


class Cache:
    """Base of `View` (one version) and `Tables` (all versions), which cache derived values.

    A key names what is derived, such as ``"topics.table"``; a room that also keys by a parameter gives a tuple. Values
    of a view never change. Values of the tables outlive versions: they are objects that grow, or are put in place of
    the last one with `put_cached`.

    `cached` runs ``make`` at most once per key, under one lock per object that the same thread may take again, so
    ``make`` may ask for other keys. What ``make`` raises is not remembered. In a forked child whose parent held the
    lock, it is free again, and the memory begins new views and tables (see `lamina_engine.after_fork`).
    """

    def __init__(self) -> None:
        self._cached: dict[Hashable, Any] = {}
        self._cache_lock = after_fork.make_rlock()

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made by ``make`` where it is asked for the first time."""
        try:
            return cast("T", self._cached[key])  # without the lock: a value is complete before it is put here
        except KeyError:
            pass
        with self._cache_lock:
            if key not in self._cached:
                self._cached[key] = make()
            return cast("T", self._cached[key])

    def peek_cached(self, key: Hashable) -> Any:
        """Return the value of a key where it has been made, else None."""
        return self._cached.get(key)

    def put_cached(self, key: Hashable, value: T) -> T:
        """Replace the value of a key, and return it."""
        with self._cache_lock:
            self._cached[key] = value
        return value
