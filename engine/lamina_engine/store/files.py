"""Durable file steps, and the threads that wait for the disk.

Every step goes through `Files`, so that tests can stop, fail or shorten any one of them.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, TypeAlias

from lamina_engine import after_fork
from lamina_engine.config import FILE as SETTINGS
from lamina_engine.errors import VaultReadOnly
from lamina_engine.real_files import NO_FOLLOW, create_file, remove_file

logger = logging.getLogger(__name__)

TEMPORARY_SUFFIX = ".tmp"
IGNORE = ".gitignore"
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | NO_FOLLOW  # Windows would translate newlines
_PARALLEL_FROM = 2
"""Fewer are flushed by the caller itself."""
_IS_POSIX = os.name == "posix"
"""Elsewhere a file that is open cannot be replaced."""


Name: TypeAlias = str | os.PathLike[str]
"""A file's name. Text where it is made for each write: a Path costs as much as opening the file."""


class PendingFile(NamedTuple):
    """A file being written, not yet published."""

    descriptor: int
    aside: str
    """Where it lies; the same as ``path`` where it was written under its own name."""
    path: str


_NO_PLACE: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG}
)
"""Errors of a place where no folder can be made, whoever tries again; a full disk is another matter."""


class Files:
    """The operating system's files, as the commit protocol uses them.

    A step either happens or raises ``OSError``; `replace` is atomic. A subclass may inject faults.
    """

    is_cache = False
    """True where the folder is a copy, whose indexes readers may build, too."""

    def check_commits(self) -> None:
        """Raise unless a commit can fail where another was first; local files have a lock for that."""

    def lease(self, timeout_s: float) -> contextlib.AbstractContextManager[None]:
        """Hold back the writers of other machines; a local vault has none."""
        return contextlib.nullcontext()

    def fetch(self, root: Path, *, again: bool = True, locked: bool = False) -> None:
        """Bring a folder level with where its commits are published; a local vault is that place."""

    def find_damage(self, *, deep: bool) -> Iterator[tuple[str, str]]:
        """Yield published objects that are damaged, and the damage; a local vault has none."""
        return iter(())

    def write_settings(self, root: Path, content: bytes) -> None:
        """Replace ``vault.toml`` durably."""
        self.publish(root / SETTINGS, [content])
        self.flush_folder(root)

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents durably; an existing one is fine."""
        if path.is_dir():
            return
        self.make_folder(path.parent)
        self.make_one_folder(path)
        self.flush_folder(path.parent)

    def make_vault_folder(self, path: Path) -> None:
        """Create a vault's folder, for its owner alone and unseen by git; an existing mode stays."""
        try:
            if not path.is_dir():
                self.make_folder(path)
                path.chmod(0o700)
        except OSError as error:
            if error.errno not in _NO_PLACE:
                raise
            raise VaultReadOnly(f"{path} cannot be made: {error.strerror}; choose a folder you may write to") from error
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path / IGNORE, _WRITE_FLAGS | os.O_EXCL, 0o666)
            try:
                os.write(descriptor, b"*\n")
            finally:
                os.close(descriptor)

    def make_one_folder(self, path: Path) -> None:
        """Create one folder inside an existing one; an existing one is fine."""
        path.mkdir(exist_ok=True)

    def write_pending(self, path: Name, parts: Iterable[bytes | memoryview], *, aside: bool = True) -> PendingFile:
        """Write a file from its parts without waiting for the disk; a failure leaves nothing behind.

        With ``aside`` it gets another name until `publish_all`. Without, it gets its own name at once, for files that are
        not looked for before something else names them; a name already taken is left alone, and the file is written aside.
        """
        pending = self._open_pending(os.fspath(path), aside=aside)
        try:
            for part in parts:
                view = memoryview(part).cast("B")
                while len(view):  # a short write is legal; the rest follows
                    view = view[self.write_some(pending.descriptor, view) :]
        except BaseException:  # Ctrl-C included
            os.close(pending.descriptor)
            self.discard_pending([pending])
            raise
        return pending

    def _open_pending(self, name: str, *, aside: bool) -> PendingFile:
        if not aside:
            with contextlib.suppress(FileExistsError):
                return PendingFile(os.open(name, _WRITE_FLAGS | os.O_EXCL, 0o666), name, name)
        other = name + TEMPORARY_SUFFIX
        return PendingFile(create_file(other), other, name)

    def fsync_all(
        self,
        files: Sequence[PendingFile],
        folders: Sequence[Path] = (),
        on_flush: Callable[[], None] | None = None,
    ) -> None:
        """Flush pending files and folders in parallel, then close the files.

        ``on_flush`` runs beside it; its error is raised once everything is closed.
        """
        try:
            self.run_parallel(self._flush_one, [*(pending.descriptor for pending in files), *folders], on_flush)
        finally:
            self.close(files)

    def _flush_one(self, what: int | Path) -> None:
        if isinstance(what, int):
            self.flush(what)
        else:
            self.flush_folder(what)

    def close(self, files: Iterable[PendingFile]) -> None:
        """Close pending files without flushing them."""
        for pending in files:
            os.close(pending.descriptor)

    def publish_all(self, files: Iterable[PendingFile]) -> None:
        """Rename flushed files to their own names; the caller flushes the folders."""
        for pending in files:
            if pending.aside != pending.path:
                self.replace(pending.aside, pending.path)

    def swap(self, file: PendingFile) -> None:
        """Replace a file by a flushed one and flush their folder; the old one is closed on a thread."""
        # whoever drops a file's last name also frees its blocks: on a disk with discard that is a wait
        held = _open_to_read(file.path) if _IS_POSIX else None
        try:
            self.replace(file.aside, file.path)
            self.flush_folder(Path(file.path).parent)
        finally:
            if held is not None:
                run_in_background(os.close, held)

    def discard_pending(self, files: Iterable[PendingFile]) -> None:
        """Delete pending files."""
        for pending in files:
            with contextlib.suppress(OSError):
                self.remove(pending.aside)

    def run_parallel(
        self, act: Callable[[Any], None], items: Sequence[Any], on_flush: Callable[[], None] | None = None
    ) -> None:
        """Apply a function to several files or folders at once and wait for all."""
        # a disk takes flushes that wait side by side together
        if len(items) < _PARALLEL_FROM:
            for item in items:
                act(item)
            if on_flush is not None:
                on_flush()
        else:
            run_parallel(act, items, on_flush)

    def write_some(self, descriptor: int, view: memoryview) -> int:
        """Write as many bytes as the system accepts at once; return their number."""
        return os.write(descriptor, view)

    def flush(self, descriptor: int) -> None:
        """Flush one open file to disk."""
        os.fsync(descriptor)

    def replace(self, source: Name, target: Name) -> None:
        """Give ``source`` the name ``target``, atomically."""
        os.replace(source, target)  # noqa: PTH105  see `Name`

    def flush_folders(self, paths: Sequence[Path]) -> None:
        """Make renames in several folders durable."""
        self.run_parallel(self.flush_folder, paths)

    def flush_folder(self, path: Path) -> None:
        """Make renames in a folder durable; systems that cannot open folders do so by themselves."""
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except PermissionError:  # Windows
            return
        try:
            self.flush(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: Name) -> None:
        """Delete a file that is no longer named; a missing one is fine."""
        with contextlib.suppress(FileNotFoundError):
            remove_file(path)

    def delete(self, paths: Iterable[Name], on_failure: Callable[[], None]) -> None:
        """Delete files that are no longer named; call ``on_failure`` for each that cannot be."""
        # a failure costs disk, never data (Windows: a reader has it mapped)
        for path in paths:
            try:
                self.remove(path)
            except OSError:
                on_failure()

    def delete_in_background(self, paths: Iterable[Name], on_failure: Callable[[], None]) -> None:
        """Delete files on a thread: unlinking may wait for the disk."""
        run_in_background(self.delete, paths, on_failure)

    def publish(self, path: Name, parts: Iterable[bytes | memoryview]) -> None:
        """Write a temporary file, flush and rename it; the caller flushes the folder."""
        pending = self.write_pending(path, parts)
        try:
            self.fsync_all([pending])
            self.publish_all([pending])
        except BaseException:
            self.discard_pending([pending])
            raise


