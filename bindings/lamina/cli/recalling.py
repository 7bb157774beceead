"""``lamina recall``: the question, and how its hits are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lamina.cli.command import Call, EmbedderOption, command
from lamina.cli.documents import headline, short_date, short_id
from lamina.cli.filters import CollectionOption, ProjectOption, TypeOption, WhereOption, merged_where
from lamina.cli.terminal import bold, clip, columns, dim, printable, width, wrap

if TYPE_CHECKING:
    from lamina.results import Hit, Hits

_SNIPPET_LINES: Final = 3
_LEAD: Final = 60
"""Characters shown before the first word of the query, where that stands far down."""
_WORD: Final = re.compile(r"\w{3,}")

DateOption = str | None


@command(
    'lamina recall "why did we move to PostgreSQL"',
    'lamina recall "deploy failures" --project api --since 2026-01-01 --profile temporal -k 5',
    'lamina recall "which cache" --as-of 2026-03-01 --json',
)
def recall(
    call: Call,
    query: Annotated[str, typer.Argument(help="The question, as you would ask it.", show_default=False)],
    k: Annotated[int, typer.Option("-k", help="Most hits.")] = 10,
    profile: Annotated[str | None, typer.Option("--profile", help="default, lexical, temporal, or one of vault.toml.", show_default=False)] = None,
    where: WhereOption = None,
    project: ProjectOption = None,
    type: TypeOption = None,
    collection: CollectionOption = None,
    since: Annotated[DateOption, typer.Option("--since", metavar="DATE", help="Only what is from then on.", show_default=False)] = None,
    until: Annotated[DateOption, typer.Option("--until", metavar="DATE", help="Only what is from before.", show_default=False)] = None,
    as_of: Annotated[DateOption, typer.Option("--as-of", metavar="DATE", help="As it was known at that moment.", show_default=False)] = None,
    now: Annotated[DateOption, typer.Option("--now", metavar="DATE", help="The moment ages count to.", show_default=False)] = None,
    token_budget: Annotated[int | None, typer.Option("--token-budget", help="Most tokens of text, all hits together.", show_default=False)] = None,
    lane: Annotated[list[str] | None, typer.Option("--lane", help="Only lexical or vector; may be repeated.", show_default=False)] = None,
    tz: Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Zone of dates without one; the vault's unless given.", show_default=False)] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the terms of every score.", show_default=False)] = False,
    embedder: EmbedderOption = None,
) -> None:
    """Find what the vault knows that matters for a question. Dates are ISO 8601."""
    chosen = merged_where(where, project=project, type=type, collection=collection)
    with call.open(mode="r", embedder=embedder) as vault:
        hits = vault.recall(
            query, k, profile=profile, where=chosen, since=since, until=until, as_of=as_of, now=now, token_budget=token_budget,
            lanes=lane, tz=tz,
        )  # fmt: skip
    document = hits.to_dict()
    if explain:
        document["explain"] = hits.explain()
    call.answer(document, lambda: _lines(hits, explain=explain))


def _lines(hits: Hits, *, explain: bool) -> Iterator[str]:
    count = f"{len(hits)} hit{'' if len(hits) == 1 else 's'}" if len(hits) else "no hits"
    as_of = f"as of {short_date(hits.as_of)}" if hits.as_of else None
    yield dim(headline(count, hits.profile, as_of, f"{hits.took_ms:.1f} ms"))
    if explain:
        trace = {key: value for key, value in hits.explain().items() if key not in ("query", "profile", "hits")}
        yield from _wrapped_terms(trace, "")
    for rank, hit in enumerate(hits, 1):
        yield ""
        yield from hit_lines(hit, rank, query=hits.query, explain=explain)


def hit_lines(hit: Hit, rank: int, *, query: str = "", explain: bool = False, snippet_lines: int = _SNIPPET_LINES) -> list[str]:
    """Return a hit as lines: rank, score and title, what it is, and the part of its text that fits."""
    start = f"{rank:>2}  {hit.score:.3f}  "
    indent = " " * 4
    name = printable(hit.title or hit.source or short_id(hit.id))
    lines = [f"{start}{bold(clip(name, columns() - len(start)))}"]
    state = None if hit.status == "active" else hit.status
    via = f"via {hit.via}" if hit.via else None
    source = hit.source if hit.title else None
    facts = headline(short_date(hit.created_at), hit.type, hit.project, source, state, hit.freshness, via)
    id_ = short_id(hit.id)
    lines.append(f"{indent}{dim(clip(facts, columns() - 6 - width(id_)))}  {dim(id_)}")
    lines += [indent + line for line in wrap(snippet(hit.text, query), columns() - 4, snippet_lines)]
    if explain:
        lines += _wrapped_terms(hit.terms, indent)
    return lines


def snippet(text: str, query: str) -> str:
    """Return a text as one printable line, from where the query's words begin when that is far down."""
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


def _wrapped_terms(terms: Mapping[str, Any], indent: str) -> list[str]:
    text = " · ".join(f"{name} {value}" for name, value in _flat(terms))
    return [indent + dim(line) for line in wrap(printable(text), columns() - len(indent))]


def _flat(terms: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in terms.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, float):
            yield prefix + name, f"{value:.4g}"
        elif isinstance(value, list | tuple):
            if value:
                yield prefix + name, ", ".join(map(str, value))
        elif value is not None:
            yield prefix + name, str(value).lower() if isinstance(value, bool) else str(value)
