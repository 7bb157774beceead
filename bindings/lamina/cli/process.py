"""What the program may do to its own process, and a library never to that of its caller.

Only where `begin` was called: by the program itself, and not where `lamina.cli.main` is called with arguments.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Final

_BLAS_THREADS: Final = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_own = False


def begin() -> None:
    """Say that this process is the program's own."""
    global _own
    _own = True


def one_answer() -> None:
    """Say that a command answers one question: NumPy's BLAS then starts no threads, which would spin for 30 ms.

    Before NumPy is imported, and unless the user has said how many there are to be.
    """
    if _own and "numpy" not in sys.modules and not any(name in os.environ for name in _BLAS_THREADS):
        os.environ[_BLAS_THREADS[0]] = "1"


def end() -> None:
    """Leave the memory to the system: looking for garbage in all that was loaded takes longer than an answer."""
    if _own:
        gc.disable()
        gc.freeze()
