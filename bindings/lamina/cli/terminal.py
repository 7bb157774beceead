"""What reaches a terminal: text from a vault is data, so nothing in it moves a cursor, sets a colour or hides."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from typing import Final, TextIO

MAX_COLUMNS: Final = 100
_JOINERS: Final = "\u200c\u200d"
"""Zero-width, but part of how Persian, Hindi and emoji are written."""
_ESCAPED: Final = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_WIDE: Final = ("W", "F")
_UNBROKEN: Final = 24
"""A word longer than this may be cut at the edge instead of moving to the next line."""


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text that can only be read: control, bidirectional and other invisible characters are spelled out.

    Parameters
    ----------
    text : str
        Anything.
    lines : bool
        Keep newlines (and tabs as four spaces); otherwise each run of white space is one space.
    """
    if lines:
        text = text.replace("\r\n", "\n").expandtabs(4)
    else:
        text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_plain(char) or (lines and char == "\n") else _spelled(char) for char in text)


def _is_plain(char: str) -> bool:
    return char.isprintable() or char in _JOINERS or unicodedata.category(char) not in _ESCAPED


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Return how many columns a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in _WIDE:
        return 2
    return 0 if char in _JOINERS or unicodedata.category(char) in ("Mn", "Me") else 1


def clip(text: str, columns: int) -> str:
    """Return the beginning of a printable text that fits, with an ellipsis where something is missing."""
    if width(text) <= columns:
        return text
    return text[: _fitting(text, columns - 1)].rstrip() + "…"


def _fitting(text: str, columns: int) -> int:
    """Return how many characters of a text fit."""
    used = 0
    for i, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return i
    return len(text)


def wrap(text: str, columns: int, most: int | None = None) -> list[str]:
    """Return a printable one-line text as lines that fit, at most ``most`` of them.

    Words stay whole where they can; scripts without spaces are cut at the edge.
    """
    lines: list[str] = []
    while text:
        if most is not None and len(lines) == most - 1:
            return [*lines, clip(text, columns)]
        stop = max(_fitting(text, columns), 1)
        if stop < len(text):
            space = text.rfind(" ", max(0, stop - _UNBROKEN), stop + 1)
            stop = space if space > 0 else stop
        lines.append(text[:stop].rstrip())
        text = text[stop:].lstrip()
    return lines


def columns() -> int:
    """Return how wide output is set: the terminal's width, at most `MAX_COLUMNS`."""
    return max(40, min(shutil.get_terminal_size((MAX_COLUMNS, 24)).columns, MAX_COLUMNS))


def has_colour(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that wants emphasis (``NO_COLOR`` and ``TERM=dumb`` say no)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty() and (os.name != "nt" or "WT_SESSION" in os.environ)


def bold(text: str) -> str:
    """Return a text with emphasis, where stdout shows any."""
    return f"\x1b[1m{text}\x1b[0m" if has_colour(sys.stdout) else text


def dim(text: str) -> str:
    """Return a text set back, where stdout shows it."""
    return f"\x1b[2m{text}\x1b[0m" if has_colour(sys.stdout) else text


def table(rows: Iterable[tuple[str, str]], indent: int = 0) -> list[str]:
    """Return names and values as lines, the values under each other."""
    found = [(name, value) for name, value in rows if value]
    room = max((width(name) for name, _ in found), default=0)
    return [f"{'':{indent}}{dim(name)}{'':{room - width(name)}}  {value}" for name, value in found]
