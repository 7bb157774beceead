"""Links on the command line: make them, show them, walk along them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import (
    Call,
    command,
    embedder_option,
    executor_options,
    group,
    number_option,
    quiet_libraries,
)
from lamina.cli.terminal import (
    bold,
    chunk_table,
    clip,
    columns,
    count_of,
    dim,
    headline,
    printable,
    short_date,
    short_id,
    table,
    width,
)
from lamina_engine.clock import format_instant
from lamina_engine.profiles import INTENTS

if TYPE_CHECKING:
    from lamina.options import CauseDirection, Direction, LinkKind
    from lamina_engine.graph.generators import BuildReport
    from lamina_engine.results import Cause, Link, Neighbor, Timeline, UnresolvedLink

_ID: Final = click.argument("id", metavar="ID")
_RELATION: Final = click.option(
    "--relation", "relations", multiple=True, metavar="NAME", help="Only this relation; may be repeated."
)


@command(
    "build",
    "lamina links build",
    "lamina links build temporal semantic --threshold 0.75",
    "lamina links build judged --max-tokens 50000",
)
@click.argument("kinds", nargs=-1, metavar="[KIND]...")
@click.option(
    "--threshold", type=float, metavar="X", help="Minimum cosine of semantic links. [default: by model and vault]"
)
@number_option("--most", 6, "Maximum number of semantic links per chunk.")
@click.option(
    "--similar-threshold",
    type=float,
    metavar="X",
    help="Minimum cosine of similar tasks. [default: by model and vault]",
)
@number_option("--max-tokens", 500_000, "Token budget of judged links.")
@click.option("--max-requests", type=int, metavar="N", help="Maximum number of requests to the language model.")
@executor_options("compare vectors")
def build(
    call: Call, kinds: tuple[LinkKind, ...], max_tokens: int, max_requests: int | None, spread: dict[str, Any],
    **options: Any,
) -> None:  # fmt: skip
    """Generate links of some kinds, or of all but temporal.

    KIND is sequence, temporal, semantic, wikilinks, markdown, mention, entity, similar or judged. Judged links are made by a
    language model behind $LAMINA_JUDGE_URL ($LAMINA_JUDGE_MODEL, $LAMINA_JUDGE_KEY); without one they are left out.
    """
    from lamina_engine.embed.chat import Budget

    budget = Budget(max_requests, max_tokens)
    with call.open() as vault, quiet_libraries():
        report = vault.build_links(list(kinds) or None, budget=budget, **spread, **options)
    document = {"kinds": {kind: asdict(found) for kind, found in report.kinds.items()}, "seconds": report.seconds}
    call.answer(document | {"unresolved": report.unresolved}, lambda: _build_lines(report))


def _build_lines(report: BuildReport) -> Iterator[str]:
    rows = []
    for kind, found in report.kinds.items():
        counts = ((name, getattr(found, name)) for name in ("added", "updated", "withdrawn", "unchanged"))
        said = ", ".join(f"{count:,} {name}" for name, count in counts if count or name == "added")
        rows.append((kind, f"{said}  {found.seconds:.1f} s" + (f"  ({printable(found.note)})" if found.note else "")))
    yield from table(rows)
    if report.unresolved:
        yield f"{count_of(report.unresolved, 'link leads', 'links lead')} to no note: lamina links unresolved"


@command("unresolved", "lamina links unresolved", "lamina links unresolved --json")
def unresolved(call: Call) -> None:
    """List the links in texts whose note is missing or ambiguous."""
    with call.open(mode="r") as vault:
        found = vault.links.unresolved()
    document = {"count": len(found), "links": [link.to_dict() for link in found]}
    call.answer(document, lambda: _unresolved_lines(found))


def _unresolved_lines(found: Sequence[UnresolvedLink]) -> Iterator[str]:
    if not found:
        yield "no link in the vault's texts lacks its note"
        yield dim("links of added texts are made by `lamina links build` or the next ingest")
    source = None
    for link in found:
        if link.source != source:
            source = link.source
            yield bold(printable(source))
        why = f"fits {', '.join(link.candidates[:5])}" if link.candidates else "no such note"
        yield f"  {printable(link.target)}  {dim(clip(printable(why), columns() - 6))}"


@command("add", "lamina links add 4f1c09a2b7 9be2 causal", 'lamina links add 4f1c 9be2 contradicts --note "16 is out"')
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@click.argument("relation", metavar="RELATION")
@click.option(
    "--weight", type=float, default=1.0, show_default=True, metavar="X", help="Weight, above 0 and at most 1."
)
@click.option("--note", default="", metavar="TEXT", help="The reason, in words.")
@click.option("--created-at", metavar="DATE", help="Date of the link. [default: now]")
@click.option("--update", is_flag=True, help="Replace weight, note and date of a link that is there.")
def add(call: Call, source: str, target: str, relation: str, **options: Any) -> None:
    """Link two chunks by their ids; a link that is there keeps its weight, note and date.

    RELATION is a known one: causal, supporting, contradicts, semantic, temporal, entity, usage, blocks, related_to,
    derived_from, similar_to, next, related, mention.
    """
    with call.open() as vault:
        link = vault.link(source, target, relation, **options)
    call.answer(link.to_dict(), lambda: [_link_line(link)])


@command("remove", "lamina links remove 4f1c09a2b7 9be2 causal", "lamina links remove 4f1c 9be2 causal --json")
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@click.argument("relation", metavar="RELATION")
def remove(call: Call, source: str, target: str, relation: str) -> None:
    """Remove a link that you made.

    A link between the same chunks that was generated stays: `lamina links build` would make it again.
    """
    with call.open() as vault:
        removed = vault.unlink(source, target, relation)
    nothing = f"no such link of yours; what is there: lamina links show {printable(source)}"
    call.answer({"removed": removed}, lambda: ["removed 1 link" if removed else nothing])


@command("used", "lamina links used 4f1c09a2b7 9be2 a07d")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def used(call: Call, ids: tuple[str, ...]) -> None:
    """Record which chunks an answer used, to link them."""
    with call.open() as vault:
        found = vault.used(ids)
    call.answer({"ids": list(ids), "links": [link.to_dict() for link in found]}, lambda: map(_link_line, found))


@command("show", "lamina links show 4f1c09a2b7", "lamina links show 4f1c09a2b7 --direction in --relation causal --json")
@_ID
@click.option(
    "--direction", type=click.Choice(["both", "out", "in"]), default="both", show_default=True,
    help="Links that start at it (out), end at it (in), or both.",
)  # fmt: skip
@_RELATION
def show(call: Call, id: str, direction: Direction, relations: tuple[str, ...]) -> None:
    """List the links of a chunk."""
    with call.open(mode="r") as vault:
        found = vault.links(id, direction, relations or None)
    document = {"id": id, "count": len(found), "links": [link.to_dict() for link in found]}
    call.answer(document, lambda: map(_link_line, found) if found else [_NO_LINKS])


_NO_LINKS: Final = "no such links; `lamina links build` looks for what the texts say, `lamina links add` makes one"


def _link_line(link: Link) -> str:
    times = None if link.count is None else count_of(link.count, "time")
    date = short_date(format_instant(link.created_at_us))
    facts = headline(f"{link.weight:.3g}", times, link.origin, date, _unusual(link.status), link.note)
    start = f"{short_id(link.source)} -{printable(link.relation)}-> {short_id(link.target)}"
    return f"{bold(start)}  {dim(clip(facts, max(20, columns() - width(start) - 2)))}"


def _unusual(status: str) -> str | None:
    return None if status == "active" else status


links: click.Group = group(
    "links",
    "Make and show links between chunks.",
    [build, add, remove, used, show, unresolved],
    "lamina links build && lamina links show 4f1c09a2b7",
)


# ---------------------------------------------------------------------- walks


@command(
    "traverse",
    'lamina traverse "why did the release slip"',
    "lamina traverse --from 4f1c09a2b7 --intent why --depth 3 --json",
)
@click.argument("query", required=False)
@click.option("--from", "anchors", multiple=True, metavar="ID", help="Start from this chunk; may be repeated.")
@click.option("--intent", type=click.Choice(INTENTS), help="Relations to favour. [default: taken from the question]")
@number_option("--depth", 2, "Maximum number of links to follow.")
@number_option("--beam", 5, "Chunks kept at each step.")
@number_option("--budget", 30, "Maximum number of chunks.")
@_RELATION
@embedder_option
def traverse(
    call: Call,
    query: str | None,
    anchors: tuple[str, ...],
    relations: tuple[str, ...],
    embedder: str | None,
    **options: Any,
) -> None:
    """Follow links from a question's best hits, or from chunks."""
    if (query is None) == (not anchors):
        raise click.UsageError("give a question, or --from with ids, and not both")
    with call.open(mode="r", embedder=embedder) as vault:
        found = vault.traverse(query if query is not None else list(anchors), relations=relations or None, **options)
    document = {"query": query, "from": list(anchors), "hits": [near.to_dict() for near in found]}
    call.answer(document, lambda: _near_lines(found) if found else ["no chunk matches the question"])


