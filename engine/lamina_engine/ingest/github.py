"""Requests and issues of GitHub, as ``gh pr list --json ...`` and ``gh issue list --json ...`` print them.

The field names of GitHub's REST interface are read too. Dates are those of events (opened, merged, closed), never the day
of the export, so an old issue that is read today is old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import format_instant
from lamina_engine.ingest import trackers
from lamina_engine.ingest.trackers import Record, TrackerReport, moment, name, names

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

COLLECTION: Final = "github"
_OF_REQUESTS: Final = frozenset(
    {
        "mergedAt", "merged_at", "mergeCommit", "mergedBy", "headRefName", "baseRefName", "isDraft", "files", "additions",
        "changedFiles", "pull_request", "reviews", "mergeable", "mergeStateStatus", "reviewDecision",
    }
)  # fmt: skip
"""Fields that only a request has."""
_URL: Final = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(pull|issues)/\d+")
_WHAT: Final = "what `gh pr list --json number,title,body,state,createdAt,mergedAt,files,url` prints"


def import_github(memory: Memory, path: Path) -> TrackerReport:
    """Read an export; records that cannot be used are reported, everything else is imported, known ones updated.

    Parameters
    ----------
    memory : Memory
    path : Path
        JSON (a list, or one object) or JSON lines.

    Raises
    ------
    IngestError
        When the file cannot be read.
    EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
    """
    return trackers.imported(memory, trackers.documents(path, _WHAT), _records, path.name, "record", COLLECTION)


def _records(value: Any) -> Iterator[Record]:
    """Yield a request or an issue, and its comments.

    Raises
    ------
    ValueError
        When it has no number or no title, or a date that is none.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - told like every other record that cannot be used
    number, title = value.get("number"), name(value.get("title"))
    if isinstance(number, bool) or not isinstance(number, int) or title is None:
        raise ValueError("it has no number and title")
    url = name(value.get("url")) if "://github" in str(value.get("url")) else None
    url = name(value.get("html_url")) or url or name(value.get("url"))
    place = _URL.match(url or "")
    repository = place[1] if place else name(value.get("repository"), "nameWithOwner", "full_name")
    is_request = bool(_OF_REQUESTS & value.keys()) or bool(place and place[2] == "pull")
    kind = "github_pr" if is_request else "github_issue"
    opened = moment(_either(value, "createdAt", "created_at"), "createdAt")
    merged = moment(_either(value, "mergedAt", "merged_at"), "mergedAt")
    closed = moment(_either(value, "closedAt", "closed_at"), "closedAt")
    state = (name(value.get("state")) or ("closed" if closed else "open")).lower()
    if merged is not None:
        state = "merged"
    identity = f"github:{repository or ''}#{number}"
    shown = f"#{number} {title}"
    metadata = {
        "number": number,
        "state": state,
        "opened_at": format_instant(opened),
        "merged_at": format_instant(merged),
        "closed_at": format_instant(closed),
        "updated_at": format_instant(moment(_either(value, "updatedAt", "updated_at"), "updatedAt")),
        "files": names(value.get("files"), "path", "filename"),
        "url": url,
        "repository": repository,
        "branch": name(value.get("headRefName")),
    }
    yield Record(
        id=identity, title=shown, text=trackers.body(value.get("body"), title), type=kind, project=_short(repository),
        agent=name(_either(value, "author", "user"), "login", "name"), source=url,
        created_us=max((us for us in (opened, merged, closed) if us is not None), default=None),
        tags=names(value.get("labels"), "name"), success=_success(value, state, is_request=is_request),
        metadata={key: found for key, found in metadata.items() if found not in (None, [])},
    )  # fmt: skip
    yield from _comments(value, identity, shown, url, repository)


def _comments(
    value: dict[str, Any], parent: str, title: str, url: str | None, repository: str | None
) -> Iterator[Record]:
    comments = value.get("comments")
    for place, comment in enumerate(comments if isinstance(comments, list) else []):
        text = name(comment.get("body"))
        if text is None:
            continue
        at = moment(_either(comment, "createdAt", "created_at"), "createdAt")
        key = name(comment.get("id")) or str(comment.get("id", place))
        yield Record(
            id=f"{parent}/{key}", title=title, text=trackers.body(text, title), type="github_issue_comment",
            project=_short(repository), agent=name(_either(comment, "author", "user"), "login", "name"),
            source=name(comment.get("url")) or url, created_us=at, tags=[], success=None, metadata={"on": parent},
        )  # fmt: skip


def _success(value: dict[str, Any], state: str, *, is_request: bool) -> bool | None:
    """Return the outcome: merged, or completed; refused, or not planned; None while it is open."""
    if state == "merged":
        return True
    if state != "closed":
        return None
    reason = (name(_either(value, "stateReason", "state_reason")) or "completed").lower()
    return False if is_request else reason == "completed"


def _either(value: dict[str, Any], first: str, second: str) -> Any:
    found = value.get(first)
    return value.get(second) if found is None else found


def _short(repository: str | None) -> str | None:
    return repository.rpartition("/")[2] if repository else None
