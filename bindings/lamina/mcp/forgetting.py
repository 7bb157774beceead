"""Erasing for good, in two calls: the second needs the word that the first gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp.answers import NOTE, Answer, counter, fill, fitted, headline
from lamina.mcp.calls import failure
from lamina.mcp.recalling import find_chunk, where_of

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

_TOKENS: Final = 2_000
_MOST_LIKE: Final = 1_000


def memory_forget(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_forget``."""
    vault = access.read()
    if given["ids"]:
        ids = [find_chunk(vault, each).id for each in given["ids"]]
    else:
        ids = [chunk.id for chunk in vault.list(given["where"], None)]
    return _forget(access, vault, ids, {"ids": given["ids"], "where": given["where"]}, given["confirm"])


def forget(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``forget``: of one project, by date, session and likeness."""
    vault = access.read()
    created = {name: given[key] for name, key in (("lt", "before"), ("gte", "after")) if given[key]}
    where = where_of(
        {"created_at": created} if created else None, project=given["project"], session=given["session_id"]
    )
    if given["query"]:
        hits = vault.recall(given["query"], _MOST_LIKE, profile="lexical", lanes=["vector"], where=where, syntax=False)
        ids = [hit.id for hit in hits if (hit.terms.get("cosine") or -1.0) >= given["threshold"]]
    else:
        ids = [chunk.id for chunk in vault.list(where, None)]
    names = ("project", "before", "after", "session_id", "query", "threshold")
    word = given["confirm"] if not given["dry_run"] else None
    if not given["dry_run"] and not word:
        return failure(
            "forget: erasing needs confirm, the word that the dry run gives", "call it with dry_run=true first"
        )
    return _forget(access, vault, ids, {name: given[name] for name in names}, word)


def _memories(count: int) -> str:
    return f"{count:,} memor{'y' if count == 1 else 'ies'}"


def _forget(
    access: VaultAccess, vault: lamina.Vault, ids: Sequence[str], what: Mapping[str, Any], word: str | None
) -> Answer:
    if not ids:
        return Answer("Nothing to forget: no memory fits.", {"chunks": 0, "ids": [], "dry_run": True})
    key = json.dumps([what, sorted(ids), vault.version], sort_keys=True, default=str)
    if word and access.confirmations.take(word, key):
        with access.write() as writer:
            report = writer.forget(ids=list(ids), dry_run=False)
        access.drop_reader()
        text = f"{_memories(report.chunks)} erased, with links and facts."
        return Answer(text, {"chunks": report.chunks, "ids": list(report.ids), "dry_run": False})
    shown = vault.get_many(list(ids[:50]))
    count = counter(vault)
    lines = [
        [
            fitted(
                headline(vault.tz, chunk.id, chunk.to_dict()["created_at"], chunk.type, chunk.title, chunk.text[:160]),
                count,
            )
        ]
        for chunk in shown
    ]
    fresh = access.confirmations.make(key)
    refused = (
        "That word is not valid for this: it was for another filter, another version, or too old.\n" if word else ""
    )
    head = f"{NOTE}\n{refused}{_memories(len(ids))} would be erased for good:"

    def advise(left: int) -> str:
        more = f"and {left + len(ids) - len(shown):,} more; " if left or len(ids) > len(shown) else ""
        return f"{more}nothing was erased; to erase them, call again with confirm={fresh} within five minutes"

    said, _ = fill(head, lines, advise, _TOKENS, count)
    data = {"chunks": len(ids), "ids": list(ids[:200]), "dry_run": True, "confirm": fresh}
    return Answer(said, data, failed=bool(word))
