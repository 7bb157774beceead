"""Files and folders of sessions into a vault: what is new or has grown is read, what is unchanged is not opened.

A file that is gone takes nothing with it: programs tidy their transcripts away, and the memory of them is the point.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.ingest import scan, sources
from lamina_engine.ingest.drafts import Problem
from lamina_engine.ingest.report import IngestReport, Progress
from lamina_engine.ingest.scan import settled_mtime_ns
from lamina_engine.ingest.sessions import plainlog
from lamina_engine.ingest.sessions.cutting import SessionLimits
from lamina_engine.ingest.sessions.events import Thread
from lamina_engine.ingest.sessions.formats import CHATS, HEAD_BYTES, detect
from lamina_engine.ingest.sessions.reading import SessionFile, SessionOptions
from lamina_engine.ingest.sessions.writing import SessionWriter, chunk_ids
from lamina_engine.ingest.sources import PRESENT, SKIPPED, Source
from lamina_engine.ingest.walk import FileEntry, WalkReport, walk

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

MARK: Final = "sessions:"
"""Settings of sources that were read as sessions begin with it, so that other kinds leave them alone."""
SUFFIXES: Final = frozenset({"jsonl", "ndjson", "json", "log", "txt", "text", "md", "markdown"})

_RULES: Final = "1"  # of parsing and cutting: another number reads every file again
_MOST_BYTES: Final = 1 << 62
_LOOKAHEAD: Final = 16
_AT_ONCE: Final = 256
_FIRST: Final = 8
"""The first chunk of talk is among so many of a file's first ones: summaries may stand before it."""


def is_session_source(source: Source) -> bool:
    """Whether a source was read as a file of sessions."""
    return source.facts.settings.startswith(MARK)


def format_of(path: Path, suffix: str) -> str | None:
    """Return the format of a file by its beginning, None where it is no file of sessions.

    Raises
    ------
    OSError
    """
    with path.open("rb") as file:
        return detect(file.read(HEAD_BYTES), suffix)


