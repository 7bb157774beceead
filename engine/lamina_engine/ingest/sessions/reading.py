"""A file of sessions into chunks, as it comes: memory for some thousand lines, whatever the file's size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.ingest.drafts import Problem
from lamina_engine.ingest.sessions import claude_code, codex, plainlog
from lamina_engine.ingest.sessions.chats import Elements, conversation
from lamina_engine.ingest.sessions.claude_code import ClaudeCodeReader
from lamina_engine.ingest.sessions.codex import CodexReader
from lamina_engine.ingest.sessions.cutting import SessionLimits
from lamina_engine.ingest.sessions.events import Event, Thread, Times
from lamina_engine.ingest.sessions.formats import CHATS
from lamina_engine.ingest.sessions.lines import Lines, decode, decoder_of
from lamina_engine.ingest.sessions.masking import Masking
from lamina_engine.ingest.sessions.naming import file_name
from lamina_engine.ingest.sessions.packs import Pack, packed
from lamina_engine.ingest.sessions.plainlog import PlainLogReader
from lamina_engine.ingest.sessions.turns import Cut, TurnCutter

if TYPE_CHECKING:
    from lamina_engine.redact.redactor import Redactor

MAX_PROBLEMS: Final = 1_000
"""Problems of one file that are told one by one; the rest are counted."""
_BATCH_BYTES: Final = 1 << 20
_BATCH_EVENTS: Final = 2_000

_DEFAULT_LIMITS: Final = SessionLimits()


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What shapes the chunks of sessions."""

    limits: SessionLimits = _DEFAULT_LIMITS
    thinking: bool = False
    """Keep what agents thought, in the metadata; it is neither embedded nor searched."""

    @property
    def label(self) -> str:
        """Equal for options that give equal chunks."""
        return f"{self.limits.max_tokens}/{self.limits.min_tokens}/{self.thinking}"


class Outcome(msgspec.Struct):
    """What was read of a file, besides its chunks."""

    size: int
    """Bytes."""
    digest: bytes
    """BLAKE2b-128 of them."""
    redactions: int
    """Secrets masked."""
    kinds: list[str]
    """Of which kinds."""
    problems: list[Problem]
    """What could not be read, by line."""
    is_dead_end: bool
    """An agent that was called and never answered: its chunks are not worth keeping."""


