"""Types and collections of sources, from their own fields or their folders.

A file's name says what it is about and never what it is: ``tmux/list-sessions.md`` is a note. Rules are data and match
whole words at the ends of a folder's name, never letters inside a word: ``github`` is no hub and ``mock`` no map of
content. Types are an open vocabulary; known ones only decide spelling and, for some, the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from lamina_engine.time.dates import date_span

_NOTE_TYPES = (
    *("handoff", "progress", "problem", "milestone", "note", "research", "project", "decision"),
    *("deductive", "hub", "antipattern"),
)
_CODE_TYPES = ("implementation", "error_pattern", "refactor", "file_pattern")
_CONVENTION_TYPES = ("rule", "guideline", "port", "naming", "structure")
_DISCUSSION_TYPES = ("discussion", "session", "blocker", "preference", "user_message", "agent_response")
_SESSION_TYPES = ("conversation", "session_summary")
_AGENT_TYPES = ("agent_handoff", "agent_memory", "agent_task", "agent_insight")
_TRACKER_TYPES = (
    *("jira_issue", "jira_comment", "github_issue", "github_issue_comment", "github_pr", "github_pr_diff"),
    *("github_pr_review", "github_commit", "github_code_blob", "github_ci_result", "github_release"),
)
KNOWN_TYPES = frozenset(
    (
        *_NOTE_TYPES,
        *_CODE_TYPES,
        *_CONVENTION_TYPES,
        *_DISCUSSION_TYPES,
        *_SESSION_TYPES,
        *_AGENT_TYPES,
        *_TRACKER_TYPES,
    )
)
"""Types that some profile knows; any other name is legal and ages as its collection does."""

COLLECTION_OF_TYPE = {
    "decision": "decisions",
    **dict.fromkeys(_CONVENTION_TYPES, "conventions"),
    **dict.fromkeys(_CODE_TYPES, "code-patterns"),
    **dict.fromkeys((*_DISCUSSION_TYPES, *_AGENT_TYPES, *_SESSION_TYPES), "discussions"),
    **{name: "jira-data" if name.startswith("jira_") else "github" for name in _TRACKER_TYPES},
}
"""Collections that a type implies where nothing else names one."""

_NAME = re.compile(r"[^\W_][\w -]{0,63}")
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PathRule:
    """Type of the sources that lie in a folder named with one of these words."""

    words: frozenset[str]
    """Lower case. Matched against the first and the last word of each folder."""
    type: str


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for type and collection where the source names none."""

    paths: tuple[PathRule, ...] = (
        PathRule(frozenset({"decision", "decisions", "adr", "adrs"}), "decision"),
        PathRule(frozenset({"convention", "conventions", "rule", "rules"}), "rule"),
        PathRule(frozenset({"guideline", "guidelines"}), "guideline"),
        PathRule(frozenset({"hub", "hubs", "moc", "mocs"}), "hub"),
        PathRule(frozenset({"research", "investigation", "investigations", "analysis", "analyses"}), "research"),
        PathRule(frozenset({"project", "projects", "epic", "epics", "initiative", "initiatives"}), "project"),
        PathRule(frozenset({"handoff", "handoffs", "handover", "handovers", "session", "sessions"}), "handoff"),
        PathRule(
            frozenset(
                {"conversation", "conversations", "convo", "convos", "chat", "chats", "transcript", "transcripts"}
            ),
            "conversation",
        ),
        PathRule(frozenset({"progress", "status", "standup", "standups", "changelog", "changelogs"}), "progress"),
    )
    """The first that matches anywhere in the path wins."""
    default_type: str = "note"
    default_collection: str = "notes"
    code_type: str = "implementation"
    code_collection: str = "code-patterns"


def clean_type(value: object) -> str | None:
    """Normalise the spelling of a type; None where it is no name.

    Known types match in any case, with ``-``, ``_`` or spaces between their words; others are only lower-cased.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value.strip()):
        return None
    name = value.strip().lower()
    known = name.replace("-", "_").replace(" ", "_")
    return known if known in KNOWN_TYPES else name


def classify(
    source: str, kind: str, rules: Rules, *, type: str | None = None, collection: str | None = None
) -> tuple[str, str]:
    """Return the type and collection of a source."""
    if type is None:
        type = rules.code_type if kind == "code" else type_of_path(source, rules)
    if collection is None and kind == "code":
        collection = rules.code_collection
    elif collection is None:
        collection = COLLECTION_OF_TYPE.get(type, rules.default_collection)
    return type, collection


def type_of_path(source: str, rules: Rules) -> str:
    """Return the type that the first matching rule gives a path, else the default."""
    path = PurePosixPath(source)
    # the folder of an agent's skill is called as the skill is: handoff/SKILL.md says how to write one
    folders = path.parts[: -2 if path.name == "SKILL.md" else -1]
    ends = {word for folder in folders for word in _ends(folder)}
    return next((rule.type for rule in rules.paths if rule.words & ends), rules.default_type)


def _ends(name: str) -> set[str]:
    """Return the first and last word of a name, dates and numbers left out."""
    date = date_span(name)
    if date:
        name = name[: date[0]] + " " + name[date[1] :]
    words = [word for word in _WORDS.findall(name.lower()) if not word.isdigit()]
    return {words[0], words[-1]} if words else set()
