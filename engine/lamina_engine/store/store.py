"""The store: opens a vault's folder, hands out snapshots and runs transactions."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lamina_engine.clock import Clock, SystemClock
from lamina_engine.errors import VaultCorrupt, VaultExists, VaultLocked, VaultNotFound, VaultReadOnly, VaultUntrusted
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.files import IGNORE, TEMPORARY_SUFFIX, Files, read_small
from lamina_engine.store.lock import LOCK, LOCK_TIMEOUT_S, write_lock
from lamina_engine.store.manifest import Manifest, SegmentRef
from lamina_engine.store.segments import Segment
from lamina_engine.store.shape import check_shape
from lamina_engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lamina_engine.store.transaction import Transaction

INDEX = "index"
_OPEN_ATTEMPTS = 100


class Store:
    """A vault's folder; mode ``"r"`` never writes, nor does one that ``check_trust`` refuses."""

    def __init__(
        self,
        root: Path,
        *,
        mode: str = "w",
        clock: Clock | None = None,
        files: Files | None = None,
        check_trust: Callable[[Path], None] | None = None,
    ) -> None:
        self.root, self.mode = root, mode
        self._check_trust = check_trust
        """Raises `VaultUntrusted`; None once it has passed."""
        self._current = str(
            root / manifests.CURRENT
        )  # looked at in every call: a Path is joined in twice the time of opening
        self.clock: Clock = clock or SystemClock()
        self.files = files or Files()
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._depth = 0
        self._is_fresh = False
        """True while the lock is held and CURRENT was read since: no other process changes it."""
        self._swept = False
        self._swept_after = 0
        check_shape(root)
        if mode != "r":
            self.files.check_commits()
        self.files.fetch(root)
        # one attribute, so that no thread pairs a new CURRENT with an old version
        self._newest: tuple[bytes | None, Snapshot] = self._load(None)
        _open_stores.add(self)

    @classmethod
    def create(
        cls,
        root: Path,
        *,
        clock: Clock | None = None,
        files: Files | None = None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        check_trust: Callable[[Path], None] | None = None,
    ) -> Store:
        """Create an empty vault; an existing one is opened."""
        layer = files or Files()
        check_shape(root)  # before a folder is made, a lock opened or anything swept through a link
        with contextlib.suppress(VaultNotFound):
            layer.fetch(root)
        if not (root / manifests.CURRENT).exists():
            try:
                _check_free(root)
            except VaultExists:
                if not (root / manifests.CURRENT).exists():  # somebody else has just made it
                    raise
            try:
                layer.make_vault_folder(root)
                for name in (segments.LOG, manifests.MANIFESTS, INDEX):
                    layer.make_folder(root / name)
                layer.flush_folder(root.parent)  # an interrupted creation may have left the folder unflushed
            except VaultReadOnly:  # it says what cannot be made
                raise
            except PermissionError as error:
                raise VaultReadOnly(
                    f"{root} cannot be made: {error.strerror}; choose a folder you may write to"
                ) from error
            with write_lock(root, lock_timeout_s):
                if not (root / manifests.CURRENT).exists():
                    empty = Manifest(FORMAT_VERSION, 1, os.urandom(8).hex(), 0, {}, {}, "", {}, commits=1)
                    manifests.publish(layer, root, empty)
        return cls(root, clock=clock, files=files, check_trust=check_trust)

    @property
    def last_seen(self) -> Snapshot:
        """The newest version this process has seen; nothing is read."""
        return self._newest[1]

    def snapshot(self) -> Snapshot:
        """Return the newest committed version; the same object until the next commit.

        CURRENT is read each time, unless this process holds the writer lock.
        """
        return self._read()

    def _read(self) -> Snapshot:
        """Return the newest version of this folder alone."""
        if self._is_fresh:
            return self._newest[1]
        self.files.fetch(self.root, again=False)
        seen, snapshot = self._newest
        if self._look() != seen:
            with self._lock:
                if self._look() != self._newest[0]:
                    self._newest = self._load(self._newest[1])
                snapshot = self._newest[1]
        return snapshot

    @contextlib.contextmanager
    def transaction(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[Transaction]:
        """Write under the lock: commits when the block ends, changes nothing if it raises."""
        from lamina_engine.store.transaction import Transaction

        process = os.getpid()
        with self.exclusive(timeout_s):
            transaction = Transaction(self.root, self.files, self.clock, self._read(), self._note_leftover)
            # an interrupted commit left files that nothing names; so may another process have done that forgot rows
            if not self._swept or self._swept_after != transaction.snapshot.manifest.rewritten:
                self._sweep()
            yield transaction
            try:
                new = transaction.commit()
                self._accept(transaction.successor)
                if new.rewritten == new.version:
                    self._sweep()  # rows are forgotten: not even what is to be removed soon may still hold them
            except BaseException as error:
                self._swept = self._is_fresh = False  # the last flush may have failed, of what can be seen already
                if isinstance(error, OSError) and os.getpid() == process:  # a full disk wants its space back now
                    self._sweep()
                raise

    def _accept(self, successor: Snapshot | None) -> None:
        """Make the version just committed the newest one seen."""
        if successor is None:
            self._is_fresh = False
            return
        with self._lock:
            self._newest = (manifests.current_content(successor.name), successor)

    def _note_leftover(self) -> None:
        """Note that a file could not be deleted (Windows: it is mapped); the next writer retries."""
        self._swept = False

    def _sweep(self) -> None:
        from lamina_engine.store.transaction import remove_orphans

        with contextlib.suppress(OSError):
            snapshot = self._read()
            remove_orphans(self.root, self.files, snapshot)
            self._swept, self._swept_after = True, snapshot.manifest.rewritten

    @contextlib.contextmanager
    def exclusive(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Hold the writer lock over several transactions; reentrant within one thread."""
        if self.mode == "r":
            raise VaultReadOnly(f"{self.root} is open for reading; open it with mode='w' to write")
        self.require_trust()
        process, lock = os.getpid(), self._writing
        if not lock.acquire(timeout=timeout_s):
            raise VaultLocked(
                f"another thread has been writing to {self.root} for more than {timeout_s:g} s; wait for it"
            )
        try:
            if self._depth:
                yield
            else:
                with write_lock(self.root, timeout_s), self.files.lease(timeout_s):
                    self._depth += 1
                    try:
                        self.files.fetch(self.root, locked=True)
                        self._read()
                        self._is_fresh = True
                        yield
                    finally:
                        if os.getpid() == process:
                            self._is_fresh = False
                            self._depth -= 1
        finally:
            if os.getpid() == process:
                lock.release()

    def write_settings(self, text: str) -> None:
        """Replace ``vault.toml``, here and wherever the vault is published."""
        self.files.write_settings(self.root, text.encode())

    def require_trust(self) -> None:
        """Raise `VaultUntrusted` unless the vault may be written; it is asked once."""
        if self._check_trust is not None:
            self._check_trust(self.root)
            self._check_trust = None

    def require_whole(self, snapshot: Snapshot) -> None:
        """Raise `VaultIncomplete` for a version without some of its shards."""

    @property
    def is_trusted(self) -> bool:
        """True where journals, too, may be written."""
        try:
            self.require_trust()
        except VaultUntrusted:
            return False
        return True

    @contextlib.contextmanager
    def pause_writes(self) -> Iterator[None]:
        """Wait for this process's writer and hold back others of it; other processes go on."""
        with self._writing:
            yield

    def _reset_after_fork(self) -> None:
        """Replace the locks in a forked child: their holders exist only in the parent."""
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._depth = 0
        self._is_fresh = False

    def _look(self) -> bytes | None:
        # its content, not its stat: two commits within one tick of the file system's clock can leave equal stats
        try:
            return read_small(self._current)
        except OSError:
            return None

    def _load(self, former: Snapshot | None) -> tuple[bytes | None, Snapshot]:
        """Open the version CURRENT names, reusing mapped segments; retry if it is replaced."""
        for attempt in range(_OPEN_ATTEMPTS):
            seen = self._look()
            name = manifests.read_current(self.root)
            try:
                manifest = manifests.load(self.root, name)
                snapshot = (former or _empty_snapshot(manifest)).advance(manifest, name, self._open)
            except FileNotFoundError as error:
                if isinstance(error, VaultNotFound):
                    raise
                if attempt > 1 and manifests.read_current(self.root) == name:
                    raise VaultCorrupt(
                        f"{self.root}: {error.filename or error} is missing; `lamina verify` names what can be saved"
                    ) from error
                continue
            return seen, snapshot
        raise VaultCorrupt(
            f"{self.root}: its versions change faster than they can be opened; is something deleting its files?"
        )

    def _open(self, log: str, ref: SegmentRef) -> Segment:
        return Segment(self.root, log, ref)


def _empty_snapshot(manifest: Manifest) -> Snapshot:
    return Snapshot(manifest, {})


def _check_free(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise VaultExists(f"{root} is a file; give a folder that is empty or does not exist yet")
    if not root.is_dir():
        return
    if manifests.holds_rows(root) or any((root / segments.LOG).glob("*/*.arrow")):
        raise VaultExists(
            f"{root} is a vault that has lost its {manifests.CURRENT} file; "
            "`lamina verify` names the version that it can be set to"
        )
    strange = sorted(entry.name for entry in root.iterdir() if entry.name not in _EXPECTED)
    if strange:
        raise VaultExists(
            f"{root} is not a Lamina vault, it holds {', '.join(strange[:3])}; "
            "give a folder that is empty or does not exist yet"
        )


_EXPECTED = frozenset(
    {
        "vault.toml",
        ".DS_Store",
        IGNORE,
        segments.LOG,
        manifests.MANIFESTS,
        INDEX,
        LOCK,
        manifests.CURRENT + TEMPORARY_SUFFIX,
    }
)
"""What a new vault's folder may hold: settings written before it, and what an interrupted creation leaves."""

_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _reset_stores_after_fork() -> None:
    for store in list(_open_stores):
        store._reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_stores_after_fork)
