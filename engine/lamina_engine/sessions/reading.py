"""Transcript files: format detection, masking of secrets, and chunks in bounded memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.reports import Problem
from lamina_engine.sessions import (
    chats,
    claude_code,
    codex,
    copilot,
    cursor,
    gemini,
    opencode,
    plainlog,
    vscode,
)
from lamina_engine.sessions.chats import ChatReader
from lamina_engine.sessions.claude_code import ClaudeCodeReader
from lamina_engine.sessions.codex import CodexReader
from lamina_engine.sessions.copilot import CopilotReader
from lamina_engine.sessions.cursor import CursorReader
from lamina_engine.sessions.cutting import SessionLimits
from lamina_engine.sessions.events import (
    Event,
    FileName,
    Thread,
    Times,
    TranscriptReader,
    drop_context,
    parse_file_name,
    project_of_folder,
)
from lamina_engine.sessions.gemini import GeminiReader
from lamina_engine.sessions.notes import SessionNotes
from lamina_engine.sessions.opencode import OpenCodeReader
from lamina_engine.sessions.plainlog import PlainLogReader
from lamina_engine.sessions.privacy import is_ignored, is_private
from lamina_engine.sessions.streams import (
    MAX_LINE_BYTES,
    Elements,
    Lines,
    UnitStream,
    clean_surrogates,
    decode,
    short_texts,
)
from lamina_engine.sessions.tooltext import RESULT_CHARS, argument_text, changed_words, cut_to_size, redaction_window
from lamina_engine.sessions.turns import ChunkPack, TurnChunk, TurnCutter, derived_chunks, pack_chunks
from lamina_engine.sessions.vscode import VSCodeReader

if TYPE_CHECKING:
    from lamina_engine.redact.redactor import Finding, Redactor

_MOST_NAMES: Final = 20_000


class EventMasker:
    """Masks secrets in events, and cuts arguments and results of tools to size."""

    def __init__(self, redactor: Redactor, *, thinking: bool, harmless: dict[str, str] | None = None) -> None:
        self._redactor, self._thinking = redactor, thinking
        self._names: dict[str, str] = {}
        self._harmless: dict[str, str] = {} if harmless is None else harmless
        self.found = 0
        """Secrets masked so far."""
        self.kinds: set[str] = set()

    def mask_thread(self, thread: Thread) -> Thread:
        """Return a thread without secrets."""
        return Thread(
            self._name(thread.session), self._name(thread.agent),
            None if thread.project is None else self._name(thread.project),
            None if thread.title is None else self._name(thread.title.strip()),
            {key: self._value(value) for key, value in thread.facts.items()},
        )  # fmt: skip

    def mask_events(self, events: Sequence[Event]) -> None:
        """Mask events in place."""
        kept: list[Event] = []
        texts: list[str] = []
        sizes: list[tuple[int, int]] = []
        self._search_names(events)
        for event in events:
            if event.facts is not None:
                event.facts = {key: self._value(value) for key, value in event.facts.items()}
            if event.name is not None:
                event.name = self._name(event.name)
            if event.kind == "touch" or (event.kind == "thought" and not self._thinking):
                event.text = ""
                continue
            text, limit = event.text, 0
            if event.kind == "tool":
                text, limit = argument_text(event.arguments)
                changed = changed_words(event.arguments)
                if changed is not None:
                    event.facts = {**(event.facts or {}), "changed": changed}  # compared by the notes, kept nowhere
                event.arguments = None
            elif event.kind == "result":
                limit = RESULT_CHARS
            text = _plain(text)
            sizes.append((limit, len(text)))
            texts.append(redaction_window(text, limit) if limit else text)
            kept.append(event)
        for index, clean, findings in self._redactor.clean_batch(texts):
            texts[index] = clean
            self._count(findings)
        for event, text, (limit, length) in zip(kept, texts, sizes, strict=True):
            event.text = cut_to_size(text, limit, length) if limit else text

    def _search_names(self, events: Sequence[Event]) -> None:
        """Search the names that are new, all at once: alone each would cost as much as a text."""
        if len(self._names) >= _MOST_NAMES:
            self._names.clear()
        found = {name for event in events if event.facts is not None for name in _strings(event.facts)}
        self._search_new([name for name in found if name not in self._harmless and name not in self._names])

    def _search_new(self, new: Sequence[str]) -> None:
        for known in (self._harmless, self._names):
            if len(known) >= _MOST_NAMES:
                known.clear()
        texts = [_plain(name) for name in new]
        self._harmless.update(zip(new, texts, strict=True))
        for index, clean, findings in self._redactor.clean_batch(texts):
            del self._harmless[new[index]]
            self._names[new[index]] = clean
            self._count(findings)

    def _count(self, findings: Sequence[Finding]) -> None:
        self.found += len(findings)
        self.kinds.update(finding.kind for finding in findings)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._name(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._name(key): self._value(item) for key, item in value.items()}
        return value

    def _name(self, name: str) -> str:
        """Return a short text without secrets; each is searched once."""
        if name not in self._harmless and name not in self._names:
            self._search_new([name])
        return self._harmless[name] if name in self._harmless else self._names[name]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)


def _plain(text: str) -> str:
    """Return a text with newlines as the log has them, and nothing that UTF-8 cannot hold."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return clean_surrogates(text)


