"""Output on a terminal: safe, wrapped and aligned text, and chunks as text."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from lamina_engine.clock import format_instant, zone

if TYPE_CHECKING:
    from lamina_engine.results import Chunk

MAX_COLUMNS: Final = 200
PROSE_COLUMNS: Final = 100
"""Running text is set no wider, whatever the terminal."""
_JOINERS: Final = "\u200c\u200d"
"""Zero-width, but part of how Persian, Hindi and emoji are written."""
_ESCAPED: Final = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_WIDE: Final = ("W", "F")
_UNBROKEN: Final = 24
"""A word longer than this may be cut at the edge instead of moving to the next line."""


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text with control, bidirectional and other invisible characters spelled out.

    With ``lines``, newlines stay and tabs become four spaces; otherwise each run of white space becomes one space.
    """
    # text from a vault is data: nothing in it may move the cursor, set a colour or hide
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
    """Return the beginning of a printable text that fits, with an ellipsis if it is cut."""
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
    return max(40, min(shutil.get_terminal_size((PROSE_COLUMNS, 24)).columns, MAX_COLUMNS))


def prose_columns() -> int:
    """Return how wide running text is set."""
    return min(columns(), PROSE_COLUMNS)


def has_colour(stream: TextIO) -> bool:
    """Tell whether a stream shows emphasis: a terminal without ``NO_COLOR`` and ``TERM=dumb``."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty() and (os.name != "nt" or "WT_SESSION" in os.environ)


def bold(text: str) -> str:
    """Return a text with emphasis, where stdout shows any."""
    return f"\x1b[1m{text}\x1b[0m" if has_colour(sys.stdout) else text


def dim(text: str) -> str:
    """Return a text set back, where stdout shows it."""
    return f"\x1b[2m{text}\x1b[0m" if has_colour(sys.stdout) else text


def plain(text: str) -> str:
    """Return a text without emphasis, its links kept."""
    return text.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")


def place_of(chunk: Chunk, room: int) -> str:
    """Return the place of a chunk as ``path:line``, else its source, within some columns.

    On a terminal the path is a link that opens the file. The end of a long path is what is kept of it.
    """
    if chunk.path is None:
        return clip(printable(chunk.source or ""), room)
    path = Path(chunk.path)
    shown = printable(_short_path(path))
    line = "" if chunk.line is None else f":{chunk.line}"
    while width(shown) + len(line) > room and len(shown) > 1:
        shown = "…" + shown.removeprefix("…")[1:]
    text = f"{shown}{line}"
    # percent-encoded: nothing in a name can end the link
    return (
        f"\x1b]8;;{path.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if has_colour(sys.stdout) and path.is_absolute() else text
    )


def _short_path(path: Path) -> str:
    """Return a path below the current folder or the user's as people write it."""
    for base, mark in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return mark + path.relative_to(base).as_posix()
    return path.as_posix()


def table(rows: Iterable[tuple[str, str]], indent: int = 0) -> list[str]:
    """Return names and values as lines, the values under each other."""
    found = [(name, value) for name, value in rows if value]
    room = max((width(name) for name, _ in found), default=0)
    return [f"{'':{indent}}{dim(name)}{'':{room - width(name)}}  {value}" for name, value in found]


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, cells under each other; the last one is cut at the edge."""
    found = [[printable(cell) for cell in row] for row in rows]
    rooms = [max(map(width, cells), default=0) for cells in zip(*found, strict=True)][:-1]
    lines = []
    for *cells, last in found:
        shown = [f"{cell}{'':{room - width(cell)}}  " for cell, room in zip(cells, rooms, strict=True) if room]
        used = sum(room + 2 for room in rooms if room)
        line = (bold(shown[0]) + dim("".join(shown[1:])) if shown else "") + clip(last, max(20, columns() - used))
        lines.append(line.rstrip())
    return lines


_HEX = frozenset("0123456789abcdef")
_SHORT_DIGITS = 10


def count_of(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: 1 chunk, 2 chunks."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def short_id(identity: str) -> str:
    """Return an id as it is shown in lists: the first digits of a made one, another as it is."""
    made = len(identity) == 32 and _HEX.issuperset(identity)
    return identity[:_SHORT_DIGITS] if made else printable(identity)


def show_zone(tz: str) -> None:
    """Show dates in a vault's zone; in the machine's where the vault has none of its own."""
    _zones[:] = [tz]


_zones: list[str] = ["UTC"]
"""The open vault's zone: each command opens one."""


