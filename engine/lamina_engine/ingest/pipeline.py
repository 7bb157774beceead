"""Ingest: walk, compare sizes and times, hash, read the changed files, commit in groups.

Interrupt it anywhere: committed groups stay, and the next run continues from there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from lamina_engine.arguments import is_unicode
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.ingest import sources, trackers
from lamina_engine.ingest.beads import export_of
from lamina_engine.ingest.classify import clean_type
from lamina_engine.ingest.conversion import CONVERTERS, has_extra
from lamina_engine.ingest.decoding import explain_name
from lamina_engine.ingest.documents import DocumentWriter
from lamina_engine.ingest.drafting import Drafted, Drafter, draft_entries
from lamina_engine.ingest.drafts import KINDS, SourceDraft, kind_of, read_source
from lamina_engine.ingest.reader import SourceReader, apply_overrides
from lamina_engine.ingest.recognition import recognise
from lamina_engine.ingest.recordfiles import RecordWriter
from lamina_engine.ingest.records import ColumnMapping
from lamina_engine.ingest.sources import PRESENT, REMOVED, SESSIONS_MARK, Changes, Reading, Source, settled_mtime_ns
from lamina_engine.ingest.walk import MAX_BYTES, RECORD_KINDS, FileEntry, WalkReport, is_vault, refuse_size, walk
from lamina_engine.redact.search import load_kernel
from lamina_engine.reports import IngestReport, Problem, Progress, ProgressListener, summarise
from lamina_engine.store import unlinked
from lamina_engine.subprocesses import spare_executor

if TYPE_CHECKING:
    from lamina_engine.executor import Executor
    from lamina_engine.memory import Memory

SESSIONS: Final = "sessions"
IMPORT_MARK: Final = "import:"
"""Settings of sources that an importer read begin with it."""
_MARKS: Final = (SESSIONS_MARK, IMPORT_MARK)
ALL_KINDS: Final = ("auto", *KINDS, *sorted(RECORD_KINDS), *trackers.IMPORTERS, SESSIONS)
RULES: Final = {
    "html": 4,
    "markdown": 2,
    "rst": 2,
    "text": 2,
    "code": 2,
    "csv": 3,
    "tsv": 2,
    "jsonl": 2,
    "parquet": 2,
    "arrow": 2,
}
"""Revision of how files of a kind are read: another number reads them again, which writes what has become other."""
_STDIN: Final = "<stdin>"
_MANY_BYTES: Final = 1 << 22
"""Bytes of files from which on loading the kernel of the search for secrets pays, and processes that read beside this one."""


def ingest(
    memory: Memory,
    paths: Sequence[str],
    *,
    kind: str = "auto",
    collection: str | None = None,
    type_: str | None = None,
    project: str | None = None,
    columns: Mapping[str, str] | None = None,
    links: bool = True,
    recover: bool = False,
    facts: bool = False,
    folder: str = "",
    progress: ProgressListener | None = None,
    stdin: IO[bytes] | None = None,
    executor: Executor | None = None,
) -> IngestReport:
    """Ingest files, folders or standard input; options are checked before anything is read.

    ``executor`` reads, cuts and embeds documents; nothing of what is written depends on it. ``folder`` is where sessions were
    held that name none.
    """
    if kind not in ALL_KINDS:
        raise InvalidArgument(f"kind={kind!r} is unknown; give one of {', '.join(ALL_KINDS)}")
    overrides = _checked_overrides({"collection": collection, "type": type_, "project": project})
    overrides = {name: value if value is None else memory.redact(value) for name, value in overrides.items()}
    ColumnMapping(columns)
    if recover and kind not in trackers.IMPORTERS:
        raise InvalidArgument(f"recover=True is for kind='tasks', and kind={kind!r} was given; leave it out")
    if memory.store.mode == "r":
        with memory.write():  # says why not, before anything is read
            pass
    started = time.perf_counter()
    report = IngestReport()
    interrupted = bool(links and memory.view().snapshot.manifest.unlinked)
    following = unlinked.TASKS if kind in trackers.IMPORTERS else unlinked.DOCUMENTS
    with unlinked.noting(following if links else None):
        for path in paths:
            if kind in trackers.IMPORTERS:
                _require_unicode(Path(path).absolute())
                trackers.IMPORTERS[kind](memory, Path(path), report, recover=recover)
                continue
            if kind == SESSIONS:
                _sessions(memory, path, report, overrides, folder=folder, links=links, progress=progress)
                continue
            run = _Run(memory, report, kind, overrides, columns, progress, executor)
            if path == "-":
                run.stream(stdin or sys.stdin.buffer)
            else:
                run.root(path)
                if run.sessions:
                    known = {**overrides, "type": None}
                    _sessions(memory, path, report, known, entries=run.sessions, links=links, progress=progress)
    if links and memory.view().snapshot.manifest.unlinked:
        with _stage(progress, "linking"):
            notes = [*_link(memory, report, interrupted=interrupted)]
        report.problems += [Problem(", ".join(paths), "links", note) for note in notes]
    if facts:
        from lamina_engine.facts.fields import extract_notes

        with _stage(progress, "facts"):
            report.problems += [Problem(drop.what, "fact", drop.why) for drop in extract_notes(memory).dropped]
    if progress is not None and (report.chunks or report.removed):  # else it goes on behind the call
        with _stage(progress, "indexing"):
            memory.indexer.text.join()
    report.seconds = round(time.perf_counter() - started, 3)
    return report


def _link(memory: Memory, report: IngestReport, *, interrupted: bool) -> Iterator[str]:
    """Link what is not linked yet; yield what its reader should know."""
    from lamina_engine.graph.generators import link_unlinked

    built, left = link_unlinked(memory)
    if built is not None:
        report.links += built.added
        report.unresolved = built.unresolved
    if left:
        yield f"{left:,} records are not linked by themselves; `lamina links build` links them"
    if interrupted and built is not None:
        yield "an earlier ingest ended before it had made its links; they have been made now"


@contextlib.contextmanager
def _stage(progress: ProgressListener | None, name: str) -> Iterator[None]:
    """Report the beginning and the end of a stage that has no steps."""
    if progress is not None:
        progress(Progress(name, 0, 1))
    yield
    if progress is not None:
        progress(Progress(name, 1, 1))


def _sessions(
    memory: Memory,
    path: str,
    report: IngestReport,
    overrides: Mapping[str, str | None],
    *,
    entries: Sequence[FileEntry] | None = None,
    folder: str = "",
    links: bool,
    progress: ProgressListener | None,
) -> None:
    """Ingest sessions, which get their links before their files are noted as read."""
    from lamina_engine.sessions.ingest import ingest_sessions

    if path == "-":
        raise InvalidArgument(f"kind={SESSIONS!r} reads files and folders, not standard input; give a path")
    with unlinked.noting(None):
        ingest_sessions(
            memory, _existing(path), report, overrides, entries=entries, folder=folder, links=links, progress=progress
        )


def settings_digest(
    memory: Memory, kind: str, overrides: Mapping[str, str | None], columns: Mapping[str, str] | None = None
) -> str:
    """Return the digest of everything but the bytes that shapes the chunks of a kind of source."""
    given = (*overrides.values(), memory.redactor.fingerprint, memory.config.tz)
    parts = (kind, *given, *sorted((columns or {}).items()), *((RULES[kind],) if kind in RULES else ()))
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _checked_overrides(given: Mapping[str, str | None]) -> dict[str, str | None]:
    for name, value in given.items():
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise InvalidArgument(f"{name}={value!r} must be non-empty text, or None to use what the sources say")
        if value is not None and not is_unicode(value):
            raise InvalidArgument(f"{name}={value!a} has half a surrogate pair; give valid Unicode")
    overrides = {name: value if value is None else value.strip() for name, value in given.items()}
    if overrides["type"] is not None:
        overrides["type"] = clean_type(overrides["type"])
        if overrides["type"] is None:
            raise InvalidArgument(f"type={given['type']!r} is not a name; give words such as decision or error_pattern")
    return overrides


class _Run:
    """Ingest of one path."""

    def __init__(
        self,
        memory: Memory,
        report: IngestReport,
        kind: str,
        overrides: Mapping[str, str | None],
        columns: Mapping[str, str] | None,
        progress: ProgressListener | None,
        executor: Executor | None,
    ) -> None:
        self.memory, self.report, self._executor = memory, report, executor
        self.kind, self.overrides, self.columns = kind, overrides, columns
        self.progress = progress
        self.writer = DocumentWriter(memory, report)
        self.sessions: list[FileEntry] = []
        """Files of sessions that were met; they are read otherwise."""
        self.imports: list[tuple[FileEntry, str]] = []
        """Files that an importer reads, and its kind."""
        self._settings: dict[str, str] = {}
        self._scanned_us = memory.clock.now_us()

    # ------------------------------------------------------------------ folders and files

    def root(self, path: str) -> None:
        """Ingest a folder or a file."""
        top = _existing(path)
        folder = top if top.is_dir() else top.parent
        seen = WalkReport()
        entries = list(walk(top, report=seen))
        self._add_problems(seen.problems)
        everything = sources.load_sources(self.memory.view().snapshot)
        entries = self._without_imports(entries, everything, top)
        passed = [entry for entry in entries if not self._is_readable(entry, named=folder != top)]
        seen.unread.update(Path(entry.path).suffix.lower() for entry in passed)
        for suffix, count in seen.unread.items():
            self.report.unread[suffix] = self.report.unread.get(suffix, 0) + count
        unreadable = {entry.path for entry in passed}
        entries = [entry for entry in entries if entry.path not in unreadable]
        entries = self._without_sessions(entries, everything, folder)
        everything = {path: s for path, s in everything.items() if not s.facts.settings.startswith(_MARKS)}
        known = sources.sources_below(everything, folder)
        if folder != top:  # a file by itself says nothing about those beside it
            # and one that gave nothing is read again: who names it wants to know why
            known = {name: source for name, source in known.items() if name == top.name and source.facts.chunks}
        present = {name: source.facts for name, source in known.items() if source.state != REMOVED}
        paths = [entry.path for entry in entries if entry.path not in known]
        forgotten = sources.forgotten_sources(everything, folder, paths)
        known |= forgotten
        present |= {path: source.facts for path, source in forgotten.items()}
        plan = sources.plan_scan(present, entries, self.settings_of)
        readings, problems = self._hash(plan.to_read)
        self._add_problems(problems)
        unseen = {problem.source for problem in (*seen.problems, *problems)} | unreadable
        # a hidden folder, say, that somebody named: this walk passes it by, and what it holds is still there
        apart = (path for path in plan.missing if known[path].root != folder.as_posix())
        unseen.update(path for path in apart if Path(known[path].path).is_file())
        changes = sources.resolve_changes(present, plan, readings, unseen=unseen)
        former = {move.source: known[move.former] for move in changes.moved}
        former |= {name: known[name] for name in changes.changed}
        taken = {source.path for source in former.values()}
        former |= sources.continued_sources(everything, folder, changes.added, readings, taken)
        self._write_unchanged(known, changes, {e.path: e for e in plan.to_read}, readings)
        reader = SourceReader(self, folder, everything, former, readings)
        self._read(reader, [entry for entry in plan.to_read if entry.path in readings], changes, former)
        self._import(folder)

    def _without_imports(
        self, entries: list[FileEntry], everything: Mapping[str, Source], top: Path
    ) -> list[FileEntry]:
        """Set exports of trackers, task graphs and logs of git aside, known by their content."""
        if self.kind != "auto":
            return entries
        folder = top if top.is_dir() else top.parent
        entries = [*entries, *(_beads_below(top) if folder == top else ())]
        rest: list[FileEntry] = []
        for entry in entries:
            known = everything.get(sources.absolute_path(folder.as_posix(), entry.path))
            if known is not None and not known.facts.settings.startswith(IMPORT_MARK):
                rest.append(entry)  # what was read otherwise stays that
            elif known is not None and known.state == PRESENT and sources.is_same_stat(known.facts, entry):
                self.report.unchanged += 1
            elif (kind := recognise(entry)) is not None:
                self.imports.append((entry, kind))
            else:
                rest.append(entry)
        if folder == top:
            found = {entry.path for entry in entries}
            for name, source in sources.sources_below(everything, folder).items():
                if source.facts.settings.startswith(IMPORT_MARK) and source.state == PRESENT and name not in found:
                    self.writer.note(sources.removal_row(source))
        return rest

    def _import(self, folder: Path) -> None:
        """Import the files that were set aside; each failure is a problem of its file."""
        for done, (entry, kind) in enumerate(self.imports):
            self._report_progress("importing", done, len(self.imports))
            before = len(self.report.problems)
            try:
                trackers.IMPORTERS[kind](self.memory, entry.absolute, self.report, recover=False)
                reading = Reading(sources.digest_of_entry(entry), f"{IMPORT_MARK}{kind}")
            except (IngestError, OSError) as error:
                self._add_problems([Problem(entry.path, "unreadable", str(error))])
                continue
            self.report.problems[before:] = summarise(self.report.problems[before:])
            row = self.row(folder.as_posix(), entry.path, entry, reading, PRESENT)
            self.writer.note(row | {"chunks": [], "links": None})
        self.writer.flush()

    def _without_sessions(
        self, entries: list[FileEntry], everything: Mapping[str, Source], folder: Path
    ) -> list[FileEntry]:
        """Set session files aside: known ones, and new ones by their beginning.

        These are JSON lines and exports of chats.
        """
        if self.kind != "auto":
            return entries
        rest: list[FileEntry] = []
        for entry in entries:
            if entry.kind != "jsonl" and not entry.path.lower().endswith(".json"):
                rest.append(entry)
                continue
            known = everything.get(sources.absolute_path(folder.as_posix(), entry.path))
            found = _is_session(entry) if known is None else known.facts.settings.startswith(SESSIONS_MARK)
            (self.sessions if found else rest).append(entry)
        return rest

    def _add_problems(self, problems: Sequence[Problem]) -> None:
        self.report.problems += problems
        self.report.skipped += len(problems)

    def _is_readable(self, entry: FileEntry, *, named: bool) -> bool:
        """Tell whether a file can be read: of a known kind, its package installed, or named."""
        kind = self.kind_of(entry)
        return named or (kind is not None and (kind not in CONVERTERS or has_extra(kind)))

    def kind_of(self, entry: FileEntry) -> str | None:
        """Return the kind to read a file as; None where neither option nor suffix names one."""
        return entry.kind if self.kind == "auto" else self.kind

    def settings_of(self, entry: FileEntry) -> str:
        """Return the settings digest of a file."""
        kind = self.kind_of(entry) or kind_of(entry.path)
        if kind not in self._settings:
            self._settings[kind] = settings_digest(self.memory, kind, self.overrides, self.columns)
        return self._settings[kind]

    def _hash(self, entries: Sequence[FileEntry]) -> tuple[dict[str, Reading], list[Problem]]:
        readings: dict[str, Reading] = {}
        problems: list[Problem] = []
        for done, entry in enumerate(entries):
            self._report_progress("scanning", done, len(entries))
            try:
                readings[entry.path] = Reading(sources.digest_of_entry(entry), self.settings_of(entry))
            except OSError as error:
                reason = error.strerror or error
                problems.append(Problem(entry.path, "unreadable", f"cannot be read ({reason}); left unchanged"))
        return readings, problems

    def _write_unchanged(
        self,
        known: Mapping[str, Source],
        changes: Changes,
        entries: Mapping[str, FileEntry],
        readings: Mapping[str, Reading],
    ) -> None:
        """Record sources whose bytes did not change, and removed ones."""
        self.report.unchanged += len(changes.unchanged)
        self.report.removed += len(changes.removed)
        snapshot = self.memory.view().snapshot
        kept = sources.source_contents(snapshot, [known[path] for path in changes.touched])
        for path, content in zip(changes.touched, kept, strict=True):
            source = known[path]
            row = self.row(source.root, source.source, entries[path], readings[path], PRESENT)
            self.writer.note(row | {"state": source.state} | content)
        for path in changes.removed:
            self.writer.note(sources.removal_row(known[path]), gone=known[path].facts.chunks)

    def _read(
        self, reader: SourceReader, entries: Sequence[FileEntry], changes: Changes, former: Mapping[str, Source]
    ) -> None:
        added, changed = set(changes.added), set(changes.changed)
        moved = {move.source for move in changes.moved}
        moved |= {path for path in added if path in former and former[path].state == PRESENT}
        todo = [entry for entry in entries if entry.path in added or entry.path in changed or entry.path in moved]
        with contextlib.closing(self._drafted(reader, todo)) as files:
            for done, (entry, drafted) in enumerate(files):
                self._report_progress("reading", done, len(todo))
                if not reader.read(entry, drafted):
                    self.report.skipped += 1
                elif entry.path in moved:
                    self.report.moved += 1
                elif entry.path in changed:
                    self.report.updated += 1
                else:
                    self.report.added += 1
        self.writer.flush()
        self._report_progress("reading", len(todo), len(todo))

    def _drafted(self, reader: SourceReader, todo: Sequence[FileEntry]) -> Generator[tuple[FileEntry, Drafted | None]]:
        """Yield files in order, each with what a worker made of it, where there are workers."""
        executor, travelling, memory = self._executor, None, self.memory
        are_many = sum(entry.size for entry in todo) >= _MANY_BYTES
        if executor is not None:
            from lamina_engine.embed.travelling import TravellingEmbedder

            memory.ensure_space(None)
            embedder = memory.embedder_for(memory.view().snapshot.space)
            self.writer.identity = embedder.identity
            travelling = TravellingEmbedder.of(embedder)
        elif are_many:
            executor = spare_executor()  # its processes read, this one embeds, writes and links
        if executor is None:
            if are_many:
                load_kernel()
            yield from ((entry, None) for entry in todo)
            return
        drafter = Drafter(memory.redactor, memory.config.tz, travelling)
        yield from draft_entries(todo, executor, drafter, lambda entry: reader.label(entry)[1], self.kind_of)

    def row(self, root: str, source: str, entry: FileEntry, reading: Reading, state: str) -> dict[str, Any]:
        """Return a source's log row without its chunks and repository columns."""
        return {
            "source": source,
            "root": root,
            "state": state,
            "digest": reading.digest,
            "size": entry.size,
            "mtime_ns": settled_mtime_ns(entry.mtime_ns, self._scanned_us),
            "commit": None,
            "blob": None,
            "settings": reading.settings,
        }

    def _report_progress(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, done, total))

    # ------------------------------------------------------------------ standard input

    def stream(self, stdin: IO[bytes]) -> None:
        """Ingest standard input: records where the kind says so, else one text."""
        from lamina_engine.ingest.recordfiles import read_records

        if self.kind not in RECORD_KINDS:
            self._text(stdin.read(MAX_BYTES + 1))
            return
        writer = RecordWriter(self.memory, self.report, _STDIN, self.overrides)
        before = len(self.report.problems)
        for part in read_records(stdin, self.kind, columns=self.columns):
            self.report.problems += part.problems
            writer.add(zip(part.positions, part.records, strict=True))
        self._finish(writer)
        self.report.problems[before:] = summarise(self.report.problems[before:])

    def _text(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            self._add_problems([Problem(_STDIN, "too_large", f"{refuse_size(MAX_BYTES)}; skipped")])
            return
        memory = self.memory
        kind = None if self.kind == "auto" else self.kind
        draft = read_source(data, _STDIN, kind=kind, redactor=memory.redactor, tz=memory.config.tz)
        draft.title = None if draft.title_is_name else draft.title
        self.report.problems += draft.problems
        self.report.redactions += draft.redactions
        if not draft.chunks:
            self.report.skipped += 1
            return
        apply_overrides(draft, self.overrides)
        writer = RecordWriter(memory, self.report, _STDIN, {})
        writer.add((i, _as_record(draft, i)) for i in range(len(draft.chunks)))
        self._finish(writer)

    def _finish(self, writer: RecordWriter) -> None:
        writer.flush()
        if not writer.contents()[0]:
            self.report.skipped += 1
        else:
            self.report.added += bool(writer.changed)
            self.report.unchanged += not writer.changed


_VAULT_PARTS: Final = frozenset({"log", "index", "manifests", "CURRENT", "vault.toml", "writer.lock"})


def _require_unicode(path: Path) -> None:
    if not is_unicode(str(path)):
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise IngestError(f"{shown} cannot be read: {explain_name(str(path))}")


def _existing(path: str) -> Path:
    """Resolve a path; refuse a missing one and a vault's own files."""
    try:
        top = Path(path).resolve(strict=True) if path else None
    except FileNotFoundError as error:
        raise IngestError(f"{path} does not exist; give a file or folder, or - for standard input") from error
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise IngestError(
            f"{path} cannot be read ({reason}); give a file or folder, or - for standard input"
        ) from error
    if top is None:
        raise IngestError("the path is empty; give a file or folder, or - for standard input")
    _require_unicode(top)
    for below, parent in zip((top, *top.parents), top.parents, strict=False):
        if below.name in _VAULT_PARTS and is_vault(parent):
            raise IngestError(f"{path} belongs to the vault {parent}; a vault's own files are not ingested")
    return top


def _beads_below(top: Path) -> Iterator[FileEntry]:
    """Yield the issues of a project's hidden ``.beads`` folder."""
    try:
        found = export_of(top)
        info = found.stat()
    except (IngestError, OSError):
        return
    if found.parent != top and found.resolve().is_relative_to(top):
        path = found.relative_to(top).as_posix()
        yield FileEntry(path, found, info.st_size, info.st_mtime_ns, info.st_ino, "jsonl")


def _as_record(draft: SourceDraft, i: int) -> dict[str, Any]:
    return {
        "text": draft.chunks[i].text,
        "title": draft.title,
        "type": draft.type,
        "collection": draft.collection,
        "project": draft.project,
        "created_at": None if draft.created_at_us is None else draft.created_at_us / 1e6,
        "tags": list(draft.tags),
        "metadata": draft.metadata,
    }


_HEAD_BYTES: Final = 1 << 16
"""Bytes of a JSON document in which the messages of an export of chats begin; looking closer costs 0.1 s."""


def _is_session(entry: FileEntry) -> bool:
    from lamina_engine.sessions import chats
    from lamina_engine.sessions.reading import format_of

    try:
        if entry.kind == "jsonl":
            return format_of(entry.absolute, "jsonl") is not None
        # other transcripts in JSON lie in their agents' own folders, and their keys in documents of other kinds
        with entry.absolute.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        return chats.MESSAGES.search(head) is not None and format_of(entry.absolute, "json") == chats.NAME
    except Exception:  # reported when it is read
        return False
