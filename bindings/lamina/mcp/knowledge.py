"""``memory_facts`` and ``memory_status``: what is known exactly, and what the vault holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp.answers import NOTE, Answer, clean_data, counter, day, fill, one_line, short_id
from lamina.mcp.recalling import where_of

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

_TOKENS: Final = 2_000
"""Budget of answers that have no parameter for it."""
_FIELDS: Final = ("subject", "predicate", "object", "score", "method", "source", "valid_from", "valid_to")
_HANDOFFS: Final = ("agent_handoff", "handoff")


def facts(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_facts``."""
    vault, k = access.read(), given["k"]
    moments = {"valid_at": given["valid_at"], "as_of": given["as_of"]}
    if given["entity"]:
        try:
            known = vault.facts.about(given["entity"], **moments)
        except lamina.EntityNotFound:
            return Answer(no_entity(vault, given["entity"]), {"answered": False, "answers": [], "entity": None})
        rows = [fact.to_dict() | {"score": fact.confidence, "method": "entity"} for fact in known]
        entity: str | None = vault.facts.entity(given["entity"]).id
    else:
        answers = vault.facts.ask(given["question"], k, **moments)
        entity = answers.entities[0] if len(answers.entities) == 1 else None
        if not answers.answered:
            data = {"answered": False, "answers": [], "related": len(answers), "entity": entity}
            return Answer(one_line(no_fact(answers), 300), data)
        # of a question for all that is known none is asked for by itself
        asked = [answer for answer in answers if answer.asked] or answers
        rows = [answer.to_dict() for answer in asked]
    found = clean_data([{name: row.get(name) for name in _FIELDS} for row in rows])
    count = counter(vault)
    more = max(0, len(found) - k)

    def advise(left: int) -> str:
        return f"{left + more} more: ask with a larger k, or for one predicate" if left + more else ""

    said, taken = fill(NOTE, [[fact_line(row, vault.tz)] for row in found[:k]], advise, _TOKENS, count)
    return Answer(said, {"answered": bool(found), "answers": found[: len(taken)], "entity": entity})