def short_date(instant: str | None) -> str:
    """Return an instant in the zone shown: its day, and the time unless it is midnight."""
    if not instant:
        return ""
    own = zone(_zones[0])
    moment = datetime.fromisoformat(instant)
    try:
        moment = moment.astimezone(own)
        if moment.hour == moment.minute == 0:  # a date alone was read in the vault's zone
            return str(moment.date())
        moment = moment.astimezone() if own is UTC else moment
    except OverflowError:  # the zone leads out of the years 1 to 9999: Go's zero time, a date that means "never"
        moment = moment.astimezone(UTC)
    return f"{moment.date()} {moment:%H:%M}" + ("Z" if not moment.utcoffset() else "")  # %Y gives the year 1 one digit


def headline(*parts: str | None) -> str:
    """Return what there is of some short texts, on one line."""
    return " · ".join(printable(part) for part in parts if part)


def state_of(chunk: Chunk) -> str | None:
    """Return a chunk's status where it is not active, with the newest reason of an invalidation."""
    if chunk.status == "active":
        return None
    return f"{chunk.status}: {chunk.reason}" if chunk.reason else chunk.status


def chunk_table(chunks: Iterable[Chunk]) -> list[str]:
    """Return chunks as lines of a list: id, date, type, project, state and title."""
    return aligned(
        (
            short_id(chunk.id),
            short_date(format_instant(chunk.created_at_us)),
            chunk.type,
            chunk.project or "",
            _marks_of(chunk),
            chunk.label or chunk.text[:400],
        )
        for chunk in chunks
    )


def _marks_of(chunk: Chunk) -> str:
    asleep = None
    if chunk.snoozed_until_us is not None:
        asleep = f"snoozed until {short_date(format_instant(chunk.snoozed_until_us))}"
    return headline(
        state_of(chunk),
        "pinned" if chunk.pinned else None,
        asleep,
        chunk.freshness,
        "needs review" if chunk.needs_review else None,
    )


def chunk_lines(chunk: Chunk) -> list[str]:
    """Return a chunk in full."""
    document = chunk.to_dict()
    names = ("type", "collection", "project", "session", "agent", "source", "commit")
    rows = [(name, printable(str(document[name]))) for name in names if document[name] is not None]
    dates = (("created_at", chunk.created_at_us), ("recorded_at", chunk.recorded_at_us))
    rows += [(name, short_date(format_instant(us))) for name, us in dates if us is not None]
    rows.insert(0, ("id", printable(chunk.id)))
    rows.insert(1, ("place", place_of(chunk, columns()) if chunk.path else ""))
    rows.append(("tags", printable(", ".join(chunk.tags))))
    rows.append(("status", printable(state_of(chunk) or chunk.status) + (", pinned" if chunk.pinned else "")))
    rows.append(("freshness", headline(chunk.freshness, "needs review" if chunk.needs_review else None)))
    rows.append(("snoozed until", short_date(format_instant(chunk.snoozed_until_us))))
    if chunk.success is not None:
        rows.append(("success", "yes" if chunk.success else "no"))
    rows += [(printable(str(key)), printable(_metadata_text(value))) for key, value in chunk.metadata.items()]
    title = [bold(printable(chunk.label))] if chunk.label else []
    return [*title, *table(rows), "", printable(chunk.text.rstrip("\n"), lines=True)]


def _metadata_text(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
