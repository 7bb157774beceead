"""Ingest of transcript files: new and grown files are read, unchanged ones are not opened.

A deleted file takes nothing with it: programs tidy their transcripts away, and the memory of them is the point.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.chunks.handoffs import HANDOFF, INSIGHT, find_written
from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.ingest import sources
from lamina_engine.ingest.sources import PRESENT, SKIPPED, Source, settled_mtime_ns
from lamina_engine.ingest.walk import FileEntry, WalkReport, walk
from lamina_engine.reports import IngestReport, Problem, Progress, ProgressListener
from lamina_engine.sessions import chats, cursor, plainlog
from lamina_engine.sessions.cutting import SessionLimits
from lamina_engine.sessions.events import Thread
from lamina_engine.sessions.parallel import (
    FileContent,
    FileReader,
    OpenFile,
    ReadFailure,
    ReadTask,
    open_files,
    read_packs,
)
from lamina_engine.sessions.privacy import IGNORE
from lamina_engine.sessions.reading import SessionOptions, TranscriptFile
from lamina_engine.sessions.turns import CONVERSATION, ChunkPack
from lamina_engine.sessions.write import ChunkNamer, SessionWriter, chunk_ids

if TYPE_CHECKING:
    from lamina_engine.executor import Executor
    from lamina_engine.memory import Memory

MARK: Final = "sessions:"
"""Settings of sources that were read as sessions begin with it, so that other kinds leave them alone."""
SUFFIXES: Final = frozenset({"jsonl", "ndjson", "json", "log", "txt", "text", "md", "markdown"})

_OF_SESSIONS: Final = ("jsonl", "ndjson", "json")
_COMPANION: Final = ".meta.json"
"""Ending of what Claude Code writes beside a sub-agent's transcript."""
_DATELESS: Final = frozenset({plainlog.NAME, cursor.NAME})
_RULES: Final = "3"  # of parsing and cutting: another number reads every file again
_MOST_BYTES: Final = 1 << 62
_FIRST: Final = 8
"""The first chunk of talk is among so many chunks of a file; summaries may come before it."""


def is_session_source(source: Source) -> bool:
    """Return whether a source was read as a transcript file."""
    return source.facts.settings.startswith(MARK)


def ingest_sessions(
    memory: Memory,
    top: Path,
    report: IngestReport,
    overrides: Mapping[str, str | None],
    *,
    entries: Sequence[FileEntry] | None = None,
    options: SessionOptions | None = None,
    folder: str = "",
    links: bool = True,
    progress: ProgressListener | None = None,
    executor: Executor | None = None,
) -> None:
    """Read a file or a folder of sessions into the vault.

    ``entries`` are files that were walked already; ``overrides`` are ``collection`` and ``project`` (a ``type`` is refused);
    ``executor`` reads the files, but for very long ones: nothing of the answer depends on it. ``folder`` is where sessions were held
    that name none; the next reading knows it.
    """
    if overrides.get("type") is not None:
        raise InvalidArgument(
            f"type={overrides['type']!r} was given, but chunks of sessions are of type conversation; leave it out"
        )
    options = session_options(memory) if options is None else options
    run = _Run(memory, top, report, overrides, options, folder, links=links, progress=progress, executor=executor)
    if entries is None:
        seen = WalkReport()
        named = top.is_file()
        found = list(walk(top, max_bytes=_MOST_BYTES, report=seen))
        entries = [e for e in found if named or _suffix(e.path) in SUFFIXES]
        report.problems += seen.problems
        report.skipped += len(seen.problems)
    try:
        run.read(entries)
    finally:
        run.close()


def session_options(memory: Memory) -> SessionOptions:
    """Return a vault's options for sessions."""
    section = memory.config.sessions
    try:
        return SessionOptions(SessionLimits(section.max_tokens, section.min_tokens), section.thinking)
    except InvalidArgument as error:
        raise InvalidConfig(f"{memory.root / 'vault.toml'}, [sessions]: {error}") from error


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


