"""A chunk as JSON and as text, the same for every command that shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina.cli.terminal import bold, clip, columns, dim, printable, table, width
from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina_engine.results import Chunk

_HEX = frozenset("0123456789abcdef")
_SHORT_DIGITS = 10


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: 1 chunk, 2 chunks."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def short_id(identity: str) -> str:
    """Return an id as it is shown in lists: the first digits of a made one, another as it is."""
    made = len(identity) == 32 and _HEX.issuperset(identity)
    return identity[:_SHORT_DIGITS] if made else printable(identity)


def short_date(instant: str | None) -> str:
    """Return the day of an instant, with the time where it is not midnight; empty for none."""
    if instant is None:
        return ""
    day, _, time = instant.partition("T")
    return day if time in ("", "00:00:00Z") else f"{day} {time[:5]}Z"


def headline(*parts: str | None) -> str:
    """Return what there is of some short texts, on one line."""
    return " · ".join(printable(part) for part in parts if part)


def chunk_line(chunk: Chunk) -> str:
    """Return a chunk as one line of a list."""
    state = None if chunk.status == "active" else chunk.status
    pinned = "pinned" if chunk.pinned else None
    review = "needs review" if chunk.needs_review else None
    asleep = (
        None
        if chunk.snoozed_until_us is None
        else f"snoozed until {short_date(format_instant(chunk.snoozed_until_us))}"
    )
    facts = headline(
        short_date(format_instant(chunk.created_at_us)),
        chunk.type,
        chunk.project,
        state,
        pinned,
        asleep,
        chunk.freshness,
        review,
    )
    id_ = short_id(chunk.id)
    room = columns() - width(f"{id_}  {facts}  ")
    return f"{bold(id_)}  {dim(facts)}  {clip(printable(chunk.title or chunk.text[:400]), max(20, room))}"


def chunk_lines(chunk: Chunk) -> list[str]:
    """Return a chunk in full."""
    document = chunk.to_dict()
    names = ("type", "collection", "project", "session", "agent", "source", "created_at", "recorded_at", "commit")
    rows = [(name, printable(str(document[name]))) for name in names if document[name] is not None]
    rows.insert(0, ("id", printable(chunk.id)))
    rows.append(("headings", printable(" › ".join(chunk.headings))))
    rows.append(("tags", printable(", ".join(chunk.tags))))
    rows.append(("status", chunk.status + (", pinned" if chunk.pinned else "")))
    rows.append(("freshness", headline(chunk.freshness, "needs review" if chunk.needs_review else None)))
    rows.append(("snoozed until", format_instant(chunk.snoozed_until_us) or ""))
    if chunk.success is not None:
        rows.append(("success", "yes" if chunk.success else "no"))
    rows += [(printable(str(key)), printable(_shown(value))) for key, value in chunk.metadata.items()]
    title = [bold(printable(chunk.title))] if chunk.title else []
    return [*title, *table(rows), "", printable(chunk.text.rstrip("\n"), lines=True)]


def _shown(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
