"""What the work tree of a repository says about its files: tracked, deleted, moved, changed."""

from __future__ import annotations

import functools
import os

from lamina_engine.errors import IngestError
from lamina_engine.ingest.git import Repository
from lamina_engine.ingest.origins import read_file


class WorkTree:
    """The work tree of one repository, looked at once.

    Parameters
    ----------
    repository : Repository
        As it is now.
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._blobs: dict[str, str | None] = {}

    def is_tracked(self, path: str) -> bool:
        """Tell whether the index has a path.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return path in self.repository.blobs()

    def exists(self, path: str) -> bool:
        """Tell whether something is at a path."""
        return os.path.lexists(self.repository.root / path)

    def is_deleted(self, path: str) -> bool:
        """Tell whether a tracked file was removed and not merely left out of a sparse checkout.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return path in self._deleted

    def moved_to(self, path: str) -> str | None:
        """Return where a staged rename put a file.

        Raises
        ------
        IngestError
            When git fails or takes too long.
        """
        return self._moves.get(path)

    def blob(self, path: str) -> str | None:
        """Return the blob id of a file's bytes as they are; None where it is no readable file, or a huge one."""
        if path not in self._blobs:
            data = read_file(self.repository.root / path)
            self._blobs[path] = None if data is None else self.repository.blob_of(data)
        return self._blobs[path]

    def differs(self, path: str, blob: str) -> bool | None:
        """Tell whether a file's bytes differ from a blob; None where they cannot be read."""
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
