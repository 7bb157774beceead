"""Layout of a sharded vault: where its shards lie, and in which one a chunk belongs.

The root is a vault of its own, at the address; it has the links, facts and topics, and its manifest names the shards. Shard n is
an ordinary vault in ``shards/<n>`` below it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from lamina_engine.arguments import whole_of
from lamina_engine.errors import InvalidArgument, VaultCorrupt
from lamina_engine.store.files import Files
from lamina_engine.store.manifest import Manifest, ShardRef

SHARDS: Final = "shards"
MOST_SHARDS: Final = 256
BY: Final = ("source", "project")


def shard_name(number: int) -> str:
    """Return the folder of a shard below the root."""
    return f"{SHARDS}/{number:02d}"


def shard_place(root: Path, files: Files | None, number: int) -> tuple[Path, Files | None]:
    """Return the folder of a shard, and the files that publish it where the root has an address."""
    if files is not None and files.is_cache:
        from lamina_engine.store.publishing import PublishedFiles

        assert isinstance(files, PublishedFiles)
        own = PublishedFiles(f"{files.url}/{shard_name(number)}")
        return own.root, own
    place = root / SHARDS / f"{number:02d}"
    for folder in (place.parent, place):
        if os.path.lexists(folder) and not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise VaultCorrupt(f"{folder} must be a real folder in a sharded vault; put the real thing in its place")
    return place, files


def shard_ref(manifest: Manifest) -> ShardRef:
    """Return what the root names of a shard: all that it has."""
    return ShardRef(manifest.vault, manifest.commits, {log: manifest.rows(log) for log in manifest.logs})


def check_count(shards: int) -> int:
    """Return a number of shards; raise InvalidArgument where it is none."""
    return whole_of(shards, "shards", 1, MOST_SHARDS)


def check_by(by: str) -> str:
    """Return what chunks are kept together by; raise InvalidArgument for anything else."""
    if by not in BY:
        raise InvalidArgument(f"by={by!r} must be one of {', '.join(BY)}")
    return by


def hashed_shard(key: str, shards: int) -> int:
    """Return the shard of a source, by its hash."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards
