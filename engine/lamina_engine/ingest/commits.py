"""The log of git: its commits as they are written, and every path followed through them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from lamina_engine.clock import US_PER_S

LOG = (
    *("log", "-z", "--format=%x01%H %at %P", "--topo-order", "--reverse", "--name-status", "-c"),
    *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-relative", "--no-color", "-l1000"),
)
"""Arguments of the log that `commits_of` reads; the range follows."""

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # the years 1 to 9999


@dataclass(frozen=True, slots=True)
class PathHistory:
    """The commits of one file, through its renames."""

    first_us: int | None
    """Author date of the commit that created it, us UTC; None where that commit is not at hand or the date absurd."""
    last_us: int | None
    """Author date of the last commit that touched it, us UTC."""
    last_commit: str


@dataclass(frozen=True, slots=True)
class Change:
    """One path in one commit."""

    status: str
    """A, M, D, R or T; a merge's own changes carry one letter per parent, such as MM."""
    path: str
    former: str | None = None
    """Path before a rename."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the log."""

    id: str
    author_us: int | None
    changes: tuple[Change, ...]
    parents: tuple[str, ...] = ()


def replay(commits: list[Commit], boundary: frozenset[str] = frozenset()) -> dict[str, PathHistory]:
    """Follow every path through a log, parents before children.

    Parameters
    ----------
    commits : list of Commit
        Oldest first.
    boundary : frozenset of str
        Commits without known parents in a shallow clone; what they add is older by an unknown time.

    Returns
    -------
    dict of str to PathHistory
        Also for paths that are deleted by now. O(changes).
    """
    first: dict[str, int | None] = {}
    # a branch beside a rename may still change the old name, so the date it had stays at hand
    renamed: dict[str, int | None] = {}
    last: dict[str, Commit] = {}
    for commit in commits:
        created = None if commit.id in boundary else commit.author_us
        for change in commit.changes:
            path, former = change.path, change.former
            if former is not None:
                first[path] = first.pop(former, renamed.get(former, created))
                renamed[former] = first[path]
            elif path not in first:
                first[path] = created if change.status.startswith("A") else renamed.get(path, created)
            elif change.status == "A":
                first[path] = _older(first[path], created)
            last[path] = commit
    return {path: PathHistory(first.get(path), commit.author_us, commit.id) for path, commit in last.items()}


def _older(known: int | None, other: int | None) -> int | None:
    """The older of two dates; unknown is older than any, for the true date lies before the history's end."""
    return None if known is None or other is None else min(known, other)


def commits_of(out: bytes) -> Iterator[Commit]:
    """Read ``git log -z --name-status`` with the format of `LOG`.

    Header, NUL, and for each change: status, NUL, path, NUL, and for a rename the new path, NUL. Before the first
    status stands a newline, before a merge's an empty field.
    """
    fields = iter(out.split(b"\0"))
    head = b""
    changes: list[Change] = []
    for field in fields:
        status = field.lstrip(b"\n")
        if status.startswith(b"\x01"):
            if head:
                yield _commit(head, changes)
            head, changes = status, []
        elif status:
            path = os.fsdecode(next(fields, b""))
            if status[:1] in b"RC" and status[1:].isdigit():
                former, path = path, os.fsdecode(next(fields, b""))
                changes.append(Change("R", path, former) if status[:1] == b"R" else Change("A", path))
            else:
                changes.append(Change(status.decode("ascii", "replace"), path))
    if head:
        yield _commit(head, changes)


def _commit(head: bytes, changes: list[Change]) -> Commit:
    commit, seconds_text, *parents = head[1:].decode("ascii").split(" ")
    try:
        seconds = int(seconds_text)
    except ValueError:
        seconds = _FIRST_S - 1
    usable = _FIRST_S <= seconds <= _LAST_S
    return Commit(commit, seconds * US_PER_S if usable else None, tuple(changes), tuple(filter(None, parents)))
