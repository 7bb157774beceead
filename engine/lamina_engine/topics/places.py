"""Places of a vault's chunks on the map: laid out once, then extended by added chunks.

The file is derived data. It holds row numbers and places; a file that is missing, damaged or of another space is a layout
to be made.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine import after_fork
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import LaminaError
from lamina_engine.index.sealed import Seal
from lamina_engine.index.view import View
from lamina_engine.real_files import remove_file
from lamina_engine.store.shape import own_files
from lamina_engine.topics.catalog import current_topics
from lamina_engine.topics.drift import MOST_CHANGED, rows_with_vectors, usable_rows
from lamina_engine.topics.layout import lay_out, place
from lamina_engine.topics.points import unit_rows
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    import pyarrow as pa

    from lamina_engine.memory import Memory


class PlacesDamaged(LaminaError, OSError):
    """A saved map that is torn or altered; it is laid out again."""


_SEAL: Final = Seal(b"LMNAMAP\n", 2, "QQ", what="map", damaged=PlacesDamaged)
"""Fields: rows, and how many of them were laid out together. Payload: rows, int64, those first; places, float32 (n, 2)."""

_NAME: Final = re.compile(r"map-[0-9a-f]{16}\.places(\.tmp)?")
_LAYING_OUT: Final = after_fork.make_lock()
"""Two requests for a map wait for one layout."""


class Places(NamedTuple):
    """Rows on the map.

    Attributes
    ----------
    rows : int64 (n,)
    places : float32 (n, 2)
    """

    rows: I64
    places: F32


_NOTHING: Final = Places(np.empty(0, np.int64), np.empty((0, 2), np.float32))


def chunk_places(newest: View, seen: I64 | None = None, *, save: bool = True) -> Places:
    """Return the places of a version's chunks, or of some rows; all on the newest map.

    Without ``save`` nothing is written, as for a vault that is not trusted.

    Notes
    -----
    A layout of everything, where there is none or more than 30 % of it changed; else O(m n d) for m added chunks.
    """
    if newest.snapshot.space is None:
        return _NOTHING
    rows = usable_rows(newest)
    seen = rows if seen is None else seen
    of = " ".join((newest.snapshot.vector_log, *newest.snapshot.missing))  # without shards rows have other numbers
    name = hashlib.sha256(of.encode()).hexdigest()[:16]
    path = newest.tables.folder / f"map-{name}.places"
    with _LAYING_OUT:
        saved, base = _read(path, newest.vector_rows)
        made = saved
        if _has_changed(rows, saved.rows[:base]):
            base = rows.size
            made = Places(rows, lay_out(unit_rows(newest.vectors.gather(rows))))
        made = _extend(newest, made, np.setdiff1d(np.union1d(rows, seen), made.rows, assume_unique=True))
        if save and made is not saved:
            _write(path, made, base)
    order = np.argsort(made.rows)
    return Places(seen, made.places[order[np.searchsorted(made.rows, seen, sorter=order)]])


def places_table(memory: Memory, *, history: bool = False) -> pa.Table:
    """Return the places of chunks, active or ever, with dates, topic and freshness."""
    import pyarrow as pa

    view = memory.view()
    now = view if view.as_of_us is None else View(view.snapshot, view.tables)
    rows = usable_rows(view)
    since, gone = view.snapshot.numbers("chunks", "recorded_at", rows, MISSING_US), np.full(rows.size, MISSING_US)
    if history:
        spans = view.state.spans(view.snapshot)
        kept = np.isin(spans.rows, rows_with_vectors(view, np.unique(spans.rows[spans.rows < view.vector_rows])))
        rows, since, gone = (column[kept] for column in spans)
    once, again = np.unique(rows, return_inverse=True)
    places = chunk_places(now, once, save=memory.store.is_trusted).places[again]
    _, members = current_topics(view, once if history else None)
    topics: list[str | None] = [None] * once.size
    for at, topic in zip(np.searchsorted(once, members.rows).tolist(), members.topics, strict=True):
        topics[at] = topic
    texts = {
        name: view.snapshot.values("chunks", name, once) for name in ("id", "title", "type", "project", "collection")
    }
    texts |= {"topic": topics, "freshness": view.freshness.tiers_of(once)}
    created = view.snapshot.numbers("chunks", "created_at", rows, MISSING_US)
    table = pa.table(
        {name: pa.array(values, pa.string()).take(pa.array(again)) for name, values in texts.items()}
        | {"created_us": pa.array(created, pa.int64()), "recorded_us": pa.array(since, pa.int64())}
        | {"gone_us": pa.array(gone, pa.int64(), mask=gone == MISSING_US)}
        | {"x": pa.array(places[:, 0], pa.float32()), "y": pa.array(places[:, 1], pa.float32())}
    )
    return table.replace_schema_metadata({"snapshot": str(view.snapshot.manifest.version)})


def _has_changed(rows: I64, base: I64) -> bool:
    """Return whether too many rows were added since the last layout, or too many of it are gone."""
    gone = base.size - np.intersect1d(base, rows, assume_unique=True).size
    return max(rows.size - base.size, gone) > MOST_CHANGED * base.size


def remove_places(folder: Path) -> None:
    """Remove a vault's maps: a place says a little of a text that is forgotten."""
    for path in own_files(folder, _NAME):
        with contextlib.suppress(FileNotFoundError):
            remove_file(path)


def _extend(view: View, saved: Places, added: I64) -> Places:
    """Return places with those of added rows, which move no other."""
    if not added.size:
        return saved
    if not saved.rows.size:
        return Places(added, lay_out(unit_rows(view.vectors.gather(added))))
    around = unit_rows(view.vectors.gather(saved.rows))
    placed = place(around, saved.places, unit_rows(view.vectors.gather(added)))
    return Places(np.concatenate([saved.rows, added]), np.concatenate([saved.places, placed]))


def _read(path: Path, most: int) -> tuple[Places, int]:
    """Return saved places below a row, and how many were laid out together."""
    with contextlib.suppress(OSError):
        (n, base), payload = _SEAL.open(path, verify=True)
        if len(payload) == 16 * n:
            rows = np.frombuffer(payload[: 8 * n], "<i8").astype(np.int64)
            places = np.frombuffer(payload[8 * n :], "<f4").reshape(n, 2).astype(np.float32)
            known = rows < most
            return Places(rows[known], places[known]), int(known[:base].sum())
    return _NOTHING, 0


def _write(path: Path, made: Places, base: int) -> None:
    """Save places; a disk that takes none costs the next map its time."""
    with contextlib.suppress(OSError):
        _SEAL.write(
            path, (made.rows.size, base), [made.rows.astype("<i8").data, made.places.astype("<f4").data], sync=False
        )
