"""Reanalysis of rewritten segments: only rows whose words have changed are analysed again.

Where chunks are forgotten, some rows of a segment become tombstones, and a short row that was indexed with their words
loses these. All others keep their forward lists.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.terms import TermsDamaged, build_zones, concat_terms, open_terms, slice_terms
from lamina_engine.index.zones import Zones, reachable_rows, zones_of
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.layouts import BOOL, I64, TermRows

_COLUMNS: Final = ("text", "title", "headings", "tags", "created_at", "source", "start", "previous")
"""What the zones of a row are made of."""
_MOST_CHANGED: Final = 8
"""Up to one row in so many is analysed by itself; with more, all of them together take less time."""


class FormerTerms(NamedTuple):
    """Forward lists of a segment before it was rewritten.

    Attributes
    ----------
    rows : TermRows
        Mapped; the file may be gone.
    changed : int64 (c,)
        Offsets of rows that may have other words, ascending.
    """

    rows: TermRows
    changed: I64


def find_former_terms(path_of: Callable[[Segment], Path], before: Snapshot, after: Snapshot) -> dict[str, FormerTerms]:
    """Return the former forward lists of rewritten segments, by the names that these have now.

    A segment whose former lists are missing or damaged is left out, as is one with many changed rows. O(bytes of the lists).
    """
    now = {(segment.start, segment.rows): segment for segment in after.segments("chunks")}
    pairs = [(old, now.get((old.start, old.rows), old)) for old in before.segments("chunks")]
    pairs = [(old, new) for old, new in pairs if old.ref.name != new.ref.name]
    changed = _changed_rows(before, after, pairs)
    found: dict[str, FormerTerms] = {}
    for old, new in pairs:
        offsets = np.flatnonzero(changed[old.start : old.start + old.rows])
        if _MOST_CHANGED * offsets.size <= old.rows:
            try:
                rows = open_terms(path_of(old), verify=True)  # written again, a flipped bit would have a valid checksum
            except TermsDamaged:
                continue
            if len(rows.lengths) == old.rows:
                found[new.ref.name] = FormerTerms(rows, offsets)
    return found


def renew_terms(snapshot: Snapshot, segment: Segment, former: FormerTerms, analyzer: Analyzer) -> TermRows:
    """Return a segment's forward lists, given those before it was rewritten."""
    fresh = build_zones(_zones_of_rows(snapshot, segment.start + former.changed), analyzer)
    parts: list[TermRows] = []
    at = 0
    for number, offset in enumerate(former.changed.tolist()):
        parts += [slice_terms(former.rows, at, offset), slice_terms(fresh, number, number + 1)]
        at = offset + 1
    return concat_terms([*parts, slice_terms(former.rows, at, segment.rows)])


def _changed_rows(before: Snapshot, after: Snapshot, pairs: list[tuple[Segment, Segment]]) -> BOOL:
    """Return bool (n,): True for rows that may have other words, theirs or those before them."""
    changed = np.zeros(before.rows("chunks"), np.bool_)
    if not pairs:
        return changed
    for old, new in pairs:
        part = changed[old.start : old.start + old.rows]
        for name in _COLUMNS:
            columns = old.column(name), new.column(name)
            if not columns[0].equals(columns[1]) and not _are_equal(*columns, ~part):
                part |= _differing(*columns)
    chains = (snapshot.column("chunks", "previous").astype(np.int64) for snapshot in (before, after))
    behind = [reachable_rows(chain[: changed.size], changed) for chain in chains]
    return changed | behind[0] | behind[1]


def _are_equal(old: Any, new: Any, rows: BOOL) -> bool:
    """Return True if two Arrow columns hold the same values in some rows."""
    kept = pa.array(rows)
    return bool(old.filter(kept).equals(new.filter(kept)))


def _differing(old: Any, new: Any) -> BOOL:
    """Return bool (n,): True where two Arrow columns hold other values."""
    if pa.types.is_list(old.type):
        values = zip(old.to_pylist(), new.to_pylist(), strict=True)
        return np.fromiter((one != other for one, other in values), np.bool_, len(old))
    import pyarrow.compute as pc  # which a recall does not need

    same = pc.if_else(pc.is_null(old), pc.is_null(new), pc.fill_null(pc.equal(old, new), fill_value=False))
    return ~np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)


def _zones_of_rows(snapshot: Snapshot, rows: Rows) -> Zones:
    """Return the zones of some rows, which ascend."""
    found = Zones([], [], [], [])
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        if run.size:
            part = zones_of(snapshot, int(run[0]), int(run[-1]) + 1)
            found.linking.extend(len(found.bodies) + place for place in part.linking)
            found.bodies.extend(part.bodies)
            found.headers.extend(part.headers)
            found.contexts.extend(part.contexts)
    return found
