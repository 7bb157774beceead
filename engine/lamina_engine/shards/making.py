"""Sharding: a vault, or a sharded one, cut into several, each row with its moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import config, schema
from lamina_engine.clock import FixedClock, utc_datetime
from lamina_engine.errors import InvalidArgument, VaultExists, VaultNotFound
from lamina_engine.index.keys import hash_ids
from lamina_engine.memory import Memory
from lamina_engine.real_files import read_file
from lamina_engine.reports import Report
from lamina_engine.shards.layout import check_by, check_count, hashed_shard, shard_place, shard_ref
from lamina_engine.shards.memory import ShardedMemory
from lamina_engine.shards.union import ROW_COLUMNS, translate
from lamina_engine.store.files import Files
from lamina_engine.store.manifest import ShardRef
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_engine.store.store import Store

_AT_ONCE: Final = 262_144
"""Rows that one commit of a shard writes: what is held in memory."""
_ROOT: Final = -1
"""Home of rows that belong to no chunk."""


@dataclass(frozen=True, slots=True)
class ShardReport(Report):
    """Report of a sharding."""

    shards: int
    """How many shards."""
    by: str
    """What was kept together: project or source."""
    rows: tuple[int, ...]
    """Rows of the chunks log in each."""


def shard_vault(
    memory: Memory, root: Path, files: Files | None = None, *, shards: int, by: str = "source"
) -> ShardReport:
    """Copy a vault, sharded or not, into a new sharded one; the vault itself stays as it is.

    Raises
    ------
    InvalidArgument
        A number of shards that is none, or another ``by``.
    VaultExists
        Something is there already.
    VaultCorrupt
        Bytes of the vault have changed.
    """
    count, by = check_count(shards), check_by(by)
    snapshot = memory.store.snapshot()
    memory.store.require_whole(snapshot)
    moment = utc_datetime(snapshot.manifest.last_us + 1)
    assert moment is not None
    clock = FixedClock(moment)
    if files is None and memory.root.resolve() in root.resolve().parents:
        raise InvalidArgument(f"{root} lies inside the vault {memory.root}; give a place outside of it")
    _require_free(root, files)
    for log in snapshot.manifest.logs:
        snapshot.require_intact(log)  # the copies get digests of their own
    home = assign(snapshot, count, by)
    target = Store.create(root, clock=clock, files=files)
    settings = memory.root / config.FILE
    written = read_file(settings, config.MOST_BYTES) if settings.exists() else b""
    if written:
        target.write_settings(written.decode())
    refs: list[ShardRef] = []
    counts: list[int] = []
    for number in range(count):
        place, own = shard_place(root, files, number)
        if own is files:
            place.parent.mkdir(exist_ok=True)
        store = Store.create(place, clock=clock, files=own)
        if written:
            store.write_settings(written.decode())
        _fill(store, snapshot, home, number, whole=target.last_seen.manifest.vault)
        manifest = store.snapshot().manifest
        refs.append(shard_ref(manifest))
        counts.append(manifest.rows("chunks"))
        with closing(Memory(place, files=own, clock=clock)) as shard:
            shard.indexer.catch_up(shard.view)
    _fill(target, snapshot, home, _ROOT, refs, by)
    with closing(ShardedMemory(root, files=files, clock=clock)) as whole, whole.store.exclusive():
        whole.indexer.catch_up(whole.view)
    return ShardReport(count, by, tuple(counts))


def _require_free(root: Path, files: Files | None) -> None:
    place = str(root) if files is None else getattr(files, "url", str(root))
    try:
        Store(root, mode="r", files=files)
    except VaultNotFound:
        if files is None and root.is_dir() and any(root.iterdir()):
            raise VaultExists(f"{place} is not empty; give a folder or an address that is") from None
        return
    raise VaultExists(f"{place} is a vault already; give a folder or an address with nothing in it")


def assign(snapshot: Snapshot, shards: int, by: str) -> NDArray[np.int64]:
    """Return the shard of every row of the chunks log.

    All versions of a chunk, and chunks that were written after one another in a source or session, share one: a chunk is
    found by words of those before it.
    """
    group = _groups(snapshot)
    leaders = np.flatnonzero(group == np.arange(len(group)))
    names = _keys(snapshot, leaders, by)
    if by == "source":
        chosen = [hashed_shard(name, shards) for name in names]
    else:
        chosen = _balance(names, np.bincount(group, minlength=len(group))[leaders].tolist(), shards)
    home = np.zeros(len(group), np.int64)
    home[leaders] = chosen
    return home[group]


def _keys(snapshot: Snapshot, rows: Rows, by: str) -> list[str]:
    ids, sources = (snapshot.values("chunks", name, rows) for name in ("id", "source"))
    keys = [f"source {source}" if source else f"id {identity}" for identity, source in zip(ids, sources, strict=True)]
    if by == "source":
        return keys
    projects = snapshot.values("chunks", "project", rows)
    return [f"project {project}" if project else key for project, key in zip(projects, keys, strict=True)]


def _balance(names: list[str], sizes: list[int], shards: int) -> list[int]:
    """Return a shard for each name; the largest go first, to the least filled."""
    total: dict[str, int] = {}
    for name, size in zip(names, sizes, strict=True):
        total[name] = total.get(name, 0) + size
    filled = [0] * shards
    place: dict[str, int] = {}
    for name in sorted(total, key=lambda each: (-total[each], each)):
        place[name] = filled.index(min(filled))
        filled[place[name]] += total[name]
    return [place[name] for name in names]


def _groups(snapshot: Snapshot) -> Rows:
    """Return the first row of each row's group: joined by the row before it, and by its id."""
    rows = snapshot.rows("chunks")
    parent = np.arange(rows, dtype=np.int64)
    if not rows:
        return parent
    previous = snapshot.column("chunks", "previous").astype(np.int64)
    names = [name for segment in snapshot.segments("chunks") for name in segment.texts("id")]
    first, at = np.unique(hash_ids(names), return_index=True, return_inverse=True)[1:]
    same = first[at]
    pairs = [(row, int(previous[row])) for row in np.flatnonzero(previous >= 0).tolist()]
    pairs += [(row, int(same[row])) for row in np.flatnonzero(same != np.arange(rows)).tolist()]
    of = parent.tolist()

    def find(row: int) -> int:
        while of[row] != row:
            of[row] = of[of[row]]
            row = of[row]
        return row

    for one, other in pairs:
        left, right = find(one), find(other)
        of[max(left, right)] = min(left, right)
    return np.array([find(row) for row in range(rows)], np.int64)