def kg_ask(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``kg_ask``."""
    return facts(access, {"entity": None, **given})


def fact_line(row: Mapping[str, Any], tz: str) -> str:
    """Return a fact on one line, with its validity and source."""
    since, until = (day(row[name], tz) if row[name] else "" for name in ("valid_from", "valid_to"))
    held = f"  [{since or '…'} to {until or 'now'}]" if since or until else ""
    words = one_line(f"{row['subject']} | {row['predicate']} | {row['object']}", 300)
    return f"{words}{held}  ({one_line(short_id(str(row['source'])), 80)})"


def no_fact(answers: lamina.Answers) -> str:
    """Return a line for a question that no fact answers, with the names that are unknown."""
    about = f"; nothing is known of {', '.join(answers.unknown)}" if answers.unknown else ""
    count, names = len(answers), ", ".join(answers.entities)
    related = (
        f" {count} related fact{'s' * (count > 1)}: ask with entity to see what is known{names and f' of {names}'}."
        if count
        else ""
    )
    return f"No fact answers that{about}.{related} memory_recall searches the texts."


def no_entity(vault: lamina.Vault, name: str) -> str:
    """Return what to say of an unknown name: the names near it."""
    near = vault.facts.resolve(name, prefix=True, edits=True)
    known = ", ".join(f"{entity.name} ({entity.id})" for entity in near.entities[:5])
    hint = f"near that: {known}" if known else "memory_recall searches the texts"
    return one_line(f"No entity is called {name!r}; {hint}.", 400)


def status(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_status``."""
    vault, section, limit = access.read(), given["section"], given["limit"]
    project = access.scope(given["project"])
    lines, data = _SECTIONS[section](vault, project, limit)
    more = max(0, len(lines) - limit)

    def advise(left: int) -> str:
        return f"{left + more} more: ask with a larger limit" if left + more else ""

    items = [[one_line(line, 300)] for line in lines[:limit]]
    said, _ = fill(f"{section}{f' of {project}' if project else ''}", items, advise, _TOKENS, counter(vault))
    return Answer(said, {"section": section} | clean_data(data))


Section = tuple[list[str], dict[str, Any]]


def overview(vault: lamina.Vault, project: str | None, limit: int) -> Section:
    """Return counts, and the newest handoffs."""
    stats = vault.stats()
    names = ("chunks", "sources", "links", "facts", "entities", "topics", "snapshot", "types")
    counts = {name: stats[name] for name in names}  # type: ignore[literal-required]
    handoffs = vault.list(where_of(None, project=project, types=_HANDOFFS), 3)
    lines = [f"{name}: {counts[name]:,}" for name in names[:6]]
    lines.append("types: " + ", ".join(f"{name} {number:,}" for name, number in _largest(stats["types"])))
    lines.append(
        "projects: " + (", ".join(f"{each.project} {each.chunks:,}" for each in vault.projects()[:8]) or "none")
    )
    lines += [f"handoff {short_id(each.id)} of {day(each.to_dict()['created_at'], vault.tz)}" for each in handoffs]
    if not stats["chunks"]:
        lines.append("The vault is empty: memory_add stores a memory, `lamina ingest PATH` reads notes and sessions.")
    return lines, counts | {"path": str(vault.path), "handoffs": [each.id for each in handoffs]}


def _largest(counts: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:8]


def projects(vault: lamina.Vault, project: str | None, limit: int) -> Section:
    """Return projects with the number of their memories and when they began and ended."""
    found = [each for each in vault.projects() if project in (None, each.project)]
    rows = [each.to_dict() for each in found]
    lines = [
        f"{row['project']}: {row['chunks']:,}, {day(row['first_at'], vault.tz)} to {day(row['last_at'], vault.tz)}"
        for row in rows
    ]
    return lines or ["no memory names a project"], {"projects": rows[:limit]}


def sessions(vault: lamina.Vault, project: str | None, limit: int) -> Section:
    """Return sessions, the newest first."""
    rows = vault.sessions(project, limit=limit).to_dicts()
    lines = [
        f"{row['session']}  {day(row['started_at'], vault.tz)}  {row['chunks']} chunks  {row['project'] or ''}".rstrip()
        for row in rows
    ]
    return lines or ["no sessions; `lamina ingest --kind sessions PATH` reads transcripts"], {"sessions": rows}


def topics(vault: lamina.Vault, project: str | None, limit: int) -> Section:
    """Return topics, the largest first."""
    rows = [
        {"id": topic.id, "name": topic.name, "size": topic.size, "words": list(topic.words[:8])}
        for topic in vault.topics()
    ]
    lines = [f"{row['id']}  {row['size']}  {row['name']}" for row in rows]
    return lines or ["no topics yet; `lamina cluster` finds them"], {"topics": rows[:limit]}


def freshness(vault: lamina.Vault, project: str | None, limit: int) -> Section:
    """Return how many memories are in each tier by the last scan, and which are to be reviewed."""
    counts = {
        tier: vault.count(where_of({"freshness": tier}, project=project))
        for tier in ("fresh", "aging", "stale", "expired", "unknown")
    }
    review = vault.list(where_of({"needs_review": True}, project=project), limit)
    lines = [f"{tier}: {number:,}" for tier, number in counts.items()]
    lines += [f"review {short_id(each.id)}  {each.type}  {each.title or each.text}" for each in review]
    if not any(counts.values()):
        lines.append("no scan yet; freshness_report makes one")
    return lines, {"counts": counts, "needs_review": [each.id for each in review]}


_SECTIONS: Final = {
    "overview": overview, "projects": projects, "sessions": sessions, "topics": topics, "freshness": freshness,
}  # fmt: skip
