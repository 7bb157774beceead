"""Reconstruction of sessions, or of a span of days, in a budget: a timeline or a briefing.

A timeline is unabridged chunks in the order of time, without holes: from its newest end backward (or its oldest
forward) as far as the budget goes. A briefing has a paragraph for each of the last sessions (its handoff; else its summary,
or how it began and ended, and the files it touched), then the newest chunks with what is left.

Text of the vault is data: its lines are indented by two spaces, headings never are, so that no chunk can pass for a
heading. Tokens are counted on the text as it is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from msgspec import Struct

from lamina_engine.arguments import text_of, whole_of
from lamina_engine.chunks.reading import story_chunks
from lamina_engine.clock import MISSING_US, US_PER_S, Instant, format_instant
from lamina_engine.errors import InvalidArgument, SessionNotFound
from lamina_engine.index.view import View
from lamina_engine.recall.pack import count_tokens
from lamina_engine.recall.sessions import (
    SessionRows,
    TimeRange,
    find_sessions,
    handoff_rows,
    previous_session,
    session_of,
)
from lamina_engine.results import Reconstruction, Session
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import I64

Mode = Literal["timeline", "briefing"]
Keep = Literal["newest", "oldest"]
MODES: Final = ("timeline", "briefing")
KEEPS: Final = ("newest", "oldest")
MAX_BUDGET: Final = 10_000_000
BRIEFED_SESSIONS: Final = 3
"""Sessions in a briefing."""
_FILES: Final = 10
_EXCERPT_CHARS: Final = 300
_CUT: Final = " […]"
_READ: Final = ("text", "agent", "created_at", "type")


class ReconstructionOptions(Struct, frozen=True):
    """Form, kept end and size of a reconstruction; see ``Vault.reconstruct``."""

    mode: Mode
    keep: Keep
    """The end of a timeline that stays where not all fits."""
    token_budget: int


def reconstruct(
    memory: Memory,
    session: str | None,
    window: TimeRange,
    options: ReconstructionOptions,
    *,
    previous: bool,
    as_of: Instant | None,
    project: str | None,
    agent: str | None,
) -> Reconstruction:
    """Reconstruct a session or a span of days; ``Vault.reconstruct`` has the defaults."""
    _check(session, window, options, previous=previous)
    since_us, until_us = window.bounds(memory)
    view = memory.view()
    if as_of is not None:
        moment_us = memory.moment(as_of, "as_of", window.tz)
        view = view.at(moment_us)
    scope: dict[str, Any] = {"project": project, "agent": agent, "since_us": since_us, "until_us": until_us}
    if previous:
        before = previous_session(view, session, project)
        if before is None:
            later = f"session {session!r}" if session is not None else "the present"
            raise SessionNotFound(f"no session came before {later}; `lamina sessions` lists them")
        sessions = [session_of(view, before.info.session, **scope)]
    elif session is not None:
        sessions = [session_of(view, session, **scope)]
    else:
        sessions = list(find_sessions(view, **scope))
    if options.mode == "briefing":
        lines, rows = _briefing(view, sessions, options.token_budget)
    else:
        lines, rows = _timeline(view, list(reversed(sessions)), options.token_budget, options.keep)
    text = "\n".join(lines)
    left_out = sum(session.info.chunks for session in sessions) - len(rows)
    return Reconstruction(
        options.mode, text, count_tokens(text), story_chunks(view, rows), left_out,
        tuple(session.info for session in sessions), since_us, until_us, view.snapshot.version,
    )  # fmt: skip


def _check(session: object, window: TimeRange, options: ReconstructionOptions, *, previous: object) -> None:
    if session is None and window.since is None and window.until is None and window.days is None and not previous:
        raise InvalidArgument("say what to reconstruct: a session, since or until, days, or the previous one")
    text_of(session, "session")
    mode, keep = options.mode, options.keep
    if mode not in MODES:
        raise InvalidArgument(f"mode={mode!r} must be one of {', '.join(MODES)}")
    if keep not in KEEPS:
        raise InvalidArgument(f"keep={keep!r} must be one of {', '.join(KEEPS)}")
    whole_of(options.token_budget, "token_budget", 1, MAX_BUDGET, of=" of tokens")


# ---------------------------------------------------------------------- timeline


class _Entry(Struct, frozen=True):
    session: int
    row: int
    text: str


def _timeline(view: View, sessions: Sequence[SessionRows], budget: int, keep: Keep) -> tuple[list[str], list[int]]:
    """Return the lines of a timeline, and the rows in it: as much of one end as fits."""
    heads = [_heading(session.info) for session in sessions]
    places = [(i, row) for i, session in enumerate(sessions) for row in session.rows.tolist()]
    ordered_places = reversed(places) if keep == "newest" else iter(places)
    kept: list[_Entry] = []
    headed: set[int] = set()
    # a line's tokens rounded up and its newline: never less than what the joined text counts
    left = budget
    for entry in _read(view, ordered_places):
        cost = _cost(entry.text) + (0 if entry.session in headed else _cost(heads[entry.session]))
        if cost > left:
            if not kept:
                kept = _cut_entry(entry, heads, left)
            break
        left -= cost
        headed.add(entry.session)
        kept.append(entry)
    ordered = kept[::-1] if keep == "newest" else kept
    lines: list[str] = []
    for at, entry in enumerate(ordered):
        if at == 0 or ordered[at - 1].session != entry.session:
            lines.append(heads[entry.session])
        lines.append(entry.text)
    return lines, [entry.row for entry in ordered if entry.row >= 0]


def _read(view: View, places: Iterator[tuple[int, int]], batch: int = 64) -> Iterator[_Entry]:
    """Yield rendered chunks, read some at a time, for a budget seldom takes all."""
    while True:
        some = [place for _, place in zip(range(batch), places, strict=False)]
        if not some:
            return
        records = view.snapshot.records("chunks", np.array([row for _, row in some]), _READ)
        for (session, row), record in zip(some, records, strict=True):
            yield _Entry(session, row, _render_chunk(record))


def _cut_entry(entry: _Entry, heads: Sequence[str], left: int) -> list[_Entry]:
    """Return as much of a chunk as fits, where not even the first one does."""
    room = left - _cost(heads[entry.session])
    text = _cut(entry.text, room)
    return [_Entry(entry.session, -1, text)] if text else []


def _render_chunk(record: dict[str, Any]) -> str:
    head = " · ".join(
        part for part in (_moment(record["created_at"]), _plain(record["agent"]), _type_label(record["type"])) if part
    )
    return f"[{head}]\n{_indent(record['text'])}"


def _type_label(type_: str) -> str:
    return "" if type_ == "conversation" else _plain(type_)


# ---------------------------------------------------------------------- briefing


def _briefing(view: View, sessions: Sequence[SessionRows], budget: int) -> tuple[list[str], list[int]]:
    """Return a paragraph for each of the last sessions and the newest chunks, and their rows."""
    parts: list[str] = []
    left = budget
    for session in sessions[:BRIEFED_SESSIONS]:
        text = _cut(_brief(view, session), left)
        if not text:
            break
        parts.append(text)
        left -= _cost(text)
    rows: list[int] = []
    if sessions and left > 0:
        heading = "Last of it:"
        lines, rows = _timeline(view, list(reversed(sessions[:BRIEFED_SESSIONS])), left - _cost(heading), "newest")
        if rows:
            parts += [heading, *lines]
    return parts, rows


def _brief(view: View, session: SessionRows) -> str:
    lines = [_heading(session.info)]
    handed = handoff_rows(view, session.info.session, session.info.project)[:1]
    if len(handed):
        return "\n".join([*lines, _indent(view.snapshot.values("chunks", "text", handed)[0])])
    if session.info.summary is not None:
        lines.append(_indent(session.info.summary))
    else:
        first, last = view.snapshot.values("chunks", "text", session.rows[[0, -1]])
        lines += [f"began: {_excerpt(first)}"]
        if session.info.chunks > 1:
            lines += [f"ended: {_excerpt(last)}"]
    files = _files(view, session.rows)
    if files:
        lines.append(f"files: {', '.join(files)}")
    return "\n".join(lines)


def _files(view: View, rows: I64) -> list[str]:
    """Return the files that most chunks of a session touched; of equals those touched first."""
    counts: Counter[str] = Counter()
    for text in view.snapshot.values("chunks", "metadata", rows):
        if text and '"files"' in text:
            found = read_json(text).get("files")
            counts.update(_plain(str(name)) for name in found if name) if isinstance(found, list) else None
    return [name for name, _ in counts.most_common(_FILES)]


def _excerpt(text: str) -> str:
    flat = _plain(text)
    return flat if len(flat) <= _EXCERPT_CHARS else flat[:_EXCERPT_CHARS].rstrip() + _CUT


# ---------------------------------------------------------------------- lines


def _heading(session: Session) -> str:
    span = _span(session)
    chunks = f"{session.chunks} chunk{'' if session.chunks == 1 else 's'}"
    parts = (f"Session {_plain(session.session)}", _plain(session.project), span, chunks)
    return " · ".join(part for part in parts if part)


def _span(session: Session) -> str:
    start, end = _moment(session.started_at_us), _moment(session.ended_at_us)
    if not start or start == end:
        return start
    return f"{start} to {end.removeprefix(start.partition(' ')[0]).strip()}"


def _moment(us: int | None) -> str:
    """Return a date and a time to the minute, in UTC."""
    if us is None or us == MISSING_US:
        return ""
    minute = us - us % (60 * US_PER_S)
    return str(format_instant(minute)).replace("T", " ").removesuffix(":00Z") + "Z"


def _plain(text: str | None) -> str:
    return " ".join(text.split()) if text else ""


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line.strip() else "" for line in text.rstrip().splitlines())


def _cost(text: str) -> int:
    return count_tokens(text + "\n")


def _cut(text: str, room: int) -> str:
    """Return as much of a text as fits, with a mark where it was cut; empty where nothing does."""
    if _cost(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:  # the longest beginning that fits with its mark
        middle = (low + high + 1) // 2
        if _cost(text[:middle].rstrip() + _CUT) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _CUT if low else ""
