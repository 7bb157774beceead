"""Tracker imports: GitHub and Jira exports as chunks with stable ids.

GitHub exports are what ``gh pr list --json ...`` and ``gh issue list --json ...`` print, or its REST interface; Jira
exports are the answer of a search, a list of issues, or one issue a line. Dates are those of events (opened, merged,
closed), never the day of the export, so an old issue that is read today is old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, name_cause
from lamina_engine.ingest.adding import redact
from lamina_engine.reports import IngestReport, Problem, Report

if TYPE_CHECKING:
    from lamina_engine.chunks.writing import ChunkCounts
    from lamina_engine.memory import Memory


class Record(Struct):
    """Issue, request or comment of a tracker, as a chunk."""

    id: str
    """The same in every export."""
    title: str
    text: str
    type: str
    project: str | None
    agent: str | None
    """Author."""
    source: str | None
    """Address of the record."""
    created_us: int | None
    """When the last thing happened to it that makes it what it is: opened, merged or closed; never when it was read."""
    tags: list[str]
    success: bool | None
    metadata: dict[str, Any]


@dataclass(slots=True)
class TrackerReport(Report):
    """Counts and problems of one import."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    problems: list[Problem] = field(default_factory=list)


def import_values(
    memory: Memory, values: Sequence[Any], reader: Any, source: str, what: str, collection: str
) -> TrackerReport:
    """Check the records of parsed values and write them into a collection."""
    report = TrackerReport()
    records = list(check_records(values, reader, source, what, report.problems))
    if records:
        written = write_records(memory, records, collection)
        report.added, report.updated, report.unchanged = written.added, written.updated, written.unchanged
    return report


def read_documents(path: Path, what: str) -> list[Any]:
    """Read the values of a file of JSON (one value, or a list) or JSON lines."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({name_cause(error)}); give {what}") from error
    try:
        found = msgspec.json.decode(content) if content.strip() else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            found = [msgspec.json.decode(line) for line in content.split(b"\n") if line.strip()]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise IngestError(f"{path} is not JSON ({error}); give {what}") from error
    return found if isinstance(found, list) else [found]


def check_records(
    values: Sequence[Any], reader: Any, source: str, what: str, problems: list[Problem]
) -> Iterator[Record]:
    """Yield the records of values; unusable ones are reported and skipped."""
    for number, value in enumerate(values, 1):
        try:
            records = list(reader(value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problems.append(Problem(source, "record", f"{what} {number} is unusable ({error}); skipped"))
        else:
            yield from records


def write_records(memory: Memory, records: Sequence[Record], collection: str) -> ChunkCounts:
    """Write records into a collection, secrets masked; of several with one id the last counts."""
    kept = list({record.id: record for record in records}.values())
    n = len(kept)
    batch = ChunkBatch(
        texts=[record.text for record in kept],
        ids=[record.id for record in kept],
        titles=[record.title for record in kept],
        types=[record.type for record in kept],
        collections=[collection] * n,
        projects=[record.project for record in kept],
        agents=[record.agent for record in kept],
        sources=[record.source for record in kept],
        created_at=[record.created_us for record in kept],
        tags=[record.tags for record in kept],
        success=[record.success for record in kept],
        metadata=[msgspec.json.encode(record.metadata, order="sorted").decode() for record in kept],
        fallback_created_at=[None] * n,  # pyright: ignore[reportArgumentType]
    )
    redact(memory, batch)
    return writing.write(memory, batch)


def tracker_instant(value: Any, what: str) -> int | None:
    """Parse a tracker's date to us UTC; None where it is absent."""
    if value is None or value == "" or (isinstance(value, str) and value.startswith("0001-")):  # gh's "not yet"
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"{what}={value!r} is not a date")
    return parse_instant(value, what=what)


def text_at(value: Any, *keys: str) -> str | None:
    """Return a text, bare or under the first of some keys of an object, or None."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if value.get(key)), None)
    return value.strip() or None if isinstance(value, str) else None


def texts_at(values: Any, *keys: str) -> list[str]:
    """Return the texts of a list, each bare or under one of some keys."""
    found = [text_at(value, *keys) for value in values] if isinstance(values, list) else []
    return [each for each in found if each]


def body_text(text: Any, title: str) -> str:
    """Return a record's text, or its title where the text is empty."""
    written = text.replace("\r\n", "\n").strip() if isinstance(text, str) else ""
    return written or title


