"""Files of other systems whose every record is a chunk: issues of Beads, tasks of Clawpy, exports of GitHub and Jira."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.report import IngestReport

if TYPE_CHECKING:
    from lamina_engine.ingest.trackers import TrackerReport
    from lamina_engine.memory import Memory


def _beads(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.beads import import_beads

    if recover:
        raise InvalidArgument(
            "recover=True is for kind='tasks'; a file of issues is read line by line, broken ones told"
        )
    found = import_beads(memory, path)
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _tasks(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.tasks import import_tasks

    found = import_tasks(memory, path, recover=recover)
    report.skipped += found.aside is not None
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _github(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.github import import_github

    _refuse(recover)
    _tracked(import_github(memory, path), report)


def _jira(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.jira import import_jira

    _refuse(recover)
    _tracked(import_jira(memory, path), report)


def _refuse(recover: bool) -> None:
    if recover:
        raise InvalidArgument(
            "recover=True is for kind='tasks'; of an export each record is read alone, broken ones told"
        )


def _tracked(found: TrackerReport, report: IngestReport) -> None:
    _count(report, found.added, found.updated, found.unchanged, 0)
    report.problems += found.problems


def _count(report: IngestReport, added: int, updated: int, unchanged: int, links: int) -> None:
    report.added += added
    report.updated += updated
    report.unchanged += unchanged
    report.chunks += added + updated
    report.links += links


class Reader(Protocol):
    """Reads one file into the vault, and adds what it did to the report."""

    def __call__(self, memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
        """Read; ``recover``: go on where the file is corrupt, see `lamina_engine.ingest.tasks.import_tasks`."""
        ...


KINDS: Final[dict[str, Reader]] = {"beads": _beads, "tasks": _tasks, "github": _github, "jira": _jira}
"""By the name of the kind. They are read only when asked for by it: such files are JSON like any other."""