def ingest_sessions(
    memory: Memory,
    top: Path,
    report: IngestReport,
    overrides: Mapping[str, str | None],
    *,
    entries: Sequence[FileEntry] | None = None,
    options: SessionOptions | None = None,
    links: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> None:
    """Read a file or a folder of sessions into the vault.

    Parameters
    ----------
    memory : Memory
    top : Path
        Resolved.
    report : IngestReport
        Counts what is read, and receives problems.
    overrides : mapping
        ``collection`` and ``project`` in place of what the sessions say; a ``type`` is refused.
    entries : sequence of FileEntry, optional
        What to read below it, where it has been walked already; a file that is no session gives a problem.
    options : SessionOptions, optional
        As ``[sessions]`` in ``vault.toml`` says unless given.
    links : bool
        Also make the links between chunks.
    progress : callable, optional

    Raises
    ------
    InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
    """
    if overrides.get("type") is not None:
        raise InvalidArgument(
            f"type={overrides['type']!r} was given, but chunks of sessions are of type conversation; leave it out"
        )
    options = options_of(memory) if options is None else options
    run = _Run(memory, top, report, overrides, options, links=links, progress=progress)
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


def options_of(memory: Memory) -> SessionOptions:
    """Return how a vault wants its sessions read.

    Raises
    ------
    InvalidConfig
        When its limits cannot be used.
    """
    said = memory.config.sessions
    try:
        return SessionOptions(SessionLimits(said.max_tokens, said.min_tokens), said.thinking)
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
        *,
        links: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._memory, self._report, self._options, self._progress = memory, report, options, progress
        self._folder = top if top.is_dir() else top.parent
        self._named = not top.is_dir()
        self._writer = SessionWriter(memory, report, overrides, links=links)
        given = (
            _RULES, options.label, overrides.get("collection"), overrides.get("project"),
            memory.redactor.fingerprint, memory.config.tz,
        )  # fmt: skip
        self._settings = MARK + hashlib.blake2b(repr(given).encode(), digest_size=8).hexdigest()
        self._scanned_us = memory.clock.now_us()
        everything = sources.load(memory.view().snapshot)
        self._known = {path: source for path, source in everything.items() if is_session_source(source)}
        self._owners = {
            name: path
            for path, source in self._known.items()
            if source.state == PRESENT
            for name in source.facts.chunks[:_FIRST]
        }
        self._harmless: dict[str, str] = {}
        self._moved = False

    def read(self, entries: Sequence[FileEntry]) -> None:
        """Read what is new or changed, the oldest first."""
        known = sources.below(self._known, self._folder)
        plan = scan.plan({name: s.facts for name, s in known.items()}, entries, lambda _: self._settings)
        self._report.unchanged += len(plan.unchanged)
        todo = sorted(plan.to_read, key=lambda entry: (entry.mtime_ns, entry.path))
        for done, entry in enumerate(todo):
            self._tell(done, len(todo))
            try:
                self._file(entry, known.get(entry.path))
            except OSError as error:
                said = error.strerror or error
                self._skip(entry, "unreadable", f"cannot be read ({said}); it was left as it was")
        self._writer.end_round()
        self._tell(len(todo), len(todo))

    def close(self) -> None:
        """Let go of what the run holds, whatever became of it."""
        self._writer.close()

    def _file(self, entry: FileEntry, known: Source | None) -> None:
        if known is not None and known.facts.settings == self._settings and known.facts.size == entry.size:
            digest = _digest_of(entry.absolute)
            if digest == known.facts.digest:
                self._report.unchanged += 1
                self._note(entry, known, digest, entry.size, known.facts.chunks, known.state)
                return
        format = format_of(entry.absolute, _suffix(entry.path))
        if format is None:
            if self._named or _suffix(entry.path) in ("jsonl", "ndjson"):
                told = "is no session in a format that is known; it was left out" if entry.size else "is empty"
                self._skip(entry, "session", told)
            return
        source = entry.path if known is None else known.source
        file = SessionFile(
            entry.absolute, source, format, redactor=self._memory.redactor, options=self._options,
            tz=self._memory.config.tz, harmless=self._harmless,
        )  # fmt: skip
        if self._memory.redactor.policy == "skip" and self._holds_secrets(file, entry, known):
            return
        self._moved = False
        ids = self._chunks(file, entry, source)
        self._report.problems += file.problems
        self._report.redactions += file.masking.found
        former = () if known is None else known.facts.chunks
        self._note(entry, known, file.digest, file.size, ids, PRESENT if ids else SKIPPED, former)
        if not ids and not file.is_dead_end:
            self._report.skipped += 1
        elif self._moved:
            self._report.moved += 1
        elif known is not None:
            self._report.updated += 1
        elif ids:
            self._report.added += 1

    def _chunks(self, file: SessionFile, entry: FileEntry, source: str) -> list[str]:
        """Write the chunks of a file; return their ids."""
        cuts = file.chunks()
        # an agent that never answered shows within its first lines, so before anything of it is written
        first = list(itertools.islice(cuts, _LOOKAHEAD))
        if file.is_dead_end:
            return []
        source = self._memory.redact(source)
        # a log has no dates but its file's; elsewhere a chunk without one has lost it, and must not seem new
        fallback_us = entry.mtime_ns // 1000 if file.format == plainlog.NAME else None
        ids: list[str] = []
        keys: dict[tuple[str, str], str] = {}
        last: dict[tuple[str, str], str] = {}
        while some := first or list(itertools.islice(cuts, _AT_ONCE)):
            first = []
            threads = [(cut.thread.session, cut.thread.agent) for cut in some]
            for thread, cut in zip(threads, some, strict=True):
                if thread not in keys:
                    keys[thread] = self._key(cut.thread, entry, file)
            names = chunk_ids(
                (keys[thread], thread[1], cut.turns[0], cut.piece, cut.summary)
                for thread, cut in zip(threads, some, strict=True)
            )
            ids += names
            for thread, cut, name in zip(threads, some, names, strict=True):
                after = last.get(thread) if cut.follows else None
                self._writer.add(cut, name, after, keys[thread], source, fallback_us)
                if not cut.summary:
                    last[thread] = name
        return list(dict.fromkeys(ids))

    def _key(self, thread: Thread, entry: FileEntry, file: SessionFile) -> str:
        """Return the session that a thread's chunks belong to: its own, or one beside it where another file has that.

        Copies of a file, and sessions that were resumed into a second one, do not take each other's chunks away.
        """
        session = thread.session
        if file.format == CHATS:
            return session
        here = sources.absolute(self._folder.as_posix(), entry.path)
        owner = self._owners.get(_first_id(session, thread.agent))
        if owner is not None and owner != here:
            if os.path.lexists(owner):
                told = hashlib.blake2b(here.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
                session = f"{session}@{told}"
            elif owner in self._known:
                self._writer.release(sources.removed(self._known[owner]))
                self._moved = True
        self._owners[_first_id(session, thread.agent)] = here
        return session

    def _holds_secrets(self, file: SessionFile, entry: FileEntry, known: Source | None) -> bool:
        """Read a file without writing it, as the policy to skip wants; tell whether it holds a secret."""
        for _ in file.chunks():
            pass
        if not file.masking.found:
            file.problems.clear()
            return False
        kinds = ", ".join(sorted(file.masking.kinds))
        self._skip(entry, "redacted_skip", f"holds {kinds}; the file was left out, as the redaction policy says")
        former = () if known is None else known.facts.chunks
        self._note(entry, known, file.digest, file.size, [], SKIPPED, former)
        return True

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
        self._writer.note(row, ids, former)

    def _skip(self, entry: FileEntry, code: str, message: str) -> None:
        self._report.problems.append(Problem(entry.path, code, message))
        self._report.skipped += 1

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(Progress("reading", done, total))


def _first_id(session: str, agent: str) -> str:
    return chunk_ids([(session, agent, 0, 0, False)])[0]


def _digest_of(path: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.digest()
