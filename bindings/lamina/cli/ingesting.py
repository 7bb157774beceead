"""Commands that write: files with ``ingest``, one memory with ``add``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, cast, get_args

import typer
from lamina_engine.errors import InvalidArgument

from lamina.cli.command import Call, EmbedderOption, command, parse_json_object
from lamina.cli.terminal import bold, dim, printable

_PROBLEMS_SHOWN: Final = 20
_COUNTS: Final = ("added", "updated", "unchanged", "moved", "removed", "skipped", "links")


@command(
    "lamina ingest notes/",
    "lamina ingest log.csv --column text=message --column created_at=when --project api",
    "git log -p -1 | lamina ingest - --kind text",
)
def ingest(
    call: Call,
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or folders; - reads standard input.", show_default=False)],
    kind: Annotated[str, typer.Option("--kind", help="auto, markdown, text, rst, code, jsonl, csv, parquet or arrow.")] = "auto",
    collection: Annotated[str | None, typer.Option("--collection", help="Of everything that is read.", show_default=False)] = None,
    type: Annotated[str | None, typer.Option("--type", help="Of everything that is read.", show_default=False)] = None,
    project: Annotated[str | None, typer.Option("--project", help="Of everything that is read.", show_default=False)] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="FIELD=COLUMN", help="For tables: where a field stands; may be repeated.", show_default=False)
    ] = None,
    redact: Annotated[str, typer.Option("--redact", help="Secrets: mask them, skip what holds one, or allow them.")] = "mask",
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress bar.", show_default=False)] = False,
    embedder: EmbedderOption = None,
) -> None:
    """Read files into the vault. A second run reads only what changed."""
    from lamina_engine.ingest.redact import Policy, Redactor

    columns = _columns(column or [])
    if redact not in get_args(Policy):
        raise typer.BadParameter(f"{redact!r} is not one of {', '.join(get_args(Policy))}", param_hint="--redact")
    redactor = Redactor(cast("Policy", redact))
    with call.open(embedder=embedder, redactor=redactor) as vault:
        report = vault.ingest(
            paths, kind=kind, collection=collection, type=type, project=project, columns=columns or None,
            progress=not no_progress,
        )  # fmt: skip
    document = report_document(report)
    call.answer(document, lambda: _report_lines(document))


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        field, sign, name = pair.partition("=")
        if not (field and sign and name):
            raise typer.BadParameter(f"{pair!r} is not FIELD=COLUMN, such as text=message", param_hint="--column")
        found[field] = name
    return found


def report_document(report: Any) -> dict[str, Any]:
    """Return an IngestReport's fields as JSON values."""
    problems = [{"path": problem.source, "code": problem.code, "message": problem.message} for problem in report.problems]
    return {**{name: getattr(report, name) for name in _COUNTS}, "seconds": round(report.seconds, 3), "problems": problems}


def _report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    counts = [f"{report[name]:,} {name}" for name in _COUNTS if report[name]] or ["nothing to do"]
    yield f"{', '.join(counts)} in {report['seconds']:.1f} s"
    problems = report["problems"]
    if not problems:
        return
    yield ""
    yield bold(f"{len(problems):,} {'problem' if len(problems) == 1 else 'problems'}")
    for problem in problems[:_PROBLEMS_SHOWN]:
        yield f"  {printable(problem['path'])}  {dim(problem['code'])}"
        yield f"    {printable(problem['message'])}"
    if len(problems) > _PROBLEMS_SHOWN:
        yield f"  and {len(problems) - _PROBLEMS_SHOWN:,} more; --json has all of them"


@command(
    'lamina add "We moved to PostgreSQL 16." --type decision --project api --created-at 2026-02-15',
    "lamina add - --session s1 --tag deploy < note.txt",
)
def add(
    call: Call,
    text: Annotated[str, typer.Argument(help="What to remember; - reads standard input.", show_default=False)],
    type: Annotated[str | None, typer.Option("--type", help="decision, note, ...; selects how fast it ages.", show_default=False)] = None,
    title: Annotated[str | None, typer.Option("--title", help="Its title.", show_default=False)] = None,
    collection: Annotated[str | None, typer.Option("--collection", help="A group of memories; by the type unless given.", show_default=False)] = None,
    project: Annotated[str | None, typer.Option("--project", help="Project it belongs to.", show_default=False)] = None,
    session: Annotated[str | None, typer.Option("--session", help="Session it was said in.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Who wrote it.", show_default=False)] = None,
    source: Annotated[str | None, typer.Option("--source", help="Where it comes from.", show_default=False)] = None,
    created_at: Annotated[str | None, typer.Option("--created-at", metavar="DATE", help="When it happened, ISO 8601.", show_default=False)] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.", show_default=False)] = None,
    success: Annotated[bool | None, typer.Option("--success/--failure", help="How a task ended.", show_default=False)] = None,
    metadata: Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="An object with anything else.", show_default=False)] = None,
    id: Annotated[str | None, typer.Option("--id", help="An id of your own; a known one supersedes.", show_default=False)] = None,
    embedder: EmbedderOption = None,
) -> None:
    """Add one memory and print its id."""
    given = {
        "text": _standard_input() if text == "-" else text, "id": id, "title": title, "type": type, "collection": collection,
        "project": project, "session": session, "agent": agent, "source": source, "created_at": created_at, "success": success,
        "tags": tag, "metadata": None if metadata is None else parse_json_object(metadata, "--metadata"),
    }  # fmt: skip
    with call.open(embedder=embedder) as vault:
        ids = vault.add({name: value for name, value in given.items() if value is not None})
    call.answer({"ids": ids}, lambda: map(printable, ids))


def _standard_input() -> str:
    content = sys.stdin.buffer.read()
    try:
        return content.decode("utf-8-sig").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"standard input is not UTF-8 (byte {error.start:,} is 0x{content[error.start]:02x}); convert it, such as with iconv") from error