class _Run:
    """The ingest of one folder or file."""

    def __init__(
        self,
        memory: Memory,
        top: Path,
        report: IngestReport,
        overrides: Mapping[str, str | None],
        options: SessionOptions,
        folder: str,
        *,
        links: bool,
        progress: ProgressListener | None,
        executor: Executor | None,
    ) -> None:
        self._memory, self._report, self._progress, self._executor = memory, report, progress, executor
        self._reader = FileReader(memory.redactor, options, memory.config.tz)
        self._held_in = folder
        self._folder = top if top.is_dir() else top.parent
        self._named = not top.is_dir()
        self._writer = SessionWriter(memory, report, overrides, links=links)
        given = (
            _RULES, options.label, overrides.get("collection"), overrides.get("project"),
            memory.redactor.fingerprint, memory.config.tz,
        )  # fmt: skip
        self._settings = MARK + hashlib.blake2b(repr(given).encode(), digest_size=8).hexdigest()
        self._scanned_us = memory.clock.now_us()
        everything = sources.load_sources(memory.view().snapshot)
        self._known = {path: source for path, source in everything.items() if is_session_source(source)}
        self._owners = {
            name: path
            for path, source in self._known.items()
            if source.state == PRESENT
            for name in source.facts.chunks[:_FIRST]
        }
        self._moved = False
        self._written: set[tuple[str, str]] | None = None

    def read(self, entries: Sequence[FileEntry]) -> None:
        """Read new or changed files, the oldest first."""
        known = sources.sources_below(self._known, self._folder)
        plan = sources.plan_scan({name: s.facts for name, s in known.items()}, entries, lambda _: self._settings)
        self._report.unchanged += len(plan.unchanged)
        todo = sorted(plan.to_read, key=lambda entry: (entry.mtime_ns, entry.path))
        changed = [entry for entry in todo if not self._is_known(entry, known.get(entry.path))]
        tasks = [self._task(entry, known.get(entry.path)) for entry in changed]
        with contextlib.closing(open_files(tasks, self._reader, self._executor)) as files:
            for done, (entry, file) in enumerate(zip(changed, files, strict=True), len(todo) - len(changed)):
                self._report_progress(done, len(todo))
                try:
                    self._file(file, entry, known.get(entry.path))
                except ReadFailure as error:
                    self._unreadable(entry, str(error))
        self._writer.end_round()
        self._report_progress(len(todo), len(todo))

    def close(self) -> None:
        """Release what the run holds, also after an error."""
        self._writer.close()

    def _is_known(self, entry: FileEntry, known: Source | None) -> bool:
        """Return whether a file has the bytes that were read before; its new date is noted then."""
        if known is None or known.facts.settings != self._settings or known.facts.size != entry.size:
            return False
        try:
            digest = sources.digest_of_entry(entry)
        except OSError:
            return False  # reading it will report the error
        if digest != known.facts.digest:
            return False
        self._report.unchanged += 1
        self._note(entry, known, digest, entry.size, known.facts.chunks, known.state)
        return True

    def _task(self, entry: FileEntry, known: Source | None) -> ReadTask:
        source = entry.path if known is None else known.source
        folder = self._held_in or self._known_folder(known)
        return ReadTask(str(entry.absolute), source, _suffix(entry.path), entry.size, folder)

    def _known_folder(self, known: Source | None) -> str:
        """Return the folder that a file's sessions had when they were read before.

        A capture knew it, and their lines may not.
        """
        view = self._memory.view()
        rows = view.rows_of_ids(list(known.facts.chunks[:1]) if known is not None else [])
        if not len(rows) or rows[0] < 0:
            return ""
        folder = msgspec.json.decode(view.snapshot.values("chunks", "metadata", rows)[0] or "{}").get("cwd")
        return folder if isinstance(folder, str) else ""

    def _file(self, file: OpenFile, entry: FileEntry, known: Source | None) -> None:
        if isinstance(file, str):
            self._unreadable(entry, file)
            return
        if file is None:
            if self._named or (_suffix(entry.path) in _OF_SESSIONS and not entry.path.endswith(_COMPANION)):
                reason = "is not a session in a known format; skipped" if entry.size else "is empty"
                self._skip(entry, "session", reason)
            return
        if self._memory.redactor.policy == "skip" and self._holds_secrets(file, entry, known):
            return
        self._moved = False
        ids = self._chunks(file, entry, entry.path if known is None else known.source)
        outcome = file.outcome
        if outcome.is_ignored:
            self._skip(entry, "ignored", f"a {IGNORE} leaves the folder out in which it was held; left unchanged")
            return
        self._report.problems += outcome.problems
        self._report.redactions += outcome.redactions
        former = () if known is None else known.facts.chunks
        self._note(entry, known, outcome.digest, outcome.size, ids, PRESENT if ids else SKIPPED, former)
        if not ids and not outcome.is_dead_end:
            self._report.skipped += 1
        elif self._moved:
            self._report.moved += 1
        elif known is not None:
            self._report.updated += 1
        elif ids:
            self._report.added += 1

    def _chunks(self, file: TranscriptFile | FileContent, entry: FileEntry, source: str) -> list[str]:
        """Write the chunks of a file; return their ids."""
        packs = iter(read_packs(file))
        # an agent that never answered shows within its first lines, so before anything of it is written
        first = list(itertools.islice(packs, 1))
        if file.outcome.is_dead_end or file.outcome.is_ignored:
            return []
        source = self._memory.redact(source)
        # these have no dates but their file's; elsewhere a chunk without one has lost it, and must not seem new
        fallback_us = entry.mtime_ns // 1000 if file.format in _DATELESS else None
        naming = ChunkNamer(lambda thread: self._key(thread, entry, file.format))
        ids: list[str] = []
        for pack in itertools.chain(first, packs):
            if any(type_ in (HANDOFF, INSIGHT) for type_ in pack.types):
                pack = self._without_written(pack, entry, file.format)
            names, after, sessions = naming(pack)
            self._writer.add(pack, names, after, sessions, source, fallback_us)
            ids += names
        return list(dict.fromkeys(ids))

    def _without_written(self, pack: ChunkPack, entry: FileEntry, format: str) -> ChunkPack:
        """Return a pack without derived chunks whose place a written one has."""
        if self._written is None:
            self._written = find_written(self._memory.view())
        keys = [self._key(thread, entry, format) for thread in pack.threads]
        places = [
            at for at, (type_, owner) in enumerate(zip(pack.types, pack.owners, strict=True))
            if (type_, keys[owner]) not in self._written
        ]  # fmt: skip
        return pack if len(places) == len(pack.types) else pack.select(places)

    def _key(self, thread: Thread, entry: FileEntry, format: str) -> str:
        """Return the session id of a thread: its own, or one beside it if another file has that.

        Copies of a file, and sessions that were resumed into a second one, do not take each other's chunks away.
        """
        session = thread.session
        if format == chats.NAME:
            return session
        here = sources.absolute_path(self._folder.as_posix(), entry.path)
        owner = self._owners.get(_first_id(session, thread.agent))
        if owner is not None and owner != here:
            if os.path.lexists(owner):
                suffix = hashlib.blake2b(here.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
                session = f"{session}@{suffix}"
            elif owner in self._known:
                self._writer.release(sources.removal_row(self._known[owner]))
                self._moved = True
        self._owners[_first_id(session, thread.agent)] = here
        return session

    def _holds_secrets(self, file: TranscriptFile | FileContent, entry: FileEntry, known: Source | None) -> bool:
        """Return whether a file holds a secret, before anything is written, for the policy "skip"."""
        if isinstance(file, TranscriptFile):
            for _ in read_packs(file):
                pass
        outcome = file.outcome
        if not outcome.redactions:
            if isinstance(file, TranscriptFile):
                file.problems.clear()  # it is read once more, and reports them again
            return False
        kinds = ", ".join(outcome.kinds)
        self._skip(entry, "redacted_skip", f"holds {kinds}; skipped under the redaction policy")
        former = () if known is None else known.facts.chunks
        self._note(entry, known, outcome.digest, outcome.size, [], SKIPPED, former)
        return True

    def _unreadable(self, entry: FileEntry, reason: str) -> None:
        self._skip(entry, "unreadable", f"cannot be read ({reason}); left unchanged")

    def _note(
        self, entry: FileEntry, known: Source | None, digest: bytes, size: int, ids: Sequence[str], state: str,
        former: Sequence[str] = (),
    ) -> None:  # fmt: skip
        row: dict[str, Any] = {
            "source": entry.path if known is None else known.source,
            "root": self._folder.as_posix() if known is None else known.root,
            "state": state,
            "digest": digest,
            "size": size,
            "mtime_ns": settled_mtime_ns(entry.mtime_ns, self._scanned_us),
            "commit": None,
            "blob": None,
            "settings": self._settings,
        }
        self._writer.note_file(row, ids, former)

    def _skip(self, entry: FileEntry, code: str, message: str) -> None:
        self._report.problems.append(Problem(entry.path, code, message))
        self._report.skipped += 1

    def _report_progress(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(Progress("reading", done, total))


def _first_id(session: str, agent: str) -> str:
    return chunk_ids([(session, agent, 0, 0, CONVERSATION)])[0]
