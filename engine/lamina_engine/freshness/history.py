"""What became of files since a commit: one pass over a repository's log answers for every chunk of a scan.

The log is read once, parents before children, and only as far back as the oldest commit that any chunk was written at.
Each path then has its own short list of commits, and a file is followed along it through renames and deletions.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lamina_engine.clock import US_PER_S
from lamina_engine.errors import IngestError

if TYPE_CHECKING:
    from lamina_engine.ingest.git import Change, Commit, Repository

HERE: Final = "here"
"""The commit is part of the history that is checked out."""
ELSEWHERE: Final = "elsewhere"
"""It is not, but a branch or tag holds it: another line of work is checked out."""
REWRITTEN: Final = "rewritten"
"""No branch or tag holds it any more: history was rewritten."""
MISSING: Final = "missing"
"""The history is cut off before it: a shallow clone."""

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AT_ONCE: Final = 500
"""Commits named on one command line: systems limit its length."""
Later = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Trace:
    """What became of one file."""

    commits: int
    """Commits that touched it."""
    path: str
    """Where it is now, or was before it was deleted."""
    renamed: bool
    deleted: bool


class History:
    """A repository's log, indexed by path.

    Parameters
    ----------
    repository : Repository
        As it is now.
    bases : collection of str
        Commits that chunks were written at.
    whole : bool
        Read all of it: something is to be counted from a date, not from a commit.

    Raises
    ------
    IngestError
        When git fails or takes too long.

    Notes
    -----
    O(commits since the oldest base), and for each file O(log of the commits that touched it).
    """

    def __init__(self, repository: Repository, bases: Collection[str], *, whole: bool = False) -> None:
        self._repository = repository
        self._present = self._existing(sorted(base for base in bases if _COMMIT.fullmatch(base)))
        beyond = None if whole or not self._present else self._common()
        self.commits: list[Commit] = repository.log(beyond)
        self._position = {commit.id: i for i, commit in enumerate(self.commits)}
        self._beyond = beyond
        known = ([self._position[p] for p in c.parents if p in self._position] for c in self.commits)
        self._parents: list[list[int]] = list(known)
        self._alone = _alone(self._parents)
        self._cut = repository.boundary()
        self._left: set[str] = set()
        """Paths that some commit renames to another."""
        self._touching = self._index()
        self._standing: dict[str, str] = {}
        self._laters: dict[str, Later] = {}

    def standing(self, base: str) -> str:
        """Return where a commit stands: `HERE`, `ELSEWHERE`, `REWRITTEN` or `MISSING`.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        if base not in self._standing:
            self._standing[base] = self._stands(base)
        return self._standing[base]

    def since(self, base: str) -> Later:
        """Return what tells whether a commit came after a base, that is, cannot be reached from it.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        if base not in self._laters:
            self._laters[base] = self._since(base)
        return self._laters[base]

    def after(self, moment_us: int) -> Later | None:
        """Return what tells whether a commit was written since a moment; None where the history does not reach back so far.

        By author dates: rewriting gives old work new committer dates. git's dates are whole seconds, so the second of
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

    def follow(self, path: str, later: Later) -> Trace:
        """Follow a file from where it was through all later commits.

        A file that a branch still calls by its former name is the same file; one that is created anew under the former
        name is not.
        """
        if path not in self._left:  # the same without renames, which nearly all files are: no order to keep
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
        for part in _parts(bases):
            out = self._repository.git("rev-list", "--no-walk=unsorted", "--ignore-missing", *part, "--")
            found += out.decode("ascii").split()
        return sorted(set(found))

    def _common(self) -> str | None:
        """Return the best commit that every base and what is checked out have behind them; None where there is none."""
        common = self._repository.head
        for part in _parts(self._present):
            if common is None:
                return None
            try:
                out = self._repository.git("merge-base", "--octopus", common, *part)
            except IngestError:  # git says so by failing: histories without a common commit
                return None
            common = out.decode("ascii").strip() or None
        return common

    def _stands(self, base: str) -> str:
        if base in self._position or base == self._beyond or base == self._repository.head:
            return HERE
        if base not in self._present:
            return MISSING if self._repository.shallow else REWRITTEN
        holders = self._repository.git("for-each-ref", "--count=1", "--format=%(objectname)", f"--contains={base}")
        if holders.strip():
            return ELSEWHERE
        # where history is cut off, nobody can tell whether the commit lies before the cut
        return MISSING if self._repository.shallow else REWRITTEN

    def _since(self, base: str) -> Later:
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
        """Return what a commit has behind it: all positions below the first number, and those of the set."""
        reached: set[int] = set()
        waiting = [-start]
        while waiting:
            i = -heapq.heappop(waiting)
            if i in reached:
                continue
            reached.add(i)
            if not waiting and self._alone[i]:
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
                    self._left.add(change.former)
                    touching[change.former].append((i, change))
        return touching


def _alone(parents: list[list[int]]) -> list[bool]:
    """Tell for each commit whether all before it in the log lie behind it: there no other line of work is open."""
    tips: set[int] = set()
    found = []
    for i, behind in enumerate(parents):
        tips.difference_update(behind)
        tips.add(i)
        found.append(len(tips) == 1)
    return found


def _parts(names: Iterable[str]) -> Iterator[list[str]]:
    every = list(names)
    for start in range(0, len(every), _AT_ONCE):
        yield every[start : start + _AT_ONCE]
