"""The store: opens a vault's folder, hands out snapshots, runs transactions."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lamina_engine.clock import Clock, SystemClock
from lamina_engine.errors import VaultCorrupt, VaultExists, VaultLocked, VaultNotFound, VaultReadOnly, VaultUntrusted
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.files import TEMPORARY_SUFFIX, Files
from lamina_engine.store.lock import LOCK, LOCK_TIMEOUT_S, write_lock
from lamina_engine.store.manifest import Manifest, SegmentRef
from lamina_engine.store.segments import Segment
from lamina_engine.store.shape import check_shape
from lamina_engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lamina_engine.store.writer import Transaction

INDEX = "index"
_OPEN_ATTEMPTS = 100


class Store:
    """A vault's folder.

    Parameters
    ----------
    root : Path
        The folder.
    mode : {"r", "w"}
        ``"r"`` never writes.
    clock : Clock, optional
        Where recorded_at comes from.
    files : Files, optional
        The file layer.
    trust : bool
        Open a vault that another user owns.

    Raises
    ------
    VaultNotFound, VaultCorrupt, VaultTooNew, VaultUntrusted
    """

    def __init__(
        self,
        root: Path,
        *,
        mode: str = "w",
        clock: Clock | None = None,
        files: Files | None = None,
        trust: bool = False,
    ) -> None:
        self.root, self.mode = root, mode
        self._current = str(
            root / manifests.CURRENT
        )  # looked at in every call: a Path is joined in twice the time of opening
        self.clock: Clock = clock or SystemClock()
        self.files = files or Files()
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._depth = 0
        self._settled = False
        """True while the lock is held and CURRENT has been read since: nobody else changes it."""
        self._swept = False
        self._swept_after = 0
        _check_owner(root, trust=trust)
        check_shape(root)
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
        trust: bool = False,
    ) -> Store:
        """Make an empty vault; one that is there already is opened.

        Raises
        ------
        VaultExists
            When the folder holds other things.
        VaultReadOnly
            When it cannot be made.
        """
        layer = files or Files()
        check_shape(root)  # before a folder is made, a lock opened or anything swept through a link
        if not (root / manifests.CURRENT).exists():
            try:
                _check_free(root)
            except VaultExists:
                if not (root / manifests.CURRENT).exists():  # somebody else has just made it
                    raise
            try:
                for name in (segments.LOG, manifests.MANIFESTS, INDEX):
                    layer.make_folder(root / name)
                layer.flush_folder(root.parent)  # an interrupted creation may have left the folder unflushed
            except PermissionError as error:
                raise VaultReadOnly(
                    f"{root} cannot be made: {error.strerror}; choose a folder you may write to"
                ) from error
            with write_lock(root, lock_timeout_s):
                if not (root / manifests.CURRENT).exists():
                    empty = Manifest(FORMAT_VERSION, 1, os.urandom(8).hex(), 0, {}, {}, "", {})
                    manifests.publish(layer, root, empty)
        return cls(root, clock=clock, files=files, trust=trust)

    @property
    def known(self) -> Snapshot:
        """The newest version that this process has seen; nothing is read."""
        return self._newest[1]

    def snapshot(self) -> Snapshot:
        """Return the newest committed version; the same object until another is committed.

        Reads CURRENT each time, but while this process is the only writer.
        """
        if self._settled:
            return self._newest[1]
        seen, snapshot = self._newest
        if self._look() != seen:
            with self._lock:
                if self._look() != self._newest[0]:
                    self._newest = self._load(self._newest[1])
                snapshot = self._newest[1]
        return snapshot

    @contextlib.contextmanager
    def transaction(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[Transaction]:
        """Write under the lock: commits when the block ends, changes nothing when it raises.

        Raises
        ------
        VaultReadOnly, VaultLocked
        OSError
            When the disk refuses; nothing has changed.
        """
        from lamina_engine.store.writer import Transaction

        process = os.getpid()
        with self.exclusive(timeout_s):
            transaction = Transaction(self.root, self.files, self.clock, self.snapshot(), self._leave_behind)
            # an interrupted commit left files that nothing names; so may another process have done that forgot rows
            if not self._swept or self._swept_after != transaction.snapshot.manifest.rewritten:
                self._sweep()
            yield transaction
            try:
                new = transaction.commit()
                self._adopt(transaction.successor)
                if new.rewritten == new.version:
                    self._sweep()  # rows are forgotten: not even what is to be removed soon may still hold them
            except BaseException as error:
                self._swept = self._settled = False  # the last flush may have failed, of what can be seen already
                if isinstance(error, OSError) and os.getpid() == process:  # a full disk wants its space back now
                    self._sweep()
                raise

    def _adopt(self, successor: Snapshot | None) -> None:
        """Take the version just committed as the newest: what it holds is at hand, and nobody else writes meanwhile."""
        if successor is None:
            self._settled = False
            return
        with self._lock:
            self._newest = (manifests.current_of(successor.name), successor)

    def _leave_behind(self) -> None:
        """Note that a file nobody names could not be removed (Windows: a reader has it mapped): the next writer tries."""
        self._swept = False

    def _sweep(self) -> None:
        from lamina_engine.store.writer import remove_orphans

        with contextlib.suppress(OSError):
            snapshot = self.snapshot()
            remove_orphans(self.root, self.files, snapshot)
            self._swept, self._swept_after = True, snapshot.manifest.rewritten

    @contextlib.contextmanager
    def exclusive(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Be the only writer, over several transactions; may be nested within one thread.

        Raises
        ------
        VaultReadOnly, VaultLocked
        """
        if self.mode == "r":
            raise VaultReadOnly(f"{self.root} is open for reading; open it with mode='w' to write")
        process, lock = os.getpid(), self._writing
        if not lock.acquire(timeout=timeout_s):
            raise VaultLocked(
                f"another thread has been writing to {self.root} for more than {timeout_s:g} s; wait for it"
            )
        try:
            if self._depth:
                yield
            else:
                with write_lock(self.root, timeout_s):
                    self._depth += 1
                    try:
                        self.snapshot()
                        self._settled = True
                        yield
                    finally:
                        if os.getpid() == process:
                            self._settled = False
                            self._depth -= 1
        finally:
            if os.getpid() == process:
                lock.release()

    @contextlib.contextmanager
    def unwritten(self) -> Iterator[None]:
        """Wait until no thread of this process writes, and hold up those that want to; other processes go on."""
        with self._writing:
            yield

    def _begin_in_child(self) -> None:
        """Start afresh in a forked child: threads that held these locks are not there, and the parent is the writer."""
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._depth = 0
        self._settled = False

    def _look(self) -> bytes | None:
        # its content, not its stat: two commits within one tick of the file system's clock can leave equal stats
        try:
            return manifests.read_small(self._current)
        except OSError:
            return None

    def _load(self, former: Snapshot | None) -> tuple[bytes | None, Snapshot]:
        """Open what CURRENT names, reusing mapped segments; a version that vanishes meanwhile has a successor."""
        for attempt in range(_OPEN_ATTEMPTS):
            seen = self._look()
            name = manifests.read_current(self.root)
            try:
                manifest = manifests.load(self.root, name)
                snapshot = (former or _nothing(manifest)).followed_by(manifest, name, self._open)
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


def _nothing(manifest: Manifest) -> Snapshot:
    return Snapshot(manifest, {})


def _check_owner(root: Path, *, trust: bool) -> None:
    if trust or not hasattr(os, "getuid"):
        return
    try:
        owner = root.stat().st_uid
    except OSError:
        return  # what is missing is said better by read_current
    if owner not in (os.getuid(), 0) or (owner == 0 and os.getuid() != 0 and os.access(root, os.W_OK)):
        raise VaultUntrusted(
            f"{root} belongs to user id {owner}, you are {os.getuid()}; "
            "a vault of somebody else is opened only with trust=True (--trust)"
        )


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
    {"vault.toml", ".DS_Store", segments.LOG, manifests.MANIFESTS, INDEX, LOCK, manifests.CURRENT + TEMPORARY_SUFFIX}
)
"""What a new vault's folder may hold: settings written before it, and what an interrupted creation leaves."""

_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _begin_in_child() -> None:
    for store in list(_open_stores):
        store._begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
