"""Source reader: new and changed files of a folder, prepared for the document writer."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lamina_engine.errors import IngestError, SchemaMismatch
from lamina_engine.ingest import sources
from lamina_engine.ingest.cells import MOST_BYTES
from lamina_engine.ingest.classify import Rules, classify
from lamina_engine.ingest.documents import Document, DocumentWriter
from lamina_engine.ingest.drafting import Drafted, DraftFailure
from lamina_engine.ingest.drafts import KINDS, SourceDraft, read_source
from lamina_engine.ingest.git import Repository
from lamina_engine.ingest.origins import Repositories
from lamina_engine.ingest.recordfiles import LINE_KINDS, RecordWriter
from lamina_engine.ingest.sources import PRESENT, REMOVED, SKIPPED, Reading, Source
from lamina_engine.ingest.walk import RECORD_KINDS, FileEntry, read_entry
from lamina_engine.reports import Problem, summarise

if TYPE_CHECKING:
    from lamina_engine.ingest.recordfiles import RecordChunk
    from lamina_engine.memory import Memory
    from lamina_engine.reports import IngestReport

logger = logging.getLogger(__name__)


class IngestContext(Protocol):
    """Context of a source reader: the vault, the report and the options of one ingest."""

    memory: Memory
    report: IngestReport
    writer: DocumentWriter
    overrides: Mapping[str, str | None]
    columns: Mapping[str, str] | None

    def kind_of(self, entry: FileEntry) -> str | None:
        """Return the kind to read a file as."""
        ...

    def row(self, root: str, source: str, entry: FileEntry, reading: Reading, state: str) -> dict[str, Any]:
        """Return a source's log row without its chunks and repository columns."""
        ...


