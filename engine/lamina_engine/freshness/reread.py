"""Rereading of files: their new chunks, compared with the old ones, and written on demand.

A file is read whole: its chunks belong together. What the vault cannot read the same way again (a table read with a
column mapping, a session) is left to `ingest`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.ingest import sources
from lamina_engine.ingest.documents import Document, DocumentWriter, prepare_documents
from lamina_engine.ingest.drafts import KINDS, kind_of
from lamina_engine.ingest.origins import read_file
from lamina_engine.ingest.pipeline import settings_digest
from lamina_engine.ingest.reader import SourceReader
from lamina_engine.ingest.sources import Reading, Source, settled_mtime_ns
from lamina_engine.ingest.walk import FileEntry
from lamina_engine.reports import IngestReport
from lamina_engine.store import unlinked

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.reports import Problem

SAME: Final = "unchanged"
CHANGED: Final = "superseded"
LOST: Final = "removed"
_FIELDS: Final = ("collection", "type", "project")


@dataclass(frozen=True, slots=True)
class RereadFile:
    """One file, read again."""

    source: Source
    document: Document
    fates: Mapping[str, tuple[str, str | None]]
    """By id of each chunk it had: what becomes of it, and its new text where that is another."""
    added: int
    """Chunks it has now and had not before."""


@dataclass(slots=True)
class _CollectingRun:
    """A run for a `SourceReader` that collects documents and writes nothing."""

    memory: Memory
    overrides: Mapping[str, str | None]
    kind: str
    scanned_us: int
    report: IngestReport = field(default_factory=IngestReport)
    columns: Mapping[str, str] | None = None
    collected: list[Document] = field(default_factory=list)
    writer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.writer = self

    def add(self, document: Document) -> None:
        """Collect a document."""
        self.collected.append(document)

    def kind_of(self, entry: FileEntry) -> str | None:
        """Return the kind to read a file as."""
        return self.kind

    def row(self, root: str, source: str, entry: FileEntry, reading: Reading, state: str) -> dict[str, Any]:
        """Return a source's row of the log, without chunks and repository."""
        return {
            "source": source, "root": root, "state": state, "digest": reading.digest, "size": entry.size,
            "mtime_ns": settled_mtime_ns(entry.mtime_ns, self.scanned_us), "commit": None, "blob": None,
            "settings": reading.settings,
        }  # fmt: skip


