"""History of a project: what was done in a time, what is open, where the work was left off.

A session is told by its handoff, else by what was said last. Of what is open an older point is told with the day on which
a later session spoke of it again, as it may be done since.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.chunks.handoffs import HANDOFFS
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import MISSING_US
from lamina_engine.context.leftovers import find_open_points
from lamina_engine.context.memories import day_text, item_of_chunk, shorten_item, types_ending
from lamina_engine.context.retrospect import asks_for_decisions, asks_for_last, asks_for_open, may_ask_for_time
from lamina_engine.context.tokens import count_tokens
from lamina_engine.recall.pipeline import list_chunks, recall_rows
from lamina_engine.recall.request import make_request
from lamina_engine.recall.sessions import find_sessions
from lamina_engine.recall.time_window import find_window

if TYPE_CHECKING:
    from lamina_engine.context.rendering import Item
    from lamina_engine.context.scope import Scope
    from lamina_engine.memory import Memory
    from lamina_engine.recall.time_window import TimeWindow
    from lamina_engine.results import Chunk

_SESSIONS: Final = 8
"""Sessions of a time that are told, the newest of more."""
_OPEN_SESSIONS: Final = 4
"""Sessions whose open points are told."""
_DECISIONS: Final = 12
_LASTING: Final = ("decision", "insight")
"""Last words of the types of what was decided and found."""
_NOTES: Final = 5
"""Memories of a time without sessions and decisions."""
_LEAST: Final = 120
_LONGEST: Final = 700
"""Tokens of one session, the fewer the more there are; see `_share_tokens`."""


class _Entry(Struct, frozen=True):
    """A session or a handoff of its own."""

    at_us: int
    chunk: Chunk
    is_handoff: bool


def history_items(
    memory: Memory, prompt: str, session: str | None, scope: Scope, now_us: int, budget: int
) -> list[Item]:
    """Return what a question about the work itself is told; none for other prompts."""
    if asks_for_open(prompt):
        return _open_items(_entries(memory, session, scope, now_us), now_us, memory.config.tz, budget)
    if asks_for_last(prompt):
        return _share_tokens(
            [_item(each, now_us, memory.config.tz) for each in _entries(memory, session, scope, now_us)[:1]], budget
        )
    if may_ask_for_time(prompt) and (window := _find_time(memory, prompt, now_us)) is not None:
        return _items_of_time(memory, prompt, window, session, scope, now_us, budget)
    return []


def _find_time(memory: Memory, prompt: str, now_us: int) -> TimeWindow | None:
    """Return the time of a question that names nothing else."""
    profile = memory.profiles.get("default")
    request = make_request(prompt, profile, now_us=memory.clock.now_us(), now=now_us / 1e6, tz=memory.config.tz)
    window = find_window(memory.view(), request)
    return window if window is not None and window.alone and window.start_us < now_us else None


def _items_of_time(
    memory: Memory, prompt: str, window: TimeWindow, session: str | None, scope: Scope, now_us: int, budget: int
) -> list[Item]:
    entries = _entries(memory, session, scope, now_us, window)[:_SESSIONS]
    told = "\n".join(each.chunk.text for each in entries if each.is_handoff)
    since = {"created_at": {"gte": window.start_us / 1e6, "lt": window.end_us / 1e6}}
    where = scope.filter({"type": {"in": types_ending(memory, _LASTING)}, **since})
    decisions = [
        item_of_chunk(chunk, "history", now_us, memory.config.tz)
        for chunk in list_chunks(memory, where, _DECISIONS, now_us=now_us)
        if not chunk.title or chunk.title.rstrip(" …") not in told
    ]
    done = [_item(each, now_us, memory.config.tz) for each in entries]
    found = [*decisions, *done] if asks_for_decisions(prompt) else [*done, *decisions]
    if not found:
        mine = scope.filter({})
        options: dict[str, Any] = {"where": mine} if mine else {}
        rows = recall_rows(memory, prompt, profile="default", k=_NOTES, now=now_us / 1e6, **options).rows
        found = [
            item_of_chunk(chunk, "history", now_us, memory.config.tz)
            for chunk in chunks_at(memory.view(), rows[rows >= 0])
        ]
    return _share_tokens(found, budget)


def _open_items(entries: list[_Entry], now_us: int, tz: str, budget: int) -> list[Item]:
    found: list[Item] = []
    known: set[str] = set()
    for place, each in enumerate(entries):
        if len(found) >= _OPEN_SESSIONS:
            break
        points = list(_points_of(each))
        new = [point for point in points if point.lower() not in known]
        known.update(point.lower() for point in points)
        item = _item(each, now_us, tz)
        if points and not new:
            continue
        if not points:
            if place == 0 and not each.is_handoff:
                found.append(item)  # the last session may say in other words what it left
            elif each.is_handoff and "## " not in each.chunk.text:
                found.append(item)  # a person wrote it
            continue
        lines = "\n".join(f"- {point}{_spoken_of_again(point, entries[:place], tz)}" for point in new)
        head = each.chunk.text.partition("\n")[0] if each.is_handoff else ""
        found.append(replace(item, text=f"{head}\nLeft open on {item.date}:\n{lines}".strip()))
    return _share_tokens(found, budget)


def _points_of(entry: _Entry) -> list[str]:
    """Return the open points of a session."""
    from lamina_engine.sessions.cues import open_points  # few prompts ask for them, and every one would wait

    if entry.is_handoff:
        return list(find_open_points(entry.chunk.text))
    return list(dict.fromkeys(point for point in open_points(entry.chunk.text) if not point.endswith(":")))


def _spoken_of_again(point: str, later: list[_Entry], tz: str) -> str:
    """Return a remark for a point of which a later session spoke."""
    from lamina_engine.sessions.closures import Talk

    for each in reversed(later):  # the next one first
        if Talk([each.chunk.text]).speaks_of(point):
            return f" (spoken of again on {day_text(each.at_us, tz)})"
    return ""


def _entries(
    memory: Memory, session: str | None, scope: Scope, now_us: int, window: TimeWindow | None = None
) -> list[_Entry]:
    """Return the last sessions, newest first, but for the one that asks.

    A handoff without a session is one of its own.
    """
    since, until = (None, now_us + 1) if window is None else (window.start_us, min(window.end_us, now_us + 1))
    bounds = {"lt": until / 1e6} if since is None else {"gte": since / 1e6, "lt": until / 1e6}
    where = scope.filter({"type": {"in": list(HANDOFFS)}, "created_at": bounds})
    handoffs = list_chunks(memory, where, 2 * _SESSIONS, now_us=now_us)
    found = {chunk.session or chunk.id: _Entry(_moment(chunk), chunk, True) for chunk in reversed(handoffs)}
    sessions = find_sessions(memory.view(), project=scope.project, since_us=since, until_us=until)
    for each in islice(sessions, 2 * _SESSIONS):
        if each.info.session not in found:
            chunk = chunks_at(memory.view(), each.rows[-1:])[0]
            found[each.info.session] = _Entry(_moment(chunk), chunk, False)
    found.pop(session or "", None)
    return sorted(found.values(), key=lambda each: (-each.at_us, each.chunk.id))


def _moment(chunk: Chunk) -> int:
    return chunk.created_at_us if chunk.created_at_us is not None else MISSING_US


def _item(entry: _Entry, now_us: int, tz: str) -> Item:
    return item_of_chunk(entry.chunk, "history", now_us, tz)


def _share_tokens(items: list[Item], budget: int) -> list[Item]:
    """Return items that are cut to their share of a budget."""
    most = min(max(budget // (len(items) + 1), _LEAST), _LONGEST)
    found = (shorten_item(item, lambda each: count_tokens(each.text) <= most) for item in items)
    return [item for item in found if item is not None]