@command("similar", "lamina similar 4f1c09a2b7 -k 3")
@_ID
@number_option("-k", 5, "Maximum number of chunks.")
def similar(call: Call, id: str, k: int) -> None:
    """List the chunks most similar to one."""
    with call.open(mode="r") as vault:
        found = vault.similar(id, k)
    document = {"id": id, "hits": [{"score": near.score, **_without_path(near)} for near in found]}
    call.answer(document, lambda: _near_lines(found))


def _without_path(near: Neighbor) -> dict[str, Any]:
    return {k: v for k, v in near.to_dict().items() if k not in ("hops", "via", "path", "contradicts")}


def _near_lines(found: Sequence[Neighbor]) -> Iterator[str]:
    for near in found:
        mark = "contradicts" if near.contradicts else None
        facts = headline(
            f"{near.score:.3f}", short_date(format_instant(near.created_at_us)), near.type, _unusual(near.status), mark
        )
        yield _subject_line(near.id, facts, near.title, near.text)
        if near.via:
            yield f"  {dim(clip(printable(near.via), columns() - 2))}"


def _subject_line(identity: str, facts: str, title: str | None, text: str) -> str:
    shown = short_id(identity)
    room = columns() - width(f"{shown}  {facts}  ")
    return f"{bold(shown)}  {dim(facts)}  {clip(printable(title or text[:400]), max(20, room))}"


