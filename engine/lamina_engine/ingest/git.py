"""Git, hardened: commands, the commit log, and what a repository records about its files.

A repository may come from anyone, and its own ``.git/config`` can name programs. Every call therefore runs with hooks,
the file-system monitor, external diff, text conversion, signature checks and every transport off, without the system's
configuration or any ``GIT_*`` variable of the caller (so a hook's ``GIT_DIR`` does not redirect it), without a shell,
and with a time limit. The user's own global configuration is read, because it holds their decision which folders of
other owners are safe; that decision is never made here.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lamina_engine import after_fork
from lamina_engine.arguments import is_unicode
from lamina_engine.clock import US_PER_S
from lamina_engine.errors import IngestError

TIMEOUT_S = 60.0
"""Limit of one git call. One pass over 2,400 commits takes about 0.1 s."""

_OPTIONS = (
    "--no-pager",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "diff.external="),
    *("-c", "protocol.allow=never"),
    *("-c", "log.showSignature=false"),
)
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CEILING_DIRECTORIES")


class GitFailed(Exception):
    """Failed git call; ``reason`` is no_git, no_repo, untrusted, bare, timeout or broken."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def run_git(folder: Path, *arguments: str, timeout_s: float) -> bytes:
    """Run git in a folder and return its output; raises `GitFailed`."""
    try:
        done = subprocess.run(
            ["git", "-C", os.fspath(folder.absolute()), *_OPTIONS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitFailed("no_git", "the program git was not found; files are read without commit facts") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed("timeout", f"git took longer than {timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        raise GitFailed("broken", f"git cannot be run ({error})") from error
    if done.returncode == 0:
        return done.stdout
    message = done.stderr.decode("utf-8", "replace").strip()
    raise GitFailed(_reason(message), message.splitlines()[0] if message else f"git exited with {done.returncode}")


def _reason(message: str) -> str:
    """Classify git's error message, which is English under ``LC_ALL=C``."""
    if "dubious ownership" in message or "unsafe repository" in message:
        return "untrusted"
    if "must be run in a work tree" in message:
        return "bare"
    if "not a git repository" in message:
        return "no_repo"
    return "broken"


def _environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


LOG = (
    *("log", "-z", "--format=%x01%H %at %P", "--topo-order", "--reverse", "--name-status", "-c"),
    *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-relative", "--no-color", "-l1000"),
)
"""Arguments of the log that `parse_log` reads; the range follows."""

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # the years 1 to 9999


@dataclass(frozen=True, slots=True)
class PathHistory:
    """First and last commit of one file, through its renames."""

    first_us: int | None
    """Author date of the commit that created it, us UTC; None where that commit is missing or its date absurd."""
    last_us: int | None
    """Author date of the last commit that touched it, us UTC."""
    last_commit: str


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one path in one commit."""

    status: str
    """A, M, D, R or T; a merge's own changes carry one letter per parent, such as MM."""
    path: str
    former: str | None = None
    """Path before a rename."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit of the log."""

    id: str
    author_us: int | None
    changes: tuple[Change, ...]
    parents: tuple[str, ...] = ()


def follow_paths(commits: list[Commit], boundary: frozenset[str] = frozenset()) -> dict[str, PathHistory]:
    """Follow every path through a log, parents before children; deleted paths are included.

    ``boundary`` are commits whose parents a shallow clone lacks: what they add is older by an unknown time.
    """
    first: dict[str, int | None] = {}
    # a branch beside a rename may still change the old name, so its date is kept
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
    """Return the older of two dates; unknown lies before the history's end, so it is older."""
    return None if known is None or other is None else min(known, other)


def parse_log(out: bytes) -> Iterator[Commit]:
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
                yield _read_commit(head, changes)
            head, changes = status, []
        elif status:
            path = os.fsdecode(next(fields, b""))
            if status[:1] in b"RC" and status[1:].isdigit():
                former, path = path, os.fsdecode(next(fields, b""))
                changes.append(Change("R", path, former) if status[:1] == b"R" else Change("A", path))
            else:
                changes.append(Change(status.decode("ascii", "replace"), path))
    if head:
        yield _read_commit(head, changes)


def _read_commit(head: bytes, changes: list[Change]) -> Commit:
    commit, seconds_text, *parents = head[1:].decode("ascii").split(" ")
    try:
        seconds = int(seconds_text)
    except ValueError:
        seconds = _FIRST_S - 1
    usable = _FIRST_S <= seconds <= _LAST_S
    return Commit(commit, seconds * US_PER_S if usable else None, tuple(changes), tuple(filter(None, parents)))


@dataclass(frozen=True, slots=True)
class NoRepository:
    """Reason why nothing is known about a folder's files."""

    reason: str
    """no_git, no_repo, untrusted (owned by another user), bare, timeout or broken."""
    message: str


@after_fork.track_property_locks
class Repository:
    """Git work tree at the time it was examined; results are cached."""

    def __init__(
        self, root: Path, head: str | None, *, object_format: str, shallow: bool, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.root = root
        self.head = head
        self.object_format = object_format
        self.shallow = shallow
        self._timeout_s = timeout_s

    def relative(self, path: Path) -> str | None:
        """Return a file's path below the work tree, links resolved; None when it lies outside."""
        try:
            return path.resolve().relative_to(self.root).as_posix()
        except (ValueError, OSError, RuntimeError):
            return None

    def blobs(self) -> Mapping[str, str]:
        """Return the blob id of every tracked regular file, by path below the work tree.

        From the index, so staged edits show. Links, submodules and names that are not UTF-8 are left out; of a path in
        conflict our side counts.
        """
        return self._tracked[0]

    def submodules(self) -> frozenset[str]:
        """Return the paths of submodules; files below them belong to repositories of their own."""
        return self._tracked[1]

    def history(self) -> Mapping[str, PathHistory]:
        """Return first and last commit of every tracked file, from one pass over the log.

        A rename carries the first date on (content at least half equal, as git detects it); a path that was deleted and came
        back keeps its oldest date; of parallel branches the older date counts.
        """
        return self._history

    def log(self, beyond: str | None = None) -> list[Commit]:
        """Return the commits of ``head`` that ``beyond`` does not reach, parents before children."""
        if self.head is None:
            return []
        which = [self.head] if beyond is None else [self.head, f"^{beyond}"]
        try:
            out = run_git(self.root, *LOG, "-M", *which, "--", timeout_s=self._timeout_s)
        except GitFailed as error:
            if error.reason == "timeout":
                raise IngestError(f"git cannot read the history of {str(self.root)!r}: {error}") from error
            # a partial clone lacks the old blobs that similarity needs, and must not fetch them; equal ids need none
            try:
                out = run_git(self.root, *LOG, "-M100%", *which, "--", timeout_s=self._timeout_s)
            except GitFailed as again:
                raise IngestError(f"git cannot read the history of {str(self.root)!r}: {again}") from again
        return list(parse_log(out))

    def git(self, *arguments: str) -> bytes:
        """Run git in the work tree, hardened like every call here."""
        try:
            return run_git(self.root, *arguments, timeout_s=self._timeout_s)
        except GitFailed as error:
            raise IngestError(f"git {arguments[0]} failed in {str(self.root)!r}: {error}") from error

    def blob_of(self, data: bytes) -> str:
        """Return git's blob id of these bytes, without filters or newline conversion."""
        return blob_id(data, self.object_format)

    def is_same(self, data: bytes, blob: str) -> bool:
        """Return whether a file has a blob's content, also where git checks out CR LF."""
        return self.blob_of(data) == blob or (b"\r\n" in data and self.blob_of(data.replace(b"\r\n", b"\n")) == blob)

    @functools.cached_property
    def _tracked(self) -> tuple[dict[str, str], frozenset[str]]:
        try:
            out = run_git(self.root, "ls-files", "-s", "-z", "--full-name", timeout_s=self._timeout_s)
        except GitFailed as error:
            raise IngestError(f"git cannot list the files of {str(self.root)!r}: {error}") from error
        blobs: dict[str, str] = {}
        submodules = []
        for line in out.split(b"\0")[:-1]:
            facts, _, name = line.partition(b"\t")
            mode, blob, stage = facts.decode("ascii").split(" ")
            path = os.fsdecode(name)
            if mode == "160000":
                submodules.append(path)
            elif mode.startswith("100") and is_unicode(path) and (stage in ("0", "2") or path not in blobs):
                blobs[path] = blob
        return blobs, frozenset(submodules)

    @functools.cached_property
    def _history(self) -> dict[str, PathHistory]:
        known = follow_paths(self.log(), self.boundary())
        return {path: known[path] for path in self.blobs() if path in known}

    def boundary(self) -> frozenset[str]:
        """Return the commits that a shallow clone cut off from their parents."""
        if not self.shallow:
            return frozenset()
        try:
            name = run_git(self.root, "rev-parse", "--git-path", "shallow", timeout_s=self._timeout_s)
            return frozenset((self.root / os.fsdecode(name[:-1])).read_text(encoding="ascii").split())
        except (GitFailed, OSError, ValueError) as error:
            raise IngestError(f"git cannot find where the history of {str(self.root)!r} ends: {error}") from error


def find_repository(path: Path) -> Repository | None:
    """Return the repository whose work tree holds a path, or None; see `examine_repository`."""
    found = examine_repository(path)
    return found if isinstance(found, Repository) else None


def examine_repository(path: Path, *, timeout_s: float = TIMEOUT_S) -> Repository | NoRepository:
    """Return the repository whose work tree holds a path, or the reason why there is none.

    It may be an ordinary one, a linked work tree or a submodule. Nothing is raised: a folder without git is an ordinary
    folder.
    """
    folder = path if path.is_dir() else path.parent
    try:
        # the top comes last: a path may hold newlines, so it is all that remains
        facts = ("--is-inside-work-tree", "--is-shallow-repository", "--show-object-format", "--show-toplevel")
        inside, shallow, object_format, top = run_git(folder, "rev-parse", *facts, timeout_s=timeout_s).split(b"\n", 3)
        head: str | None = None
        try:
            head = run_git(folder, "rev-parse", "--verify", "-q", "HEAD^{commit}", timeout_s=timeout_s).decode().strip()
        except GitFailed as error:
            if error.reason == "timeout":
                raise
    except GitFailed as error:
        return NoRepository(error.reason, str(error))
    except ValueError:
        return NoRepository("broken", "git answered what this Lamina does not understand")
    if inside != b"true":
        # core.worktree may name any folder of the machine; only one that holds the path says something about it
        return NoRepository("no_repo", "the repository found here keeps its files elsewhere (core.worktree)")
    return Repository(
        Path(os.fsdecode(top[:-1])).resolve(),
        head,
        object_format=object_format.decode(),
        shallow=shallow == b"true",
        timeout_s=timeout_s,
    )


def blob_id(data: bytes, object_format: str = "sha1") -> str:
    """Return git's object name of a blob: the hash over ``blob``, its size and its bytes."""
    digest = hashlib.new(object_format, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
