"""Commands that keep memories current: freshness, refresh, review, snooze, archive."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.chunks import answer_chunk
from lamina.cli.command import Call, FilePath, Where, command, filter_options, limit_option, number_option
from lamina.cli.terminal import (
    bold,
    chunk_table,
    clip,
    columns,
    count_of,
    dim,
    headline,
    printable,
    short_id,
    table,
    width,
    wrap,
)

if TYPE_CHECKING:
    from lamina.options import Tier
    from lamina_engine.freshness.archive import ArchiveReport
    from lamina_engine.freshness.refresh import RefreshItem, RefreshReport
    from lamina_engine.freshness.report import FreshnessItem, FreshnessReport
    from lamina_engine.results import Chunk

_TIERS: Final = ("fresh", "aging", "stale", "expired", "unknown")
_SHOWN: Final = 20
_ADVICE: Final = {
    "expired": "read them against their files: `lamina refresh --tier expired`, then with --yes",
    "stale": "the same with `lamina refresh --tier stale`",
}
_TIER: Final = click.option("--tier", type=click.Choice(_TIERS), help="Only this tier.")


@command(
    "freshness",
    "lamina freshness",
    "lamina freshness --tier stale --collection code-patterns",
    "lamina freshness --json",
)
@click.option(
    "--repo", type=FilePath(path_type=Path), metavar="PATH", help="Only chunks whose file lies in this work tree."
)
@_TIER
@click.option("--needs-review", is_flag=True, help="Show only chunks that need a review.")
@click.option("--git-check/--no-git-check", default=True, help="Use git history; otherwise judge by age alone.")
@limit_option(_SHOWN, "lines")
@filter_options
def freshness(
    call: Call,
    where: Where | None,
    repo: Path | None,
    tier: Tier | None,
    needs_review: bool,
    git_check: bool,
    limit: int,
) -> None:
    """Report which chunks are still current, judged by their files.

    The commits that touched a file since its chunk was written set the tier, which hits show from then on. Chunks without
    a file go by their age.
    """
    with call.open() as vault:
        report = vault.freshness(repo, tier=tier, where=where, git_check=git_check)
    shown = [item for item in report.items if item.needs_review or not needs_review]
    document = report.to_dict() | {"items": [_document(item) for item in shown]}
    call.answer(document, lambda: _report_lines(report, shown, tier or needs_review, limit))


def _document(item: FreshnessItem) -> dict[str, Any]:
    from dataclasses import asdict

    return {name: value for name, value in asdict(item).items() if name != "row"}


def _report_lines(report: FreshnessReport, shown: list[FreshnessItem], chosen: object, limit: int) -> Iterator[str]:
    if not report.enabled:
        yield "freshness is switched off (FRESHNESS_ENABLED); no chunk was checked"
        return
    review = f", {report.needs_review:,} to review" if report.needs_review else ""
    yield f"{count_of(report.checked, 'chunk')} checked{review}"
    yield from table(
        (
            (
                tier,
                headline(f"{count:,}", ", ".join(f"{n:,} {code}" for code, n in report.reasons.get(tier, {}).items())),
            )
            for tier, count in report.counts.items()
        ),
        indent=2,
    )
    listed = shown if chosen else [item for item in shown if item.tier not in ("fresh", "unknown")]
    if listed:
        yield ""
        most = limit or len(listed)
        yield from map(_item_line, listed[:most])
        if len(listed) > most:
            yield f"and {len(listed) - most:,} more; --limit 0 lists all"
    advice = [f"{tier}: {text}" for tier, text in _ADVICE.items() if report.counts[tier]]
    yield from ["", *map(dim, advice)] if advice else [dim("nothing is stale or expired: nothing to do")]
    yield from (f"lamina: {printable(problem)}" for problem in report.problems)


def _item_line(item: FreshnessItem) -> str:
    id_, flag = short_id(item.id), "! " if item.needs_review else "  "
    start = f"{flag}{bold(id_)}  {item.tier:<7}  "
    text = headline(item.path or item.source, item.type, item.reason)
    return start + clip(text, max(20, columns() - width(f"{flag}{id_}  {item.tier:<7}  ")))


@command(
    "refresh",
    "lamina refresh 4f1c09a2b7",
    "lamina refresh --tier stale --collection code-patterns",
    "lamina refresh --needs-review --yes",
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_TIER
@click.option("--needs-review", is_flag=True, help="Only chunks that need a review.")
@click.option("--yes", is_flag=True, help="Apply the changes; without it they are only listed.")
@filter_options
def refresh(
    call: Call, ids: tuple[str, ...], where: Where | None, tier: Tier | None, needs_review: bool, yes: bool
) -> None:
    """Read the sources of chunks again and update what changed.

    Nothing is deleted. Chunks without a source are proposed for `lamina invalidate`; a memory in someone's own words is
    returned as work to do, with a prompt. Without --yes nothing changes.
    """
    if not (ids or where or tier or needs_review):
        raise click.UsageError(
            "give ids, --tier, --needs-review or a filter (--where, --project, --type, --collection)"
        )
    with call.open() as vault:
        report = vault.refresh(
            list(ids) or None, where=where, tier=tier, needs_review=True if needs_review else None, dry_run=not yes
        )
    call.answer(report.to_dict(), lambda: _refresh_lines(report))
    if report.dry_run and any(report.counts[name] for name in ("superseded", "removed")) and not call.as_json:
        print("lamina: nothing was changed; --yes refreshes them", file=sys.stderr)


def _refresh_lines(report: RefreshReport) -> Iterator[str]:
    verb = "would check" if report.dry_run else "checked"
    yield f"{verb} {count_of(len(report.items), 'chunk')}"
    counts = [(name, f"{count:,}") for name, count in report.counts.items() if count]
    yield from table([*counts, ("new", f"{report.added:,}" if report.added else "")], indent=2)
    changed = [item for item in report.items if item.action not in ("unchanged", "work")]
    yield from (line for item in changed for line in _item_lines(item))
    for item in report.work:
        yield ""
        yield printable(item.prompt, lines=True).rstrip("\n")
    yield from (f"lamina: {printable(problem)}" for problem in report.problems)


def _item_lines(item: RefreshItem) -> Iterator[str]:
    """Yield an item in whole lines: its reason ends with what to do."""
    id_, action = short_id(item.id), f"{item.action:<10}"
    indent = width(f"{id_}  {action}  ")
    first, *more = wrap(headline(item.source, item.reason), max(20, columns() - indent))
    yield f"{bold(id_)}  {action}  {first}"
    yield from (" " * indent + line for line in more)


@command("review", 'lamina review 4f1c09a2b7 --reason "the API was removed"', "lamina review 4f1c09a2b7 --done")
@click.argument("id", metavar="ID")
@click.option("--reason", default="", metavar="TEXT", help="What to review, in words.")
@click.option(
    "--done", is_flag=True, help="Record that the chunk was reviewed and is right; commits count from now on."
)
def review(call: Call, id: str, reason: str, done: bool) -> None:
    """Flag a chunk for review; only a person clears the flag."""
    if not (reason or done):
        raise click.UsageError("give --reason, or --done")
    with call.open() as vault:
        answer_chunk(call, vault.review(id, reason, needed=not done))


@command("snooze", "lamina snooze 4f1c09a2b7 --until 2026-12-01", "lamina snooze 4f1c09a2b7 --wake")
@click.argument("id", metavar="ID")
@click.option("--until", metavar="DATE", help="Date until which it is left out of recall.")
@click.option("--wake", is_flag=True, help="End its snooze.")
@click.option("--tz", metavar="ZONE", help="Time zone of a date without one. [default: the vault's]")
def snooze(call: Call, id: str, until: str | None, wake: bool, tz: str | None) -> None:
    """Keep a chunk out of recall for a while; it stays listed."""
    if bool(until) == wake:
        raise click.UsageError("give --until, or --wake")
    with call.open() as vault:
        answer_chunk(call, vault.snooze(id, until, tz=tz))


@command(
    "archive",
    "lamina archive",
    "lamina archive --type conversation --after-days 30 --yes",
    "lamina archive --tier expired --yes",
    "lamina archive 4f1c09a2b7 --yes",
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@number_option(
    "--after-days", 90.0, "Archive chunks unchanged for N days (without ids).", click.FloatRange(min=0.0, min_open=True)
)
@click.option("--tier", type=click.Choice(_TIERS), help="Archive chunks of this tier by the last `lamina freshness`.")
@click.option("--yes", is_flag=True, help="Apply the changes; without it they are only listed.")
@filter_options
def archive(
    call: Call, ids: tuple[str, ...], where: Where | None, after_days: float, tier: Tier | None, yes: bool
) -> None:
    """Archive chunks that have not changed for a while.

    Recalls count where a profile reinforces what is recalled. It is kept, out of recall and of `lamina list` (but
    --where '{"status": "archived"}' lists it), until `lamina restore`. Never what is pinned or snoozed, nor preferences,
    antipatterns, hubs and deductions. Without --yes nothing changes.
    """
    if ids and (where or tier):
        raise click.UsageError("give ids or a filter (--where, --project, --type, --collection, --tier), and not both")
    with call.open(mode="w" if yes else "r") as vault:
        report = vault.archive(list(ids) or None, where=where, after_days=after_days, tier=tier, dry_run=not yes)
        shown = [] if yes or call.as_json else vault.get_many(report.ids[:_SHOWN])
    call.answer(report.to_dict(), lambda: _archive_lines(report, shown))
    if report.dry_run and report.chunks and not call.as_json:
        print("lamina: nothing was changed; --yes archives them", file=sys.stderr)


def _archive_lines(report: ArchiveReport, shown: Sequence[Chunk]) -> Iterator[str]:
    yield from chunk_table(shown)
    if report.chunks > len(shown) > 0:
        yield f"and {report.chunks - len(shown):,} more"
    yield f"{'would archive' if report.dry_run else 'archived'} {count_of(report.chunks, 'chunk')}"
