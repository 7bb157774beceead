"""Answers of the viewer: each of a vault and a request, as a JSON document or bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import lamina
from lamina.view.points import answer_ids, answer_points
from lamina.view.stories import (
    MEMBERS,
    answer_causes,
    answer_chain,
    answer_freshness,
    answer_session,
    answer_sessions,
    answer_timeline,
    line_of,
    name_chunk,
)

if TYPE_CHECKING:
    from lamina.view.requests import Query

    Document = dict[str, object]

LONGEST_TEXT: Final = 100_000
"""Characters of a chunk's text that the page gets; the page says what it left out."""
_EXCERPT: Final = 220
PROFILES: Final = ("default", "lexical", "temporal", "task", "causal", "episodic", "entity")


class Route(NamedTuple):
    """One path of the API, and its parameters beside ``as_of``, at which the vault stands."""

    answer: Callable[[lamina.Vault, Query, str], Document | bytes]
    parameters: frozenset[str]


def answer_overview(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return counts, sizes, projects, and the names that filters offer."""
    stats = vault.stats()
    return {
        "name": _vault_name(vault),
        "path": str(vault.path.resolve()),
        "tz": vault.tz,
        "now": vault.now.isoformat(),
        "snapshot": vault.version,
        "lamina": lamina.__version__,
        "profiles": list(PROFILES),
        "project": query.project,
        "as_of": query.as_of,
        "projects": vault.projects().to_dicts(),
        "stats": stats,
    }


def answer_version(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the newest snapshot's number."""
    return {"snapshot": vault.version}


def answer_recall(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the hits of a question with the terms of their scores, as an agent gets them."""
    question = query.required("q")
    k = query.number("k", 10, 50)
    hits = vault.recall(
        question, k, profile=query.text("profile"), where=query.filter(), as_of=query.as_of,
        since=query.text("since"), until=query.text("until"),
    )  # fmt: skip
    found = []
    for hit in hits:
        snippet = hits.snippet(hit, _EXCERPT)
        found.append({**hit.to_dict(), "text": None, "label": hit.label, "snippet": snippet.to_dict()})
    return {
        "query": question, "profile": hits.profile, "snapshot": hits.snapshot, "as_of": hits.as_of,
        "took_ms": hits.took_ms, "hits": found, "explain": {name: value for name, value in hits.explain().items() if name != "hits"},
    }  # fmt: skip


def answer_why_not(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return why a chunk is no hit of a question, and what would bring it in."""
    found = vault.why_not(
        query.required("q"), query.required("id"), k=query.number("k", 10, 50), profile=query.text("profile"),
        where=query.filter(), as_of=query.as_of,
    )  # fmt: skip
    return {**found.to_dict()}


def answer_diff(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return what changed in the hits of a question since a moment, or in the vault, as text."""
    question, since, where = query.text("q"), query.required("since"), query.filter()
    if question is None:
        found = vault.diff(since=since, where=where)
    else:
        found = vault.diff(
            question, since=since, k=query.number("k", 10, 50), profile=query.text("profile"), where=where
        )
    return {"text": found.text, "left_out": found.left_out}


def answer_context(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return what an agent would be told for a prompt in a new session."""
    prompt = query.required("prompt")
    return {"prompt": prompt, **vault.inject(prompt, None, project=query.project).to_dict()}


def answer_chunk(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return a chunk with its links, history and nearest chunks."""
    chunk = vault.get(identity)
    text = chunk.text
    near: Sequence[lamina.Neighbor] = ()
    if chunk.status == "active":
        with suppress(lamina.InvalidArgument):  # a chunk without a vector is similar to nothing
            near = vault.similar(chunk.id, 6)
    links = vault.links(chunk.id)
    ends = vault.get_many([link.target if link.source == chunk.id else link.source for link in links[:40]])
    return {
        **chunk.to_dict(),
        "label": chunk.label,
        "text": text[:LONGEST_TEXT],
        "text_left_out": max(0, len(text) - LONGEST_TEXT),
        "links": [
            {**link.to_dict(), "outward": link.source == chunk.id, "other": end.id, "label": name_chunk(end)}
            for link, end in zip(links[:40], ends, strict=True)
        ],
        "links_left_out": max(0, len(links) - 40),
        "history": [
            {"kind": event.kind, "recorded_at": event.recorded_at.isoformat(), "reason": event.reason}
            for event in vault.history(chunk.id)
        ],
        "similar": [
            {"id": each.id, "score": each.score, "label": each.title or line_of(each.text), "type": each.type}
            for each in near
        ],
    }


def answer_facts(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return entities and contradictions; with ``entity``, what is true of it, or ever was."""
    name = query.text("entity")
    if name is None:
        return {
            "entities": vault.facts.entities().to_dicts(),
            "contradictions": vault.facts.contradictions().to_dicts(),
        }
    found = vault.facts.about(name, query.text("valid_at"), history=query.flag("history"))
    return {"entity": vault.facts.entity(name).to_dict(), "facts": found.to_dicts()}


def answer_graph(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return entities and what relates them, or chunks and the links between them."""
    center, hops, limit = query.text("center"), query.number("hops", 2, 4), query.number("limit", 2_000, 20_000)
    if query.choice("of", ("facts", "links")) == "links":
        return vault.links.graph(center, hops, limit)
    history = query.flag("history")
    graph = vault.facts.graph(center, hops, limit, valid_at=query.text("valid_at"), history=history)
    return {**graph, "now": vault.now.isoformat()}


def answer_topics(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the topics, largest first."""
    return {"topics": vault.topics().to_dicts()}


def answer_topic(vault: lamina.Vault, query: Query, identity: str) -> Document:
    """Return a topic and its surest members."""
    found = vault.topic(identity)
    chunks = vault.get_many([each.chunk for each in found.members[:MEMBERS]])
    return {
        "topic": found.topic.to_dict(),
        "members": [
            {"id": chunk.id, "label": name_chunk(chunk), "probability": member.probability, "source": chunk.source}
            for member, chunk in zip(found.members, chunks, strict=False)
        ],
        "left_out": len(found.members) - len(chunks),
    }


def answer_verify(vault: lamina.Vault, query: Query, _: str) -> Document:
    """Return the outcome of a check of every file."""
    report = vault.verify()
    problems = [f"{each.where}: {each.message}; {each.advice}" for each in report.problems]
    return {"ok": report.ok, "checked": dict(report.checked), "problems": problems}


ROUTES: Final[dict[str, Route]] = {
    "/api/overview": Route(answer_overview, frozenset({"project"})),
    "/api/version": Route(answer_version, frozenset()),
    "/api/recall": Route(
        answer_recall, frozenset({"q", "k", "profile", "project", "type", "collection", "session", "since", "until"})
    ),
    "/api/why-not": Route(answer_why_not, frozenset({"q", "id", "k", "profile", "project", "type"})),
    "/api/diff": Route(answer_diff, frozenset({"q", "since", "k", "profile", "project", "type"})),
    "/api/context": Route(answer_context, frozenset({"prompt", "project"})),
    "/api/points": Route(answer_points, frozenset({"project"})),
    "/api/ids": Route(answer_ids, frozenset({"project", "from", "n", "at", "snapshot"})),
    "/api/facts": Route(answer_facts, frozenset({"entity", "valid_at", "history"})),
    "/api/graph": Route(answer_graph, frozenset({"of", "center", "hops", "limit", "valid_at", "history"})),
    "/api/sessions": Route(answer_sessions, frozenset({"project", "limit"})),
    "/api/session/": Route(answer_session, frozenset()),
    "/api/chain/": Route(answer_chain, frozenset({"direction"})),
    "/api/causes/": Route(answer_causes, frozenset()),
    "/api/timeline/": Route(answer_timeline, frozenset()),
    "/api/freshness": Route(answer_freshness, frozenset({"project", "tier", "limit", "no_git"})),
    "/api/topics": Route(answer_topics, frozenset()),
    "/api/topic/": Route(answer_topic, frozenset()),
    "/api/verify": Route(answer_verify, frozenset()),
    "/api/chunk/": Route(answer_chunk, frozenset()),
}
"""By path; one that ends in a slash is followed by an id."""


def _vault_name(vault: lamina.Vault) -> str:
    folder = vault.path.resolve()
    return folder.parent.name if folder.name == ".lamina" else folder.name