@command("causes", "lamina causes 4f1c09a2b7", "lamina causes 4f1c09a2b7 --direction caused_by --depth 3 --json")
@_ID
@click.option(
    "--direction", type=click.Choice(["both", "causes", "caused_by"]), default="both", show_default=True,
    help="Effects (causes), causes (caused_by), or both.",
)  # fmt: skip
@number_option("--depth", 5, "Maximum number of links to follow, 1 to 10.")
def causes(call: Call, id: str, direction: CauseDirection, depth: int) -> None:
    """List the causes and effects of a chunk.

    Each step has its confidence and its reason; nearest ones first.
    """
    with call.open(mode="r") as vault:
        chunk, found = vault.get(id), vault.causes(id, direction, depth)
    document = {"source": chunk.to_dict(), "direction": direction, "links": [cause.to_dict() for cause in found]}
    call.answer(document, lambda: _cause_lines(found) if found else _no_causes(chunk.id, direction))


def _no_causes(identity: str, direction: str) -> Iterator[str]:
    wanted = {"causes": "effects", "caused_by": "causes", "both": "causes or effects"}[direction]
    shown = short_id(identity)
    yield f"no {wanted} of {shown} are known: no causal link leads {'there' if direction == 'caused_by' else 'on'}"
    yield f"  name one:        lamina links add CAUSE {shown} causal --note REASON"
    yield "  let a model:     lamina links build judged   (needs $LAMINA_JUDGE_URL)"
    yield f"  all its links:   lamina links show {shown}"


def _cause_lines(found: Iterable[Cause]) -> Iterator[str]:
    for cause in found:
        arrow = "leads to" if cause.direction == "causes" else "led here"
        facts = headline(f"{arrow}, step {cause.depth}", f"{cause.confidence:.0%}", _unusual(cause.status))
        yield _subject_line(cause.id, facts, cause.title, cause.text)
        if cause.reason:
            yield f"  {dim(clip(printable(cause.reason), columns() - 2))}"


@command("timeline", "lamina timeline 4f1c09a2b7", "lamina timeline 4f1c09a2b7 --before 2 --after 10 --same-collection")
@_ID
@number_option("--before", 5, "Number of chunks before it.")
@number_option("--after", 5, "Number of chunks after it.")
@click.option("--same-collection", is_flag=True, help="Only chunks of its collection.")
def timeline(call: Call, id: str, before: int, after: int, same_collection: bool) -> None:
    """List the chunks before and after one in time."""
    with call.open(mode="r") as vault:
        line = vault.timeline(id, before, after, same_collection=same_collection)
    call.answer(line.to_dict(), lambda: _timeline_lines(line))


def _timeline_lines(line: Timeline) -> Iterator[str]:
    shown = chunk_table([*line.before, line.focus, *line.after])
    for at, text in enumerate(shown):
        yield f"{'>' if at == len(line.before) else ' '} {text}"
