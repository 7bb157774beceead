"""Verdicts on chunks by git, the work tree and the calendar; never a guess.

The number of commits sets the tier, the bytes of the file decide whether it needs a review. Without an answer the tier is
``unknown``, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamina_engine.clock import US_PER_DAY, format_instant
from lamina_engine.errors import IngestError
from lamina_engine.freshness import report
from lamina_engine.freshness.history import HERE, MISSING, REWRITTEN, CommitFilter, History, WorkTree, remote_of
from lamina_engine.freshness.report import FreshnessItem
from lamina_engine.freshness.subjects import ReviewMarks, Subject
from lamina_engine.freshness.tiers import EXPIRED, FRESH, UNKNOWN, Thresholds, tier_of_age, tier_of_commits
from lamina_engine.ingest.git import NoRepository, Repository
from lamina_engine.ingest.origins import Repositories
from lamina_engine.profiles import Decay
from lamina_engine.recall.score import half_life_days

_CODE_OF_REASON: Final = {
    "no_git": report.NO_GIT, "no_repo": report.NO_REPO, "bare": report.NO_REPO, "untrusted": report.NO_REPO,
}  # fmt: skip
"""Reason codes, by why there is no repository; git that fails or times out leaves no history."""


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """Verdict on one file since one base."""

    tier: str
    code: str
    words: str
    commits: int | None = None
    changed: bool | None = None
    counted_by: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Repository and path of a subject's file."""

    repository: Repository
    path: str