class FileRereader:
    """Reads files of a vault again."""

    def __init__(self, memory: Memory, view: View) -> None:
        self._memory, self._view = memory, view
        self._everything = sources.load_sources(view.snapshot)
        self._readers: dict[
            tuple[Any, ...], tuple[_CollectingRun, SourceReader, dict[str, Reading], dict[str, Source]]
        ] = {}
        self.home: dict[str, Source] = {
            chunk: source
            for source in self._everything.values()
            if source.state == sources.PRESENT
            for chunk in source.facts.chunks
        }
        """The source of each chunk that was cut from one."""
        self.problems: list[Problem] = []

    def is_known(self, file: Path) -> bool:
        """Return whether a file is a source of its own."""
        known = self._everything.get(file.as_posix())
        return known is not None and known.state == sources.PRESENT

    def read(self, source: Source, file: Path) -> RereadFile | str:
        """Read a source again, from its file's present path; a text is the reason for a failure."""
        settings_of_source = self._settings(source)
        if settings_of_source is None:
            return "it cannot be read the same way again by itself; ingest it again"
        if read_file(file) is None:
            return f"{file.name} cannot be read"
        kind, overrides, settings = settings_of_source
        run, reader, readings, former = self._reader(source, file, kind, overrides)
        folder = _folder(source, file)
        path = file.relative_to(folder).as_posix()
        readings[path], former[path] = Reading(source.facts.digest, settings), source
        stat = file.stat()
        entry = FileEntry(path, file, stat.st_size, stat.st_mtime_ns, stat.st_ino, kind)
        before = len(run.report.problems)
        reader.read(entry)
        self.problems += run.report.problems[before:]
        if not run.collected:
            return (
                "; ".join(problem.message for problem in run.report.problems[before:]) or "nothing could be read of it"
            )
        return self._compare(source, run.collected.pop())

    def write(self, rereads: Sequence[RereadFile]) -> IngestReport:
        """Write re-read sources in group commits, and rebuild their links."""
        report = IngestReport()
        writer = DocumentWriter(self._memory, report)
        with unlinked.noting(unlinked.DOCUMENTS):
            for each in rereads:
                writer.add(each.document)
            writer.flush()
        self.problems += report.problems
        if report.chunks:
            from lamina_engine.graph.generators import link_unlinked

            link_unlinked(self._memory)
        return report

    def _reader(
        self, source: Source, file: Path, kind: str, overrides: Mapping[str, str | None]
    ) -> tuple[_CollectingRun, SourceReader, dict[str, Reading], dict[str, Source]]:
        folder = _folder(source, file)
        key = (folder, kind, *overrides.values())
        if key not in self._readers:
            run = _CollectingRun(self._memory, overrides, kind, self._memory.clock.now_us())
            readings: dict[str, Reading] = {}
            former: dict[str, Source] = {}
            reader = SourceReader(run, folder, self._everything, former, readings)
            self._readers[key] = run, reader, readings, former
        return self._readers[key]

    def _settings(self, source: Source) -> tuple[str, Mapping[str, str | None], str] | None:
        """Return a source's kind, the labels given in place of its own, and the digest of both.

        The log keeps only a digest of that, so the labels of its chunks are tried. Where nothing fits (other rules about
        secrets, another zone) the labels its chunks have are kept.
        """
        labels = self._labels(source)
        kinds = [kind_of(source.source), *(kind for kind in KINDS if kind != kind_of(source.source))]
        for kind, overrides in itertools.product(kinds, _guesses(labels)):
            if settings_digest(self._memory, kind, overrides) == source.facts.settings:
                return kind, overrides, source.facts.settings
        if PurePosixPath(source.source).suffix.lower() in _NOT_TEXT or ":" in source.facts.settings:
            return None
        return kinds[0], labels, settings_digest(self._memory, kinds[0], labels)

    def _labels(self, source: Source) -> dict[str, str | None]:
        rows = self._view.rows_of_ids(list(source.facts.chunks[:1]))
        rows = rows[rows >= 0]
        records = self._view.snapshot.records("chunks", rows, _FIELDS)
        return {name: records[0][name] if records else None for name in _FIELDS}

    def _compare(self, source: Source, document: Document) -> RereadFile:
        view = self._view
        batch, (ids,), lost = prepare_documents(view, [document])
        former = list(source.facts.chunks)
        rows = view.rows_of_ids(former)
        texts = view.snapshot.values("chunks", "text", rows[rows >= 0])
        known = dict(zip(itertools.compress(former, (rows >= 0).tolist()), texts, strict=True))
        new = dict(zip(ids, batch.texts, strict=True))
        fates: dict[str, tuple[str, str | None]] = dict.fromkeys(lost, (LOST, None))
        for name, text in new.items():
            if name in known:
                fates[name] = (SAME, None) if known[name] == text else (CHANGED, text)
        return RereadFile(source, document, fates, sum(name not in known for name in ids))


_NOT_TEXT: Final = frozenset(
    {".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq", ".arrow", ".arrows", ".ipc", ".feather"}
)
"""Files of records: their rows are matched by content, and columns may have been mapped."""


def _folder(source: Source, file: Path) -> Path:
    """Return the folder a file's path is relative to: its root, if it is still there."""
    root = Path(source.root)
    return root if root in file.parents else file.parent


def _guesses(labels: Mapping[str, str | None]) -> Iterator[dict[str, str | None]]:
    """Yield the labels that a caller may have given a source, from none to all."""
    for chosen in itertools.product((False, True), repeat=len(_FIELDS)):
        yield {name: labels[name] if keep else None for name, keep in zip(_FIELDS, chosen, strict=True)}


def current_rows(view: View, ids: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the newest row of each id that there is."""
    rows = view.rows_of_ids(list(ids))
    return rows[rows >= 0]
