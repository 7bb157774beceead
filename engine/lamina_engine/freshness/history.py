"""History and work tree of a repository, read once for all chunks of a scan.

The log is read once, parents before children, and only as far back as the oldest commit that any chunk was written at.
A renamed file keeps its history.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lamina_engine import after_fork
from lamina_engine.clock import US_PER_S
from lamina_engine.errors import IngestError
from lamina_engine.ingest.git import Repository
from lamina_engine.ingest.origins import read_file

if TYPE_CHECKING:
    from lamina_engine.ingest.git import Change, Commit

HERE: Final = "here"
"""The commit is part of the history that is checked out."""
ELSEWHERE: Final = "elsewhere"
"""It is not, but a branch or tag holds it: another line of work is checked out."""
REWRITTEN: Final = "rewritten"
"""No branch or tag holds it any more: history was rewritten."""
MISSING: Final = "missing"
"""The history is cut off before it: a shallow clone."""

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BATCH_COMMITS: Final = 500
"""Commits named on one command line: systems limit its length."""
CommitFilter = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Trace:
    """A file followed through later commits."""

    commits: int
    """Commits that touched it."""
    path: str
    """Its path now, or before it was deleted."""
    renamed: bool
    deleted: bool


class History:
    """A repository's log, indexed by path.

    O(commits since the oldest base), and for each file O(log of the commits that touched it).
    """

    def __init__(self, repository: Repository, bases: Collection[str], *, complete: bool = False) -> None:
        self._repository = repository
        self._present = self._existing(sorted(base for base in bases if _COMMIT.fullmatch(base)))
        beyond = None if complete or not self._present else self._common()
        self.commits: list[Commit] = repository.log(beyond)
        self._position = {commit.id: i for i, commit in enumerate(self.commits)}
        self._beyond = beyond
        known = ([self._position[p] for p in c.parents if p in self._position] for c in self.commits)
        self._parents: list[list[int]] = list(known)
        self._single = _single_tips(self._parents)
        self._cut = repository.boundary()
        self._renamed: set[str] = set()
        """Paths that some commit renames to another."""
        self._touching = self._index()
        self._located: dict[str, str] = {}
        self._laters: dict[str, CommitFilter] = {}

    def locate(self, base: str) -> str:
        """Return whether a commit is `HERE`, `ELSEWHERE`, `REWRITTEN` or `MISSING`."""
        if base not in self._located:
            self._located[base] = self._locate(base)
        return self._located[base]

    def since(self, base: str) -> CommitFilter:
        """Return a filter of the commits after a base: those that cannot be reached from it."""
        if base not in self._laters:
            self._laters[base] = self._since(base)
        return self._laters[base]

    def after(self, moment_us: int) -> CommitFilter | None:
        """Return a filter of the commits since a moment; None where the history is cut off.

        By author dates: rewriting gives old work new committer dates. git's dates are complete seconds, so the second of
        the moment counts, as it does for ``git log --since``.
        """
        moment_us -= moment_us % US_PER_S
        for commit in self.commits:
            if commit.id in self._cut and (commit.author_us is None or commit.author_us >= moment_us):
                return None
        dates = [commit.author_us for commit in self.commits]

        def later(i: int) -> bool:
            date = dates[i]
            return date is not None and date >= moment_us

        return later

    def follow(self, path: str, later: CommitFilter) -> Trace:
        """Follow a file through all later commits.

        A file that a branch still calls by its former name is the same file; a new one under the former name is not.
        """
        if path not in self._renamed:  # the same without renames, which nearly all files are: no order to keep
            kept = [(i, change) for i, change in self._touching.get(path, ()) if later(i)]
            return Trace(len({i for i, _ in kept}), path, False, bool(kept) and set(kept[-1][1].status) == {"D"})
        names = {path}
        current, renamed, deleted = path, False, False
        touched: set[int] = set()
        turn = itertools.count()  # changes have no order of their own
        waiting = [(i, next(turn), path, change) for i, change in self._touching.get(path, ()) if later(i)]
        while waiting:
            i, _, name, change = heapq.heappop(waiting)
            if name not in names:
                continue
            if change.former == name:
                touched.add(i)
                current, renamed, deleted = change.path, True, False
                if current not in names:
                    names.add(current)
                    for later_i, other in self._touching.get(current, ()):
                        if later_i > i and later(later_i):
                            heapq.heappush(waiting, (later_i, next(turn), current, other))
            elif name != current and change.status == "A":
                names.discard(name)
            else:
                touched.add(i)
                if name == current:
                    deleted = set(change.status) == {"D"}
        return Trace(len(touched), current, renamed and current != path, deleted)

    # ------------------------------------------------------------------ bases

    def _existing(self, bases: list[str]) -> list[str]:
        """Return the commits that the repository has at all."""
        found: list[str] = []
        for part in _batches(bases):
            out = self._repository.git("rev-list", "--no-walk=unsorted", "--ignore-missing", *part, "--")
            found += out.decode("ascii").split()
        return sorted(set(found))

    def _common(self) -> str | None:
        """Return the best common ancestor of every base and the head, if there is one."""
        common = self._repository.head
        for part in _batches(self._present):
            if common is None:
                return None
            try:
                out = self._repository.git("merge-base", "--octopus", common, *part)
            except IngestError:  # git fails for histories without a common commit
                return None
            common = out.decode("ascii").strip() or None
        return common

    def _locate(self, base: str) -> str:
        if base in self._position or base == self._beyond or base == self._repository.head:
            return HERE
        if base not in self._present:
            return MISSING if self._repository.shallow else REWRITTEN
        holders = self._repository.git("for-each-ref", "--count=1", "--format=%(objectname)", f"--contains={base}")
        if holders.strip():
            return ELSEWHERE
        # where history is cut off, the commit may lie before the cut
        return MISSING if self._repository.shallow else REWRITTEN

    def _since(self, base: str) -> CommitFilter:
        start = self._position.get(base)
        if start is not None:
            floor, reached = self._reached(start)
            return lambda i: i >= floor and i not in reached
        if base in (self._beyond, self._repository.head):
            return lambda i: True
        out = self._repository.git("rev-list", str(self._repository.head), f"^{base}", "--")
        ids = set(out.decode("ascii").split())
        return lambda i: self.commits[i].id in ids

    def _reached(self, start: int) -> tuple[int, frozenset[int]]:
        """Return the ancestors of a commit: all positions below the first number, and the set."""
        reached: set[int] = set()
        waiting = [-start]
        while waiting:
            i = -heapq.heappop(waiting)
            if i in reached:
                continue
            reached.add(i)
            if not waiting and self._single[i]:
                return i, frozenset(reached)
            for parent in self._parents[i]:
                heapq.heappush(waiting, -parent)
        return 0, frozenset(reached)

    def _index(self) -> dict[str, list[tuple[int, Change]]]:
        touching: dict[str, list[tuple[int, Change]]] = defaultdict(list)
        for i, commit in enumerate(self.commits):
            if commit.id in self._cut:  # it only seems to create its files
                continue
            for change in commit.changes:
                touching[change.path].append((i, change))
                if change.former is not None:
                    self._renamed.add(change.former)
                    touching[change.former].append((i, change))
        return touching


def _single_tips(parents: list[list[int]]) -> list[bool]:
    """Return for each commit whether no other line of work is open beside it."""
    tips: set[int] = set()
    found = []
    for i, behind in enumerate(parents):
        tips.difference_update(behind)
        tips.add(i)
        found.append(len(tips) == 1)
    return found


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    every = list(names)
    for start in range(0, len(every), _BATCH_COMMITS):
        yield every[start : start + _BATCH_COMMITS]


@after_fork.track_property_locks
class WorkTree:
    """The work tree of one repository, read once."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._blobs: dict[str, str | None] = {}

    def is_tracked(self, path: str) -> bool:
        """Return whether the index has a path."""
        return path in self.repository.blobs()

    def exists(self, path: str) -> bool:
        """Return whether something is at a path."""
        return os.path.lexists(self.repository.root / path)

    def is_deleted(self, path: str) -> bool:
        """Return whether a tracked file was removed, not merely left out of a sparse checkout."""
        return path in self._deleted

    def moved_to(self, path: str) -> str | None:
        """Return where a staged rename put a file."""
        return self._moves.get(path)

    def blob(self, path: str) -> str | None:
        """Return the blob id of a file's bytes; None for an unreadable or huge file."""
        if path not in self._blobs:
            data = read_file(self.repository.root / path)
            self._blobs[path] = None if data is None else self.repository.blob_of(data)
        return self._blobs[path]

    def differs(self, path: str, blob: str) -> bool | None:
        """Return whether a file's bytes differ from a blob; None where they cannot be read."""
        found = self.blob(path)
        if found is None or found == blob:
            return None if found is None else False
        data = read_file(self.repository.root / path)
        return None if data is None else not self.repository.is_same(data, blob)

    @functools.cached_property
    def _deleted(self) -> frozenset[str]:
        out = self.repository.git("ls-files", "-d", "-z", "--full-name")
        return frozenset(os.fsdecode(name) for name in out.split(b"\0") if name)

    @functools.cached_property
    def _moves(self) -> dict[str, str]:
        if self.repository.head is None:
            return {}
        options = ("--cached", "-z", "--name-status", "-M", "--no-ext-diff", "--no-textconv", "--diff-filter=R")
        try:
            out = self.repository.git("diff", *options, self.repository.head, "--")
        except IngestError:  # blobs that similarity needs may be missing in a partial clone
            return {}
        fields = [os.fsdecode(field) for field in out.split(b"\0") if field]
        return dict(zip(fields[1::3], fields[2::3], strict=False))


def remote_of(repository: Repository) -> str | None:
    """Return the URL that a repository was cloned from, if it has one."""
    try:
        return repository.git("config", "--get", "remote.origin.url").decode("utf-8", "replace").strip() or None
    except IngestError:  # it has no remote
        return None