class Judge:
    """Judges subjects; each repository's history is read once for all of them."""

    def __init__(
        self,
        now_us: int,
        thresholds: Thresholds,
        decay: Decay,
        marks: ReviewMarks,
        *,
        git_check: bool = True,
        repo: Repository | NoRepository | None = None,
    ) -> None:
        self._now_us, self._thresholds, self._decay = now_us, thresholds, decay
        self._marks, self._requested = marks, dict(marks.requested)
        self._git_check, self._repo = git_check, repo
        self._repositories = Repositories()
        self._trees: dict[Path, WorkTree] = {}
        self._copies: dict[tuple[Path, Path], bool] = {}
        self._histories: dict[Path, History | None] = {}
        self._facts: dict[tuple[Path, str, str | None, str | None, int], FileVerdict] = {}
        self.problems: list[str] = []
        """Errors of repositories that could not be read."""

    def judge(self, subjects: Sequence[Subject]) -> list[tuple[Subject, FreshnessItem]]:
        """Return a verdict for every subject in scope, in their order."""
        if not self._git_check:
            return [(each, self._item(each, self._by_age(each), None)) for each in subjects]
        places = [self.place(each) for each in subjects]
        self._read_histories(subjects, places)
        found = []
        for each, place in zip(subjects, places, strict=True):
            if isinstance(place, Place):
                found.append((each, self._item(each, self._of_file(each, place), place.repository)))
            elif place is not None or self._repo is None:
                found.append((each, self._item(each, self._without_file(each, place), None)))
        return found

    def request_reviews(self, requested: Mapping[int, str]) -> None:
        """Add requests for reviews, by row, with their reasons."""
        self._requested.update(requested)

    def place(self, subject: Subject) -> Place | NoRepository | None:
        """Return the place of a subject's file, or the reason there is none.

        None where it names no file, or none in scope.
        """
        repo = self._repo
        if isinstance(repo, NoRepository):
            return repo if subject.file is not None or subject.named else None
        here = self._repositories.of(subject.file) if subject.file is not None else None
        if isinstance(here, Repository) and subject.file is not None:
            path = here.relative(subject.file)
            if path is None:
                return NoRepository("no_repo", "its file is a link that leads out of the repository")
            if repo is None or repo.root == here.root:
                return Place(here, path)
            return Place(repo, path) if self._is_copy(repo, here) else None
        named = (
            subject.named or subject.source
        )  # where the caller says in which work tree to look, a source may be a path
        if repo is not None and named and self._has_file(repo, named):
            return Place(repo, named)
        if here is None and subject.named and repo is None:
            return NoRepository("no_repo", f"{subject.named} was found in no git repository")
        return here if repo is None and isinstance(here, NoRepository) else None

    def tree(self, repository: Repository) -> WorkTree:
        """Return the work tree of a repository; one for all its files."""
        return self._trees.setdefault(repository.root, WorkTree(repository))

    def _is_copy(self, repo: Repository, other: Repository) -> bool:
        """Return whether two work trees are of one project: linked, or clones of one another."""
        pair = (repo.root, other.root)
        if pair not in self._copies:
            mine, theirs = remote_of(repo), remote_of(other)
            cloned = mine is not None and mine.removeprefix("file://").rstrip("/") in _clone_urls(other)
            self._copies[pair] = (
                cloned or (mine is not None and mine == theirs) or bool(_root_commits(repo) & _root_commits(other))
            )
        return self._copies[pair]

    def _has_file(self, repository: Repository, path: str) -> bool:
        if path.startswith("/") or ".." in path.split("/"):
            return False
        tree = self.tree(repository)
        try:
            return tree.exists(path) or tree.is_tracked(path)
        except IngestError:
            return False

    # ------------------------------------------------------------------ git

    def _read_histories(self, subjects: Sequence[Subject], places: Sequence[Place | NoRepository | None]) -> None:
        bases: dict[Path, set[str]] = {}
        complete: set[Path] = set()
        repositories: dict[Path, Repository] = {}
        for each, place in zip(subjects, places, strict=True):
            if isinstance(place, Place):
                root = place.repository.root
                repositories[root] = place.repository
                bases.setdefault(root, set())
                if each.commit is None:
                    complete.add(root)
                else:
                    bases[root].add(each.commit)
        for root in sorted(repositories.keys() - self._histories.keys()):
            repository = repositories[root]
            self._histories[root] = self._history(repository, bases[root], complete=root in complete)

    def _history(self, repository: Repository, bases: set[str], *, complete: bool) -> History | None:
        try:
            found = History(repository, bases, complete=complete)
            if not complete and any(found.locate(base) == REWRITTEN for base in sorted(bases)):
                found = History(repository, bases, complete=True)
        except IngestError as error:
            self.problems.append(str(error))
            return None
        return found

    def _of_file(self, subject: Subject, place: Place) -> FileVerdict:
        root = place.repository.root
        key = (root, place.path, subject.commit, subject.blob, subject.since_us)
        if key not in self._facts:
            history = self._histories[root]
            try:
                found = None if history is None else self._compare(subject, place, history)
            except IngestError as error:
                self.problems.append(str(error))
                found = None
            self._facts[key] = found or FileVerdict(UNKNOWN, report.NO_HISTORY, "git could not read the history")
        return self._facts[key]

    def _compare(self, subject: Subject, place: Place, history: History) -> FileVerdict:
        tree = self.tree(place.repository)
        if place.repository.head is None:
            return self._untracked(subject, tree, place.path, "its repository has no commit yet")
        place_in_history = HERE if subject.commit is None else history.locate(subject.commit)
        if place_in_history == MISSING:
            return self._untracked(subject, tree, place.path, "a shallow clone does not reach back to its commit")
        by_date = subject.commit is None or place_in_history == REWRITTEN
        later = history.after(subject.since_us) if by_date else history.since(str(subject.commit))
        if later is None:
            return self._untracked(
                subject, tree, place.path, "a shallow clone does not reach back to when it was written"
            )
        return self._trace(
            subject, tree, place.path, history, later, rewritten=place_in_history == REWRITTEN, by_date=by_date
        )

    def _trace(
        self,
        subject: Subject,
        tree: WorkTree,
        before: str,
        history: History,
        later: CommitFilter,
        *,
        rewritten: bool,
        by_date: bool,
    ) -> FileVerdict:
        trace = history.follow(before, later)
        path, moved = trace.path, tree.moved_to(trace.path) if not tree.is_tracked(trace.path) else None
        path = moved or path
        counted = "date" if by_date else "commit"
        if not tree.exists(path) and (not tree.is_tracked(path) or tree.is_deleted(path)):
            words = f"{path} was deleted ({_count_commits(trace.commits)} since)"
            return FileVerdict(EXPIRED, report.DELETED, words, trace.commits, True, counted, path)
        if not tree.is_tracked(path):
            return self._untracked(subject, tree, path, "git does not track its file")
        changed = tree.differs(path, subject.blob) if subject.blob else None
        tier = tier_of_commits(trace.commits, self._thresholds)
        words = self._counted(trace.commits, tier)
        code = report.COMMITS
        if rewritten:
            code, words = report.HISTORY_REWRITTEN, f"history was rewritten; by date {words}"
        elif trace.renamed or moved:
            code, words = report.RENAMED, f"{before} is now {path}; {words}"
        elif changed and not trace.commits:
            code, words = report.CONTENT_CHANGED, f"{path} was edited and not committed"
        return FileVerdict(tier, code, words, trace.commits, changed, counted, path)

    def _untracked(self, subject: Subject, tree: WorkTree, path: str, why: str) -> FileVerdict:
        changed = tree.differs(path, subject.blob) if subject.blob else None
        return FileVerdict(UNKNOWN, report.NO_HISTORY, why, None, changed, None, path)

    def _counted(self, commits: int, tier: str) -> str:
        limit = getattr(self._thresholds, tier, None)
        return f"{_count_commits(commits)} since it was written" + (f" ({tier} from {limit})" if limit else "")

    # ------------------------------------------------------------------ calendar

    def _without_file(self, subject: Subject, place: NoRepository | None) -> FileVerdict:
        if place is None:
            return self._by_age(subject)
        return FileVerdict(UNKNOWN, _CODE_OF_REASON.get(place.reason, report.NO_HISTORY), place.message)

    def _by_age(self, subject: Subject) -> FileVerdict:
        age_days = self._age_days(subject)
        if age_days is None:
            return FileVerdict(UNKNOWN, report.NO_PATH, "it names no file and has no date")
        half_life = half_life_days(self._decay, subject.type, subject.collection)
        tier = tier_of_age(age_days, half_life)
        return FileVerdict(tier, report.AGE, f"{age_days:.1f} days old, with a half-life of {half_life:g} days")

    def _age_days(self, subject: Subject) -> float | None:
        return None if subject.created_us is None else max(0.0, (self._now_us - subject.created_us) / US_PER_DAY)

    def _item(self, subject: Subject, facts: FileVerdict, repository: Repository | None) -> FreshnessItem:
        request = self._requested.get(subject.row)
        code, words = facts.code, facts.words
        quiet = facts.tier == FRESH and code in (report.COMMITS, report.AGE) and not facts.commits
        if request is not None and quiet:
            code, words = report.MANUAL, request
        found = bool(facts.commits) or bool(facts.changed)
        if facts.code == report.DELETED:  # unless the chunk was confirmed after the file was deleted
            found = self._marks.cleared_us.get(subject.row, subject.since_us) <= subject.since_us
        return FreshnessItem(
            id=subject.id,
            source=subject.source,
            tier=facts.tier,
            reason_code=code,
            reason=words,
            commits=facts.commits,
            needs_review=found or request is not None,
            found=found,
            manual=request is not None,
            content_changed=facts.changed,
            counted_by=facts.counted_by,
            path=facts.path,
            repository=repository.root.as_posix() if repository is not None else None,
            commit=subject.commit,
            stored_at=str(format_instant(subject.since_us)),
            age_days=self._age_days(subject),
            type=subject.type,
            collection=subject.collection,
            project=subject.project,
            row=subject.row,
        )


def _clone_urls(repository: Repository) -> tuple[str, str]:
    """Return the paths by which a clone names the repository it was made from."""
    return repository.root.as_posix(), (repository.root / ".git").as_posix()


def _root_commits(repository: Repository) -> frozenset[str]:
    """Return the commits that a history begins with; none where it is cut off."""
    if repository.head is None or repository.shallow:
        return frozenset()
    try:
        out = repository.git("rev-list", "--max-parents=0", repository.head, "--")
    except IngestError:
        return frozenset()
    return frozenset(out.decode("ascii").split())


def _count_commits(count: int) -> str:
    return f"{count:,} commit{'' if count == 1 else 's'}"