HEAD_BYTES: Final = 1 << 18
"""Bytes of a document or a log that are looked at; of a document without its long texts."""

_MAX_HEAD_LINES: Final = 50
_MAX_LOG_LINES: Final = 400
_MAX_LOOKED: Final = MAX_LINE_BYTES
"""Bytes of lines from which on no further line is looked at; one that is too long to be read counts for nothing."""
_CODEX: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_COPILOT: Final = ("session.", "user.", "assistant.")
_NOISE: Final = frozenset({"system", "progress", "queue-operation", "attachment"})


def format_of(path: Path, suffix: str) -> str | None:
    """Return the format of a file by its beginning; None where it is no transcript."""
    with path.open("rb") as file:
        return detect(file, suffix)


def detect(file: IO[bytes], suffix: str) -> str | None:
    """Return the format of a file that can seek by its beginning; None for an unknown one.

    Its first line may hold an image or a log, so lines are looked at whole, and documents without their long texts.
    """
    start = _begin(file.read(_FIRST_BYTES))
    file.seek(0)
    if suffix in ("jsonl", "ndjson") or (suffix != "json" and start[:1] == b"{"):
        return _detect_lines(file)
    if suffix == "json":
        return _detect_document(file) if start[:1] in (b"[", b"{") else None
    return _detect_log(file)


_FIRST_BYTES: Final = 1 << 12


def _begin(data: bytes) -> bytes:
    """Return the first bytes of a file without a byte order mark and blanks."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()


_DOCUMENTS: Final = (
    (chats.NAME, (b'"chat_messages"',)),
    (chats.NAME, (b'"mapping"', b'"author"')),
    (gemini.NAME, (b'"projectHash"', b'"messages"')),
    (opencode.NAME, (b'"info"', b'"messages"', b'"parts"')),
    (vscode.NAME, (b'"requests"', b'"responderUsername"')),
)
"""Formats of whole documents, and names that each has near its beginning."""


def _detect_document(file: IO[bytes]) -> str | None:
    head = b""
    for part in short_texts(file):
        head += part
        found = next((name for name, keys in _DOCUMENTS if all(key in head for key in keys)), None)
        if found is not None or len(head) >= HEAD_BYTES:
            return found
    return None


def _detect_lines(file: IO[bytes]) -> str | None:
    looked = 0
    lines = Lines(file)
    for first, run in lines.runs():
        for number, line in enumerate(run, first):
            if number > _MAX_HEAD_LINES or looked >= _MAX_LOOKED:
                return None
            looked += len(line)
            try:
                row: Any = decode(_begin(line)) if line.strip() else None
            except ValueError:
                continue
            if isinstance(row, dict) and (found := _detect_row(row)) is not None:
                return found
    return None


def _detect_row(row: dict[str, Any]) -> str | None:
    kind = row.get("type")
    if kind is not None and not isinstance(kind, str):
        return None
    if kind in ("user", "assistant") and ("sessionId" in row or "parentUuid" in row) and "message" in row:
        return claude_code.NAME
    if kind == "summary" and "leafUuid" in row:
        return claude_code.NAME
    if (kind == "file-history-snapshot" and "snapshot" in row) or (kind in _NOISE and "sessionId" in row):
        return claude_code.NAME
    if kind in _CODEX and isinstance(row.get("payload"), dict):
        return codex.NAME
    if isinstance(kind, str) and kind.startswith(_COPILOT) and isinstance(row.get("data"), dict):
        return copilot.NAME
    if kind is None and "sessionId" in row and "projectHash" in row:
        return gemini.NAME
    if kind is None and row.get("role") in ("user", "assistant") and isinstance(row.get("message"), dict):
        return cursor.NAME
    info, start = row.get("info"), row.get("v")
    if kind is None and isinstance(info, dict) and "id" in info and "directory" in info:
        return opencode.NAME
    if row.get("kind") == 0 and isinstance(start, dict) and isinstance(start.get("requests"), list):
        return vscode.NAME
    old = kind is None and isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    return codex.NAME if old and "instructions" in row and "text" not in row else None


def _detect_log(file: IO[bytes]) -> str | None:
    """Return the format of a log, which begins with a speaker or a heading and has both sides.

    Where it begins with one side, whatever that pasted may stand before the other.
    """
    sides: set[str] = set()
    most, longest = _MAX_LOG_LINES, HEAD_BYTES
    opening = True
    lines = Lines(file)
    for first, run in lines.runs():
        for number, line in enumerate(run, first):
            if number > most:
                return None
            text = (_begin(line) if opening else line).decode("utf-8", "replace")
            found = plainlog.SPEAKER.match(text)
            if found is not None:
                sides.add("user" if found["user"] else "said" if found["said"] else "other")
                if sides >= {"user", "said"}:
                    return plainlog.NAME
                if opening and not found["other"]:
                    most, longest = sys.maxsize, _MAX_LOOKED
            elif opening and text.strip() and not text.startswith("#"):
                return None
            opening = opening and not text.strip()
        if lines.size >= longest:
            return None
    return None


_READERS: Final[dict[str, Callable[[FileName, Times], TranscriptReader]]] = {
    claude_code.NAME: ClaudeCodeReader,
    codex.NAME: CodexReader,
    copilot.NAME: CopilotReader,
    cursor.NAME: CursorReader,
    opencode.NAME: OpenCodeReader,
    vscode.NAME: VSCodeReader,
}

MAX_PROBLEMS: Final = 1_000
"""Problems of one file that are listed; the rest are counted."""
_BATCH_BYTES: Final = 1 << 20
_BATCH_EVENTS: Final = 2_000

_DEFAULT_LIMITS: Final = SessionLimits()
_NO_THREAD: Final = Thread("", "")


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options that shape the chunks of sessions."""

    limits: SessionLimits = _DEFAULT_LIMITS
    thinking: bool = False
    """Keep what agents thought, in the metadata; it is neither embedded nor searched."""

    @property
    def label(self) -> str:
        """Equal for options that give equal chunks."""
        return f"{self.limits.max_tokens}/{self.limits.min_tokens}/{self.thinking}"


