"""Files of other systems whose every record is a chunk with links: issues of Beads, tasks of Clawpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lamina_engine.ingest.report import IngestReport

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


def _beads(memory: Memory, path: Path, report: IngestReport) -> None:
    from lamina_engine.ingest.beads import import_beads

    found = import_beads(memory, path)
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _tasks(memory: Memory, path: Path, report: IngestReport) -> None:
    from lamina_engine.ingest.tasks import import_tasks

    found = import_tasks(memory, path)
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _count(report: IngestReport, added: int, updated: int, unchanged: int, links: int) -> None:
    report.added += added
    report.updated += updated
    report.unchanged += unchanged
    report.chunks += added + updated
    report.links += links


KINDS: Final[dict[str, Callable[[Memory, Path, IngestReport], None]]] = {"beads": _beads, "tasks": _tasks}
"""By the name of the kind. They are read only when asked for by it: such files are JSON like any other."""
