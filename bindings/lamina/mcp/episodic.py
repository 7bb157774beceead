"""Tools by Causantic's names: search, stories, projects, sessions, reconstruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp import knowledge
from lamina.mcp.answers import NOTE, Answer, clean, clean_data, counter, fill, headline, indented, one_line
from lamina.mcp.calls import failure
from lamina.mcp.recalling import find_chunk, hit_row, where_of

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

_TOKENS: Final = 2_000
_SEARCHED: Final = 10
_ALL_DAYS: Final = 36_525.0


def search(access: VaultAccess, given: Mapping[str, Any], reason: str | None = None) -> Answer:
    """Answer ``search``: whole texts, best first."""
    vault = access.read()
    where = where_of(None, project=access.scope(given["project"]), agent=given["agent"])
    hits = vault.recall(given["query"], _SEARCHED, profile="episodic", where=where)
    rows = [hit_row(hit, "") | {"text": clean(hit.text)} for hit in hits]
    head = f"{NOTE}\n[{one_line(reason, 200)}; this is a search]" if reason else NOTE
    return _texts(vault, head, rows, given["max_tokens"], {"mode": "search", "reason": reason})


def recall(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``recall``: the story that led to something, else a search and its reason."""
    return _story(access, given, given["query"], "backward")


def predict(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``predict``: what followed in a situation like this."""
    return _story(access, given, given["context"], "forward")


def chain(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``chain``."""
    seeds = [find_chunk(access.read(), given["id"]).id] if given["id"] else None
    return _story(access, {"project": None, **given}, given["query"], given["direction"], seeds)


def _story(
    access: VaultAccess, given: Mapping[str, Any], query: str | None, direction: Any, seeds: list[str] | None = None
) -> Answer:
    vault = access.read()
    where = where_of(None, project=access.scope(given["project"]))
    found = vault.chain(
        query, direction, given["max_tokens"], seeds=seeds, agent=given["agent"], where=None if seeds else where
    )
    if found.mode != "chain" and query:
        return search(access, {**given, "query": query}, found.reason)
    rows = []
    for chunk in found.chunks:
        shown = chunk.to_dict()
        names = ("id", "title", "type", "project", "session", "text")
        rows.append(clean_data({name: shown[name] for name in names} | {"date": shown["created_at"]}))
    head = f"{NOTE}\n" + (
        f"Potentially relevant context ({len(rows)} items)"
        if direction == "forward"
        else f"the story, {len(rows)} parts"
    )
    return _texts(vault, head, rows, given["max_tokens"], {"mode": found.mode, "reason": found.reason})


def _texts(vault: lamina.Vault, head: str, rows: list[dict[str, Any]], limit: int, data: dict[str, Any]) -> Answer:
    """Return whole texts within a budget."""
    items = []
    for row in rows:
        line = headline(vault.tz, row["id"], row["date"], row["type"], row["title"])
        items.append([f"{line}\n{indented(row['text'])}", f"{line}\n{indented(one_line(row['text'], 400))}"])

    def advise(left: int) -> str:
        if not rows:
            return "Nothing found; list-projects and memory_status say what there is."
        return f"{left} more: ask with a larger max_tokens" if left else ""

    said, taken = fill(head, items, advise, limit, counter(vault))
    for row, form in zip(rows, taken, strict=False):
        if form:
            row |= {"text": one_line(row["text"], 400), "cut": True}
    return Answer(said, {"items": rows[: len(taken)], "more": len(rows) - len(taken)} | clean_data(data))


def list_projects(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``list-projects``."""
    return knowledge.status(access, {"section": "projects", "project": None, "limit": 200})


def list_sessions(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``list-sessions``."""
    vault = access.read()
    found = vault.sessions(
        given["project"], since=given["from"], until=given["to"], days=given["days_back"], limit=given["limit"]
    )
    rows = clean_data(found.to_dicts())
    lines = [
        [one_line(f"{row['session']}  {row['started_at']} to {row['ended_at']}  {row['chunks']} chunks", 200)]
        for row in rows
    ]

    def advise(left: int) -> str:
        return (
            f"{left} more: ask with a smaller limit" if left else "" if rows else "No session in that project and time."
        )

    said, taken = fill(f"sessions of {one_line(given['project'], 80)}", lines, advise, _TOKENS, counter(vault))
    return Answer(said, {"sessions": rows[: len(taken)]})


def reconstruct(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``reconstruct``; with a project alone the newest that fits."""
    vault = access.read()
    session = given["current_session_id"] if given["previous_session"] else given["session_id"]
    bounded = session or given["from"] or given["to"] or given["days_back"] or given["previous_session"]
    try:
        found = vault.reconstruct(
            session, since=given["from"], until=given["to"], days=given["days_back"] if bounded else _ALL_DAYS,
            previous=bool(given["previous_session"]), project=given["project"], agent=given["agent"], mode=given["mode"],
            keep="newest" if given["keep_newest"] else "oldest", token_budget=given["max_tokens"],
        )  # fmt: skip
    except lamina.SessionNotFound as error:
        return Answer(one_line(f"Nothing to reconstruct: {error}", 300), {"sessions": [], "ids": [], "left_out": 0})
    count, limit = counter(vault), given["max_tokens"]
    paragraphs = [[indented(part)] for part in found.text.split("\n\n") if part.strip()]

    def advise(left: int) -> str:
        over = left + found.left_out
        if not paragraphs:
            return "Nothing in that project and time; list-projects and list-sessions say what there is."
        return f"{over} parts left out: ask with a larger max_tokens" if over else ""

    if not given["keep_newest"]:
        said, taken = fill(NOTE, paragraphs, advise, limit, count)
    else:  # the newest end stays: fill from there, and turn it round
        said, taken = fill(NOTE, paragraphs[::-1], advise, limit, count)
        kept = paragraphs[len(paragraphs) - len(taken) :]
        last = [advise(len(paragraphs) - len(taken))] if advise(len(paragraphs) - len(taken)) else []
        said = "\n".join([NOTE, *(part[0] for part in kept), *last]) if taken else said
    data = {
        "sessions": [session.session for session in found.sessions], "ids": [chunk.id for chunk in found.chunks],
        "left_out": found.left_out + len(paragraphs) - len(taken),
    }  # fmt: skip
    return Answer(said, clean_data(data))


def hook_status(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``hook-status``: the last lines of the capture's log."""
    from lamina.hooks.capture import LOG, read_log

    runs = clean_data(read_log(str(access.read().path))[-_SEARCHED:])
    lines = [" ".join(f"{name}={value}" for name, value in run.items() if value is not None) for run in runs]
    text = "\n".join(lines) or f"No capture has run yet (no {LOG}); `lamina doctor` checks the hooks."
    return Answer(text, {"runs": runs})


def topics(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``topics``."""
    return knowledge.status(access, {"section": "topics", "project": None, "limit": given["limit"]})


def stats(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``stats``."""
    return knowledge.status(access, {"section": "overview", "project": None, "limit": 50})


def repomap(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``repomap``: it maps code."""
    return failure(
        "repomap maps code, and Lamina keeps memory", "use the editor's own search, or memory_recall for what is known"
    )
