"""Progress bars for work of more than a second; silent unless stderr is a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamina_engine.reports import Progress, ProgressListener

_PATIENCE_S = 1.0


@contextlib.contextmanager
def reporter(progress: bool | ProgressListener) -> Iterator[ProgressListener | None]:
    """Yield the listener of a run: none, the caller's function, or a bar on stderr."""
    if progress is False or (progress is True and not sys.stderr.isatty()):
        yield None
    elif progress is True:
        with _bar() as report:
            yield report
    else:
        yield progress


@contextlib.contextmanager
def _bar() -> Iterator[ProgressListener]:
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

    def report(step: Progress) -> None:
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
