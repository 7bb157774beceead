"""Commands that take care of a whole vault: forget for good, join small files, copy to a safe place."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lamina.cli.command import Call, command
from lamina.cli.documents import chunk_line
from lamina.cli.failures import PROBLEM
from lamina.cli.filters import Where, filter_options
from lamina.cli.terminal import printable, table
from lamina.vault import vault_path

if TYPE_CHECKING:
    from lamina_engine.care.backup import BackupReport
    from lamina_engine.care.compaction import CompactReport
    from lamina_engine.care.forgetting import ForgetReport
    from lamina_engine.care.verify import VerifyReport
    from lamina_engine.results import Chunk

_SHOWN = 20


@command(
    "forget",
    "lamina forget 4f1c09a2b7",
    "lamina forget 4f1c09a2b7 --yes",
    'lamina forget --where \'{"session": "2026-03-01"}\' --yes',
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@filter_options
@click.option("--yes", is_flag=True, help="Erase; without it chunks are only counted.")
def forget(call: Call, ids: tuple[str, ...], where: Where | None, yes: bool) -> None:
    """Erase every byte of some chunks, for good.

    Without --yes nothing changes: what would go is counted and listed. Backups and exports are not reached.
    """
    if bool(ids) == bool(where):
        raise click.UsageError("give ids or a filter (--where, --project, --type, --collection), and not both")
    with call.open(mode="w" if yes else "r") as vault:
        report = vault.forget(list(ids) or where, not yes)
        shown = [] if yes or call.as_json else vault.get_many(report.ids[:_SHOWN])
    call.answer(report.to_dict(), lambda: _forget_lines(report, shown))
    if report.dry_run and report.chunks and not call.as_json:
        print("lamina: nothing was changed; --yes forgets them for good", file=sys.stderr)


def _forget_lines(report: ForgetReport, shown: Sequence[Chunk]) -> Iterator[str]:
    yield from map(chunk_line, shown)
    if report.chunks > len(shown) > 0:
        yield f"and {report.chunks - len(shown):,} more"
    count = f"{report.chunks:,} {'chunk' if report.chunks == 1 else 'chunks'}"
    yield f"{'would forget' if report.dry_run else 'forgot'} {count}"
    names = ("rows", "vectors", "events", "sources", "links", "facts")
    yield from table(((name, f"{getattr(report, name):,}") for name in names), indent=2)


@command("compact", "lamina compact")
def compact(call: Call) -> None:
    """Join small files of the log; nothing is lost."""
    with call.open() as vault:
        report = vault.compact()
    call.answer(report.to_dict(), lambda: [_compact_line(report)])


def _compact_line(report: CompactReport) -> str:
    if report.segments_before == report.segments_after:
        return f"nothing to join: {report.segments_after:,} files"
    return f"joined {report.segments_before:,} files into {report.segments_after:,}"


@command("backup", "lamina backup ~/backups/memory-2026-03-01")
@click.argument("path", type=click.Path(path_type=Path))
def backup(call: Call, path: Path) -> None:
    """Copy the vault while others use it."""
    with call.open(mode="r") as vault:
        report = vault.snapshot(path)
    call.answer(report.to_dict(), lambda: [_backup_line(report)])


def _backup_line(report: BackupReport) -> str:
    rows = f"{report.rows:,} {'row' if report.rows == 1 else 'rows'}"
    return f"copied version {report.version} ({rows}, {report.bytes:,} bytes) to {printable(report.path)}"


@command("verify", "lamina verify", "lamina verify --deep --json", "lamina verify --repair")
@click.option("--deep", is_flag=True, help="Read every byte, not only names, sizes and order.")
@click.option(
    "--repair", is_flag=True, help="Point CURRENT to the newest complete version; remove damaged index files."
)
def verify(call: Call, deep: bool, repair: bool) -> None:
    """Check that the vault is what was written.

    Works where a vault cannot be opened, too. Exit code 1 where something is wrong.
    """
    from lamina_engine.care.verify import verify as check

    report = check(vault_path(call.vault), deep=deep, repair=repair)
    document = {
        "ok": report.ok,
        "checked": dict(report.checked),
        "problems": [asdict(problem) for problem in report.problems],
        "repaired": report.repaired,
    }
    call.answer(document, lambda: _verify_lines(report))
    if not report.ok:
        raise click.exceptions.Exit(PROBLEM)


def _verify_lines(report: VerifyReport) -> Iterator[str]:
    for problem in report.problems:
        yield f"{problem.code}: {printable(problem.where)}: {printable(problem.message)}"
        yield f"  {printable(problem.advice)}"
    if report.repaired:
        yield f"repaired: {printable(report.repaired)}"
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(report.checked.items()))
    yield f"{'whole' if report.ok else f'{len(report.problems):,} problems'}: {counts}"
