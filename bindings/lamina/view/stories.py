"""Answers in time: sessions, chains before and after a chunk, and freshness."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import lamina

if TYPE_CHECKING:
    from lamina.view.answers import Document
    from lamina.view.requests import Query
    from lamina_engine.results import Cause, StoryChunk

MEMBERS: Final = 200
"""Chunks of a session or of a topic that the page lists."""
_LINE: Final = 160
"""Characters of a line that stands for a text."""


def answer_sessions(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the newest sessions, and the newest chunks where there are none."""
    limit = query.number("limit", 100, 1_000)
    sessions = vault.sessions(query.project, limit=limit + 1)
    where = None if query.project is None else {"project": query.project}
    newest = vault.list(where, 50) if not sessions else ()
    found = [{**session.to_dict(), "summary": line_of(session.summary or "")} for session in sessions[:limit]]
    return {"sessions": found, "more": len(sessions) > limit, "newest": [_step(chunk) for chunk in newest]}


def answer_session(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return the chunks of a session in order, and what it handed over."""
    found = vault.reconstruct(identity, keep="oldest", token_budget=1_000_000)
    return {
        "session": identity,
        "chunks": [_step(chunk) for chunk in found.chunks[:MEMBERS]],
        "left_out": max(0, len(found.chunks) - MEMBERS),
        "handoff": [_step(chunk) for chunk in vault.sessions.handoff(identity)],
    }


def answer_chain(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return what led to a chunk, or followed from it, by the links of sessions and documents."""
    direction = query.choice("direction", ("backward", "forward"))
    story = vault.chain(seeds=[vault.get(identity).id], direction="forward" if direction == "forward" else "backward")
    steps = story.chunks if story.mode == "chain" else ()
    return {**story.to_dict(), "chunks": [_step(chunk) for chunk in steps]}


def answer_causes(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return causes and effects of a chunk, nearest first."""
    found = vault.causes(identity)
    return {"causes": [{**each.to_dict(), **_step(each)} for each in found]}


def answer_timeline(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return a chunk among those written just before and after it; alone without a date."""
    chunk = vault.get(identity)
    if chunk.created_at is None or chunk.status == "removed":
        return {"before": [], "focus": _step(chunk), "after": []}
    found = vault.timeline(chunk.id, 6, 6)
    return {
        "before": [_step(each) for each in found.before], "focus": _step(found.focus),
        "after": [_step(each) for each in found.after],
    }  # fmt: skip


def answer_freshness(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the verdicts on all chunks, the first of each tier, with the chunks' titles."""
    report = vault.freshness(project=query.project, git_check=not query.flag("no_git"))
    tier, limit = query.text("tier"), query.number("limit", 25, 1_000)
    shown: dict[str, list[Document]] = {name: [] for name in report.counts}
    for item in report.items:
        if len(shown[item.tier]) < (limit if tier in (None, item.tier) else 0):
            shown[item.tier].append(asdict(item))
    chunks = vault.get_many([str(item["id"]) for items in shown.values() for item in items])
    names = {chunk.id: name_chunk(chunk) for chunk in chunks}
    for each in (each for items in shown.values() for each in items):
        each["label"] = names[str(each["id"])]
    return {
        "enabled": report.enabled, "checked": report.checked, "needs_review": report.needs_review, "counts": report.counts,
        "reasons": report.reasons, "problems": list(report.problems), "items": shown,
    }  # fmt: skip


def _step(chunk: lamina.Chunk | StoryChunk | Cause) -> Document:
    """Return a chunk as one line of a list."""
    date = None if chunk.created_at is None else chunk.created_at.isoformat()
    line = line_of(chunk.text)
    if chunk.title:  # which the text may begin with
        line = line.lstrip("# ").removeprefix(chunk.title).lstrip()
    return {
        "id": chunk.id, "label": chunk.title or line, "line": line, "type": chunk.type, "status": chunk.status,
        "session": getattr(chunk, "session", None), "created_at": date,
    }  # fmt: skip


def name_chunk(chunk: lamina.Chunk) -> str:
    """Return the label of a chunk, else its first line."""
    return chunk.label or line_of(chunk.text)


def line_of(text: str) -> str:
    """Return the beginning of a text as one line."""
    line = " ".join(text[:400].split())
    if len(line) <= _LINE:
        return line
    cut = line[: _LINE - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
