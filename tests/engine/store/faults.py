"""File layers that fail on purpose, and what a vault must be afterwards."""

from __future__ import annotations

import errno
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from lamina_engine.store import manifest as manifests
from lamina_engine.store.files import Files, Name
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store


class Crash(BaseException):
    """The process has died: no Exception handler sees it, and the file layer does nothing any more."""


class Quick(Files):
    """Real files without waiting for the disk, for tests that never cut the power; files go when they are to go."""

    def flush(self, descriptor: int) -> None:
        pass

    def delete_in_background(self, paths: Any, on_failure: Any) -> None:
        self.delete(paths, on_failure)


class FaultyFiles(Files):
    """Numbers every step; at step ``at`` (from 1) it does what ``kind`` says.

    kind : ``nospace`` (ENOSPC after half of a write), ``io`` (EIO), ``crash`` (before the step; half of a write
    is done), ``crash after`` (the step is done), ``short`` (every write is short, nothing fails).
    """

    def __init__(self, at: int = 0, kind: str = "io") -> None:
        self.at, self.kind = at, kind
        self.steps: list[str] = []
        self.dead = False

    def _step(self, name: str) -> bool:
        """Count a step; return True where it is the one to fail."""
        if self.dead:
            raise Crash
        self.steps.append(name)
        return len(self.steps) == self.at

    def _fail(self) -> None:
        if self.kind.startswith("crash"):
            self.dead = True
            raise Crash
        code = errno.ENOSPC if self.kind == "nospace" else errno.EIO
        raise OSError(code, os.strerror(code))

    def _around(self, name: str, act: Any) -> None:
        hit = self._step(name)
        if hit and self.kind != "crash after":
            self._fail()
        act()
        if hit:
            self._fail()

    def make_one_folder(self, path: Path) -> None:
        self._around("make folder", lambda: super(FaultyFiles, self).make_one_folder(path))

    def write_some(self, descriptor: int, view: memoryview) -> int:
        if self.kind == "short":
            self._step("write")
            return super().write_some(descriptor, view[: max(1, len(view) // 3)])
        if self._step("write"):
            super().write_some(descriptor, view if self.kind == "crash after" else view[: len(view) // 2])
            self._fail()
        return super().write_some(descriptor, view)

    def run_parallel(self, act: Any, items: Any, on_flush: Any = None) -> None:
        for item in self.in_order(items):  # one after the other, so that every run takes the same steps
            act(item)
        if on_flush is not None:
            on_flush()

    def in_order(self, items: Any) -> Any:
        """Return what the disk takes at once, in the order in which this one takes it."""
        return items

    def delete_in_background(self, paths: Any, on_failure: Any) -> None:
        self.delete(paths, on_failure)

    def flush(self, descriptor: int) -> None:
        self._around("flush", lambda: None)

    def replace(self, source: Name, target: Name) -> None:
        self._around("replace", lambda: super(FaultyFiles, self).replace(source, target))

    def remove(self, path: Name) -> None:
        self._around("remove", lambda: super(FaultyFiles, self).remove(path))


class PowerCutFiles(FaultyFiles):
    """Also knows what is on the disk: bytes by the last flush of their file, names by the last flush of their folder.

    What lay below ``top`` when this was made is on the disk.
    """

    def __init__(self, top: Path, at: int = 0, kind: str = "crash") -> None:
        super().__init__(at, kind)
        self.top = top
        self._bytes: dict[int, bytes] = {}
        self._names: dict[Path, dict[str, int]] = {}
        self._open: list[int] = []
        for folder, _, files in os.walk(top):
            self._names[Path(folder)] = _listing(Path(folder))
            for name in files:
                self._keep(os.open(Path(folder) / name, os.O_RDONLY))

    def _keep(self, descriptor: int) -> None:
        """Note a file's bytes; its open descriptor keeps its inode number from being given to another."""
        self._open.append(descriptor)
        found = os.fstat(descriptor)
        self._bytes[found.st_ino] = os.pread(descriptor, found.st_size, 0)

    def flush(self, descriptor: int) -> None:
        super().flush(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").is_file():
            self._keep(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY))

    def flush_folder(self, path: Path) -> None:
        super().flush_folder(path)
        self._names[path] = _listing(path)

    def cut(self, to: Path, lost: float, seed: int = 0) -> None:
        """Build in ``to`` what is found when the power is back.

        Parameters
        ----------
        to : Path
            A folder that does not exist.
        lost : float
            Chance, for each folder, that the names changed since its last flush are lost; else they are there.
        seed : int
            Which of them.
        """
        self._rebuild(self.top, to, lost, random.Random(seed))
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()

    def _rebuild(self, folder: Path, to: Path, lost: float, chance: random.Random) -> None:
        to.mkdir()
        flushed = self._names.get(folder, {})
        names = flushed if chance.random() < lost else _listing(folder)
        for name, inode in sorted(names.items()):
            if inode < 0:  # a folder; its own names follow the same rule
                self._rebuild(folder / name, to / name, lost, chance)
            else:
                (to / name).write_bytes(self._bytes.get(inode, b""))


def _listing(folder: Path) -> dict[str, int]:
    if not folder.is_dir():
        return {}
    return {e.name: -1 if e.is_dir() else e.inode() for e in os.scandir(folder)}


def contents(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all logs."""
    return {
        log: snapshot.records(log, np.arange(snapshot.rows(log), dtype=np.int64))
        for log in sorted(snapshot.manifest.logs)
    }


def contents_at(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Open a vault anew and return all its rows."""
    return contents(Store(root).snapshot())


def orphans(root: Path) -> list[str]:
    """Return files of the log that the newest version does not name, manifests from the future, and leftovers."""
    snapshot = Store(root).snapshot()
    named = {f"log/{log}/{ref.name}" for log, refs in snapshot.manifest.logs.items() for ref in refs}
    found = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
    strange = [p for p in found if (p.startswith("log/") and p not in named) or p.endswith(".tmp")]
    newer = [
        path.name
        for path in (root / manifests.MANIFESTS).iterdir()
        if path.name != snapshot.name and manifests.version_of(path.name) >= snapshot.version
    ]
    return strange + newer


def copy(source: Path, target: Path) -> Path:
    """Return a fresh copy of a vault."""
    shutil.copytree(source, target)
    return target
