"""JSON lines: one reader and one writer for what a vault exports and imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from lamina_engine.atomic_write import atomic_write
from lamina_engine.errors import InvalidArgument

T = TypeVar("T")
_MAX_LINE_BYTES: Final = 1 << 28
"""No record is longer: a file without line breaks must not fill the memory."""
_MAX_FIRST_BYTES: Final = 1 << 24


def read_json_lines(
    path: Path, kind: type[T], *, what: str, instead: str, convert: Callable[[Any], Any] | None = None
) -> Iterator[T]:
    """Yield a file's records, skipping blank lines; a bad line raises InvalidArgument.

    ``what`` and ``instead`` complete the message: "a.jsonl:3 is not ``what`` (…); ``instead``". ``convert`` makes of each
    record what is yielded; it may raise `msgspec.ValidationError`.
    """
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_MAX_LINE_BYTES):
            number += 1
            if line.isspace():
                continue
            try:
                if len(line) == _MAX_LINE_BYTES:
                    raise msgspec.DecodeError(f"line of {_MAX_LINE_BYTES >> 20} MiB or more")
                decoded = decoder.decode(line)
                record: T = decoded if convert is None else convert(decoded)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise InvalidArgument(f"{path}:{number} is not {what} ({error}); {instead}") from error
            yield record


def read_tag(path: Path) -> str | None:
    """Return the ``record`` field of a file's first line; None where there is none."""
    try:
        with path.open("rb") as file:
            first = msgspec.json.decode(file.readline(_MAX_FIRST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    tag = first.get("record") if isinstance(first, dict) else None
    return tag if isinstance(tag, str) else None


def write_json_lines(path: Path, records: Iterable[Any]) -> int:
    """Write records one a line, atomically; return their number."""
    count = 0
    with atomic_write(path) as aside, aside.open("wb") as file:
        for record in records:
            file.write(msgspec.json.encode(record) + b"\n")
            count += 1
    return count
