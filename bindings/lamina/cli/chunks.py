"""Commands about single chunks: get, list, history, invalidate, restore, pin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, Where, command, filter_options, limit_option
from lamina.cli.terminal import chunk_lines, chunk_table, clip, columns, printable, short_date

if TYPE_CHECKING:
    from lamina_engine.results import Chunk

_ID: Final = click.argument("id", metavar="ID")


@command("get", "lamina get 4f1c09a2b7", "lamina get 4f1c09a2b7 --json | jq -r .text")
@_ID
def get(call: Call, id: str) -> None:
    """Print one chunk in full. ID may be the first digits of one."""
    with call.open(mode="r") as vault:
        chunk = vault.get(id)
    call.answer(chunk.to_dict(), lambda: chunk_lines(chunk))


@command(
    "list",
    "lamina list --project api --limit 20",
    'lamina list --where \'{"created_at": {"gte": "2026-01-01"}}\' --json',
)
@filter_options
@limit_option(100, "chunks")
def list_(call: Call, where: Where | None, limit: int) -> None:
    """List chunks, newest first.

    Those that are no longer current are listed only when a filter names status.
    """
    with call.open(mode="r") as vault:
        # one more than requested, to learn whether there are more
        found = vault.list(where, limit + 1 if limit else None)
    more = bool(limit) and len(found) > limit
    found = found[:limit] if limit else found
    document = {"count": len(found), "more": more, "chunks": [chunk.to_dict() for chunk in found]}
    nothing = (
        "no chunk passes the filter"
        if where
        else "no current chunk; `lamina ingest FOLDER` and `lamina add TEXT` write some"
    )
    call.answer(document, lambda: chunk_table(found) if found else [nothing])
    if more and not call.as_json:
        print(f"lamina: these are the newest {limit}; --limit 0 lists all", file=sys.stderr)


@command("history", "lamina history 4f1c09a2b7")
@_ID
def history(call: Call, id: str) -> None:
    """Print the history of a chunk, oldest first."""
    with call.open(mode="r") as vault:
        chunk, entries = vault.get(id), vault.history(id)
    events = [entry.to_dict() for entry in entries]
    document = {"id": chunk.id, "status": chunk.status, "pinned": chunk.pinned, "events": events}
    call.answer(document, lambda: _event_lines(events))


def _event_lines(events: list[dict[str, Any]]) -> Iterator[str]:
    room = max(len(event["kind"]) for event in events)
    for event in events:
        start = f"{short_date(event['recorded_at'])}  {event['kind']:<{room}}  "
        text = event["reason"] or (event["chunk"]["text"][:400] if event["chunk"] else "")
        stamp = event["detail"].get("stamp")
        yield f"{start}{clip(printable(f'{text} ({stamp})' if stamp else text), columns() - len(start))}".rstrip()


@command("invalidate", 'lamina invalidate 4f1c09a2b7 --reason "replaced by the note of 2 June"')
@_ID
@click.option("--reason", required=True, metavar="TEXT", help="What made it wrong, in words.")
@click.option("--stamp", default="", metavar="TEXT", help="A mark of your own, such as a ticket.")
def invalidate(call: Call, id: str, reason: str, stamp: str) -> None:
    """Mark a chunk as no longer true: recall leaves it out."""
    with call.open() as vault:
        answer_chunk(call, vault.invalidate(id, reason, stamp))


@command("restore", "lamina restore 4f1c09a2b7")
@_ID
@click.option("--reason", metavar="TEXT", help="The reason, in words.")
def restore(call: Call, id: str, reason: str | None) -> None:
    """Bring back an invalidated, archived or snoozed chunk."""
    with call.open() as vault:
        before = vault.get(id)
        if before.status == "active" and before.snoozed_until_us is None:
            click.echo(f"lamina: {id} is active already; nothing was changed", err=True)
        answer_chunk(call, vault.restore(id, reason))


@command("pin", "lamina pin 4f1c09a2b7", "lamina pin 4f1c09a2b7 --unpin")
@_ID
@click.option("--unpin", is_flag=True, help="Remove the pin.")
def pin(call: Call, id: str, unpin: bool) -> None:
    """Pin a chunk."""
    with call.open() as vault:
        answer_chunk(call, vault.pin(id, pinned=not unpin))


def answer_chunk(call: Call, chunk: Chunk) -> None:
    """Print a chunk that was changed."""
    call.answer(chunk.to_dict(), lambda: chunk_table([chunk]))
