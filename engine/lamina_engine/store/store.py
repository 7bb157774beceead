"""The store: opens a vault's folder, hands out snapshots, runs transactions."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

from lamina_engine.clock import Clock, SystemClock
from lamina_engine.errors import VaultCorrupt, VaultExists, VaultLocked, VaultNotFound, VaultReadOnly, VaultUntrusted
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.files import Files
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.writer import LOCK_TIMEOUT_S, Transaction, remove_orphans, write_lock

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
        self, root: Path, *, mode: str = "w", clock: Clock | None = None, files: Files | None = None, trust: bool = False
    ) -> None:
        self.root, self.mode = root, mode
        self.clock: Clock = clock or SystemClock()
        self.files = files or Files()
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._depth = 0
        self._swept = False
        self._seen: tuple[int, int, int] | None = None
        _check_owner(root, trust=trust)
        self._snapshot = self._load(None)

    @classmethod
    def create(cls, root: Path, *, clock: Clock | None = None, files: Files | None = None, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Store:
        """Make an empty vault; one that is there already is opened.

        Raises
        ------
        VaultExists
            When the folder holds other things.
        VaultReadOnly
            When it cannot be made.
        """
        layer = files or Files()
        if not (root / manifests.CURRENT).exists():
            _check_free(root)
            try:
                for name in (segments.LOG, manifests.MANIFESTS, INDEX):
                    layer.make_folder(root / name)
            except PermissionError as error:
                raise VaultReadOnly(f"{root} cannot be made: {error.strerror}; choose a folder you may write to") from error
            with write_lock(root, lock_timeout_s):
                if not (root / manifests.CURRENT).exists():
                    empty = Manifest(FORMAT_VERSION, 1, secrets.token_hex(8), 0, {}, {}, "", {})
                    manifests.publish(layer, root, empty)
        return cls(root, clock=clock, files=files)

    def snapshot(self) -> Snapshot:
        """Return the newest committed version; the same object until another is committed. One ``stat`` when unchanged."""
        seen = self._look()
        if seen != self._seen:
            with self._lock:
                if seen != self._seen:
                    self._snapshot = self._load(self._snapshot)
        return self._snapshot

    @contextlib.contextmanager
    def transaction(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[Transaction]:
        """Write under the lock: commits when the block ends, changes nothing when it raises.

        Raises
        ------
        VaultReadOnly, VaultLocked
        OSError
            When the disk refuses; nothing has changed.
        """
        with self.exclusive(timeout_s):
            transaction = Transaction(self.root, self.files, self.clock, self.snapshot())
            if not self._swept:  # an interrupted commit of a former process left files that nothing names
                with contextlib.suppress(OSError):
                    remove_orphans(self.root, self.files, transaction.snapshot.manifest)
                self._swept = True
            yield transaction
            transaction.commit()

    @contextlib.contextmanager
    def exclusive(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Be the only writer, over several transactions; may be nested within one thread.

        Raises
        ------
        VaultReadOnly, VaultLocked
        """
        if self.mode == "r":
            raise VaultReadOnly(f"{self.root} is open for reading; open it with mode='w' to write")
        if not self._writing.acquire(timeout=timeout_s):
            raise VaultLocked(f"another thread has been writing to {self.root} for more than {timeout_s:g} s; wait for it")
        try:
            if self._depth:
                yield
            else:
                with write_lock(self.root, timeout_s):
                    self._depth += 1
                    try:
                        yield
                    finally:
                        self._depth -= 1
        finally:
            self._writing.release()

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.root / manifests.CURRENT)  # noqa: PTH116 - twice as fast as Path.stat, and on every recall
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def _load(self, former: Snapshot | None) -> Snapshot:
        """Open what CURRENT names, reusing mapped segments; a version that vanishes meanwhile has a successor."""
        for attempt in range(_OPEN_ATTEMPTS):
            seen = self._look()
            name = manifests.read_current(self.root)
            try:
                manifest = manifests.load(self.root, name)
                snapshot = Snapshot(manifest, self._map(manifest, former))
            except FileNotFoundError as error:
                if isinstance(error, VaultNotFound):
                    raise
                if attempt > 1 and manifests.read_current(self.root) == name:
                    raise VaultCorrupt(
                        f"{self.root}: {error.filename or error} is missing; `lamina verify` names what can be saved"
                    ) from error
                continue
            self._seen = seen
            return snapshot
        raise VaultCorrupt(f"{self.root}: its versions change faster than they can be opened; is something deleting its files?")

    def _map(self, manifest: Manifest, former: Snapshot | None) -> dict[str, tuple[Segment, ...]]:
        opened: dict[str, tuple[Segment, ...]] = {}
        for log, refs in manifest.logs.items():
            known = {s.ref.name: s for s in former.segments(log)} if former else {}
            opened[log] = tuple(known.get(ref.name) or Segment(self.root, log, ref) for ref in refs)
        return opened


def _check_owner(root: Path, *, trust: bool) -> None:
    if trust or not hasattr(os, "getuid"):
        return
    try:
        owner = root.stat().st_uid
    except OSError:
        return  # what is missing is said better by read_current
    if owner not in (os.getuid(), 0) or (owner == 0 and os.getuid() != 0 and os.access(root, os.W_OK)):
        raise VaultUntrusted(
            f"{root} belongs to user id {owner}, you are {os.getuid()}; a vault of somebody else is opened only with trust=True (--trust)"
        )


def _check_free(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise VaultExists(f"{root} is a file; give a folder that is empty or does not exist yet")
    if root.is_dir() and any(entry.name not in ("vault.toml", ".DS_Store") for entry in root.iterdir()):
        if all((root / name).is_dir() for name in (segments.LOG, manifests.MANIFESTS)) and not any((root / manifests.MANIFESTS).iterdir()):
            return  # an interrupted creation
        raise VaultExists(f"{root} is not empty and is not a Lamina vault; give a folder that is empty or does not exist yet")
