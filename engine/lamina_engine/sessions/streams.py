"""Streams of transcript files: numbered lines, or elements of a JSON array."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, Protocol, TypeVar

import msgspec

MAX_LINE_BYTES: Final = 64 * 2**20
"""A longer line is skipped: images stand in lines as text, so lines are long, but not that long."""
MAX_CONVERSATION_BYTES: Final = 256 * 2**20

T = TypeVar("T")

_LINES_BYTES: Final = 1 << 18
_ELEMENTS_BYTES: Final = 1 << 20
_TOO_LONG: Final = bytes(bytearray(b"too long"))  # known by identity, so it equals no line
_MAX_REASON_CHARS: Final = 80
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*+(?P<open>\\?\Z)?"?|[{}\[\]]', re.DOTALL)

_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|(?P<open>\\?)\Z)', re.DOTALL)
_SHORT_TEXT: Final = 1 << 10


class Unreadable(ValueError):
    """A line or a conversation that cannot be read; the message has the reason."""


class UnitStream(Protocol):
    """A file as numbered units, in blocks, with the digest of all that was read."""

    unit: str
    """Name of a unit in messages."""
    limit: int
    """Bytes of the longest unit that is read."""
    size: int
    """Bytes read so far."""
    too_long: set[int]
    """Numbers of units over the limit; they are given as empty ones."""
    unfinished: int
    """Number of the last unit, where it may still be written to; 0 for none."""
    complete: bool
    """False where the file ends within a unit that is lost."""

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read so far."""
        ...

    def runs(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield units that follow each other, and the number of the first, from 1."""
        ...


class _Blocks:
    """Blocks of a binary file, with their digest."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self.limit = stream, limit
        self._digest = hashlib.blake2b(digest_size=16)
        self.size = 0
        self.too_long: set[int] = set()
        self.unfinished = 0
        self.complete = True

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read so far."""
        return self._digest.digest()

    def _read(self, size: int) -> bytes:
        block = self._stream.read(size)
        self._digest.update(block)
        self.size += len(block)
        return block


class Lines(_Blocks):
    """Lines of a file without their newlines; none over the limit is held in memory."""

    unit = "line"

    def __init__(self, stream: IO[bytes], limit: int = MAX_LINE_BYTES) -> None:
        super().__init__(stream, limit)
        self._number = 1

    def runs(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield lines that follow each other, and the number of the first, from 1."""
        parts: list[bytes] = []
        length = 0
        while block := self._read(_LINES_BYTES):
            first, *rest = block.split(b"\n")
            if length <= self.limit:
                parts.append(first)
            length += len(first)
            if rest:
                last = rest.pop()
                yield self._run([self._joined(parts, length), *rest])
                parts, length = [last], len(last)
        if length:
            self.unfinished = self._number
            yield self._run([self._joined(parts, length)])

    def _joined(self, parts: list[bytes], length: int) -> bytes:
        return b"".join(parts) if length <= self.limit else _TOO_LONG

    def _run(self, lines: list[bytes]) -> tuple[int, list[bytes]]:
        first = self._number
        self._number += len(lines)
        for i, line in enumerate(lines) if max(map(len, lines)) > self.limit or lines[0] is _TOO_LONG else ():
            if line is _TOO_LONG or len(line) > self.limit:
                lines[i] = b""
                self.too_long.add(first + i)
        return first, lines


class Elements(_Blocks):
    """Elements of a JSON array (or the one object) of a file, one in memory at a time."""

    unit = "conversation"

    def __init__(self, stream: IO[bytes], limit: int = MAX_CONVERSATION_BYTES) -> None:
        super().__init__(stream, limit)
        self.complete = False

    def runs(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield each element alone, with its number."""
        for number, element in enumerate(self, 1):
            if element is None:
                self.too_long.add(number)
            yield number, [element or b""]

    def __iter__(self) -> Iterator[bytes | None]:
        """Yield each element; None for one that is over the limit."""
        buffer, at, depth, start, outer = b"", 0, 0, -1, 0
        too_long = False
        while block := self._read(_ELEMENTS_BYTES):
            buffer = buffer[at if start < 0 else start :] + block
            at, start = (at - start, 0) if start >= 0 else (0, -1)
            if start == 0 and len(buffer) > self.limit:
                too_long, buffer, at = True, buffer[at:], 0
            for token in _TOKEN.finditer(buffer, at):
                mark = buffer[token.start()]
                if mark == 0x22 and (token["open"] is not None or not _is_closed(token[0])):
                    at = token.start()  # a text that goes on in the next block
                    break
                at = token.end()
                if mark == 0x22:
                    continue
                if mark in b"{[":
                    if mark == 0x5B and depth == 0 and start < 0 and not outer:
                        outer = 1  # the array itself
                        continue
                    if depth == 0:
                        start = token.start()
                    depth += 1
                elif depth == 0:
                    outer = 2  # the array's end
                else:
                    depth -= 1
                    if depth == 0:
                        yield None if too_long else buffer[start:at]
                        start, too_long = -1, False
            else:
                at = len(buffer)
        self.complete = depth == 0 and start < 0 and outer != 1


def short_texts(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a JSON document, or its first bytes, without its long texts: none is a name."""
    held, left, is_long = b"", MAX_CONVERSATION_BYTES, False
    while left > 0 and (block := stream.read(min(_ELEMENTS_BYTES, left))):
        left -= len(block)
        data, at, kept = held + block, 0, list[bytes]()
        held = b""
        for token in _TEXT.finditer(data):
            kept.append(data[at : token.start()])
            at = token.end()
            text = token[0]
            is_long = is_long or len(text) > _SHORT_TEXT
            if token["open"] is not None:  # it goes on in the next block, which begins with it
                held = b'"' + token["open"] if is_long else text
            else:
                kept.append(b"" if is_long else text)
                is_long = False
        kept.append(data[at:])
        yield b"".join(kept)


def _is_closed(text: bytes) -> bool:
    return len(text) > 1 and text.endswith(b'"')


def decoder_of(kind: type[T]) -> Callable[[bytes], T]:
    """Return a decoder of JSON values of one kind; it raises ValueError with the reason."""
    fast = msgspec.json.Decoder(kind).decode

    def decode(data: bytes) -> T:
        try:
            return fast(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return msgspec.convert(_decode_leniently(data, error), kind)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    return decode


def _decode_leniently(data: bytes, error: Exception) -> Any:
    """Decode JSON with half surrogate pairs or a byte order mark, which programs do write."""
    reason = str(error)[:_MAX_REASON_CHARS]
    if b"\\u" not in data and not data.startswith(b"\xef\xbb\xbf"):
        raise ValueError(reason) from error
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError(reason) from error


def _refuse(name: str) -> Any:
    raise ValueError(name)


def clean_surrogates(text: str) -> str:
    """Return a text that UTF-8 can hold: half surrogate pairs become replacement characters."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


decode: Final = decoder_of(Any)  # pyright: ignore[reportArgumentType]
"""Decode any JSON value."""
decode_object: Final = decoder_of(dict[str, Any])
"""Decode a JSON object."""
