"""Questions to several shards: at the same time where these are elsewhere."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_elsewhere: contextvars.ContextVar[ThreadPoolExecutor | None] = contextvars.ContextVar("lamina_shards", default=None)
"""Threads that wait for shards elsewhere, in a call over such a vault."""


def ask_each(given: Sequence[tuple[Any, ...]], ask: Callable[..., T]) -> list[T]:
    """Return what a function answers to each tuple of arguments, in their order."""
    pool = _elsewhere.get()
    if pool is None or len(given) < 2:
        return [ask(*each) for each in given]
    return list(pool.map(lambda each: ask(*each), given))


def asking_elsewhere(work: Callable[[], T], pool: ThreadPoolExecutor) -> T:
    """Run a call over a vault whose shards are elsewhere: they are asked at the same time."""
    token = _elsewhere.set(pool)
    try:
        return work()
    finally:
        _elsewhere.reset(token)
