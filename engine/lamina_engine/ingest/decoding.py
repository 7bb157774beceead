"""Text decoding, with a map from characters back to bytes.

Only newlines (CR LF and CR become LF) and invalid bytes (U+FFFD) are normalised. Binary data is refused with a reason;
bad content never raises.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

MAX_HIGH_SHARE = 0.30
"""Bytes over 0x7F that a Western single-byte text may have; Cyrillic, Greek and compressed data have more."""
MAX_CONTROL_SHARE = 0.02
"""Control bytes that text may have (terminal colours, form feeds beyond the usual ones)."""

_BOMS = (
    # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - {0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B}) + b"\x7f"
_ASCII = bytes(range(128))
_ESCAPED = re.compile("[\ud800-\udfff]")
_CRLF = re.compile("\r\n")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why bytes were not read as text."""

    code: str
    """binary or encoding."""
    message: str


@dataclass(frozen=True, slots=True)
class Offsets:
    """Map from positions in the normalised text to bytes of the file.

    Nothing is stored per character: plain text is an identity, and other text is encoded again between the positions
    asked for, which costs one pass over the file.
    """

    raw: str
    """Text as decoded, before newlines were normalised; bytes that are no character stand as lone surrogates."""
    codec: str
    head: int
    """Bytes of the byte order mark."""
    size: int
    """Bytes of the file."""
    collapsed: tuple[int, ...]
    """Positions, in the normalised text, of the newlines that were ``\\r\\n``."""

    def bytes_at(self, positions: Iterable[int]) -> list[int]:
        """Return the byte offsets of ascending positions; the text's length gives the file's size."""
        single = self.codec in ("cp1252", "latin-1") or (self.codec == "utf-8" and self.raw.isascii())
        found, seen, offset = [], 0, self.head
        for position in positions:
            at = position + bisect_left(self.collapsed, position)
            offset += at - seen if single else self._encoded_bytes(seen, at)
            seen = at
            # a UTF-16 file may end in half a unit, which stands as one character of two bytes
            found.append(min(offset, self.size))
        return found

    def _encoded_bytes(self, start: int, stop: int) -> int:
        errors = "surrogateescape" if self.codec == "utf-8" else "surrogatepass"
        return len(self.raw[start:stop].encode(self.codec, errors))


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a file."""

    text: str
    encoding: str
    offsets: Offsets
    warning: str | None
    """Note on what was guessed or replaced, if anything."""


def explain_name(name: str) -> str:
    """Return why a file name is no valid text, and what to do."""
    try:
        os.fsencode(name).decode()
    except UnicodeDecodeError:
        return "the name is not valid UTF-8; rename the file to have it read"
    encoding = sys.getfilesystemencoding()
    return (
        f"this process reads names as {encoding}, and the name is UTF-8; start Python with PYTHONUTF8=1 to have it read"
    )


def decode(data: bytes) -> Decoded | Refusal:
    """Decode bytes as text.

    Byte order marks decide first. Without one the text is UTF-8; where that fails, UTF-8 with single bad bytes replaced if
    at least half of what is not ASCII was good, else Windows-1252 (Latin-1 where that has no character) if the bytes look
    like Western text at all.
    """
    for mark, codec in _BOMS:
        # a UTF-16 file whose first character is NUL is binary anyhow, so four bytes are always UTF-32's
        if data.startswith(mark):
            return _marked(data, codec, len(mark))
    if b"\0" in data:
        return Refusal(
            "binary",
            f"byte {data.index(0)} is NUL, so this is binary (or UTF-16 without a byte order mark: save it as UTF-8)",
        )
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls > MAX_CONTROL_SHARE * len(data):
        return Refusal("binary", f"{controls} of {len(data)} bytes are control characters, so this is binary")
    return _unmarked(data)


def _marked(data: bytes, codec: str, head: int) -> Decoded | Refusal:
    body, warning = data[head:], None
    try:
        raw = body.decode(codec)
    except UnicodeDecodeError as error:
        if codec.startswith("utf-32"):
            return Refusal("encoding", f"the byte order mark says {codec}, but byte {head + error.start} is invalid")
        raw = _decode_skipping_bytes(body, codec)
        warning = f"not all of it is {codec}: {len(_ESCAPED.findall(raw))} places were replaced by U+FFFD"
    if "\0" in raw:
        return Refusal("binary", f"a NUL character in {codec} text, so this is binary")
    return _finish(raw, codec, head, len(data), warning)


def _decode_skipping_bytes(body: bytes, codec: str) -> str:
    """Decode with bad bytes as lone surrogates, which encode back to as many bytes."""
    if codec == "utf-8":
        return body.decode(codec, "surrogateescape")
    half = "\udc00" if len(body) % 2 else ""
    return body[: len(body) // 2 * 2].decode(codec, "surrogatepass") + half


def _unmarked(data: bytes) -> Decoded | Refusal:
    try:
        return _finish(data.decode("utf-8"), "utf-8", 0, len(data), None)
    except UnicodeDecodeError:
        raw = data.decode("utf-8", "surrogateescape")
    high = len(data.translate(None, _ASCII))
    bad = len(_ESCAPED.findall(raw))
    good = len(raw) - bad - (len(data) - high)
    if good >= bad:
        return _finish(raw, "utf-8", 0, len(data), f"{bad} bytes are not UTF-8 and stand as U+FFFD")
    if high > MAX_HIGH_SHARE * len(data):
        return Refusal(
            "encoding",
            f"not UTF-8, and {high} of {len(data)} bytes are not ASCII, too many to guess an encoding; save it as UTF-8",
        )
    try:
        raw, codec = data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        raw, codec = data.decode("latin-1"), "latin-1"
    return _finish(raw, codec, 0, len(data), f"not UTF-8: read as {codec}, which is a guess")


def _finish(raw: str, codec: str, head: int, size: int, warning: str | None) -> Decoded:
    text = raw
    collapsed: tuple[int, ...] = ()
    if "\r" in raw:
        collapsed = tuple(match.start() - i for i, match in enumerate(_CRLF.finditer(raw)))
        text = raw.replace("\r\n", "\n").replace("\r", "\n")
    if warning is not None:
        text = _ESCAPED.sub("\ufffd", text)
    return Decoded(text, codec, Offsets(raw, codec, head, size, collapsed), warning)
