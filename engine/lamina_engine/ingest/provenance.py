"""What git knows about files: the commit checked out, blob ids, and when a file was first and last committed."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lamina_engine.errors import IngestError
from lamina_engine.ingest.commits import LOG, Commit, PathHistory, commits_of, replay
from lamina_engine.ingest.decoding import is_unicode
from lamina_engine.ingest.git import TIMEOUT_S, GitFailed, run


@dataclass(frozen=True, slots=True)
class NoRepository:
    """Why nothing is known about a folder's files."""

    reason: str
    """no_git, no_repo, untrusted (owned by another user), bare, timeout or broken."""
    message: str


class Repository:
    """A git work tree as it was when it was found. Results are kept; look again for a newer state.

    Parameters
    ----------
    root : Path
        Top of the work tree, links resolved.
    head : str or None
        Commit checked out; None before the first commit.
    object_format : str
        ``sha1`` or ``sha256``.
    shallow : bool
        Whether the history is cut off.
    timeout_s : float
        Limit of each git call.
    """

    def __init__(
        self, root: Path, head: str | None, *, object_format: str, shallow: bool, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.root = root
        self.head = head
        self.object_format = object_format
        self.shallow = shallow
        self._timeout_s = timeout_s

    def relative(self, path: Path) -> str | None:
        """Return a file's path below the work tree with ``/``, links resolved; None when it lies outside."""
        try:
            return path.resolve().relative_to(self.root).as_posix()
        except (ValueError, OSError, RuntimeError):
            return None

    def blobs(self) -> Mapping[str, str]:
        """Return the blob id of every tracked regular file, by path below the work tree.

        From the index, so staged edits show. Links, submodules and names that are not UTF-8 are left out; of a path in
        conflict our side counts.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return self._tracked[0]

    def submodules(self) -> frozenset[str]:
        """Return the paths of submodules; files below them belong to repositories of their own.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return self._tracked[1]

    def history(self) -> Mapping[str, PathHistory]:
        """Return first and last commit of every tracked file that has one, from one pass over the log of ``head``.

        A rename carries the first date on (content at least half equal, as git detects it); a path that was deleted and
        came back keeps its oldest date; of parallel branches the older date counts.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return self._history

    def first_commit_dates(self) -> dict[str, int]:
        """Return when each tracked file was first committed: author date, us UTC. Unknown dates are left out.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return {path: facts.first_us for path, facts in self._history.items() if facts.first_us is not None}

    def log(self, beyond: str | None = None) -> list[Commit]:
        """Return the commits reachable from ``head``, parents before children, with their changed paths.

        Parameters
        ----------
        beyond : str, optional
            A commit: those reachable from it are left out.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        if self.head is None:
            return []
        which = [self.head] if beyond is None else [self.head, f"^{beyond}"]
        try:
            out = run(self.root, *LOG, "-M", *which, "--", timeout_s=self._timeout_s)
        except GitFailed as error:
            if error.reason == "timeout":
                raise IngestError(f"git cannot read the history of {str(self.root)!r}: {error}") from error
            # a partial clone lacks the old blobs that similarity needs, and must not fetch them; equal ids need none
            try:
                out = run(self.root, *LOG, "-M100%", *which, "--", timeout_s=self._timeout_s)
            except GitFailed as again:
                raise IngestError(f"git cannot read the history of {str(self.root)!r}: {again}") from again
        return list(commits_of(out))

    def git(self, *arguments: str) -> bytes:
        """Run git in the work tree and return what it wrote, as safely as everything here.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        try:
            return run(self.root, *arguments, timeout_s=self._timeout_s)
        except GitFailed as error:
            raise IngestError(f"git {arguments[0]} failed in {str(self.root)!r}: {error}") from error

    def blob_of(self, data: bytes) -> str:
        """Return the blob id that git would give these bytes, taken as they are (no filters, no newline conversion)."""
        return blob_id(data, self.object_format)

    def is_same(self, data: bytes, blob: str) -> bool:
        """Whether a working-tree file has a blob's content, also where git checks lines out with CR LF."""
        return self.blob_of(data) == blob or (b"\r\n" in data and self.blob_of(data.replace(b"\r\n", b"\n")) == blob)

    @functools.cached_property
    def _tracked(self) -> tuple[dict[str, str], frozenset[str]]:
        try:
            out = run(self.root, "ls-files", "-s", "-z", "--full-name", timeout_s=self._timeout_s)
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
        known = replay(self.log(), self.boundary())
        return {path: known[path] for path in self.blobs() if path in known}

    def boundary(self) -> frozenset[str]:
        """Return the commits whose parents a shallow clone left out: they only seem to create their files.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        if not self.shallow:
            return frozenset()
        try:
            name = run(self.root, "rev-parse", "--git-path", "shallow", timeout_s=self._timeout_s)
            return frozenset((self.root / os.fsdecode(name[:-1])).read_text(encoding="ascii").split())
        except (GitFailed, OSError, ValueError) as error:
            raise IngestError(f"git cannot tell where the history of {str(self.root)!r} ends: {error}") from error


def discover(path: Path, *, timeout_s: float = TIMEOUT_S) -> Repository | None:
    """Return the repository whose work tree holds a path, or None; `examine` says why there is none."""
    found = examine(path, timeout_s=timeout_s)
    return found if isinstance(found, Repository) else None


def examine(path: Path, *, timeout_s: float = TIMEOUT_S) -> Repository | NoRepository:
    """Find the repository whose work tree holds a path: an ordinary one, a linked work tree or a submodule.

    Parameters
    ----------
    path : Path
        File or folder.
    timeout_s : float
        Limit of each git call.

    Returns
    -------
    Repository or NoRepository
        The latter with a stable reason. Nothing is raised: a folder without git facts is an ordinary folder.
    """
    folder = path if path.is_dir() else path.parent
    try:
        # the top comes last: a path may hold newlines, so it is all that remains
        facts = ("--is-inside-work-tree", "--is-shallow-repository", "--show-object-format", "--show-toplevel")
        inside, shallow, object_format, top = run(folder, "rev-parse", *facts, timeout_s=timeout_s).split(b"\n", 3)
        head: str | None = None
        try:
            head = run(folder, "rev-parse", "--verify", "-q", "HEAD^{commit}", timeout_s=timeout_s).decode().strip()
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
    """Return git's id of a blob: the hash over ``blob``, its size and its bytes.

    References
    ----------
    .. [1] git, gitformat-pack(5) and hash-function-transition: "object name".
    """
    digest = hashlib.new(object_format, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
