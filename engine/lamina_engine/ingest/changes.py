"""Changes of a repository as records: commits, diffs, CI runs, reviews and releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from lamina_engine.clock import format_instant
from lamina_engine.ingest.trackers import Record, either, short_name, text_at, texts_at, tracker_instant
from lamina_engine.time.dates import date_value

MAX_DIFF_CHARS: Final = 6_000
"""What is kept of one file's diff; the rest is in the repository."""
MAX_FILES: Final = 100
_COMMIT: Final = re.compile(r"^commit ([0-9a-f]{7,64})(?: \([^\n]*\))?$", re.MULTILINE)
_FIELD: Final = re.compile(r"(Merge|Author|AuthorDate|Commit|CommitDate|Date):[ \t]+(.*)$")
_CHANGED: Final = re.compile(
    r"^(?:diff --git a/.* b/(.+)| (\S.*?) +\| +\d+.*|[ACDMRT]\d*\t(?:.*\t)?(.+))$", re.MULTILINE
)
_FILE: Final = re.compile(r"^diff --git [^\n]*$", re.MULTILINE)
_PLUS: Final = re.compile(r"^(?:\+\+\+ (?:b/)?(.+?)|rename to (.+))(?:\t.*)?$", re.MULTILINE)
_MINUS: Final = re.compile(r"^--- (?:a/)?(.+?)(?:\t.*)?$", re.MULTILINE)
_MAIL: Final = re.compile(r"\s*<[^<>]*>$")


def commits_of_log(text: str) -> Iterator[Record]:
    """Yield the commits that ``git log`` prints, with their files where it names them."""
    marks = list(_COMMIT.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() + 1 : following.start() if following else len(text)]
        head, _, rest = body.partition("\n\n")
        fields = {match[1]: match[2].strip() for line in head.split("\n") if (match := _FIELD.match(line))}
        lines = rest.split("\n")
        last = next((i for i, line in enumerate(lines) if line and not line.startswith("    ")), len(lines))
        message = "\n".join(line.removeprefix("    ") for line in lines[:last]).strip()
        written = fields.get("CommitDate") or fields.get("Date") or fields.get("AuthorDate")
        names = ("".join(found) for found in _CHANGED.findall("\n".join(lines[last:])))
        yield commit_record(
            mark[1], message, fields.get("Author"), date_value(written), list(dict.fromkeys(names)), None
        )


def commit_record(
    sha: str, message: str, author: str | None, at_us: int | None, files: list[str], repository: str | None
) -> Record:
    """Return a commit as a record."""
    subject = message.partition("\n")[0].strip() or sha[:12]
    metadata = {"commit": sha, "files": files[:MAX_FILES], "repository": repository}
    return Record(
        id=f"commit:{sha}", title=subject, text=message or subject, type="github_commit", project=short_name(repository),
        agent=_MAIL.sub("", author) if author else None, source=f"commit {sha[:12]}", created_us=at_us, tags=[],
        success=None, metadata={name: value for name, value in metadata.items() if value},
    )  # fmt: skip


def files_of_diff(text: str, name: str) -> Iterator[Record]:
    """Yield the diff of each file of a patch; a long one is cut."""
    starts = [match.start() for match in _FILE.finditer(text)] or [0]
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:stop].strip("\n")
        new, old = _PLUS.search(part), _MINUS.search(part)
        path = (new[1] or new[2]) if new else None
        path = old[1] if old and path in (None, "/dev/null") else path
        shown = part if len(part) <= MAX_DIFF_CHARS else f"{part[:MAX_DIFF_CHARS]}\n… {len(part):,} characters in all"
        if path and shown:
            yield Record(
                id=f"diff:{name}:{path}", title=f"{name} · {path}", text=shown, type="github_pr_diff", project=None, agent=None,
                source=name, created_us=None, tags=[], success=None, metadata={"file": path},
            )  # fmt: skip