def _open_to_read(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:  # there is none yet
        return None


_THREADS: Final = 7
"""One for each file and folder of a small write."""

Task: TypeAlias = Callable[[], None]


def run_parallel(act: Callable[[Any], None], items: Sequence[Any], on_flush: Callable[[], None] | None = None) -> None:
    """Apply a function to two or more items at once and wait for all; raise the first failure.

    The caller runs ``on_flush`` beside it; without one, it takes one of the items itself.
    """
    theirs = items[1:] if on_flush is None else items
    others = _TaskGroup(len(theirs))
    for item in theirs:
        _submit(functools.partial(others.run, act, item))
    try:
        if on_flush is None:
            act(items[0])
        else:
            on_flush()
    finally:
        others.wait()
    if others.failures:
        raise others.failures[0]


def run_in_background(act: Callable[..., None], *given: Any) -> None:
    """Run a function on a thread without waiting; at process exit, run it at once."""
    _submit(functools.partial(_run_ignoring_os_errors, act, *given))


class _TaskGroup:
    """Tasks with one waiter: the last to finish wakes it, and no other thread."""

    __slots__ = ("_done", "_guard", "_left", "failures")

    def __init__(self, tasks: int) -> None:
        self.failures: list[BaseException] = []
        self._left = tasks
        self._guard = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def run(self, act: Callable[[Any], None], item: Any) -> None:
        """Run one task."""
        try:
            act(item)
        except BaseException as error:  # raised by who waits
            self.failures.append(error)
        with self._guard:
            self._left -= 1
            last = not self._left
        if last:
            self._done.release()

    def wait(self) -> None:
        """Return when all tasks have finished."""
        self._done.acquire()


class _Pool:
    """Daemon threads that live until the process ends.

    A pool of its own: the standard library's costs a small write as much per task as one of its flushes.
    """

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Task | None] = SimpleQueue()
        self.threads = [
            threading.Thread(target=self._work, name=f"lamina-flush-{i}", daemon=True) for i in range(_THREADS)
        ]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while (task := self.tasks.get()) is not None:
            try:
                task()
            except BaseException:  # a thread that died would leave whoever waits for its tasks waiting for ever
                logger.exception("a task in the background failed")

    def stop(self) -> None:
        """Finish all queued tasks and join the threads."""
        for _ in self.threads:
            self.tasks.put(None)
        for thread in self.threads:
            thread.join()


def _submit(task: Task) -> None:
    """Queue a task for the pool; at process exit, run it at once."""
    # the pool is stopped by then, and another exit handler may still write
    global _pool
    if _exiting:
        task()
        return
    if _pool is None:
        with _pool_lock:
            _pool = _pool or _Pool()
    _pool.tasks.put(task)


def _run_ignoring_os_errors(act: Callable[..., None], *given: Any) -> None:
    with contextlib.suppress(OSError):
        act(*given)


def read_small(path: str) -> bytes:
    """Return the first 4096 bytes of a file, in the fewest system calls."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | NO_FOLLOW)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _stop_at_exit() -> None:
    """Finish queued tasks and start no more threads."""
    global _exiting
    _exiting = True
    if _pool is not None:
        _pool.stop()


def _drop_pool_after_fork() -> None:
    """Drop the pool in a forked child: its threads exist only in the parent."""
    global _pool
    _pool = None


_pool: _Pool | None = None
_pool_lock = after_fork.make_lock()
_exiting = False
atexit.register(_stop_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_pool_after_fork)