class ReadOutcome(msgspec.Struct):
    """Outcome of reading a file, besides its chunks."""

    size: int
    """Bytes."""
    digest: bytes
    """BLAKE2b-128 of them."""
    redactions: int
    """Secrets masked."""
    kinds: list[str]
    """Of which kinds."""
    problems: list[Problem]
    """Problems, by line."""
    is_dead_end: bool
    """An agent that was called and never answered: its chunks are not worth keeping."""
    is_ignored: bool
    """Its first session was held in a folder that is to be left out: nothing of it is read."""


class TranscriptFile:
    """One transcript file, read once from its beginning to its end."""

    def __init__(
        self, path: Path, source: str, format: str, *, redactor: Redactor, options: SessionOptions, tz: str,
        harmless: dict[str, str] | None = None, folder: str = "",
    ) -> None:  # fmt: skip
        self._folder, self._is_placed = folder, False
        self._path, self._source, self.format = path, source, format
        self._options, self._times = options, Times(tz)
        self.masking = EventMasker(redactor, thinking=options.thinking, harmless=harmless)
        self.problems: list[Problem] = []
        """Problems, by line."""
        self._unlisted = 0
        self._stream: UnitStream | None = None
        self.is_dead_end = False
        """An agent that was called and never answered: its chunks are not worth keeping."""
        self.is_ignored = False
        """Its first session was held in a folder that is to be left out: nothing of it is read."""

    @property
    def size(self) -> int:
        """Bytes read."""
        return 0 if self._stream is None else self._stream.size

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read."""
        return b"" if self._stream is None else self._stream.digest

    @property
    def outcome(self) -> ReadOutcome:
        """Outcome so far.

        ``is_dead_end`` is known at the end of the file only, ``is_ignored`` with its first chunk.
        """
        kinds = sorted(self.masking.kinds)
        found = self.masking.found
        return ReadOutcome(self.size, self.digest, found, kinds, self.problems, self.is_dead_end, self.is_ignored)

    @property
    def packs(self) -> Iterable[ChunkPack]:
        """The file's chunks as columns, as they come; see `chunks`."""
        return pack_chunks(self.chunks())

    def chunks(self) -> Iterator[TurnChunk]:
        """Yield the file's chunks, without secrets."""
        with self._path.open("rb") as stream:
            cutter: TurnCutter | None = None
            notes: SessionNotes | None = None
            thread = _NO_THREAD
            session, private, left_out = "", set[str](), False
            for batch in self._batches(self._items(stream)):
                for item in batch:
                    if isinstance(item, Thread):
                        self._place(item)
                if self.is_ignored:
                    return
                happened = [item for item in batch if type(item) is Event]
                drop_context(happened)
                self.masking.mask_events(happened)
                for item in batch:
                    if isinstance(item, Thread):
                        yield from _finish(thread, cutter, notes)
                        thread = self.masking.mask_thread(item)
                        session = thread.session.partition("@")[0]
                        left_out = _is_ignored(item)
                        cutter = TurnCutter(thread, self._options.limits, thinking=self._options.thinking)
                        notes = SessionNotes() if self._has_handoff(thread) else None
                        continue
                    if item.kind == "user" and is_private(item.text):
                        private.add(session)
                    if left_out or session in private:
                        continue
                    if notes is not None:
                        notes.add(item)
                    if cutter is not None and (done := cutter.add(item)):
                        yield from done
            yield from _finish(thread, cutter, notes)
        if self._unlisted:
            self._report(f"{self._unlisted} more lines could not be read; skipped")

    def _place(self, thread: Thread) -> None:
        """Give a thread the folder of a file that names none, and judge the first one's."""
        if not self._is_placed and "cwd" in thread.facts:
            self._folder = ""
        if self._folder:
            thread.facts = {**thread.facts, "cwd": self._folder}
            thread.project = thread.project or project_of_folder(self._folder)
        if not self._is_placed:
            self._is_placed, self.is_ignored = True, _is_ignored(thread)

    def _has_handoff(self, thread: Thread) -> bool:
        """Return whether somebody may go on with a thread: not so with chats and called agents."""
        return self.format != chats.NAME and "/" not in thread.agent

    def _batches(self, items: Iterator[Sequence[Thread | Event]]) -> Iterator[list[Thread | Event]]:
        batch: list[Thread | Event] = []
        read = self.size
        for some in items:
            batch += some
            if len(batch) >= _BATCH_EVENTS or self.size - read >= _BATCH_BYTES:
                yield batch
                batch, read = [], self.size
        yield batch

    def _items(self, file: IO[bytes]) -> Iterator[Sequence[Thread | Event]]:
        """Yield threads and events, as the reader of the format finds them unit by unit."""
        whole = self.format == chats.NAME or self._path.suffix.lower() == ".json"
        stream = self._stream = Elements(file) if whole else Lines(file)
        reader = self._reader()
        feed = reader.feed
        for first, run in stream.runs():
            found: list[Thread | Event] = []
            for number, data in enumerate(run, first):
                try:
                    found += feed(data)
                except (ValueError, RecursionError) as error:
                    if data.strip():
                        self._report_error(number, data, error)
            for number in sorted(stream.too_long):
                if first <= number < first + len(run):
                    self._count(f"{stream.unit} {number}: it is longer than {stream.limit >> 20} MiB; skipped")
            yield found
        yield reader.finish()
        self.is_dead_end = reader.is_dead_end
        if not stream.complete:
            self._report("the file ends within a conversation; earlier ones were read", "incomplete")

    def _reader(self) -> TranscriptReader:
        folder = self._path.parent.as_posix()
        name, times = parse_file_name(f"{folder}/{self._path.name}"), self._times
        if self.format == chats.NAME:
            return ChatReader(times)
        if self.format == plainlog.NAME:
            return PlainLogReader(name, self._source, times)
        if self.format == gemini.NAME:
            return GeminiReader(name, folder, times)
        return _READERS[self.format](name, times)

    def _report_error(self, number: int, data: bytes, error: Exception) -> None:
        stream = self._stream
        unit = "line" if stream is None else stream.unit
        if stream is not None and number == stream.unfinished and data.lstrip()[:1] == b"{" and _is_cut(error):
            self._report(f"{unit} {number} is incomplete; it will be read when the rest has been written", "incomplete")
        else:
            self._count(f"{unit} {number}: {_reason(error)}; skipped")

    def _count(self, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self._report(message)
        else:
            self._unlisted += 1

    def _report(self, message: str, code: str = "record") -> None:
        self.problems.append(Problem(self._source, code, message))


def _is_ignored(thread: Thread) -> bool:
    folder = thread.facts.get("cwd")
    return isinstance(folder, str) and Path(folder).is_absolute() and is_ignored(folder)


def _finish(thread: Thread, cutter: TurnCutter | None, notes: SessionNotes | None) -> Iterator[TurnChunk]:
    """Yield the last chunks of a thread, and what is derived from it."""
    if cutter is not None:
        yield from cutter.finish()
    if notes is not None:
        yield from derived_chunks(thread, notes)


def _reason(error: Exception) -> str:
    text = str(error)
    return "it is not a JSON object" if text.startswith("Expected `object`") else text


def _is_cut(error: Exception) -> bool:
    """Return whether a line is no JSON because it breaks off, maybe within a character."""
    return not isinstance(error, msgspec.ValidationError)