GITHUB_COLLECTION: Final = "github"
_OF_REQUESTS: Final = frozenset(
    {
        "mergedAt", "merged_at", "mergeCommit", "mergedBy", "headRefName", "baseRefName", "isDraft", "files", "additions",
        "changedFiles", "pull_request", "reviews", "mergeable", "mergeStateStatus", "reviewDecision",
    }
)  # fmt: skip
"""Fields that only a request has."""
_RUN: Final = frozenset({"workflowName", "run_number", "workflow_id"})
_COMMIT: Final = frozenset({"sha", "oid", "messageHeadline"})
_REVIEW: Final = frozenset({"submitted_at", "submittedAt"})
_RELEASE: Final = frozenset({"tagName", "tag_name"})
"""Fields of which one is in every such record."""
_URL: Final = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(pull|issues)/\d+")
_GITHUB_FORM: Final = "what `gh pr list --json number,title,body,state,createdAt,mergedAt,files,url` prints"


def import_github(memory: Memory, path: Path) -> TrackerReport:
    """Import a GitHub export; unusable records are reported, known ones updated."""
    values: list[Any] = []
    for document in read_documents(path, _GITHUB_FORM):
        runs = document.get("workflow_runs") if isinstance(document, dict) else None
        values += runs if isinstance(runs, list) else [document]
    return import_values(memory, values, _github_records, path.name, "record", GITHUB_COLLECTION)


def import_text(memory: Memory, path: Path, kind: str) -> TrackerReport:
    """Import what ``git log`` prints (``gitlog``), or a patch (``diff``)."""
    from lamina_engine.ingest import changes
    from lamina_engine.ingest.decoding import Refusal, decode

    try:
        decoded = decode(path.read_bytes())
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({name_cause(error)}); give a file of text") from error
    report = TrackerReport()
    if isinstance(decoded, Refusal):
        report.problems.append(Problem(path.name, decoded.code, f"{decoded.message}; skipped"))
        return report
    found = changes.commits_of_log(decoded.text) if kind == "gitlog" else changes.files_of_diff(decoded.text, path.name)
    records = list(found)
    if not records:
        what = "no commit as `git log` prints it" if kind == "gitlog" else "no diff of a file"
        report.problems.append(Problem(path.name, "record", f"{what}; skipped"))
        return report
    written = write_records(memory, records, GITHUB_COLLECTION)
    report.added, report.updated, report.unchanged = written.added, written.updated, written.unchanged
    return report


def _github_records(value: Any) -> Iterator[Record]:
    """Yield a request or an issue with its comments, a run, a commit, a review or a release."""
    from lamina_engine.ingest import changes

    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - reported like every other unusable record
    if "number" not in value or "workflowName" in value:
        for mark, reader in (
            (_RUN, changes.run_records), (_COMMIT, changes.commit_records), (_REVIEW, changes.review_records),
            (_RELEASE, changes.release_records),
        ):  # fmt: skip
            if mark & value.keys():
                yield from reader(value)
                return
    number, title = value.get("number"), text_at(value.get("title"))
    if isinstance(number, bool) or not isinstance(number, int) or title is None:
        raise ValueError("it lacks a number or a title, and is no run, commit, review or release")
    url = text_at(value.get("url")) if "://github" in str(value.get("url")) else None
    url = text_at(value.get("html_url")) or url or text_at(value.get("url"))
    place = _URL.match(url or "")
    repository = place[1] if place else text_at(value.get("repository"), "nameWithOwner", "full_name")
    is_request = bool(_OF_REQUESTS & value.keys()) or bool(place and place[2] == "pull")
    kind = "github_pr" if is_request else "github_issue"
    opened = tracker_instant(either(value, "createdAt", "created_at"), "createdAt")
    merged = tracker_instant(either(value, "mergedAt", "merged_at"), "mergedAt")
    closed = tracker_instant(either(value, "closedAt", "closed_at"), "closedAt")
    state = (text_at(value.get("state")) or ("closed" if closed else "open")).lower()
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
        "updated_at": format_instant(tracker_instant(either(value, "updatedAt", "updated_at"), "updatedAt")),
        "files": texts_at(value.get("files"), "path", "filename"),
        "url": url,
        "repository": repository,
        "branch": text_at(value.get("headRefName")),
    }
    yield Record(
        id=identity, title=shown, text=body_text(value.get("body"), title), type=kind, project=short_name(repository),
        agent=text_at(either(value, "author", "user"), "login", "name"), source=url,
        created_us=max((us for us in (opened, merged, closed) if us is not None), default=None),
        tags=texts_at(value.get("labels"), "name"), success=_success(value, state, is_request=is_request),
        metadata={key: found for key, found in metadata.items() if found not in (None, [])},
    )  # fmt: skip
    yield from _github_comments(value, identity, shown, url, repository)
    for review in value.get("reviews") or ():
        yield from changes.review_records(review, parent=identity, title=shown)


def _github_comments(
    value: dict[str, Any], parent: str, title: str, url: str | None, repository: str | None
) -> Iterator[Record]:
    comments = value.get("comments")
    for place, comment in enumerate(comments if isinstance(comments, list) else []):
        text = text_at(comment.get("body"))
        if text is None:
            continue
        at = tracker_instant(either(comment, "createdAt", "created_at"), "createdAt")
        key = text_at(comment.get("id")) or str(comment.get("id", place))
        yield Record(
            id=f"{parent}/{key}", title=title, text=body_text(text, title), type="github_issue_comment",
            project=short_name(repository), agent=text_at(either(comment, "author", "user"), "login", "name"),
            source=text_at(comment.get("url")) or url, created_us=at, tags=[], success=None, metadata={"on": parent},
        )  # fmt: skip


def _success(value: dict[str, Any], state: str, *, is_request: bool) -> bool | None:
    """Return the outcome: True if merged or completed, False if refused, None while open."""
    if state == "merged":
        return True
    if state != "closed":
        return None
    reason = (text_at(either(value, "stateReason", "state_reason")) or "completed").lower()
    return False if is_request else reason == "completed"


def either(value: dict[str, Any], first: str, second: str) -> Any:
    """Return a value under the first of two names that has one."""
    found = value.get(first)
    return value.get(second) if found is None else found


def short_name(repository: str | None) -> str | None:
    """Return a repository's name without its owner."""
    return repository.rpartition("/")[2] if repository else None


JIRA_COLLECTION: Final = "jira-data"
_JIRA_FORM: Final = "the JSON of a Jira search: an object with issues, or a list of them"
_BLOCKS: Final = frozenset({"paragraph", "heading", "listItem", "codeBlock", "blockquote", "tableRow", "rule"})
_MAX_DEPTH: Final = 64


def import_jira(memory: Memory, path: Path) -> TrackerReport:
    """Import a Jira export; unusable issues are reported, known ones updated."""
    values: list[Any] = []
    for document in read_documents(path, _JIRA_FORM):
        issues = document.get("issues") if isinstance(document, dict) else None
        values += issues if isinstance(issues, list) else [document]
    return import_values(memory, values, _jira_records, path.name, "issue", JIRA_COLLECTION)


def _jira_records(value: Any) -> Iterator[Record]:
    """Yield an issue and its comments; ValueError where it is unusable."""
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - reported like every other unusable record
    inside = value.get("fields")
    fields: dict[str, Any] = inside if isinstance(inside, dict) else value
    key, summary = text_at(value.get("key")), text_at(fields.get("summary"))
    if key is None or summary is None:
        raise ValueError("it lacks a key or a summary")
    opened, resolved = (
        tracker_instant(fields.get("created"), "created"),
        tracker_instant(fields.get("resolutiondate"), "resolutiondate"),
    )
    project = text_at(fields.get("project"), "key", "name") or key.rpartition("-")[0] or None
    link = text_at(value.get("self"))
    shown = f"{key} {summary}"
    metadata = {
        "key": key,
        "state": text_at(fields.get("status"), "name"),
        "kind": text_at(fields.get("issuetype"), "name"),
        "priority": text_at(fields.get("priority"), "name"),
        "assignee": text_at(fields.get("assignee"), "displayName", "name"),
        "resolution": text_at(fields.get("resolution"), "name"),
        "opened_at": format_instant(opened),
        "closed_at": format_instant(resolved),
        "updated_at": format_instant(tracker_instant(fields.get("updated"), "updated")),
        "url": link,
    }
    yield Record(
        id=f"jira:{key}", title=shown, text=body_text(plain_text(fields.get("description")), summary), type="jira_issue",
        project=project, agent=text_at(fields.get("reporter"), "displayName", "name"), source=link or key,
        created_us=max((us for us in (opened, resolved) if us is not None), default=None), tags=texts_at(fields.get("labels")),
        success=True if resolved is not None else None, metadata={k: found for k, found in metadata.items() if found},
    )  # fmt: skip
    comments = fields.get("comment")
    comments = comments.get("comments") if isinstance(comments, dict) else comments
    for place, comment in enumerate(comments if isinstance(comments, list) else []):
        text = plain_text(comment.get("body")).strip()
        if text:
            yield Record(
                id=f"jira:{key}/{comment.get('id', place)}", title=shown, text=text, type="jira_comment", project=project,
                agent=text_at(comment.get("author"), "displayName", "name"), source=link or key,
                created_us=tracker_instant(comment.get("created"), "created"), tags=[], success=None, metadata={"on": f"jira:{key}"},
            )  # fmt: skip


def plain_text(value: Any, depth: int = 0) -> str:
    """Return the text of a description, plain or in Atlassian's document format."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return ""
    if value.get("type") == "text":
        return str(value.get("text", ""))
    if value.get("type") == "hardBreak":
        return "\n"
    content = value.get("content")
    inner = "".join(plain_text(each, depth + 1) for each in content) if isinstance(content, list) else ""
    return f"{inner}\n" if value.get("type") in _BLOCKS else inner


def _import_beads(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.beads import export_of, import_beads

    if recover:
        raise InvalidArgument(
            "recover=True is for kind='tasks'; a file of issues is read line by line, and bad lines are reported"
        )
    found = import_beads(memory, export_of(path))
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _import_tasks(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
    from lamina_engine.ingest.tasks import import_tasks

    found = import_tasks(memory, path, recover=recover)
    report.skipped += found.aside is not None
    _count(report, found.added, found.updated, found.unchanged, found.links.added)
    report.problems += found.problems


def _import_github(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:

    _refuse_recover(recover)
    _report_tracker(import_github(memory, path), report)


def _import_jira(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:

    _refuse_recover(recover)
    _report_tracker(import_jira(memory, path), report)


def _import_gitlog(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:

    _refuse_recover(recover)
    _report_tracker(import_text(memory, path, "gitlog"), report)


def _import_diff(memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:

    _refuse_recover(recover)
    _report_tracker(import_text(memory, path, "diff"), report)


def _refuse_recover(recover: bool) -> None:
    if recover:
        raise InvalidArgument(
            "recover=True is for kind='tasks'; an export is read record by record, and bad ones are reported"
        )


def _report_tracker(found: TrackerReport, report: IngestReport) -> None:
    _count(report, found.added, found.updated, found.unchanged, 0)
    report.problems += found.problems


def _count(report: IngestReport, added: int, updated: int, unchanged: int, links: int) -> None:
    report.added += added
    report.updated += updated
    report.unchanged += unchanged
    report.chunks += added + updated
    report.links += links


class Importer(Protocol):
    """Importer of one file, which adds its counts to the report."""

    def __call__(self, memory: Memory, path: Path, report: IngestReport, *, recover: bool) -> None:
        """Import; ``recover`` continues past a corrupt file where the kind allows it."""
        ...


IMPORTERS: Final[dict[str, Importer]] = {
    "beads": _import_beads,
    "tasks": _import_tasks,
    "github": _import_github,
    "jira": _import_jira,
    "gitlog": _import_gitlog,
    "diff": _import_diff,
}
"""By the name of the kind; without one, by `lamina_engine.ingest.recognition`."""
