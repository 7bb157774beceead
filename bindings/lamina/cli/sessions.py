"""Commands about sessions: chain, sessions, reconstruct."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, Where, command, embedder_option, filter_options, limit_option, number_option
from lamina.cli.terminal import (
    aligned,
    bold,
    clip,
    columns,
    count_of,
    dim,
    headline,
    printable,
    prose_columns,
    short_date,
    short_id,
    width,
    wrap,
)
from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina_engine.results import Chunk, Project, Reconstruction, Session, Story

_SNIPPET_LINES = 2
_LEAD: Final = 60
"""Characters shown before the first word of the query, where that stands far down."""
_WORD: Final = re.compile(r"\w{3,}")


@command(
    "chain",
    'lamina chain "the nightly build is green again"',
    'lamina chain "we pinned the compiler" --forward --token-budget 5000',
    "lamina chain --from 4f1c09a2b7 --json",
)
@click.argument("query", required=False)
@click.option("--from", "seeds", multiple=True, metavar="ID", help="Start from this chunk; may be repeated.")
@click.option("--forward", is_flag=True, help="Show what came next instead of what led here.")
@number_option("--token-budget", 20_000, "Maximum number of tokens in the chain.")
@click.option("--agent", metavar="NAME", help="Only chunks of this agent.")
@click.option(
    "--profile", default="episodic", show_default=True, metavar="NAME", help="The profile that sets the limits."
)
@filter_options
@click.option("--since", metavar="DATE", help="Only hits from this date on.")
@click.option("--until", metavar="DATE", help="Only hits from before this date.")
@click.option("--as-of", metavar="DATE", help="As of this date: only what was recorded by then.")
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: the vault's]")
@embedder_option
def chain(
    call: Call,
    query: str | None,
    seeds: tuple[str, ...],
    forward: bool,
    where: Where | None,
    embedder: str | None,
    **options: Any,
) -> None:
    """Show the chunks that led to a hit, or that followed.

    Chains begin with the first hits and go from chunk to chunk along the links of sessions and documents. Where none has
    two chunks, the answer is that of a search, and says why.
    """
    if query is None and not seeds:
        raise click.UsageError("give a question, or --from with ids, or both")
    direction = "forward" if forward else "backward"
    with call.open(mode="r", embedder=embedder) as vault:
        story = vault.chain(query, direction, seeds=list(seeds) or None, where=where, **options)  # type: ignore[arg-type]
    call.answer(story.to_dict(), lambda: story_lines(story))


def story_lines(story: Story) -> Iterator[str]:
    """Yield a story as lines: what kind it is, then its chunks in order, the hit marked."""
    count = f"{len(story.chunks)} chunk{'' if len(story.chunks) == 1 else 's'}"
    if story.mode == "chain":
        about = headline("what came next" if story.direction == "forward" else "what led here", count)
        yield dim(f"{about} · {count_of(story.tokens, 'token')} · median match {story.median:.3f}")
    else:
        yield dim(headline("search", f"no chain: {story.reason}", count))
    for chunk in story.chunks:
        mark = ">" if chunk.id == story.seed else " "
        state = None if chunk.status == "active" else chunk.status
        facts = headline(
            f"{chunk.score:.3f}",
            short_date(format_instant(chunk.created_at_us)),
            chunk.session,
            chunk.agent,
            state,
            chunk.title,
        )
        id_ = short_id(chunk.id)
        yield f"{mark} {bold(id_)}  {dim(clip(facts, max(20, columns() - 4 - width(id_))))}"
        yield from (
            f"    {line}" for line in wrap(_excerpt(chunk.text, story.query or ""), prose_columns() - 4, _SNIPPET_LINES)
        )


def _excerpt(text: str, query: str) -> str:
    """Return a text as one printable line, begun near the query's words."""
    shown = printable(text)
    folded = shown.casefold()
    # folding may change a text's length (ß becomes ss); then the beginning is shown
    if len(folded) != len(shown):
        return shown
    places = [folded.find(word) for word in _WORD.findall(query.casefold())]
    first = min((place for place in places if place >= 0), default=0)
    if first < 3 * _LEAD:
        return shown
    start = folded.find(" ", first - _LEAD, first) + 1 or first
    return f"…{shown[start:]}"


@command("sessions", "lamina sessions", "lamina sessions --project api --days 7 --json")
@click.option("--project", metavar="NAME", help="Only this project.")
@click.option("--agent", metavar="NAME", help="Only chunks of this agent.")
@click.option("--since", metavar="DATE", help="Only chunks from this date on.")
@click.option("--until", metavar="DATE", help="Only chunks from before this date.")
@click.option("--days", type=float, metavar="N", help="Only the last N days.")
@limit_option(30, "sessions")
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: the vault's]")
def sessions(call: Call, limit: int, **options: Any) -> None:
    """List sessions, newest first."""
    with call.open(mode="r") as vault:
        found = vault.sessions(limit=limit or None, **options)
    document = {"count": len(found), "sessions": [session.to_dict() for session in found]}
    call.answer(document, lambda: aligned(map(_session_row, found)) or [_NO_SESSION])


