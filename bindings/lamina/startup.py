"""Garbage collection paused while modules load: nothing that is loaded becomes garbage.

Modules are some hundred thousand objects that stay. Collections triggered by their number take a tenth of a cold start.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_inside = 0
_was_on = False


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector while something is being loaded.

    It is on again afterwards where it was on before, when the last of several threads leaves. Meant for a fraction of a
    second: garbage made in it is collected later.
    """
    global _inside, _was_on
    with _lock:
        if not _inside:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside = max(0, _inside - 1)
            if not _inside and _was_on:
                gc.enable()


def _begin_in_child() -> None:
    """Turn the collector on in a forked child, which lacks the threads that were loading."""
    global _lock, _inside
    if _inside and _was_on:
        gc.enable()
    _lock, _inside = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
