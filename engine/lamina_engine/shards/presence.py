"""Open shards of a vault, and empty stand-ins for those that a reader goes on without.

A shard is missing where opening it, or what is looked at of it before it is read, raises: it is not there, damaged, behind the
root, or its storage does not answer. It is looked for again on a thread, so that no call waits for it twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from lamina_engine import after_fork
from lamina_engine.errors import InvalidConfig, VaultCorrupt, VaultIncomplete
from lamina_engine.index.tables import Tables
from lamina_engine.index.view import View
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.shards.layout import shard_name
from lamina_engine.shards.union import Absent, require_vectors
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import INDEX

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.memory import Memory

logger = logging.getLogger(__name__)

AGAIN_S: Final = 5.0
"""A missing shard is looked for at most so often."""
_MISSING: Final = (OSError, InvalidConfig)
"""What damage, storage that does not answer, and a shard that is not there raise."""


Level: TypeAlias = "Callable[[Snapshot, int, Memory, View], View]"
"""Brings a shard's version up to what the root names, or raises."""


class OpenShards:
    """The shards of a vault, by number.

    Parameters
    ----------
    root : Path
        Of the whole vault.
    count : int
        How many shards it has.
    open_shard : function
        Opens one.
    incomplete : bool
        Whether to go on without those that are missing.
    """

    def __init__(self, root: Path, count: int, open_shard: Callable[[int], Memory], *, incomplete: bool) -> None:
        self._root, self._open, self.incomplete = root, open_shard, incomplete
        self._opened: list[Memory | None] = [None] * count
        self._away: dict[int, tuple[str, float]] = {}
        """Why a shard is missing, and when it is looked for again."""
        self._sound: dict[int, Snapshot] = {}
        """The version of each that was looked at last."""
        self._empty_views: dict[int, View] = {}
        self._lookers: dict[int, threading.Thread] = {}
        self._lock = after_fork.make_lock()
        self._closed = False
        try:
            for number in range(count):
                self._open_first(number)
        except BaseException:
            self.close()
            raise

    def _open_first(self, number: int) -> None:
        try:
            self._opened[number] = self._open(number)
        except _MISSING as error:
            if not self.incomplete:
                raise
            self._lose(number, error)

    def __len__(self) -> int:
        return len(self._opened)

    def __iter__(self) -> Iterator[Memory]:
        """Yield those that are open."""
        return (shard for shard in self._opened if shard is not None)

    def __getitem__(self, number: int) -> Memory:
        found = self._opened[number]
        if found is None:
            raise VaultIncomplete(f"{shard_name(number)} of {self._root} is missing: {self._away[number][0]}")
        return found

    def close(self) -> None:
        """Close all."""
        self._closed = True
        for shard in self:
            shard.close()

    def why(self) -> str:
        """Return what is wrong with each missing shard."""
        return "; ".join(reason for _, (reason, _) in sorted(self._away.items()))

    def views(self, root: Snapshot, level: Level) -> list[View]:
        """Return the newest version of each."""
        if not self.incomplete:
            return [level(root, number, shard, shard.view()) for number, shard in enumerate(self)]
        return [self._view(root, number, level) for number in range(len(self))]

    def _view(self, root: Snapshot, number: int, level: Level) -> View:
        shard, away = self._opened[number], self._away.get(number)
        if shard is not None:
            try:
                return self._look(root, number, shard, level)
            except _MISSING as error:
                self._lose(number, error)
        elif away is not None and time.monotonic() >= away[1]:
            with self._lock:
                looking = self._lookers.get(number)
                if looking is None or not looking.is_alive():  # nor is the parent's, in a forked child
                    self._lookers[number] = threading.Thread(
                        target=self._look_again, args=(root, number, level), name="lamina-shard", daemon=True
                    )
                    self._lookers[number].start()
        return self._empty_view(root, number)

    def _look(self, root: Snapshot, number: int, shard: Memory, level: Level) -> View:
        """Return a shard's version, once all of its log can be read."""
        view = level(root, number, shard, shard.view())
        if self._sound.get(number) is not view.snapshot:
            require_vectors(root, number, view.snapshot, root.manifest.shards[number].rows.get("chunks", 0))
            for log in view.snapshot.manifest.logs:
                for segment in view.snapshot.segments(log):
                    if segment.batch is None or segment.is_known_damaged:
                        raise VaultCorrupt(f"{segment.path} is damaged; `lamina verify` names what can be saved")
            self._sound[number] = view.snapshot
        return view

    def _lose(self, number: int, error: Exception) -> None:
        """Go on without a shard; calls under way keep the version that they read."""
        logger.warning("%s of %s is missing, and answers go without it: %s", shard_name(number), self._root, error)
        self._opened[number] = None
        self._sound.pop(number, None)
        self._away[number] = str(error), time.monotonic() + AGAIN_S

    def _look_again(self, root: Snapshot, number: int, level: Level) -> None:
        try:
            found = self._open(number)
        except _MISSING as error:
            self._away[number] = str(error), time.monotonic() + AGAIN_S
            return
        try:
            self._look(root, number, found, level)
        except Exception as error:  # whatever it is, it is looked for again
            self._away[number] = str(error), time.monotonic() + AGAIN_S
            found.close()
            return
        self._opened[number] = found
        self._away.pop(number, None)
        if self._closed:
            found.close()

    def _empty_view(self, root: Snapshot, number: int) -> View:
        """Return a view of no rows, in the root's spaces."""
        known, whole = self._empty_views.get(number), root.manifest
        if known is None or (known.snapshot.manifest.spaces, known.snapshot.manifest.space) != (
            whole.spaces,
            whole.space,
        ):
            ref = whole.shards[number]
            empty = Manifest(FORMAT_VERSION, 0, ref.vault, 0, {}, whole.spaces, whole.space, {}, commits=ref.commits)
            known = View(Absent(empty, {}), Tables(self._root / shard_name(number) / INDEX))
            self._empty_views[number] = known
        return known