_NO_SESSION: Final = (
    "no session passes; `lamina ingest FOLDER --kind sessions` reads transcripts, hooks capture them (`lamina install`)"
)


def _session_row(session: Session) -> tuple[str, ...]:
    return (
        session.session[:40],
        short_date(format_instant(session.started_at_us)),
        session.project or "",
        ", ".join(session.agents),
        count_of(session.chunks, "chunk"),
        session.summary or "",
    )


@command("projects", "lamina projects", "lamina projects --json")
def projects(call: Call) -> None:
    """List projects with their chunks, the date of the first and of the last."""
    with call.open(mode="r") as vault:
        found = vault.projects()
    document = {"count": len(found), "projects": [project.to_dict() for project in found]}
    call.answer(document, lambda: _project_lines(found))


def _project_lines(found: Sequence[Project]) -> Iterator[str]:
    wide = min(max((width(printable(project.project)) for project in found), default=0), 40)
    for project in found:
        name = clip(printable(project.project), wide)
        first, last = (short_date(format_instant(us)) for us in (project.first_at_us, project.last_at_us))
        span = first if first == last else f"{first} to {last}"
        count = f"{count_of(project.chunks, 'chunk'):>13}"
        yield f"{bold(name)}{' ' * (wide - width(name))}  {dim(headline(count, span))}"
    if not found:
        yield "no chunk names a project; `lamina add --project`, and transcripts with a working folder, do"


@command("handoff", "lamina handoff", "lamina handoff 0198c2d4-session", "lamina handoff --project api --json")
@click.argument("session", required=False)
@click.option("--project", metavar="NAME", help="Only sessions of this project.")
def handoff(call: Call, session: str | None, project: str | None) -> None:
    """Print what a session hands over: its goal, outcome, decisions and open points.

    SESSION is a name as `lamina sessions` lists it, or its beginning; the newest one by default. Insights of the session follow.
    """
    with call.open(mode="r") as vault:
        found = vault.sessions.handoff(session, project=project)
    document = {"count": len(found), "chunks": [chunk.to_dict() for chunk in found]}
    call.answer(document, lambda: _handoff_lines(found))


def _handoff_lines(found: Sequence[Chunk]) -> Iterator[str]:
    for number, chunk in enumerate(found):
        if number:
            yield ""
        origin = "derived" if chunk.metadata.get("derived") else "written"
        yield dim(headline(short_id(chunk.id), chunk.type, origin))
        yield printable(chunk.text, lines=True)
    if not found:
        yield "this session left no handoff: nothing in it was worth one, or it was added and not read from a transcript"


@command(
    "reconstruct",
    "lamina reconstruct 0198c2d4-session",
    "lamina reconstruct --days 3 --project api --briefing",
    "lamina reconstruct --previous --token-budget 2000",
)
@click.argument("session", required=False)
@click.option("--since", metavar="DATE", help="Only chunks from this date on.")
@click.option("--until", metavar="DATE", help="Only chunks from before this date.")
@click.option("--days", type=float, metavar="N", help="Only the last N days.")
@click.option("--previous", is_flag=True, help="The session before SESSION, or the last one.")
@click.option("--project", metavar="NAME", help="Only this project.")
@click.option("--agent", metavar="NAME", help="Only chunks of this agent.")
@click.option("--briefing", is_flag=True, help="One paragraph per session, then the newest chunks.")
@click.option("--oldest", is_flag=True, help="Keep the beginning, not the end, when the budget is short.")
@number_option("--token-budget", 4_000, "Maximum number of tokens in the text.")
@click.option("--as-of", metavar="DATE", help="As of this date: only what was recorded by then.")
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: the vault's]")
def reconstruct(call: Call, session: str | None, briefing: bool, oldest: bool, **options: Any) -> None:
    """Print a session, or a span of days, as one text.

    SESSION is a name as `lamina sessions` lists it, or its beginning.
    """
    with call.open(mode="r") as vault:
        text = vault.reconstruct(
            session, mode="briefing" if briefing else "timeline", keep="oldest" if oldest else "newest", **options
        )
    call.answer(text.to_dict(), lambda: _reconstruction_lines(text))


def _reconstruction_lines(text: Reconstruction) -> Iterator[str]:
    left = f"{count_of(text.left_out, 'chunk')} left out" if text.left_out else None
    yield dim(headline(text.mode, count_of(len(text.chunks), "chunk"), count_of(text.tokens, "token"), left))
    if not text.chunks and not text.left_out:
        yield "nothing to tell: only chunks of sessions count; `lamina sessions` lists those"
        return
    yield printable(text.text, lines=True)
