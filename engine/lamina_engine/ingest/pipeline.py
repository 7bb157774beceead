"""An ingest, one way through: walk, decide by size and time, hash, read what changed, commit in groups.

Interrupt it anywhere: what was committed stays, and the next run goes on from there.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.ingest import scan, sources
from lamina_engine.ingest.documents import Document, DocumentWriter
from lamina_engine.ingest.drafts import Problem, SourceDraft
from lamina_engine.ingest.provenance import Repository, discover
from lamina_engine.ingest.reading import KINDS, kind_of, read_source
from lamina_engine.ingest.report import IngestReport, Progress
from lamina_engine.ingest.scan import Reading, SourceState, settled_mtime_ns
from lamina_engine.ingest.sources import PRESENT, REMOVED, SKIPPED, Source
from lamina_engine.ingest.tables import RecordWriter
from lamina_engine.ingest.wikilinks import LinkResolver
from lamina_engine.ingest.walk import RECORD_KINDS, FileEntry, WalkReport, read_entry, walk

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

ALL_KINDS: Final = ("auto", *KINDS, *sorted(RECORD_KINDS))
Report = Callable[[Progress], None]
_NO_CHUNKS: Final[dict[str, Any]] = {"chunks": [], "starts": [], "stops": [], "links": None}


def ingest(
    memory: Memory,
    paths: Sequence[str],
    *,
    kind: str = "auto",
    collection: str | None = None,
    type_: str | None = None,
    project: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Report | None = None,
    stdin: IO[bytes] | None = None,
) -> IngestReport:
    """Read files, folders or standard input into the vault; see ``Vault.ingest``.

    Raises
    ------
    InvalidArgument
        For a kind that is not known.
    IngestError
        For a path that does not exist or cannot be listed; paths before it have been ingested.
    """
    if kind not in ALL_KINDS:
        raise InvalidArgument(f"kind={kind!r} is not known; allowed are {', '.join(ALL_KINDS)}")
    if memory.store.mode == "r":
        with memory.write():  # says why not, before anything is read
            pass
    started = time.perf_counter()
    report = IngestReport()
    overrides = {"collection": collection, "type": type_, "project": project}
    for path in paths:
        run = _Run(memory, report, kind, overrides, columns, progress)
        if path == "-":
            run.stream(stdin or sys.stdin.buffer)
        else:
            run.root(Path(path))
    report.seconds = round(time.perf_counter() - started, 3)
    return report


class _Run:
    """The ingest of one path."""

    def __init__(
        self, memory: Memory, report: IngestReport, kind: str, overrides: Mapping[str, str | None],
        columns: Mapping[str, str] | None, progress: Report | None,
    ) -> None:  # fmt: skip
        self.memory, self.report = memory, report
        self.kind, self.overrides, self.columns = kind, overrides, columns
        self.progress = progress
        self.writer = DocumentWriter(memory, report)
        self._settings: dict[str, str] = {}
        self._scanned_us = memory.clock.now_us()

    # ------------------------------------------------------------------ folders and files

    def root(self, path: Path) -> None:
        """Ingest a folder or a file."""
        if not path.exists():
            raise IngestError(f"{path} does not exist; give a file or folder, or - for standard input")
        top = path.resolve()
        folder = top if top.is_dir() else top.parent
        seen = WalkReport()
        entries = [e for e in walk(path, report=seen) if self._wanted(e, alone=folder != top)]
        self.report.problems += seen.problems
        self.report.skipped += len(seen.problems)
        known = self._known(folder, entries if folder != top else None)
        present = {path: s.facts for path, s in known.items() if s.state != REMOVED}
        plan = scan.plan(present, entries, self.settings_of)
        readings, problems = self._hash(plan.to_read)
        self.report.problems += problems
        self.report.skipped += len(problems)
        unseen = {p.source for p in (*seen.problems, *problems)}
        changes = scan.resolve(present, plan, readings, unseen=unseen)
        self._apply(folder, known, changes, {e.path: e for e in plan.to_read}, readings, [e.path for e in entries])

    def _wanted(self, entry: FileEntry, *, alone: bool) -> bool:
        """Tell whether a file is taken: a kind is known or given, or it was named itself."""
        return alone or self.kind_of(entry) is not None

    def kind_of(self, entry: FileEntry) -> str | None:
        if self.kind != "auto":
            return self.kind
        return entry.kind

    def _known(self, folder: Path, entries: Iterable[FileEntry] | None) -> dict[str, Source]:
        """Return what the vault knows below a folder, by path below it; of single files only those."""
        prefix = folder.as_posix().rstrip("/") + "/"
        only = None if entries is None else {e.path for e in entries}
        found = {p.removeprefix(prefix): s for p, s in sources.load(self.memory.view().snapshot).items() if p.startswith(prefix)}
        return {p: s for p, s in found.items() if only is None or p in only}

    def settings_of(self, entry: FileEntry) -> str:
        """Digest of everything but the bytes that shapes a source's chunks."""
        kind = self.kind_of(entry) or kind_of(entry.path)
        if kind not in self._settings:
            parts = (kind, *self.overrides.values(), self.memory.redactor.policy, self.memory.config.tz, *sorted((self.columns or {}).items()))
            self._settings[kind] = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
        return self._settings[kind]

    def _hash(self, entries: Sequence[FileEntry]) -> tuple[dict[str, Reading], list[Problem]]:
        readings: dict[str, Reading] = {}
        problems: list[Problem] = []
        for done, entry in enumerate(entries):
            self._tell("scanning", done, len(entries))
            try:
                readings[entry.path] = Reading(_digest_of(entry), self.settings_of(entry))
            except OSError as error:
                problems.append(Problem(entry.path, "unreadable", f"cannot be read ({error}); it was left as it was"))
        return readings, problems

    def _apply(
        self, folder: Path, known: dict[str, Source], changes: scan.Changes, entries: dict[str, FileEntry],
        readings: dict[str, Reading], paths: list[str],
    ) -> None:  # fmt: skip
        report = self.report
        report.unchanged += len(changes.unchanged)
        report.moved += len(changes.moved)
        report.removed += len(changes.removed)
        for path in changes.touched:
            self.writer.note(self.row(folder, entries[path], readings[path], PRESENT, None) | self._same_chunks(known[path]))
        for path in changes.removed:
            self._remove(known[path])
        former = {move.source: known[move.former] for move in changes.moved}
        former |= {path: known[path] for path in changes.changed}
        former |= self._returned(known, changes.added, readings)
        for move in changes.moved:
            self._remove(known[move.former], gone=False)
        reader = _Reader(self, folder, former, readings, paths)
        todo = sorted((*changes.added, *changes.changed, *(m.source for m in changes.moved)))
        for done, path in enumerate(todo):
            self._tell("reading", done, len(todo))
            took = reader.read(entries[path])
            if path in changes.added:
                report.added += took
                report.skipped += not took
            elif path in changes.changed:
                report.updated += 1
        self.writer.flush()
        self._tell("reading", len(todo), len(todo))

    def _returned(self, known: dict[str, Source], added: Sequence[str], readings: dict[str, Reading]) -> dict[str, Source]:
        """Return for added sources the removed one that they continue: the same path, else the same bytes."""
        gone = {path: s for path, s in known.items() if s.state == REMOVED}
        by_digest = {s.facts.digest: s for _, s in sorted(gone.items())}
        found: dict[str, Source] = {}
        for path in added:
            source = gone.get(path) or by_digest.pop(readings[path].digest, None)
            if source is not None:
                found[path] = source
        return found

    def _remove(self, source: Source, *, gone: bool = True) -> None:
        facts = source.facts
        row = {
            "source": source.source, "root": source.root, "state": REMOVED, "digest": facts.digest, "size": facts.size,
            "mtime_ns": facts.mtime_ns, "commit": facts.commit, "blob": facts.blob, "settings": facts.settings,
            "chunks": list(facts.chunks) if gone else [], "starts": [], "stops": [], "links": None,
        }  # fmt: skip
        self.writer.note(row, facts.chunks if gone else ())

    def _same_chunks(self, source: Source) -> dict[str, Any]:
        """Chunks of a source whose bytes are the same."""
        return {**_NO_CHUNKS, "chunks": list(source.facts.chunks), "commit": source.facts.commit, "blob": source.facts.blob}

    def row(self, folder: Path, entry: FileEntry, reading: Reading, state: str, facts: SourceState | None) -> dict[str, Any]:
        return {
            "source": entry.path, "root": folder.as_posix(), "state": state, "digest": reading.digest, "size": entry.size,
            "mtime_ns": settled_mtime_ns(entry.mtime_ns, self._scanned_us), "commit": facts.commit if facts else None,
            "blob": facts.blob if facts else None, "settings": reading.settings,
        }  # fmt: skip

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, done, total))

    # ------------------------------------------------------------------ standard input

    def stream(self, stdin: IO[bytes]) -> None:
        """Ingest standard input: records where the kind says so, else one text."""
        from lamina_engine.ingest.recordfiles import read_records

        if self.kind in RECORD_KINDS:
            writer = RecordWriter(self.memory, self.report, "<stdin>", self.overrides)
            for part in read_records(stdin, self.kind, columns=self.columns):
                self.report.problems += part.problems
                writer.add(zip(part.positions, part.records, strict=True))
            writer.flush()
            self.report.added += writer.found_new
            self.report.unchanged += not writer.found_new
            return
        data = stdin.read()
        draft = read_source(
            data, "<stdin>", kind=None if self.kind == "auto" else self.kind, redactor=self.memory.redactor, tz=self.memory.config.tz
        )
        draft.title = None if draft.title_is_name else draft.title
        self.report.problems += draft.problems
        if not draft.chunks:
            self.report.skipped += 1
            return
        override(draft, self.overrides)
        writer = RecordWriter(self.memory, self.report, "<stdin>", {})
        writer.add((i, _as_record(draft, i)) for i in range(len(draft.chunks)))
        writer.flush()
        self.report.redactions += draft.redactions
        self.report.added += writer.found_new
        self.report.unchanged += not writer.found_new


