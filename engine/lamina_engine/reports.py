"""Reports of finished calls, and progress of running ones."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from lamina_engine.results import JSONValue


_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxdict = 20


class Report:
    """Base of reports, each a dataclass: with ``repr=False`` where its lists may be long."""

    __slots__ = ()

    def __repr__(self: DataclassInstance) -> str:
        shown = (f"{each.name}={_SHORT.repr(getattr(self, each.name))}" for each in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self: DataclassInstance) -> dict[str, JSONValue]:
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


def ticker(
    progress: ProgressListener | None, stage: str, begin: int = 0, end: int = 100
) -> Callable[[float], None] | None:
    """Return what reports a part of a stage, in percent, by the share of it that is done."""
    if progress is None:
        return None
    return lambda share: progress(Progress(stage, int(begin + (end - begin) * share)))


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


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong with one source; the run goes on."""

    source: str
    """Path or name of the source."""
    code: str
    """Stable short name: unreadable, binary, too_large, encoding, frontmatter, symlink, record, machine_made, invalidated, ..."""
    message: str
    """Finding and consequence, such as "not valid UTF-8; skipped"."""


def summarise(problems: Sequence[Problem]) -> list[Problem]:
    """Return one problem for each source and code: the first, and the number of the others."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.source, problem.code), []).append(problem)
    return [
        first if not rest else Problem(first.source, first.code, f"{first.message} (and {len(rest):,} more like it)")
        for first, *rest in groups.values()
    ]


@dataclass(slots=True, repr=False)
class IngestReport(Report):
    """Counts of the sources of one ingest, each counted once, and its problems."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    moved: int = 0
    removed: int = 0
    skipped: int = 0
    """Not taken: unreadable, binary, too large, empty, or outside; each has its problem."""
    unread: dict[str, int] = field(default_factory=dict)
    """Files of kinds that are not read, by suffix."""
    links: int = 0
    """Links made, of every kind."""
    unresolved: int = 0
    """Links written in the vault's texts whose note is missing or ambiguous; `Links.unresolved` lists them."""
    chunks: int = 0
    """Chunks written: new ones and new versions."""
    embedded: int = 0
    """Texts that the embedder was given."""
    redactions: int = 0
    """Secrets masked."""
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class ReindexReport(Report):
    """Report of a reindex."""

    engine: str
    """``all``, ``lexical``, ``vectors`` or ``keys``: what was made again."""
    space: str
    """Name of the embedding space that recall uses now; empty where there is none."""
    model: str
    """Identity of its embedder."""
    generation: int = 0
    """Version of the vault that serves the new indexes."""
    rows: int = 0
    """Rows of the chunks log."""
    embedded: int = 0
    """Texts that the embedder was given by this run."""
    cached: int = 0
    """Rows of this run that took the vector of an equal text."""
    resumed: int = 0
    """Rows whose vectors an earlier run had made."""
    unmatched: int = 0
    """Rows of this run whose version is the hash of no text the log can give; title, headings and text were embedded."""
    seconds: float = 0.0
    rate: float = 0.0
    """Rows a second."""
    gate: dict[str, JSONValue] = field(default_factory=dict)
    """See `lamina_engine.reindex.gate.judge`."""
    swapped: bool = False
