"""``memory_add`` and ``memory_update``: durable when they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp.answers import Answer, clean, one_line, short_id
from lamina.mcp.parameters import WrongArguments
from lamina.mcp.recalling import find_chunk

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

MOST_CHARACTERS: Final = 20_000
_FACT_PARTS: Final = 3


def add(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_add``."""
    text = given["text"]
    if len(text) > MOST_CHARACTERS:
        raise WrongArguments(
            f"memory_add: text has {len(text):,} characters; allowed are {MOST_CHARACTERS:,}: store a summary, or several "
            "memories, or let `lamina ingest` read the file"
        )
    if not text.strip():
        raise WrongArguments("memory_add: text is blank; give one statement that stands on its own")
    triples = [_triple(line) for line in given["facts"] or ()]
    fields = {name: given[name] for name in ("type", "title", "tags") if given[name]}
    project = access.scope(given["project"])
    if project:
        fields["project"] = project
    with access.write() as vault:
        old = find_chunk(vault, given["supersedes"]) if given["supersedes"] else None
        before = vault.version
        identity = vault.add(text, **fields)[0]
        stored = vault.version != before
        kept = vault.get(identity)
        if old is not None and old.id != identity and old.status == "active":
            vault.invalidate(old.id, f"superseded by {identity}")
        facts = [vault.facts.add(*triple, source=identity) for triple in triples]
    said = [
        f"Stored as {short_id(identity)}." if stored else f"Known already as {short_id(identity)}; nothing was stored."
    ]
    data: dict[str, Any] = {"id": identity, "stored": stored}
    if not stored:
        data["duplicate_of"] = identity
    if old is not None:
        data["superseded"] = old.id
        said.append(f"{short_id(old.id)} is marked as superseded.")
    if kept.text != text and "[redacted:" in kept.text:
        data["masked"] = True
        said.append("A secret in it was masked; secrets are never stored.")
    data["facts"] = len(facts)
    if facts:
        said.append(f"{len(facts)} fact{'s' if len(facts) > 1 else ''} stored.")
    return Answer(" ".join(said), data)


def _triple(line: str) -> tuple[str, str, str]:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != _FACT_PARTS or not all(parts):
        raise WrongArguments(
            f"memory_add: facts has {one_line(line, 80)!r}; allowed are lines 'subject | predicate | object', such as "
            "'Keystone | port | 3055'"
        )
    return parts[0], parts[1], parts[2]


def update(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_update``."""
    action, reason, until = given["action"], given["reason"] or "", given["until"]
    if action == "snooze" and not until:
        raise WrongArguments("memory_update: until is missing: give the ISO date on which snoozed memories come back")
    if action == "invalidate" and not reason:
        raise WrongArguments("memory_update: reason is missing: say what made them wrong")
    changed, unchanged, missing = list[str](), list[str](), list[str]()
    with access.write() as vault:
        for wanted in given["ids"]:
            try:
                chunk = find_chunk(vault, wanted)
            except (lamina.ChunkNotFound, lamina.AmbiguousId):
                missing.append(clean(wanted))
                continue
            if _DONE[action](chunk):
                unchanged.append(chunk.id)
                continue
            _ACTIONS[action](vault, chunk.id, reason, until)
            changed.append(chunk.id)
    parts = [f"{action}: {_listed(changed)}." if changed else f"{action}: nothing changed."]
    parts += [f"So already: {_listed(unchanged)}."] if unchanged else []
    parts += [one_line(f"Not found, or not unambiguous: {', '.join(missing)}.", 300)] if missing else []
    return Answer(" ".join(parts), {"changed": changed, "unchanged": unchanged, "missing": missing})


def invalidate(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_invalidate``."""
    return update(access, {"ids": [given["id"]], "action": "invalidate", "reason": given["reason"], "until": None})


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(short_id, ids))


_DONE: Final[Mapping[str, Callable[[lamina.Chunk], bool]]] = {
    "invalidate": lambda chunk: chunk.status == "invalidated",
    "restore": lambda chunk: chunk.status == "active",
    "pin": lambda chunk: chunk.pinned,
    "unpin": lambda chunk: not chunk.pinned,
    "snooze": lambda chunk: False,
    "review": lambda chunk: chunk.needs_review,
}
_ACTIONS: Final[Mapping[str, Callable[[lamina.Vault, str, str, str], object]]] = {
    "invalidate": lambda vault, id, reason, until: vault.invalidate(id, reason),
    "restore": lambda vault, id, reason, until: vault.restore(id, reason or None),
    "pin": lambda vault, id, reason, until: vault.pin(id),
    "unpin": lambda vault, id, reason, until: vault.pin(id, pinned=False),
    "snooze": lambda vault, id, reason, until: vault.snooze(id, until),
    "review": lambda vault, id, reason, until: vault.review(id, reason),
}
