"""What happened since a moment: requests merged and issues opened, out of the vault; commits and merges, out of git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import US_PER_S, format_instant, parse_instant
from lamina_engine.context.memories import item_of_chunk, newest
from lamina_engine.context.rendering import Item, age_text
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.memory import Memory

MOST: Final = 10
"""Of each: what is in the vault, and what is in git."""
_DATE_FIELD: Final = {"github_pr": "merged_at", "github_issue": "opened_at", "jira_issue": "opened_at"}
_READ: Final = 50
_FIELDS: Final = "%H%x1f%ct%x1f%P%x1f%s%x1e"
_NUMBER: Final = re.compile(r"#(\d+)")


def recorded_changes(memory: Memory, since_us: int, now_us: int, project: str | None) -> list[Item]:
    """Return the merged requests and the new issues since a moment, newest first."""
    found: list[tuple[int, Item]] = []
    for type_, name in _DATE_FIELD.items():
        for chunk in newest(memory, type_, _READ, project=project):
            at = _moment(chunk.metadata.get(name))
            if at is not None and since_us < at <= now_us:
                found.append((at, item_of_chunk(chunk, "changes", now_us)))
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [item for _, item in found[:MOST]]


def git_changes(memory: Memory, repo: Path, since_us: int, now_us: int, known: list[Item]) -> list[Item]:
    """Return the commits and merges of a work tree since a moment, newest first; not those of requests already told.

    Parameters
    ----------
    memory : Memory
        Its policy about secrets is applied to what commits say.
    repo : Path
        A folder in the work tree; one that is in none has no commits.
    since_us, now_us : int
        Commit dates, us UTC.
    known : list of Item
        Requests that are told: a merge that names one of their numbers is left out.

    Raises
    ------
    IngestError
        When git fails.
    """
    from lamina_engine.ingest.git import find_repository

    repository = find_repository(repo)
    if repository is None or repository.head is None:
        return []
    out = repository.git(
        "log", f"--since={since_us // US_PER_S + 1}", f"--max-count={_READ}", f"--format={_FIELDS}", "--no-show-signature",
        repository.head, "--",
    )  # fmt: skip
    told = {number for item in known for number in _NUMBER.findall(item.title)}
    found = []
    for line in out.decode("utf-8", "replace").split("\x1e"):
        commit, _, rest = line.strip("\n").partition("\x1f")
        seconds, _, rest = rest.partition("\x1f")
        parents, _, subject = rest.partition("\x1f")
        if not (commit and seconds.isdigit() and subject.strip()):
            continue
        at = int(seconds) * US_PER_S
        if since_us < at <= now_us and told.isdisjoint(_NUMBER.findall(subject)):
            kind = "git_merge" if " " in parents else "git_commit"
            found.append(_commit_item(memory, commit, at, kind, subject, repository.root.name, now_us))
    return found[:MOST]


def _commit_item(memory: Memory, commit: str, at: int, kind: str, subject: str, source: str, now_us: int) -> Item:
    return Item(
        part="changes", id=f"git:{commit[:12]}", text=memory.redact(subject.strip()), type=kind, collection="git",
        source=source, date=(format_instant(at) or "")[:10], age=age_text((now_us - at) / US_PER_S), freshness="fresh",
    )  # fmt: skip


def _moment(value: Any) -> int | None:
    try:
        return parse_instant(value) if isinstance(value, str) and value else None
    except InvalidArgument:
        return None
