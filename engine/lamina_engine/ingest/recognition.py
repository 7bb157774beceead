"""Recognition of exports by content: task graphs, Beads, GitHub, Jira, diffs, git logs.

A file of JSON is one of them where its first records have the fields that no other has; everything else stays what its
suffix says. Nothing is guessed from names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from lamina_engine.ingest.walk import MAX_BYTES, FileEntry

SUFFIXES: Final = frozenset({"json", "jsonl", "ndjson", "diff", "patch", "txt", "log"})
"""Suffixes of files that are looked into."""
MOST_RECORDS: Final = 20
"""Records that are looked at."""
_HEAD_BYTES: Final = 4096

_LOG: Final = re.compile(rb"commit [0-9a-f]{7,64}(?: \([^\n]*\))?\n(?:Merge: [^\n]*\n)?Author: ")
_DIFF: Final = re.compile(rb"(?:From [0-9a-f]{40} |diff --git |--- [^\n]+\n\+\+\+ )")

GITHUB_FORMS: Final[tuple[frozenset[str], ...]] = (
    frozenset({"number", "title", "state"}),
    frozenset({"number", "title", "url"}),
    frozenset({"number", "title", "createdAt"}),
    frozenset({"workflowName", "conclusion"}),
    frozenset({"workflowName", "databaseId"}),
    frozenset({"run_number", "conclusion"}),
    frozenset({"sha", "commit"}),
    frozenset({"oid", "messageHeadline"}),
    frozenset({"submitted_at", "state", "user"}),
    frozenset({"submittedAt", "state", "author"}),
    frozenset({"tagName", "publishedAt"}),
    frozenset({"tag_name", "published_at"}),
)
"""Fields of which a record of GitHub has one set: requests and issues, runs, commits, reviews, releases."""


def recognise(entry: FileEntry) -> str | None:
    """Return the importer that a file is for, or None where its suffix says all there is."""
    suffix = entry.path.rpartition(".")[2].lower()
    if suffix not in SUFFIXES or not 0 < entry.size <= MAX_BYTES:
        return None
    try:
        if suffix in ("diff", "patch", "txt", "log"):
            return _of_text(entry.absolute, suffix)
        return kind_of_records(_records(entry.absolute, lines=suffix != "json"))
    except (OSError, ValueError, RecursionError):  # reported when it is read
        return None


def _of_text(path: Path, suffix: str) -> str | None:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).replace(b"\r\n", b"\n")
    if suffix in ("diff", "patch") and _DIFF.search(head):
        return "diff"
    return "gitlog" if _LOG.match(head) else None


def _records(path: Path, *, lines: bool) -> Any:
    if not lines:
        return msgspec.json.decode(path.read_bytes())
    with path.open("rb") as file:
        read = [file.readline() for _ in range(MOST_RECORDS)]  # whole ones: a file of `MAX_BYTES` at most
    return [msgspec.json.decode(line) for line in read if line.strip()]


def kind_of_records(value: Any) -> str | None:
    """Return the importer for parsed JSON: one object, or a list of records."""
    if isinstance(value, dict):
        nodes, edges = value.get("nodes"), value.get("edges")
        if isinstance(nodes, dict) and isinstance(edges, list) and _are_all(list(nodes.values()), {"title"}):
            tasks = {"task_id", "description", "timestamp", "success"}
            return "tasks" if all(tasks & node.keys() for node in list(nodes.values())[:MOST_RECORDS]) else None
        if isinstance(value.get("workflow_runs"), list):
            return "github"
        value = value["issues"] if isinstance(value.get("issues"), list) else [value]
    if not isinstance(value, list) or not value:
        return None
    if any(isinstance(each, dict) and "text" in each for each in value[:MOST_RECORDS]):
        return None  # records of Lamina, whatever else they say
    if _are_all(value, {"id", "title", "status"}) and any(
        {"issue_type", "dependencies", "priority"} & each.keys() for each in value[:MOST_RECORDS]
    ):
        return "beads"
    if _are_all(value, {"key", "fields"}) and all("summary" in each["fields"] for each in value[:MOST_RECORDS]):
        return "jira"
    if _are_all(value, {"key", "summary"}):
        return "jira"
    if any(_are_all(value, form) for form in GITHUB_FORMS):
        return "github"
    return None


def _are_all(values: list[Any], fields: set[str] | frozenset[str]) -> bool:
    """Return whether the first records are objects with all of some fields."""
    return bool(values) and all(isinstance(each, dict) and fields <= each.keys() for each in values[:MOST_RECORDS])