def _fill(
    store: Store,
    snapshot: Snapshot,
    home: NDArray[np.int64],
    number: int,
    refs: list[ShardRef] | None = None,
    by: str = "",
    whole: str = "",
) -> None:
    """Write the rows of one shard, or of the root."""
    local = np.full(len(home), -1, np.int64)
    mine = np.flatnonzero(home == number)
    local[mine] = np.arange(len(mine))
    used, logs = snapshot.manifest.space, snapshot.manifest.logs
    with store.transaction() as transaction:
        for name, space in snapshot.manifest.spaces.items():
            if name == used or schema.vector_log(name) in logs:
                transaction.set_space(name, space, default=name == used)
        if number != _ROOT:
            transaction.set_whole(whole)
    owners = {log: _owners(snapshot, log, home) for log in logs}
    batches = _batches(snapshot, owners, number, local)
    left = True
    while left:
        with store.transaction() as transaction:
            held = 0
            for log, values, stamps in batches:
                transaction.append(log, values, stamps)
                held += len(stamps)
                if held > _AT_ONCE:
                    break
            else:
                left = False
                if refs is not None:
                    transaction.set_shards(refs, by)


def _batches(
    snapshot: Snapshot, owners: dict[str, NDArray[np.int64]], number: int, local: Rows
) -> Iterator[tuple[str, dict[str, Any], NDArray[np.int64]]]:
    for log, owner in owners.items():
        space = snapshot.manifest.spaces.get(log.partition(".")[2])
        layout = schema.log_schema(log, space.dim if space else None)
        for segment, offsets in snapshot.parts(log, np.flatnonzero(owner == number)):
            names = [name for name in layout.names if name != "recorded_at"]
            values: dict[str, Any] = {name: segment.column(name).take(pa.array(offsets)) for name in names}
            if number != _ROOT and log in ROW_COLUMNS:
                rows = segment.numbers(ROW_COLUMNS[log])[offsets].astype(np.int64)
                values[ROW_COLUMNS[log]] = translate(rows, local)
            yield log, values, segment.numbers("recorded_at")[offsets].astype(np.int64)


def _owners(snapshot: Snapshot, log: str, home: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return who holds each row of a log: a shard, or the root."""
    rows = snapshot.rows(log)
    if log == "chunks" or log.startswith("vectors."):
        return home[:rows]
    if log in ("events", "origins", "freshness"):
        about = snapshot.column(log, "row").astype(np.int64)
        return np.where(about >= 0, home[np.maximum(about, 0)] if len(home) else _ROOT, _ROOT)
    if log == "sources":
        return _owners_of_sources(snapshot, home)
    return np.full(rows, _ROOT, np.int64)


def _owners_of_sources(snapshot: Snapshot, home: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the shard of each row of the sources log: that of its source's chunks."""
    place: dict[str, int] = {}
    for segment in snapshot.segments("chunks"):
        place.update(zip(segment.texts("id"), home[segment.start : segment.start + segment.rows].tolist(), strict=True))
    of: dict[tuple[str, str], int] = {}
    keys: list[tuple[str, str]] = []
    for segment in snapshot.segments("sources"):
        fields = (segment.texts(name) for name in ("root", "source", "chunks"))
        for root, source, ids in zip(*fields, strict=True):
            key = (root, source)
            keys.append(key)
            known = next((place[name] for name in ids if name in place), None)
            if known is not None:
                of.setdefault(key, known)
    return np.array([of.get(key, _ROOT) for key in keys], np.int64)
