"""Reports of finished calls, and progress of running ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Report:
    """Base of the reports that calls return; each is a dataclass."""

    __slots__ = ()

    def to_dict(self: DataclassInstance) -> dict[str, Any]:
        """Return the fields as JSON values: the shape of the command's ``--json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Progress(Report):
    """One step of a long run."""

    stage: str
    """Name of the stage, such as ``scanning``, ``reading``, ``embedding`` or ``neighbours``."""
    done: int
    total: int = 100
    """Units of the stage: sources, bytes, rows, queries or percent."""
    rate: float = 0.0
    """Units a second in this stage; 0 where it is not measured."""
    remaining_s: float | None = None
    """Seconds until the stage is done at that rate; None where that is not known."""


ProgressListener = Callable[[Progress], None]


class ProgressReporter:
    """Turns counts into `Progress` with a rate, for a listener.

    Only durations are measured: nothing that is written depends on them.
    """

    def __init__(self, listener: ProgressListener | None) -> None:
        self._listener = listener
        self._stage = ""
        self._first = 0
        self._began = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report the state of a stage; its first call is its beginning."""
        if self._listener is None:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._first, self._began = stage, done, now
        elapsed = now - self._began
        rate = (done - self._first) / elapsed if elapsed > 0 else 0.0
        remaining = (total - done) / rate if rate > 0 else (0.0 if done >= total else None)
        rounded = None if remaining is None else round(remaining, 1)
        self._listener(Progress(stage, done, total, round(rate, 1), rounded))
