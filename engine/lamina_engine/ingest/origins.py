"""Origins: the repository, path, commit and blob of the file that a memory is about.

A memory names its file by its source, or by ``source_file`` in its metadata: an absolute path, or one below the current
folder or below the folder that holds the vault, with or without a line. A name that is no file there (``example.com``, a session) has none.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.chunks.batch import ChunkBatch, Origin
from lamina_engine.ingest import sources
from lamina_engine.ingest.git import NoRepository, Repository, examine_repository
from lamina_engine.ingest.walk import MAX_BYTES
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

_HOLDER: Final = ".git"
"""Folder of a repository; a file in linked work trees and submodules."""
_NO_GIT: Final = NoRepository("no_git", "the program git was not found")
_NO_REPO: Final = NoRepository("no_repo", "its folder lies in no git repository")


class Repositories:
    """Cache of repositories; each is examined once, however many files it holds."""

    def __init__(self) -> None:
        self._holders: dict[Path, Path | None] = {}
        self._found: dict[Path, Repository | NoRepository] = {}
        self._folders: dict[Path, Path | None] = {}
        self._has_git = shutil.which("git") is not None

    def of(self, file: Path) -> Repository | NoRepository:
        """Return the repository whose work tree holds a file, existing or not."""
        if not self._has_git:
            return _NO_GIT
        parent = file.parent
        if parent not in self._folders:
            self._folders[parent] = self._holder(parent.resolve())
        holder = self._folders[parent]
        if holder is None:
            return _NO_REPO
        if holder not in self._found:
            self._found[holder] = examine_repository(holder)
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


SOURCE_FILE: Final = "source_file"
_LINE: Final = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")
"""Place in a file, as agents cite it: ``src/e.py:12``, ``:12-20``, ``:12:5``, ``#L12-L20``."""
_MOST_CHARS: Final = 1024
"""Longer names are no paths."""


def note_origins(memory: Memory, batch: ChunkBatch) -> None:
    """Fill in commit, blob and origin of every record that names a file of a git repository.

    O(records); the disk is asked once for each folder that records name, git once for each repository.
    """
    named = [_named(source, metadata) for source, metadata in zip(batch.sources, batch.metadata, strict=True)]
    if not any(named):
        return
    origins = Origins(memory)
    found = {name: origins.of_name(name) for name in dict.fromkeys(named) if name}
    if not any(found.values()):
        return
    batch.origins = [found.get(name) if name else None for name in named]
    batch.commits = [o.commit if o else c for o, c in zip(batch.origins, batch.commits, strict=True)]
    batch.blobs = [o.blob if o else b for o, b in zip(batch.origins, batch.blobs, strict=True)]


class Origins:
    """Lookup of files by name, and of the repositories that hold them."""

    def __init__(self, memory: Memory) -> None:
        self._bases = tuple(dict.fromkeys((Path.cwd(), memory.root.absolute().parent)))
        self._folders: dict[str, list[tuple[Path, frozenset[str]]]] = {}
        self._repositories = Repositories()

    def of_name(self, name: str) -> Origin | None:
        """Return the origin that a name leads to; None where it is no file of a repository."""
        if len(name) > _MOST_CHARS or not name.isprintable() or "://" in name:
            return None
        shown = name.replace(os.sep, "/")
        for spelling in dict.fromkeys((shown, _LINE.sub("", shown))):  # a file may be called so
            for place in self._places(spelling):
                if (found := self.of_file(place)) is not None:
                    return found
        return None

    def of_file(self, file: Path) -> Origin | None:
        """Return a file's repository, path, commit and blob as they are now, or None."""
        data = read_file(file)
        repository = self._repositories.of(file) if data is not None else None
        if data is None or not isinstance(repository, Repository):
            return None
        path = repository.relative(file)
        if path is None:
            return None
        return Origin(repository.root.as_posix(), path, repository.head, repository.blob_of(data))

    def _places(self, name: str) -> list[Path]:
        """Return the existing paths of a name; one listing of a folder serves all names in it."""
        folder, slash, leaf = name.rpartition("/")
        folder = folder or slash
        if folder not in self._folders:
            if folder in ("", "/"):
                places = [Path("/")] if folder else list(self._bases)
            else:
                places = self._places(folder)
            self._folders[folder] = [(place, names) for place in places if (names := _names(place))]
        return [place / leaf for place, names in self._folders[folder] if leaf in names or leaf in (".", "..")]


def origin_of_row(memory: Memory, view: View, row: int) -> Origin | None:
    """Return the file that a chunk names or was cut from, as it is now, or None."""
    origins = Origins(memory)
    about = np.array([row], np.int64)
    record = view.snapshot.records("chunks", about, ("id", "source", "metadata", "commit", "blob"))[0]
    name = _named(record["source"], record["metadata"])
    found = origins.of_name(name) if name else None
    if found is not None:
        return found
    if record["commit"] is None and record["blob"] is None:
        return None
    for place in _places(view, record["id"]):
        if (found := origins.of_file(place)) is not None:
            return found
    return None


def _places(view: View, identity: str) -> list[Path]:
    """Return the past paths of a chunk's file, the newest first."""
    snapshot = view.snapshot
    found: list[Path] = []
    count = snapshot.rows("origins")
    if count:
        records = snapshot.records("origins", np.arange(count, dtype=np.int64), ("chunk", "repository", "path"))
        found += [Path(r["repository"]) / r["path"] for r in reversed(records) if r["chunk"] == identity][:1]
    present = (
        s for s in sources.load_sources(snapshot).values() if s.state == sources.PRESENT and identity in s.facts.chunks
    )
    return found + [Path(source.path) for source in present]


def _named(source: str | None, metadata: str | None) -> str | None:
    if metadata and f'"{SOURCE_FILE}"' in metadata:
        name = read_json(metadata).get(SOURCE_FILE)
        if isinstance(name, str) and name.strip():
            return name
    return source


def _names(folder: Path) -> frozenset[str]:
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries)
    except (OSError, ValueError):
        return frozenset()
