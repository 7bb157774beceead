"""Report of a scan: verdicts in the order of attention they need, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lamina_engine.clock import format_instant
from lamina_engine.freshness.tiers import ORDER
from lamina_engine.reports import Report

COMMITS: Final = "commits"
CONTENT_CHANGED: Final = "content_changed"
DELETED: Final = "deleted"
RENAMED: Final = "renamed"
HISTORY_REWRITTEN: Final = "history_rewritten"
AGE: Final = "age"
NO_PATH: Final = "no_path"
NO_REPO: Final = "no_repo"
NO_GIT: Final = "no_git"
NO_HISTORY: Final = "no_history"
MANUAL: Final = "manual"
REASONS: Final = (
    COMMITS, CONTENT_CHANGED, DELETED, RENAMED, HISTORY_REWRITTEN, AGE, NO_PATH, NO_REPO, NO_GIT, NO_HISTORY, MANUAL,
)  # fmt: skip
"""Codes of the reasons of verdicts."""


@dataclass(frozen=True, slots=True)
class FreshnessItem:
    """Verdict on one chunk."""

    id: str
    source: str | None
    tier: str
    reason_code: str
    """One of `REASONS`."""
    reason: str
    """The same in words, with the numbers."""
    commits: int | None
    """Commits that touched its file since it was written; None where nothing was counted."""
    needs_review: bool
    found: bool
    """True where the scan itself found a reason for a review."""
    manual: bool
    """True where a person, or a merged request, asked for a review; no scan takes that back."""
    content_changed: bool | None
    """True where the file's bytes differ from those read; None where that is unknown."""
    counted_by: str | None
    """``commit``, or ``date`` where the commit it was written at is not known or no longer part of any history."""
    path: str | None
    """Path of its file now, below its repository."""
    repository: str | None
    commit: str | None
    """Commit that was checked out when it was written."""
    stored_at: str
    """When it was written, or last confirmed."""
    age_days: float | None
    type: str
    collection: str
    project: str | None
    row: int
    """Its row of the chunks log."""


@dataclass(frozen=True, slots=True, repr=False)
class FreshnessReport(Report):
    """Report of a scan."""

    items: tuple[FreshnessItem, ...]
    """The listed ones: expired first, then stale, aging, fresh, unknown; within a tier by source."""
    counts: dict[str, int]
    """Judged chunks by tier; their sum is ``checked``."""
    reasons: dict[str, dict[str, int]]
    """By tier, the chunks for each reason."""
    checked: int
    needs_review: int
    scanned_at: str
    enabled: bool
    """False where freshness is switched off: nothing was looked at."""
    recorded: int
    """Number of new verdicts written to the log."""
    problems: tuple[str, ...]


def make_report(
    items: Iterable[FreshnessItem],
    now_us: int,
    *,
    tier: str | None = None,
    enabled: bool = True,
    recorded: int = 0,
    problems: Iterable[str] = (),
) -> FreshnessReport:
    """Order verdicts and count them; only those of ``tier`` are listed."""
    place = {name: i for i, name in enumerate(ORDER)}
    every = sorted(items, key=lambda item: (place[item.tier], item.reason_code, item.source or "", item.row))
    by_tier: dict[str, Counter[str]] = {name: Counter() for name in ORDER}
    for item in every:
        by_tier[item.tier][item.reason_code] += 1
    return FreshnessReport(
        items=tuple(item for item in every if tier is None or item.tier == tier),
        counts={name: by_tier[name].total() for name in ORDER},
        reasons={name: dict(sorted(codes.items())) for name, codes in by_tier.items() if codes},
        checked=len(every),
        needs_review=sum(item.needs_review for item in every),
        scanned_at=str(format_instant(now_us)),
        enabled=enabled,
        recorded=recorded,
        problems=tuple(problems),
    )
