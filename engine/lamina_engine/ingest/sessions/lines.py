"""Lines of a file as it comes, each with its number; no line is held that is over the limit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, TypeVar

import msgspec

MAX_LINE_BYTES: Final = 64 * 2**20
"""A longer line is passed over: images stand in lines as text, so lines are long, but not that long."""

T = TypeVar("T")

_BLOCK_BYTES: Final = 1 << 18
_TOO_LONG: Final = bytes(bytearray(b"too long"))  # known by identity, so it equals no line
_SHOWN: Final = 80


class Unreadable(ValueError):
    """A line or a conversation that cannot be read; the message says why."""


class Lines:
    """The lines of a stream, some at a time, and the digest of all that was read.

    Parameters
    ----------
    stream : binary file
        Read to its end as it is now.
    limit : int
        Most bytes of a line.
    """

    def __init__(self, stream: IO[bytes], limit: int = MAX_LINE_BYTES) -> None:
        self._stream, self._limit = stream, limit
        self._digest = hashlib.blake2b(digest_size=16)
        self._number = 1
        self.size = 0
        """Bytes read so far."""
        self.too_long: set[int] = set()
        """Numbers of lines over the limit; they are given as empty ones."""
        self.unfinished = 0
        """Number of the last line, where no newline follows: a file that is being written; 0 for none."""

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read so far."""
        return self._digest.digest()

    def runs(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield lines that follow each other, without their newlines, and the number of the first, from 1."""
        begun: list[bytes] = []
        length = 0
        while block := self._stream.read(_BLOCK_BYTES):
            self._digest.update(block)
            self.size += len(block)
            first, *rest = block.split(b"\n")
            if length <= self._limit:
                begun.append(first)
            length += len(first)
            if rest:
                last = rest.pop()
                yield self._run([self._joined(begun, length), *rest])
                begun, length = [last], len(last)
        if length:
            self.unfinished = self._number
            yield self._run([self._joined(begun, length)])

    def _joined(self, parts: list[bytes], length: int) -> bytes:
        return b"".join(parts) if length <= self._limit else _TOO_LONG

    def _run(self, lines: list[bytes]) -> tuple[int, list[bytes]]:
        first = self._number
        self._number += len(lines)
        for i, line in enumerate(lines) if max(map(len, lines)) > self._limit or lines[0] is _TOO_LONG else ():
            if line is _TOO_LONG or len(line) > self._limit:
                lines[i] = b""
                self.too_long.add(first + i)
        return first, lines


def decoder_of(kind: type[T]) -> Callable[[bytes], T]:
    """Return what reads lines of a kind of JSON value.

    The function raises ValueError when a line is none; the message says why.
    """
    quickly = msgspec.json.Decoder(kind).decode

    def decode(data: bytes) -> T:
        try:
            return quickly(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return msgspec.convert(_decode_slowly(data, error), kind)
        except RecursionError as error:
            raise ValueError("it nests too deep") from error

    return decode


def _decode_slowly(data: bytes, error: Exception) -> Any:
    """Read what strict readers refuse and programs write all the same: halves of surrogate pairs, byte order marks."""
    if b"\\u" not in data and not data.startswith(b"\xef\xbb\xbf"):
        raise ValueError(_said(error)) from error
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refused)
    except (ValueError, RecursionError):
        raise ValueError(_said(error)) from error


def _refused(name: str) -> Any:
    raise ValueError(name)


def _said(error: Exception) -> str:
    return str(error)[:_SHOWN]


def clean_surrogates(text: str) -> str:
    """Return a text that UTF-8 can hold: a half of a surrogate pair becomes the replacement character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


decode: Final = decoder_of(Any)  # pyright: ignore[reportArgumentType]
"""Reads any JSON value."""
