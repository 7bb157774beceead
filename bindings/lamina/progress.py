"""Progress bars for work of more than a second; silent where stderr is no terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

_PATIENCE_S = 1.0


class ProgressStep(Protocol):
    """One step of a long run, such as an ingest's `Progress` or a reindex's `Step`."""

    @property
    def stage(self) -> str:
        """Name of the stage."""
        ...

    @property
    def done(self) -> int:
        """Units done in this stage."""
        ...

    @property
    def total(self) -> int:
        """Units of this stage."""
        ...


S = TypeVar("S", bound=ProgressStep)


@contextlib.contextmanager
def reporter(progress: bool | Callable[[S], None]) -> Iterator[Callable[[S], None] | None]:
    """Yield the listener of a run: none, the caller's function, or a bar on stderr."""
    if progress is False or (progress is True and not sys.stderr.isatty()):
        yield None
    elif progress is True:
        with _bar() as report:
            yield report
    else:
        yield progress


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[ProgressStep], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(step: ProgressStep) -> None:
        if not bar.live.is_started and time.monotonic() - started < _PATIENCE_S:
            return
        bar.start()
        if step.stage not in tasks:
            tasks[step.stage] = bar.add_task(step.stage, total=step.total)
        bar.update(tasks[step.stage], completed=step.done, total=step.total)

    try:
        yield report
    finally:
        bar.stop()
