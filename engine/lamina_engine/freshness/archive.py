"""Archive: chunks out of recall, still listed, restored at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.chunks import lifecycle
from lamina_engine.chunks.identities import find_row
from lamina_engine.clock import MISSING_US, US_PER_DAY
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.state import ACTIVE, SUPERSEDED
from lamina_engine.recall import filters
from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

AFTER_DAYS: Final = 90.0
EXEMPT: Final = ("antipattern", "deductive", "hub", "preference")
"""Types whose truth does not fade: they are never put away by age unless a policy names them."""


@dataclass(frozen=True, slots=True, repr=False)
class ArchiveReport(Report):
    """Report of an archive, or of its dry run."""

    chunks: int
    ids: tuple[str, ...]
    dry_run: bool
    after_days: float | None
    """Age from which chunks were taken; None where they were named."""


def archive(
    memory: Memory,
    *,
    ids: str | Sequence[str] | None = None,
    filter_: Mapping[str, Any] | None = None,
    after_days: float = AFTER_DAYS,
    types: Mapping[str, float | None] | None = None,
    tier: str | None = None,
    dry_run: bool = True,
) -> ArchiveReport:
    """Archive named chunks, or those that a policy finds old; see ``Vault.archive``."""
    if not isinstance(dry_run, bool):
        raise InvalidArgument(f"dry_run={dry_run!r} must be True (report only) or False (archive)")
    if ids is not None and filter_ is not None:
        raise InvalidArgument("archive takes either ids or where, and needs one of them; give the chunks to archive")
    if tier is not None and ids is not None:
        raise InvalidArgument("archive was given ids and a tier; give one of them")
    limits = _limits(after_days, types)
    if tier is not None:  # what the last scan found, whatever its age
        filter_ = {"AND": [filter_ or {}, {"freshness": tier}]}
        limits = {name: None if days is None else 0.0 for name, days in limits.items()}
    view = memory.view()
    if ids is not None:
        named = [find_row(view, identity) for identity in ids_of(ids, alone=True)]
        rows = np.unique(np.array([row for row in named if view.state.status[row] == ACTIVE], np.int64))
    else:
        after = after_days if tier is None else 0.0
        rows = _old_rows(view, filter_, after, limits, memory.clock.now_us(), memory.config.tz)
    names = tuple(view.snapshot.values("chunks", "id", rows))
    if not dry_run and len(rows):
        aged = f"not touched for {after_days:g} days or more" if tier is None else f"{tier} by the last scan"
        why = "archived by name" if ids is not None else aged
        lifecycle.archive(memory, rows.tolist(), why)
    return ArchiveReport(len(rows), names, dry_run, None if ids is not None or tier is not None else after_days)


def _limits(after_days: float, types: Mapping[str, float | None] | None) -> dict[str, float | None]:
    """Return the age limit of each type that has one of its own; None exempts it."""
    limits: dict[str, float | None] = {**dict.fromkeys(EXEMPT), **(types or {})}
    for name, days in [
        ("after_days", after_days),
        *((name, days) for name, days in limits.items() if days is not None),
    ]:
        if isinstance(days, bool) or not isinstance(days, int | float) or not 0.0 < days < float("inf"):
            raise InvalidArgument(f"{name}={days!r} must be a number of days above 0 (None exempts a type)")
    return limits


def _old_rows(
    view: View,
    filter_: Mapping[str, Any] | None,
    after_days: float,
    limits: Mapping[str, float | None],
    now_us: int,
    tz: str,
) -> Rows:
    """Return active rows, unpinned and awake, not written, dated or recalled within their limit."""
    node = filters.parse_filter(filter_, tz, now_us)
    candidates = np.equal(view.state.status, ACTIVE) & (view.state.pinned == 0)
    candidates[view.state.asleep(now_us)] = False
    rows = np.flatnonzero(filters.evaluate(node, view, candidates))
    recorded = view.snapshot.numbers("chunks", "recorded_at", rows).astype(np.int64)
    # a future date, or none, does not show when a chunk was last touched
    dated = view.created_us[rows]
    touched = np.where((dated != MISSING_US) & (dated <= now_us), dated, recorded)
    # a rewritten chunk was touched when it was rewritten, whatever its date
    changed = set(view.snapshot.values("chunks", "id", np.flatnonzero(view.state.status == SUPERSEDED)))
    rewritten = [name in changed for name in view.snapshot.values("chunks", "id", rows)]
    touched = np.where(rewritten, np.maximum(touched, recorded), touched)
    touched = np.maximum(touched, [view.accesses.last_us(row) for row in rows.tolist()])
    types = view.snapshot.values("chunks", "type", rows)
    days = np.array([_days(limits.get(name, after_days)) for name in types], np.float64)
    return rows[(now_us - touched) / US_PER_DAY >= days]


def _days(limit: float | None) -> float:
    return float("inf") if limit is None else float(limit)
