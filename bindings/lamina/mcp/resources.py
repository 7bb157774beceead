"""Resources as text: the vault at a glance; chunks, sessions, topics and entities by URI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import lamina
from lamina.mcp import knowledge, recalling
from lamina.mcp.answers import NOTE, counter, fill, fitted, headline, indented, one_line
from lamina.mcp.causal import kg_query

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

OVERVIEW: Final = "lamina://overview"
TEMPLATES: Final = {
    "chunk": ("lamina://chunk/{id}", "One memory with its links, by id."),
    "session": ("lamina://session/{id}", "A session of an agent, in order."),
    "topic": ("lamina://topic/{id}", "A topic and its surest memories."),
    "entity": ("lamina://entity/{name}", "All facts of a person, project or thing."),
}
"""By kind: the template of its URIs, and a description."""
_OVERVIEW_TOKENS: Final = 500
_TOKENS: Final = 8_000
_MEMBERS: Final = 200


def read_resource(access: VaultAccess, uri: str) -> str:
    """Return the text of a resource."""
    parts = urlsplit(uri)
    kind, name = parts.netloc, unquote(parts.path.removeprefix("/"))
    if parts.scheme == "lamina" and kind == "overview" and not name:
        return _overview(access)
    if parts.scheme != "lamina" or kind not in _READERS or not name:
        raise UnknownResource(uri)
    return _READERS[kind](access, name)


class UnknownResource(KeyError):
    """A URI that leads to nothing."""


def _overview(access: VaultAccess) -> str:
    vault = access.read()
    lines, _ = knowledge.overview(vault, access.project, 20)
    items = [[one_line(line, 300)] for line in lines]
    return fill("overview", items, _nothing_more, _OVERVIEW_TOKENS, counter(vault))[0]


def _nothing_more(left: int) -> str:
    return f"{left} more" if left else ""


def _chunk(access: VaultAccess, name: str) -> str:
    recalling.find_chunk(access.read(), name)  # one that is missing is an error here, and no answer
    return recalling.get(access, {"ids": [name], "history": True, "max_tokens": _TOKENS}).text


def _session(access: VaultAccess, name: str) -> str:
    vault = access.read()
    text = vault.reconstruct(name, keep="oldest", token_budget=_TOKENS).text
    items = [[indented(part)] for part in text.split("\n\n") if part.strip()]
    return fill(NOTE, items, _nothing_more, _TOKENS, counter(vault))[0]


def _topic(access: VaultAccess, name: str) -> str:
    vault = access.read()
    found = vault.topic(name)
    count = counter(vault)
    members = vault.get_many([member.chunk for member in found.members[:_MEMBERS]])
    items = [
        [
            fitted(
                headline(
                    vault.tz,
                    chunk.id,
                    chunk.to_dict()["created_at"],
                    chunk.type,
                    chunk.title,
                    one_line(chunk.text, 160),
                ),
                count,
            )
        ]
        for chunk in members
    ]
    head = f"{NOTE}\ntopic {one_line(found.topic.name, 80)}, {found.topic.size:,} memories"
    return fill(head, items, _nothing_more, _TOKENS, count)[0]


def _entity(access: VaultAccess, name: str) -> str:
    access.read().facts.entity(name)
    return kg_query(access, {"entity": name, "as_of": None, "direction": "both"}).text


_READERS: Final[Mapping[str, Callable[[VaultAccess, str], str]]] = {
    "chunk": _chunk, "session": _session, "topic": _topic, "entity": _entity,
}  # fmt: skip

MISSING: Final = (
    lamina.ChunkNotFound,
    lamina.AmbiguousId,
    lamina.EntityNotFound,
    lamina.AmbiguousEntity,
    UnknownResource,
)
"""Errors that mean: there is no such resource."""