class _Reader:
    """Reads the changed sources of one folder."""

    def __init__(self, run: _Run, folder: Path, former: dict[str, Source], readings: dict[str, Reading], paths: list[str]) -> None:
        self._run, self._folder = run, folder
        self._former, self._readings, self._paths = former, readings, paths
        self._repository: Repository | None = None
        self._looked = False
        self._links = LinkResolver(paths)

    def read(self, entry: FileEntry) -> bool:
        """Read one source and hand it on; return whether it gave anything. Its problems are reported."""
        run = self._run
        kind = run.kind_of(entry)
        if kind in RECORD_KINDS:
            return self._records(entry, str(kind))
        try:
            data = read_entry(entry)
        except OSError as error:
            run.report.problems.append(Problem(entry.path, "unreadable", f"cannot be read ({error}); it was left as it was"))
            return False
        memory, report = run.memory, run.report
        draft = read_source(data, entry.path, kind=kind if kind in KINDS else None, redactor=memory.redactor, tz=memory.config.tz)
        override(draft, run.overrides)
        report.problems += draft.problems
        commit, blob, first_us = self._provenance(entry, data)
        former = self._former.get(entry.path)
        reading = Reading(_digest(data), self._readings[entry.path].settings)  # the bytes read now, not those hashed before
        row = run.row(self._folder, entry, reading, PRESENT if draft.chunks else SKIPPED, None)
        fallback = first_us if first_us is not None else entry.mtime_ns // 1000
        targets, problems = self._links.resolve(entry.path, draft.links)
        report.links += sum(target is not None for target in targets)
        report.problems += problems
        links = [{**asdict(link), "source": target} for link, target in zip(draft.links, targets, strict=True)]
        ids = former.facts.chunks if former else ()
        run.writer.add(Document(draft, ids, fallback, commit, blob, row | {"commit": commit, "blob": blob}, links))
        return bool(draft.chunks)

    def _records(self, entry: FileEntry, kind: str) -> bool:
        from lamina_engine.ingest.recordfiles import read_records

        run = self._run
        writer = RecordWriter(run.memory, run.report, entry.path, run.overrides)
        try:
            for part in read_records(entry.absolute, kind, columns=run.columns):
                run.report.problems += part.problems
                writer.add(zip(part.positions, part.records, strict=True))
            writer.flush()
        except IngestError as error:
            run.report.problems.append(Problem(entry.path, "unreadable", f"{error}; what came before stays"))
            return False
        former = self._former.get(entry.path)
        gone = set(former.facts.chunks).difference(writer.ids) if former else set()
        row = run.row(self._folder, entry, self._readings[entry.path], PRESENT, None)
        run.writer.note(row | {**_NO_CHUNKS, "chunks": list(dict.fromkeys(writer.ids))}, sorted(gone))
        return bool(writer.ids)

    def _provenance(self, entry: FileEntry, data: bytes) -> tuple[str | None, str | None, int | None]:
        """Return commit, blob and first date of a file, as far as its repository knows it."""
        if not self._looked:
            self._looked = True
            self._repository = discover(self._folder)
        repository = self._repository
        path = repository.relative(entry.absolute) if repository is not None else None
        if repository is None or path is None:
            return None, None, None
        try:
            facts = repository.history().get(path)
            return repository.head, repository.blob_of(data), facts.first_us if facts else None
        except IngestError as error:
            self._run.report.problems.append(Problem(".", "git", str(error)))
            self._repository = None
            return None, None, None


def override(draft: SourceDraft, overrides: Mapping[str, str | None]) -> None:
    """Put what the caller said in place of what the source says."""
    draft.type = overrides["type"] or draft.type
    draft.collection = overrides["collection"] or draft.collection
    draft.project = overrides["project"] or draft.project


def _as_record(draft: SourceDraft, i: int) -> dict[str, Any]:
    chunk = draft.chunks[i]
    return {
        "text": chunk.text, "title": draft.title, "type": draft.type, "collection": draft.collection, "project": draft.project,
        "created_at": None if draft.created_at_us is None else draft.created_at_us / 1e6, "tags": list(draft.tags),
        "metadata": draft.metadata,
    }  # fmt: skip


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _digest_of(entry: FileEntry) -> bytes:
    """Hash a file in pieces: a file of records may be larger than memory."""
    digest = hashlib.blake2b(digest_size=16)
    with entry.absolute.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.digest()
