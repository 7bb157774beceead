"""Compaction: merges small segments; row numbers, versions, events and instants stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CompactReport(Report):
    """Report of a compaction."""

    segments_before: int
    """Files of all logs."""
    segments_after: int
    """The same afterwards."""
    bytes_before: int
    """Bytes of these files."""
    bytes_after: int
    """The same afterwards."""
    version: int
    """The vault's version afterwards; it stays where nothing was to be joined."""


def compact(memory: Memory) -> CompactReport:
    """Merge small neighbouring segments of every log; a second run changes nothing.

    Notes
    -----
    Full segments are not touched, and indexes not built again: the forward lists of joined segments are joined. A damaged
    segment is left as it is, with a warning. Readers go on with what they have mapped. O(bytes of the small segments).
    """
    with memory.write() as (transaction, _):
        before = transaction.snapshot
        for log in before.manifest.logs:
            transaction.merge(log)
    after = memory.store.snapshot()
    return CompactReport(*_count_changes(before, after), version=after.version)


def _count_changes(before: Snapshot, after: Snapshot) -> tuple[int, int, int, int]:
    refs = [
        [ref for own in version.holders for log in own.manifest.logs.values() for ref in log]
        for version in (before, after)
    ]
    sizes = [sum(ref.size for ref in found) for found in refs]
    return len(refs[0]), len(refs[1]), sizes[0], sizes[1]
