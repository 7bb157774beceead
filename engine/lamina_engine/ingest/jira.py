"""Issues of Jira, from its JSON: the answer of a search, a list of issues, or one issue a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import format_instant
from lamina_engine.ingest import trackers
from lamina_engine.ingest.trackers import Record, TrackerReport, moment, name, names

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

COLLECTION: Final = "jira-data"
_WHAT: Final = "the JSON of a Jira search: an object with issues, or a list of them"
_BLOCKS: Final = frozenset({"paragraph", "heading", "listItem", "codeBlock", "blockquote", "tableRow", "rule"})
_MAX_DEPTH: Final = 64


def import_jira(memory: Memory, path: Path) -> TrackerReport:
    """Read an export; issues that cannot be used are reported, everything else is imported, known ones updated.

    Parameters
    ----------
    memory : Memory
    path : Path
        JSON or JSON lines.

    Raises
    ------
    IngestError
        When the file cannot be read.
    EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
    """
    values: list[Any] = []
    for document in trackers.documents(path, _WHAT):
        issues = document.get("issues") if isinstance(document, dict) else None
        values += issues if isinstance(issues, list) else [document]
    return trackers.imported(memory, values, _records, path.name, "issue", COLLECTION)


def _records(value: Any) -> Iterator[Record]:
    """Yield an issue and its comments.

    Raises
    ------
    ValueError
        When it has no key or no summary, or a date that is none.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - told like every other record that cannot be used
    inside = value.get("fields")
    fields: dict[str, Any] = inside if isinstance(inside, dict) else value
    key, summary = name(value.get("key")), name(fields.get("summary"))
    if key is None or summary is None:
        raise ValueError("it has no key and summary")
    opened, resolved = moment(fields.get("created"), "created"), moment(fields.get("resolutiondate"), "resolutiondate")
    project = name(fields.get("project"), "key", "name") or key.rpartition("-")[0] or None
    link = name(value.get("self"))
    shown = f"{key} {summary}"
    metadata = {
        "key": key,
        "state": name(fields.get("status"), "name"),
        "kind": name(fields.get("issuetype"), "name"),
        "priority": name(fields.get("priority"), "name"),
        "assignee": name(fields.get("assignee"), "displayName", "name"),
        "resolution": name(fields.get("resolution"), "name"),
        "opened_at": format_instant(opened),
        "closed_at": format_instant(resolved),
        "updated_at": format_instant(moment(fields.get("updated"), "updated")),
        "url": link,
    }
    yield Record(
        id=f"jira:{key}", title=shown, text=trackers.body(plain(fields.get("description")), summary), type="jira_issue",
        project=project, agent=name(fields.get("reporter"), "displayName", "name"), source=link or key,
        created_us=max((us for us in (opened, resolved) if us is not None), default=None), tags=names(fields.get("labels")),
        success=True if resolved is not None else None, metadata={k: found for k, found in metadata.items() if found},
    )  # fmt: skip
    comments = fields.get("comment")
    comments = comments.get("comments") if isinstance(comments, dict) else comments
    for place, comment in enumerate(comments if isinstance(comments, list) else []):
        text = plain(comment.get("body")).strip()
        if text:
            yield Record(
                id=f"jira:{key}/{comment.get('id', place)}", title=shown, text=text, type="jira_comment", project=project,
                agent=name(comment.get("author"), "displayName", "name"), source=link or key,
                created_us=moment(comment.get("created"), "created"), tags=[], success=None, metadata={"on": f"jira:{key}"},
            )  # fmt: skip


def plain(value: Any, depth: int = 0) -> str:
    """Return the words of a description: text as it is, or a document of Jira's own format without its marks."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return ""
    if value.get("type") == "text":
        return str(value.get("text", ""))
    if value.get("type") == "hardBreak":
        return "\n"
    content = value.get("content")
    inner = "".join(plain(each, depth + 1) for each in content) if isinstance(content, list) else ""
    return f"{inner}\n" if value.get("type") in _BLOCKS else inner
