"""Changes since a moment: requests, issues, commits in the vault; commits in git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.clock import US_PER_S, parse_instant
from lamina_engine.context.memories import day_text, item_of_chunk
from lamina_engine.context.rendering import Item, age_text
from lamina_engine.context.scope import Scope
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.pipeline import list_chunks

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

MAX_CHANGES: Final = 10
"""Of each: what is in the vault, and what is in git."""
TRACKER_COLLECTION: Final = "beads"
IN_PROGRESS: Final = ("in_progress", "in progress", "doing", "started", "in review")
_DATE_FIELDS: Final = {
    "github_pr": ("merged_at",),
    "github_issue": ("closed_at", "opened_at"),
    "jira_issue": ("closed_at", "opened_at"),
    "github_commit": (),
    "github_release": (),
}
"""Fields of metadata of which the newest is the moment of a change; none: the chunk's own date."""
_TRACKED: Final = ("closed_at", "updated_at")
_READ: Final = 200
_FIELDS: Final = "%H%x1f%ct%x1f%P%x1f%s%x1e"
_NUMBER: Final = re.compile(r"#(\d+)")


def recorded_changes(memory: Memory, since_us: int | None, now_us: int, scope: Scope) -> list[Item]:
    """Return changes in the vault since a moment, newest first; without one, the newest."""
    found: list[tuple[int, Item]] = []
    for chunk in _read(memory, {"type": {"in": list(_DATE_FIELDS)}}, scope, now_us):
        names = _DATE_FIELDS[chunk.type]
        _add(found, chunk, _newest(chunk, names) if names else chunk.created_at_us, since_us, now_us, memory.config.tz)
    for chunk in _read(memory, {"collection": TRACKER_COLLECTION}, scope, now_us):
        _add(found, chunk, _newest(chunk, _TRACKED) or chunk.created_at_us, since_us, now_us, memory.config.tz)
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [item for _, item in found[:MAX_CHANGES]]


def tracked_work(memory: Memory, now_us: int, scope: Scope) -> list[Chunk]:
    """Return issues of a tracker that somebody works on, the last touched first."""
    where = {"collection": TRACKER_COLLECTION, "metadata.status": {"in": list(IN_PROGRESS)}}
    found = _read(memory, where, scope, now_us)
    return sorted(found, key=lambda chunk: (-(_newest(chunk, _TRACKED) or 0), chunk.id))


def git_changes(memory: Memory, repo: Path, since_us: int | None, now_us: int, known: list[Item]) -> list[Item]:
    """Return commits of a work tree since a moment, newest first; without one, the newest.

    A merge that names the number of a request in ``known`` is left out. A folder outside of git has no commits.
    """
    from lamina_engine.ingest.git import find_repository

    repository = find_repository(repo)
    if repository is None or repository.head is None:
        return []
    since = [] if since_us is None else [f"--since={since_us // US_PER_S + 1}"]
    out = repository.git(
        "log", *since, f"--max-count={_READ}", f"--format={_FIELDS}", "--no-show-signature", repository.head, "--"
    )
    numbers = {number for item in known for number in _NUMBER.findall(item.title)}
    found = []
    for line in out.decode("utf-8", "replace").split("\x1e"):
        commit, _, rest = line.strip("\n").partition("\x1f")
        seconds, _, rest = rest.partition("\x1f")
        parents, _, subject = rest.partition("\x1f")
        if not (commit and seconds.isdigit() and subject.strip()):
            continue
        at = int(seconds) * US_PER_S
        if (since_us is None or since_us < at) and at <= now_us and numbers.isdisjoint(_NUMBER.findall(subject)):
            kind = "git_merge" if " " in parents else "git_commit"
            found.append(_commit_item(memory, commit, at, kind, subject, repository.root.name, now_us))
    return found[:MAX_CHANGES]


def _commit_item(memory: Memory, commit: str, at: int, kind: str, subject: str, source: str, now_us: int) -> Item:
    return Item(
        part="changes", id=f"git:{commit[:12]}", text=memory.redact(subject.strip()), type=kind, collection="git",
        source=source, date=day_text(at, memory.config.tz), age=age_text((now_us - at) / US_PER_S), freshness="fresh",
    )  # fmt: skip


def _read(memory: Memory, where: dict[str, Any], scope: Scope, now_us: int) -> list[Chunk]:
    """Return the newest chunks of a filter; none where no chunk has a field of it."""
    table = memory.view().categories
    table.column(memory.view().snapshot, "collection")  # it reads the names
    if "collection" in where and table.code("collection", where["collection"]) < 0:
        return []
    return list_chunks(memory, scope.filter(where), _READ, now_us=now_us)


def _add(
    found: list[tuple[int, Item]], chunk: Chunk, at: int | None, since_us: int | None, now_us: int, tz: str
) -> None:
    if at is not None and (since_us is None or since_us < at) and at <= now_us:
        item = item_of_chunk(chunk, "changes", now_us, tz)
        status = chunk.metadata.get("status") or chunk.metadata.get("state")
        text = f"[{status}] {item.text}" if isinstance(status, str) and status else item.text
        found.append((at, msgspec.structs.replace(item, text=text)))


def _newest(chunk: Chunk, names: tuple[str, ...]) -> int | None:
    moments = [moment for name in names if (moment := _moment(chunk.metadata.get(name))) is not None]
    return max(moments, default=None)


def _moment(value: Any) -> int | None:
    try:
        return parse_instant(value) if isinstance(value, str) and value else None
    except InvalidArgument:
        return None
