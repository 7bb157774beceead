"""Progress of the call that runs in this context, for whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

listener: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("listener", default=None)


def report(stage: str, done: int, total: int) -> None:
    """Report the state of a stage."""
    hear = listener.get()
    if hear is not None:
        hear(stage, done, total)


class ProgressLine:
    """Progress as a client sees it: one number that grows, over all stages."""

    def __init__(self) -> None:
        self.value, self.stage = 0.0, ""
        self._before = -1

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take the state of a stage."""
        if stage != self.stage:
            self.stage, self._before = stage, self._before + 1
        self.value = max(self.value, self._before + min(done / total, 1.0) if total > 0 else float(self._before))