class SessionFile:
    """One file, read once from its beginning to its end.

    Parameters
    ----------
    path : Path
        What to read.
    source : str
        Its path below the root, with ``/``.
    format : str
        See `lamina_engine.ingest.sessions.formats.detect`.
    redactor : Redactor
    options : SessionOptions
    tz : str
        Zone of instants that name none.
    harmless : dict of str to str, optional
        See `Masking`.
    """

    def __init__(
        self, path: Path, source: str, format: str, *, redactor: Redactor, options: SessionOptions, tz: str,
        harmless: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._path, self._source, self.format = path, source, format
        self._options, self._times = options, Times(tz)
        self.masking = Masking(redactor, thinking=options.thinking, harmless=harmless)
        self.problems: list[Problem] = []
        """What could not be read, by line."""
        self._untold = 0
        self._input: Lines | Elements | None = None
        self.is_dead_end = False
        """An agent that was called and never answered: its chunks are not worth keeping."""

    @property
    def size(self) -> int:
        """Bytes read."""
        return 0 if self._input is None else self._input.size

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read."""
        return b"" if self._input is None else self._input.digest

    @property
    def outcome(self) -> Outcome:
        """What was read so far; of a file without its end, an agent that never answered is not known yet."""
        kinds = sorted(self.masking.kinds)
        return Outcome(self.size, self.digest, self.masking.found, kinds, self.problems, self.is_dead_end)

    @property
    def packs(self) -> Iterable[Pack]:
        """The file's chunks as columns, as they come; see `chunks`."""
        return packed(self.chunks())

    def chunks(self) -> Iterator[Cut]:
        """Yield the file's chunks, without secrets.

        Raises
        ------
        OSError
        """
        with self._path.open("rb") as stream:
            cutter: TurnCutter | None = None
            for batch in self._batches(self._items(stream)):
                self.masking.events([item for item in batch if type(item) is Event])
                for item in batch:
                    if isinstance(item, Thread):
                        if cutter is not None:
                            yield from cutter.finish()
                        thread = self.masking.thread(item)
                        cutter = TurnCutter(thread, self._options.limits, thinking=self._options.thinking)
                    elif cutter is not None and (done := cutter.add(item)):
                        yield from done
            if cutter is not None:
                yield from cutter.finish()
        if self._untold:
            self._tell(f"{self._untold} more lines could not be read; they were passed over")

    def _batches(self, items: Iterator[Sequence[Thread | Event]]) -> Iterator[list[Thread | Event]]:
        batch: list[Thread | Event] = []
        read = self.size
        for some in items:
            batch += some
            if len(batch) >= _BATCH_EVENTS or self.size - read >= _BATCH_BYTES:
                yield batch
                batch, read = [], self.size
        yield batch

    def _items(self, stream: IO[bytes]) -> Iterator[Sequence[Thread | Event]]:
        if self.format == CHATS:
            return self._chats(stream)
        lines = self._input = Lines(stream)
        name = file_name(f"{self._path.parent.as_posix()}/{self._path.name}")
        if self.format == plainlog.NAME:
            return self._log(lines, PlainLogReader(name, self._source, self._times))
        kinds: dict[str, type[ClaudeCodeReader | CodexReader]] = {
            claude_code.NAME: ClaudeCodeReader, codex.NAME: CodexReader,
        }  # fmt: skip
        return self._rows(lines, kinds[self.format](name, self._times))

    def _rows(self, lines: Lines, reader: ClaudeCodeReader | CodexReader) -> Iterator[Sequence[Thread | Event]]:
        decode: Callable[[bytes], Any] = decoder_of(reader.row)
        feed: Callable[[Any], Sequence[Thread | Event]] = reader.feed
        for first, run in lines.runs():
            found: list[Thread | Event] = []
            for number, data in enumerate(run, first):
                try:
                    if data:
                        found += feed(decode(data))
                except (ValueError, RecursionError) as error:
                    if data.strip():
                        self._tell_of(number, data, error, unfinished=number == lines.unfinished)
            self._tell_too_long(lines, first, len(run))
            yield found
        yield reader.finish()
        self.is_dead_end = reader.is_dead_end

    def _tell_of(self, number: int, data: bytes, error: Exception, *, unfinished: bool) -> None:
        if unfinished and data.lstrip()[:1] == b"{" and _is_cut(error):
            self._tell(f"line {number} is not complete; it is read when the rest of it is there", "incomplete")
        else:
            self._count(f"line {number}: {_said(error)}; it was passed over")

    def _tell_too_long(self, lines: Lines, first: int, count: int) -> None:
        for number in sorted(lines.too_long):
            if first <= number < first + count:
                self._count(f"line {number}: it is too long; it was passed over")

    def _log(self, lines: Lines, reader: PlainLogReader) -> Iterator[Sequence[Thread | Event]]:
        for first, run in lines.runs():
            found: list[Thread | Event] = []
            for data in run:
                found += reader.feed_line(data)
            self._tell_too_long(lines, first, len(run))
            yield found
        yield reader.finish()

    def _chats(self, stream: IO[bytes]) -> Iterator[Sequence[Thread | Event]]:
        elements = self._input = Elements(stream)
        for number, element in zip(itertools.count(1), elements, strict=False):
            try:
                if element is None:
                    raise ValueError("it is too long")
                yield list(conversation(decode(element), self._times))
            except (ValueError, RecursionError) as error:
                self._count(f"conversation {number}: {error}; it was passed over")
        if not elements.complete:
            self._tell("the file ends within a conversation; what came before it was read", "incomplete")

    def _count(self, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self._tell(message)
        else:
            self._untold += 1

    def _tell(self, message: str, code: str = "record") -> None:
        self.problems.append(Problem(self._source, code, message))


def _said(error: Exception) -> str:
    text = str(error)
    return "it is no JSON object" if text.startswith("Expected `object`") else text


def _is_cut(error: Exception) -> bool:
    """Whether a line is no JSON because it breaks off (or, cut within a character, is no UTF-8)."""
    return not isinstance(error, msgspec.ValidationError)
