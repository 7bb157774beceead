"""Opening a vault by its address: the whole, or one shard of it for a worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina_engine.clock import Clock, SystemClock
from lamina_engine.errors import InvalidArgument
from lamina_engine.memory import Memory
from lamina_engine.shards.layout import shard_place
from lamina_engine.shards.memory import ShardedMemory
from lamina_engine.store.files import Files
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.store import Store

if TYPE_CHECKING:
    from lamina_engine.shards.remote import Answering, Ask


class LaterClock:
    """A clock that never stands before a moment."""

    def __init__(self, clock: Clock, least_us: int) -> None:
        self._clock, self._least_us = clock, least_us

    def now_us(self) -> int:
        """Return the present, or that moment where it has not come yet."""
        return max(self._clock.now_us(), self._least_us)


def place_of(address: str) -> tuple[Path, Files | None]:
    """Return the folder of an address, and the files that publish it, if any."""
    if "://" not in address:
        return Path(address), None
    from lamina_engine.store.publishing import PublishedFiles

    files = PublishedFiles(address)
    return files.root, files


def root_manifest(address: str) -> Manifest:
    """Return the newest version of the vault at an address: of a sharded one, of its root."""
    root, files = place_of(address)
    return Store(root, mode="r", files=files).last_seen.manifest


def open_memory(address: str, **given: Any) -> Memory:
    """Open a vault, sharded or not; parameters are those of `Memory`."""
    root, files = place_of(address)
    memory = Memory(root, files=files, **given)
    if not memory.store.last_seen.manifest.shards:
        return memory
    memory.close()
    return ShardedMemory(root, files=files, **given)


def open_answering(address: str, number: int) -> Answering:
    """Open one shard of a sharded vault to answer for it, read-only."""
    from lamina_engine.shards.remote import Answering

    place, files = shard_place(*place_of(address), number)
    return Answering(Memory(place, mode="r", files=files))


def open_asking(address: str, ask: Ask, **given: Any) -> Memory:
    """Open a sharded vault whose shards are asked elsewhere, read-only."""
    root, files = place_of(address)
    return ShardedMemory(root, mode="r", files=files, ask=ask, **given)


def open_shard(address: str, number: int, *, clock: Clock | None = None, **given: Any) -> Memory:
    """Open one shard of a sharded vault, for a worker; other parameters are those of `Memory`.

    What is written to it comes after everything that the whole vault shows, and is shown once the root says so:
    see `ShardedMemory.accept`.
    """
    manifest = root_manifest(address)
    if not 0 <= number < len(manifest.shards):
        raise InvalidArgument(
            f"shard {number} of {address}, which has {len(manifest.shards)}: they are numbered from 0"
        )
    place, files = shard_place(*place_of(address), number)
    found = Memory(place, files=files, clock=LaterClock(clock or SystemClock(), manifest.last_us + 1), **given)
    found.is_worker = True
    return found
