"""Tools by the AI Memory Module's names: freshness, refresh, context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from lamina.mcp.answers import NOTE, Answer, clean_data, counter, fill, one_line, short_id

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

_TOKENS: Final = 2_000
_REFRESH_TOKENS: Final = 6_000
_LISTED: Final = 50


def freshness_report(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``freshness_report``."""
    with access.write() as vault:
        report = vault.freshness(
            collection=given["collection"], tier=given["tier"], git_check=given["git_check"], project=access.project
        )
        count = counter(vault)
    listed = [item for item in report.items if given["tier"] or item.tier not in ("fresh", "unknown")][:_LISTED]
    names = ("id", "tier", "reason", "commits", "needs_review", "source", "path", "type", "project")
    items = clean_data([{name: getattr(item, name) for name in names} for item in listed])
    counts = ", ".join(f"{tier} {number:,}" for tier, number in report.counts.items())
    lines = [
        [one_line(f"{short_id(item.id)}  {item.tier}  {item.path or item.source or item.type}  {item.reason}", 200)]
        for item in listed
    ]

    def advise(left: int) -> str:
        if left:
            return f"{left} more: ask for one tier or collection"
        return "memory_refresh reads their sources again" if listed else "Nothing is stale."

    head = f"{NOTE}\n{report.checked:,} checked: {counts}; {report.needs_review:,} to review"
    said, taken = fill(head, lines, advise, _TOKENS, count)
    data = {"counts": dict(report.counts), "checked": report.checked, "needs_review": report.needs_review}
    return Answer(said, data | {"items": items[: len(taken)], "problems": clean_data(list(report.problems))})


def memory_refresh(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_refresh``: what the files settle is stored, the rest is asked."""
    with access.write() as vault:
        report = vault.refresh(
            given["id"], collection=given["collection"], tier=given["tier"], project=access.project,
            needs_review=True if given["filter"] else None, dry_run=False,
        )  # fmt: skip
        count = counter(vault)
    counts = {name: number for name, number in report.counts.items() if number}
    work = [(item, _question(item.id, item.path, item.reason, item.text, item.changed)) for item in report.work]

    def advise(left: int) -> str:
        return f"{left} more to decide: ask for one collection or tier" if left else ""

    head = f"{NOTE}\nrefreshed: {', '.join(f'{name} {number:,}' for name, number in counts.items()) or 'nothing'}"
    said, taken = fill(head, [[question] for _, question in work], advise, _REFRESH_TOKENS, count)
    shown = [
        {"id": item.id, "path": item.path, "reason": item.reason, "text": item.text, "changed": item.changed}
        for item, _ in work[: len(taken)]
    ]
    return Answer(said, clean_data({"counts": counts, "work": shown, "problems": list(report.problems)}))


def _question(identity: str, path: str, reason: str, text: str, changed: str) -> str:
    lines = [
        one_line(f"{short_id(identity)}  {path} changed ({reason}). The memory:", 300),
        *(f"    {line}" for line in text.splitlines()),
        *(["  The change:", *(f"    {line}" for line in changed.splitlines())] if changed else []),
        "  Read the file, then memory_add the new statement with supersedes, or memory_update action=invalidate.",
    ]
    return "\n".join(clean_data(lines))


def context_bootstrap(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``context_bootstrap``: the block of a session's start."""
    vault = access.read()
    block = vault.bootstrap(
        given["session"], given["budget"], project=access.scope(given["project"]), trigger=given["trigger"]
    )
    data = {"tokens": block.tokens, "components": dict(block.components), "ids": [item.id for item in block.items]}
    return Answer(block.text or "Nothing to tell.", clean_data(data))


def context_turn(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``context_turn``: the JSON that a prompt's hook prints."""
    vault = access.read()
    block = vault.inject(given["prompt"], given["session"], project=access.scope(given["project"]))
    output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": block.text}}
    data = {"tokens": block.tokens, "mode": block.mode, "ids": [item.id for item in block.items]}
    return Answer(json.dumps(output if block.text else {}, ensure_ascii=False), clean_data(data))