class SourceReader:
    """Reader of the changed sources of one folder; each failure is a problem of its source."""

    def __init__(
        self,
        run: IngestContext,
        folder: Path,
        everything: Mapping[str, Source],
        former: Mapping[str, Source],
        readings: Mapping[str, Reading],
    ) -> None:
        self._run, self._folder, self._everything = run, folder, everything
        self._former, self._readings = former, readings
        self._repositories = Repositories()
        self._unreadable: set[Path] = set()

    def read(self, entry: FileEntry, drafted: Drafted | None = None) -> bool:
        """Read one source, unless a worker has, and pass it on; return whether it has content."""
        kind = self._run.kind_of(entry)
        if kind in RECORD_KINDS:
            return self._records(entry, str(kind))
        try:
            document = self._document(entry, drafted or self._draft(entry, read_entry(entry), kind))
        except OSError as error:
            self._problem(entry, "unreadable", f"{error}; left unchanged")
            return False
        except Exception as error:  # whatever one file does to a parser, the others are read
            logger.debug("preparing %s failed", entry.absolute, exc_info=True)
            reason = str(error) if isinstance(error, DraftFailure) else f"{type(error).__name__}: {error}"
            self._problem(entry, "failed", f"could not be prepared ({reason}); left unchanged")
            return False
        self._run.writer.add(document)
        return bool(document.draft.chunks)

    def _draft(self, entry: FileEntry, data: bytes, kind: str | None) -> Drafted:
        memory = self._run.memory
        draft = read_source(
            data,
            self.label(entry)[1],
            kind=kind if kind in KINDS else None,
            redactor=memory.redactor,
            tz=memory.config.tz,
        )
        return Drafted(data, draft, {})

    def _document(self, entry: FileEntry, drafted: Drafted) -> Document:
        run, report = self._run, self._run.report
        root, source = self.label(entry)
        data, draft, vectors = drafted
        if isinstance(draft, Exception):
            raise draft
        apply_overrides(draft, run.overrides)
        commit, blob, first_us = self._provenance(entry, data)
        # the bytes read now, not those hashed before
        reading = Reading(_digest(data), self._readings[entry.path].settings)
        row = run.row(root, source, entry, reading, PRESENT if draft.chunks else SKIPPED)
        report.problems += draft.problems if data else []  # an empty file is one on purpose, such as ``__init__.py``
        return Document(
            draft=draft,
            former=self._former_chunks(entry),
            fallback_us=first_us if first_us is not None else entry.mtime_ns // 1000,
            commit=commit,
            blob=blob,
            row=row | {"commit": commit, "blob": blob},
            links=draft.links,
            released=self._released(entry),
            vectors=vectors,
        )

    def _records(self, entry: FileEntry, kind: str) -> bool:
        from lamina_engine.ingest.recordfiles import read_records

        run = self._run
        root, source = self.label(entry)
        former = self._former_chunks(entry)
        writer = RecordWriter(
            run.memory, run.report, source, run.overrides, former=former, is_large=entry.size > MOST_BYTES
        )
        before = len(run.report.problems)
        try:
            for part in _guarded(read_records(entry.absolute, kind, columns=run.columns)):
                # a bad line is reported under the source, not under a path of this machine
                run.report.problems += [Problem(source, problem.code, problem.message) for problem in part.problems]
                writer.add(zip(part.positions, part.records, strict=True))
            writer.flush()
        except (IngestError, SchemaMismatch) as error:
            self._problem(entry, "unreadable", f"{error}; the records before it are kept")
            writer.flush()
            return False
        run.report.problems[before:] = summarise(run.report.problems[before:])
        ids, places = writer.contents()
        if former and not ids and len(run.report.problems) > before:  # read in another way, such as without its columns
            why = f"none of its records can be read so; its {len(former)} chunks are kept: give the columns they were read with"
            self._problem(entry, "unreadable", why)
            return False
        lines = places if kind in LINE_KINDS else []
        row = run.row(root, source, entry, self._readings[entry.path], PRESENT if ids else SKIPPED)
        contents = {"chunks": ids, "lines": lines, "end_lines": lines, "links": None}
        gone = sorted(set(former).difference(ids))
        run.writer.note(row | contents, *self._released(entry), gone=gone)
        return bool(ids)

    def _problem(self, entry: FileEntry, code: str, message: str) -> None:
        self._run.report.problems.append(Problem(entry.path, code, message))

    def label(self, entry: FileEntry) -> tuple[str, str]:
        """Return root and path of a source: those it is known by, else below the ingested folder."""
        known = self._everything.get(sources.absolute_path(self._folder.as_posix(), entry.path))
        if known is not None and known.state != REMOVED:
            return known.root, known.source
        return self._folder.as_posix(), entry.path

    def _former_chunks(self, entry: FileEntry) -> tuple[str, ...]:
        former = self._former.get(entry.path)
        return former.facts.chunks if former is not None else ()

    def _released(self, entry: FileEntry) -> list[dict[str, Any]]:
        """Return the row that releases the chunks from a source's previous path."""
        former = self._former.get(entry.path)
        if former is None or former.path == sources.absolute_path(self._folder.as_posix(), entry.path):
            return []
        return [sources.removal_row(former) | {"chunks": []}]

    def _provenance(self, entry: FileEntry, data: bytes) -> tuple[str | None, str | None, int | None]:
        """Return commit, blob and first commit date of a file, from the innermost repository."""
        repository = self._repositories.of(entry.absolute)
        path = repository.relative(entry.absolute) if isinstance(repository, Repository) else None
        if not isinstance(repository, Repository) or path is None or repository.root in self._unreadable:
            return None, None, None
        try:
            facts = repository.history().get(path)
            return repository.head, repository.blob_of(data), facts.first_us if facts else None
        except IngestError as error:
            self._run.report.problems.append(Problem(".", "git", str(error)))
            self._unreadable.add(repository.root)
            return None, None, None


def _guarded(parts: Iterator[RecordChunk]) -> Iterator[RecordChunk]:
    """Yield the parts of a file of records; any failure of its reader becomes an `IngestError`."""
    while True:
        try:
            part = next(parts, None)
        except (IngestError, SchemaMismatch):
            raise
        except Exception as error:
            raise IngestError(f"could not be read ({type(error).__name__}: {error})") from error
        if part is None:
            return
        yield part


def apply_overrides(draft: SourceDraft, overrides: Mapping[str, str | None]) -> None:
    """Apply the caller's type, collection and project; an implied collection follows the type."""
    type_ = overrides["type"]
    if type_ is not None:
        implied = classify(draft.source, draft.kind, Rules(), type=draft.type)[1]
        if draft.collection == implied:
            draft.collection = classify(draft.source, draft.kind, Rules(), type=type_)[1]
        draft.type = type_
    draft.collection = overrides["collection"] or draft.collection
    draft.project = overrides["project"] or draft.project


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
