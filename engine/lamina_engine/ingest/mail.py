"""Conversion of mail: one message (``.eml``), or the many of an ``.mbox``, a section each.

Of a message its head, its text and the names of what is attached are kept; of HTML alone, the text of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Final

from lamina_engine.ingest.frontmatter import Json
from lamina_engine.ingest.heads import people_of

MOST_FIELD: Final = 2_000
"""Characters of a field that are read: the names of a hundred receivers tell no more than those of fifty."""
MOST_BYTES: Final = 100_000
"""Bytes of a field; the standard library needs the square of more."""
_FIELD: Final = re.compile(rb"^[!-9;-~]{1,76}:[^\n]*(?:\n[ \t][^\n]*)*", re.MULTILINE)
_FIRST: Final = re.compile(rb"From [^\n]*\d{4}[^\n]*\r?\n")
"""Line before each message of an mbox."""
_SHOWN: Final = ("From", "To", "Cc", "Date")
_BLANKS: Final = re.compile(r"\n{3,}")


def messages_of(data: bytes, page: Callable[[bytes], str]) -> tuple[str, dict[str, Json]]:
    """Return mail as Markdown, and the fields of a lone message; ``page`` makes text of HTML."""
    if not _FIRST.match(data):
        message = _parse(data)
        fields: dict[str, Json] = {"title": _field(message, "Subject"), "author": people_of(_field(message, "From"))}
        if moment := _date_of(message):
            fields["date"] = moment
        return f"{_head(message)}\n\n{_body(message, page)}\n", {name: value for name, value in fields.items() if value}
    parts = []
    for message in map(_parse, _split(data)):
        heading = f"## {_field(message, 'Subject') or '(no subject)'}"
        parts.append(f"{heading}\n\n{_head(message)}\n\n{_body(message, page)}\n")
    return "\n".join(parts), {}


def _split(data: bytes) -> Iterator[bytes]:
    """Yield the messages of an mbox, each begun by a ``From `` line after a blank one."""
    message: list[bytes] = []
    is_blank = True
    for line in data.splitlines(keepends=True):
        if is_blank and _FIRST.match(line):
            if message:
                yield b"".join(message)
            message = []
        else:
            message.append(line[1:] if line.startswith(b">From ") else line)
        is_blank = not line.strip()
    yield b"".join(message)


def _parse(data: bytes) -> Message:
    if any(match.end() - match.start() > MOST_BYTES for match in _FIELD.finditer(data)):
        raise ValueError(f"a field of its head has more than {MOST_BYTES:,} bytes")
    return message_from_bytes(data)


def _field(message: Message, name: str) -> str:
    """Return a field of the head on one line; of a malformed one what is written."""
    written = str(message.get(name, ""))[:MOST_FIELD]
    try:
        value = str(make_header(decode_header(written)))
    except (ValueError, LookupError):  # bytes or a charset that nobody can read
        value = written
    return " ".join(value.split())


def _date_of(message: Message) -> str | None:
    try:
        return parsedate_to_datetime(_field(message, "Date")).isoformat()
    except (ValueError, TypeError):  # a date that nobody can read is none
        return None


def _head(message: Message) -> str:
    given = [(name, _field(message, name)) for name in _SHOWN]
    attached = [name for part in message.walk() if (name := _parameter(part, "Content-Disposition", "filename"))]
    given.append(("Attached", ", ".join(attached)[:MOST_FIELD]))
    return "\n".join(f"{name}: {value}" for name, value in given if value)


def _parameter(part: Message, field: str, name: str) -> str:
    match = re.search(rf'\b{name}="?([^";\r\n]{{1,200}})', _field(part, field), re.IGNORECASE)
    return " ".join(match[1].split()) if match else ""


def _body(message: Message, page: Callable[[bytes], str]) -> str:
    """Return the first text of a message that is not attached: plain, else of HTML."""
    texts: dict[str, Message] = {}
    for each in message.walk():
        if not each.is_multipart() and not _field(each, "Content-Disposition").lower().startswith("attachment"):
            texts.setdefault(each.get_content_type(), each)
    part = texts.get("text/plain", texts.get("text/html"))
    if part is None:
        return ""
    content = part.get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    try:
        text = data.decode(_parameter(part, "Content-Type", "charset") or "utf-8", "replace")
    except LookupError:  # a charset that nobody knows
        text = data.decode("utf-8", "replace")
    if part.get_content_type() == "text/html":
        text = page(text.encode())
    return _BLANKS.sub("\n\n", text.replace("\r\n", "\n")).strip()
