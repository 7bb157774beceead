"""Commands that write: files with ``ingest``, one memory with ``add``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, command, embedder_option, executor_options, json_object, quiet_libraries
from lamina.cli.terminal import bold, count_of, dim, printable
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina_engine.redact.redactor import Policy

_PROBLEMS_SHOWN: Final = 20
_COUNTS: Final = ("added", "updated", "unchanged", "moved", "removed", "skipped")
_WRITTEN: Final = {"chunks": ("chunk", "written"), "links": ("link", "made"), "redactions": ("secret", "masked")}


@command(
    "ingest",
    "lamina ingest notes/",
    "lamina ingest log.csv --column text=message --column created_at=when --project api",
    "git log -p -1 | lamina ingest - --kind text",
    "lamina ingest notes/ --follow",
    "lamina ingest /mnt/corpus --vault s3://my-bucket/team --ray 10.0.0.5:6379",
)
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@click.option(
    "--kind",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="markdown, text, rst, asciidoc, org, code, html, notebook, mail, pdf, docx, jsonl, csv, parquet, arrow, sessions, beads, tasks, "
    "github, jira, gitlog, diff.",
)
@click.option("--collection", metavar="NAME", help="Collection of everything read, whatever a file says.")
@click.option("--type", metavar="NAME", help="Type of everything read, whatever a file says.")
@click.option("--project", metavar="NAME", help="Project of everything read, whatever a file says.")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=COLUMN", help="In tables: column of a field; may be repeated."
)
@click.option(
    "--redact",
    type=click.Choice(["mask", "skip", "allow"]),
    default="mask",
    show_default=True,
    help="Mask secrets, skip texts that contain one, or allow them.",
)
@click.option("--links/--no-links", default=True, help="Also link the chunks read. [default: links]")
@click.option("--recover", is_flag=True, help="With --kind tasks: set a corrupt file aside and continue.")
@click.option("--facts", is_flag=True, help='Also extract facts from frontmatter and "key:: value" lines.')
@click.option("--follow", is_flag=True, help="Keep watching, and read files again as they change, until Ctrl-C.")
@executor_options("read, cut and embed documents")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
@embedder_option
def ingest(
    call: Call,
    paths: tuple[str, ...],
    columns: tuple[str, ...],
    redact: Policy,
    facts: bool,
    follow: bool,
    spread: dict[str, Any],
    no_progress: bool,
    embedder: str | None,
    **options: Any,
) -> None:
    """Read files into the vault; a second run reads only what changed.

    PATH is a file or a folder; - reads standard input. With --follow and --json each line is one JSON document.
    """
    from lamina_engine.redact.redactor import Redactor

    named = _columns(columns)
    if follow and facts:
        raise click.UsageError(
            "--facts reads all notes at once; run `lamina ingest --facts` now and then beside --follow"
        )
    if follow and "-" in paths:
        raise click.UsageError("standard input cannot be followed; give files or folders")
    if follow and (spread["ray"] or spread["workers"] > 1):
        raise click.UsageError("--follow reads what changes, here; leave --workers and --ray out")
    with call.open(embedder=embedder, redactor=Redactor(redact)) as vault:
        if follow:
            for report in vault.follow(paths, columns=named or None, **options):
                _answer(call, report.to_dict())
                sys.stdout.flush()
            return
        with quiet_libraries():
            report = vault.ingest(
                paths, columns=named or None, progress=not no_progress, facts=facts, **spread, **options
            )
    _answer(call, report.to_dict())


def _answer(call: Call, document: Mapping[str, Any]) -> None:
    call.answer(document, lambda: _report_lines(document))


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        field, sign, name = pair.partition("=")
        if not (field and sign and name):
            raise click.BadParameter(f"{pair!r} is not FIELD=COLUMN, such as text=message", param_hint="--column")
        found[field] = name
    return found


def _report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    counts = [f"{report[name]:,} {name}" for name in _COUNTS if report[name]] or ["nothing to do"]
    yield f"{', '.join(counts)} in {report['seconds']:.1f} s"
    written = [f"{count_of(report[name], noun)} {done}" for name, (noun, done) in _WRITTEN.items() if report[name]]
    if written:
        yield dim(", ".join(written))
    yield from _unread_lines(report["unread"])
    if report["unresolved"]:
        yield dim(f"{count_of(report['unresolved'], 'link leads', 'links lead')} to no note: lamina links unresolved")
    problems = report["problems"]
    if not problems:
        return
    yield ""
    yield bold(count_of(len(problems), "problem"))
    for problem in problems[:_PROBLEMS_SHOWN]:
        yield f"  {printable(problem['source'])}  {dim(problem['code'])}"
        yield f"    {printable(problem['message'])}"
    if len(problems) > _PROBLEMS_SHOWN:
        yield f"  and {len(problems) - _PROBLEMS_SHOWN:,} more; --json has all of them"


def _unread_lines(unread: Mapping[str, int]) -> Iterator[str]:
    """Yield how many files were not read, by suffix, and how to have them read."""
    if not unread:
        return
    from lamina_engine.errors import install_command
    from lamina_engine.ingest.conversion import EXTRAS

    shown = ", ".join(f"{suffix or 'no suffix'} {count:,}" for suffix, count in sorted(unread.items()))
    yield f"{count_of(sum(unread.values()), 'file')} of kinds that Lamina does not read ({printable(shown)})"
    for kind in EXTRAS:
        if f".{kind}" in unread:
            yield f"  {install_command(kind)}   for .{kind}"


@command(
    "add",
    'lamina add "We moved to PostgreSQL 16." --type decision --project api --created-at 2026-02-15',
    "lamina add - --session s1 --tag deploy < note.txt",
)
@click.argument("text")
@click.option("--title", metavar="TEXT", help="Title.")
@click.option("--type", metavar="NAME", help="Type, such as decision or note; it sets how fast the memory ages.")
@click.option("--collection", metavar="NAME", help="Collection. [default: set by the type]")
@click.option("--project", metavar="NAME", help="Project.")
@click.option("--session", metavar="NAME", help="Session.")
@click.option("--agent", metavar="NAME", help="Author, such as an agent.")
@click.option("--source", metavar="TEXT", help="Source.")
@click.option("--created-at", metavar="DATE", help='Date: ISO 8601, or words such as "last tuesday".')
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag; may be repeated.")
@click.option("--success/--failure", default=None, help="Outcome of a task.")
@click.option("--metadata", callback=json_object, metavar="JSON", help="Further metadata, as a JSON object.")
@click.option("--id", metavar="TEXT", help="Your own id; a known id writes a new version.")
@embedder_option
def add(call: Call, text: str, tags: tuple[str, ...], embedder: str | None, **given: Any) -> None:
    """Add one memory and print its id.

    TEXT is what to remember; - reads standard input.
    """
    for name, value in given.items():
        if value == "":
            raise InvalidArgument(f"--{name.replace('_', '-')} is empty; give a value, or leave it out")
    record = {"text": _standard_input() if text == "-" else text, **given, "tags": list(tags) or None}
    with call.open(embedder=embedder) as vault:
        ids = vault.add({name: value for name, value in record.items() if value is not None})
    call.answer({"ids": ids}, lambda: map(printable, ids))


def _standard_input() -> str:
    content = sys.stdin.buffer.read()
    try:
        return content.decode("utf-8-sig").rstrip("\n")
    except UnicodeDecodeError as error:
        where = f"byte {error.start:,} is 0x{content[error.start]:02x}"
        raise InvalidArgument(f"standard input is not UTF-8 ({where}); convert it, such as with iconv") from error
