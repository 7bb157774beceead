"""Reanalysis of rewritten segments: only rows whose words have changed are analysed again.

Where chunks are forgotten, some rows of a segment become tombstones, and a short row that was indexed with their words
loses these. All others keep their forward lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.tables import terms_path
from lamina_engine.index.terms import TermsDamaged, build_zones, concat_terms, open_terms, slice_terms, write_terms
from lamina_engine.index.zones import Zones, reachable_rows, read_column, zones_of
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.layouts import BOOL, I64, TermRows

_COLUMNS: Final = ("text", "title", "headings", "tags", "created_at", "source", "start", "previous")
"""What the zones of a row are made of."""
_MOST_CHANGED: Final = 8
"""Up to one row in so many is analysed by itself; with more, all of them together take less time."""


def write_changed_terms(folder: Path, before: Snapshot, after: Snapshot, analyzer: Analyzer) -> None:
    """Write the forward lists of rewritten segments, from those of the rows as they were.

    A segment whose former lists are missing or damaged is passed over, as is one with many changed rows: whoever finds no
    file analyses all of it. Memory for one segment. O(bytes of their lists).
    """
    pairs = list(_rewritten(before, after))
    if not pairs:
        return
    changed = _changed_rows(before, after, pairs)
    for old, new in pairs:
        offsets = np.flatnonzero(changed[old.start : old.start + old.rows])
        if _MOST_CHANGED * offsets.size > old.rows:
            continue
        try:
            rows = open_terms(terms_path(folder, old), verify=True)  # a checksum of its own would hide a flipped bit
        except TermsDamaged:
            continue
        if len(rows.lengths) == old.rows:
            fresh = build_zones(_zones_of_rows(after, old.start + offsets), analyzer)
            write_terms(terms_path(folder, new), _replace_rows(rows, offsets, fresh))


def _rewritten(before: Snapshot, after: Snapshot) -> Iterator[tuple[Segment, Segment]]:
    """Yield segments with other bytes, and what stands for their rows now."""
    now = {(segment.start, segment.rows): segment for segment in after.segments("chunks")}
    for old in before.segments("chunks"):
        new = now.get((old.start, old.rows))
        if new is not None and new.ref.name != old.ref.name:
            yield old, new


def _changed_rows(before: Snapshot, after: Snapshot, pairs: list[tuple[Segment, Segment]]) -> BOOL:
    """Return bool (n,): True for rows that may have other words, theirs or those before them."""
    changed = np.zeros(before.rows("chunks"), np.bool_)
    for old, new in pairs:
        part = changed[old.start : old.start + old.rows]
        for name in _COLUMNS:
            if not old.column(name).equals(new.column(name)):
                values = (read_column(snapshot, name, old.start, old.start + old.rows) for snapshot in (before, after))
                part |= np.fromiter((one != other for one, other in zip(*values, strict=True)), np.bool_, old.rows)
    chains = (snapshot.column("chunks", "previous").astype(np.int64) for snapshot in (before, after))
    behind = [reachable_rows(chain[: changed.size], changed) for chain in chains]
    return changed | behind[0] | behind[1]


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


def _replace_rows(rows: TermRows, offsets: I64, fresh: TermRows) -> TermRows:
    """Return forward lists with others at some offsets."""
    parts: list[TermRows] = []
    at = 0
    for number, offset in enumerate(offsets.tolist()):
        parts += [slice_terms(rows, at, offset), slice_terms(fresh, number, number + 1)]
        at = offset + 1
    return concat_terms([*parts, slice_terms(rows, at, len(rows.lengths))])
