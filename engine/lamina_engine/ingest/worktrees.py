"""Which repository a file lies in, found once for many files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from lamina_engine.ingest.provenance import NoRepository, Repository, examine
from lamina_engine.ingest.walk import MAX_BYTES

_HOLDER: Final = ".git"
"""Folder of a repository; a file in linked work trees and submodules."""
_NO_GIT: Final = NoRepository("no_git", "the program git was not found")
_NO_REPO: Final = NoRepository("no_repo", "its folder lies in no git repository")


class Repositories:
    """Finds repositories; each is examined once, however many files it holds."""

    def __init__(self) -> None:
        self._holders: dict[Path, Path | None] = {}
        self._found: dict[Path, Repository | NoRepository] = {}
        self._folders: dict[Path, Path | None] = {}
        self._has_git = shutil.which("git") is not None

    def of(self, file: Path) -> Repository | NoRepository:
        """Return the repository whose work tree holds a file, whether or not the file is there."""
        if not self._has_git:
            return _NO_GIT
        parent = file.parent
        if parent not in self._folders:
            self._folders[parent] = self._holder(parent.resolve())
        holder = self._folders[parent]
        if holder is None:
            return _NO_REPO
        if holder not in self._found:
            self._found[holder] = examine(holder)
        return self._found[holder]

    def at(self, folder: Path) -> Repository | NoRepository:
        """Return the repository that a folder lies in; see `of`."""
        return self.of(folder / "x")

    def _holder(self, folder: Path) -> Path | None:
        """Return the nearest folder from here up that looks like the top of a work tree."""
        passed = []
        while folder not in self._holders:
            if os.path.lexists(folder / _HOLDER):
                self._holders[folder] = folder
                break
            passed.append(folder)
            if folder.parent == folder:
                self._holders[folder] = None
                break
            folder = folder.parent
        found = self._holders[folder]
        self._holders.update(dict.fromkeys(passed, found))
        return found


def read_file(path: Path) -> bytes | None:
    """Return the bytes of a regular file of at most `MAX_BYTES`; None for anything else."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None
