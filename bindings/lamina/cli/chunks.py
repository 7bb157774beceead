"""Commands about single chunks: look at them, and say what became of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from lamina_engine.chunks.reading import Chunk
from lamina_engine.clock import format_instant

from lamina.cli.command import Call, command
from lamina.cli.documents import chunk_document, chunk_line, chunk_lines, short_date
from lamina.cli.filters import CollectionOption, ProjectOption, TypeOption, WhereOption, merged_where
from lamina.cli.terminal import bold, clip, columns, printable

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="An id, or the first digits of one.", show_default=False)]


@command("lamina get 4f1c09a2b7", "lamina get 4f1c09a2b7 --json | jq -r .text")
def get(call: Call, id: IdArgument) -> None:
    """Print one chunk in full."""
    with call.open(mode="r") as vault:
        chunk = vault.get(id)
    call.answer(chunk_document(chunk), lambda: chunk_lines(chunk))


@command("lamina list --project api --limit 20", 'lamina list --where \'{"created_at": {"gte": "2026-01-01"}}\' --json')
def list_(
    call: Call,
    where: WhereOption = None,
    project: ProjectOption = None,
    type: TypeOption = None,
    collection: CollectionOption = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Most chunks; 0 for all.")] = 100,
) -> None:
    """List chunks, newest first. Those that are no longer current only when a filter names status."""
    chosen = merged_where(where, project=project, type=type, collection=collection)
    with call.open(mode="r") as vault:
        # one more than asked for, to know whether there are more
        found = vault.list(chosen, limit + 1 if limit else None)
    more = bool(limit) and len(found) > limit
    found = found[:limit] if limit else found
    call.answer({"count": len(found), "more": more, "chunks": [chunk_document(chunk) for chunk in found]}, lambda: map(chunk_line, found))
    if more and not call.as_json:
        print(f"lamina: the newest {limit} are shown; --limit 0 shows all", file=sys.stderr)


@command("lamina history 4f1c09a2b7")
def history(call: Call, id: IdArgument) -> None:
    """Print what happened to a chunk, oldest first."""
    with call.open(mode="r") as vault:
        chunk, entries = vault.get(id), vault.history(id)
    document = {"id": chunk.id, "status": chunk.status, "pinned": chunk.pinned, "events": [_event_document(entry) for entry in entries]}
    call.answer(document, lambda: _event_lines(document["events"]))


def _event_document(entry: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in entry.items() if value is not None and key not in ("chunk", "recorded_at", "row")}
    shown |= {"recorded_at": format_instant(entry["recorded_at"]), "reason": entry.get("reason")}
    chunk = entry.get("chunk")
    if isinstance(chunk, Chunk):
        shown["chunk"] = chunk_document(chunk)
    return shown


def _event_lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    room = max(len(entry["kind"]) for entry in entries)
    for entry in entries:
        text = entry["reason"] or (entry["chunk"]["text"][:400] if "chunk" in entry else "")
        stamp = (entry.get("detail") or {}).get("stamp") if isinstance(entry.get("detail"), Mapping) else None
        text = printable(f"{text} ({stamp})" if stamp else text)
        start = short_date(entry["recorded_at"])
        yield f"{start}  {bold(entry['kind'])}{'':{room - len(entry['kind'])}}  {clip(text, max(20, columns() - len(start) - room - 4))}".rstrip()


@command('lamina invalidate 4f1c09a2b7 --reason "replaced by the note of 2 June"')
def invalidate(
    call: Call,
    id: IdArgument,
    reason: Annotated[str, typer.Option("--reason", help="What made it wrong, in words.", show_default=False)],
    stamp: Annotated[str, typer.Option("--stamp", help="A mark of your own, such as a ticket.", show_default=False)] = "",
) -> None:
    """Mark a chunk as no longer true: recall leaves it out, its history stays."""
    with call.open() as vault:
        _answer_change(call, vault.invalidate(id, reason, stamp))


@command("lamina restore 4f1c09a2b7")
def restore(
    call: Call,
    id: IdArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in words.", show_default=False)] = None,
) -> None:
    """Make an invalidated chunk current again."""
    with call.open() as vault:
        _answer_change(call, vault.restore(id, reason))


@command("lamina pin 4f1c09a2b7", "lamina pin 4f1c09a2b7 --unpin")
def pin(
    call: Call,
    id: IdArgument,
    unpin: Annotated[bool, typer.Option("--unpin", help="Take the pin away.", show_default=False)] = False,
) -> None:
    """Pin a chunk."""
    with call.open() as vault:
        _answer_change(call, vault.pin(id, pinned=not unpin))


def _answer_change(call: Call, chunk: Chunk) -> None:
    call.answer(chunk_document(chunk), lambda: [chunk_line(chunk)])
