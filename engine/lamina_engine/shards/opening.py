"""Opening a vault by its address: the whole, or one shard of it that answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina_engine.memory import Memory
from lamina_engine.shards.layout import shard_place
from lamina_engine.shards.memory import ShardedMemory
from lamina_engine.store.files import Files
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.store import Store

if TYPE_CHECKING:
    from lamina_engine.shards.remote import Answering, Ask


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


def open_answering(address: str, number: int) -> Answering:
    """Open one shard of a sharded vault to answer for it, read-only."""
    from lamina_engine.shards.remote import Answering

    place, files = shard_place(*place_of(address), number)
    return Answering(Memory(place, mode="r", files=files))


def open_asking(address: str, ask: Ask, **given: Any) -> Memory:
    """Open a sharded vault whose shards are asked elsewhere, read-only."""
    root, files = place_of(address)
    return ShardedMemory(root, mode="r", files=files, ask=ask, **given)