def run_records(value: dict[str, Any]) -> Iterator[Record]:
    """Yield a CI run as ``gh run list --json`` or the REST interface gives it."""
    number = either(value, "databaseId", "id")
    workflow = text_at(either(value, "workflowName", "name")) or "workflow"
    title = text_at(either(value, "displayTitle", "display_title")) or ""
    outcome = (text_at(value.get("conclusion")) or text_at(value.get("status")) or "unknown").lower()
    branch, sha = text_at(either(value, "headBranch", "head_branch")), text_at(either(value, "headSha", "head_sha"))
    url = text_at(either(value, "html_url", "url"))
    created = tracker_instant(either(value, "createdAt", "created_at"), "createdAt")
    updated = tracker_instant(either(value, "updatedAt", "updated_at"), "updatedAt")
    repository = text_at(value.get("repository"), "full_name", "nameWithOwner") or _repository_of(url)
    place = f" on {branch}" if branch else ""
    metadata = {
        "outcome": outcome, "branch": branch, "commit": sha, "event": text_at(value.get("event")), "url": url,
        "started_at": format_instant(created), "repository": repository,
    }  # fmt: skip
    yield Record(
        id=f"github:run:{repository or ''}:{number}", title=f"{workflow}: {outcome}{place}",
        text=f"{workflow} {outcome}{place}: {title}".rstrip(": "), type="github_ci_result", project=short_name(repository),
        agent=None, source=url, created_us=updated or created, tags=[],
        success={"success": True, "failure": False, "timed_out": False, "startup_failure": False}.get(outcome),
        metadata={name: found for name, found in metadata.items() if found},
    )  # fmt: skip


def commit_records(value: dict[str, Any]) -> Iterator[Record]:
    """Yield a commit as the REST interface or ``gh pr view --json commits`` gives it."""
    found = value.get("commit")
    inner: dict[str, Any] = found if isinstance(found, dict) else {}
    sha = str(either(value, "sha", "oid"))
    parts = (text_at(value.get("messageHeadline")), text_at(value.get("messageBody")))
    message = text_at(inner.get("message")) or "\n\n".join(part for part in parts if part)
    authors = value.get("authors") or [inner.get("author") or inner.get("committer") or {}]
    author = text_at(authors[0], "name", "login") if authors else None
    date = (inner.get("committer") or inner.get("author") or {}).get("date") or value.get("committedDate")
    files = texts_at(value.get("files"), "filename", "path")
    url = text_at(either(value, "html_url", "url"))
    yield commit_record(sha, message, author, tracker_instant(date, "date"), files, _repository_of(url))


def review_records(value: dict[str, Any], *, parent: str | None = None, title: str | None = None) -> Iterator[Record]:
    """Yield a review, alone or of a request, as REST or ``gh pr list --json reviews`` gives it."""
    state = (text_at(value.get("state")) or "commented").lower()
    url = text_at(either(value, "html_url", "url"))
    repository = _repository_of(url)
    number = re.search(r"/pulls?/(\d+)", f"{value.get('pull_request_url')} {url}")
    parent = parent or (f"github:{repository or ''}#{number[1]}" if number else "github:")
    agent = text_at(either(value, "user", "author"), "login", "name")
    body = text_at(value.get("body")) or ""
    shown = title or parent.rpartition(":")[2]
    yield Record(
        id=f"{parent}/review:{value.get('id')}", title=f"Review of {shown}: {state.replace('_', ' ')}",
        text=body.replace("\r\n", "\n") or f"{agent or 'somebody'} {state.replace('_', ' ')} {shown}",
        type="github_pr_review", project=short_name(repository), agent=agent, source=url,
        created_us=tracker_instant(either(value, "submittedAt", "submitted_at"), "submittedAt"), tags=[],
        success={"approved": True, "changes_requested": False}.get(state), metadata={"on": parent, "state": state},
    )  # fmt: skip


def release_records(value: dict[str, Any]) -> Iterator[Record]:
    """Yield a release."""
    tag = str(either(value, "tagName", "tag_name"))
    name, url = text_at(value.get("name")) or tag, text_at(either(value, "html_url", "url"))
    repository = _repository_of(url)
    yield Record(
        id=f"github:release:{repository or ''}:{tag}", title=f"Release {name}", text=text_at(value.get("body")) or f"Release {name}",
        type="github_release", project=short_name(repository), agent=text_at(value.get("author"), "login", "name"), source=url,
        created_us=tracker_instant(either(value, "publishedAt", "published_at"), "publishedAt"), tags=[], success=None,
        metadata={"tag": tag},
    )  # fmt: skip


def _repository_of(url: str | None) -> str | None:
    found = re.match(r"https?://[^/\s]+/(?:repos/)?([^/\s]+/[^/\s]+)/", url or "")
    return found[1] if found else None
