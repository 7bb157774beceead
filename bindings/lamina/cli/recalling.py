"""``lamina recall``: the question, and how its hits are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import NOT_FOUND, Call, Where, command, embedder_option, filter_options, number_option
from lamina.cli.terminal import (
    bold,
    clip,
    columns,
    count_of,
    dim,
    headline,
    place_of,
    plain,
    printable,
    prose_columns,
    short_date,
    short_id,
    state_of,
    width,
    wrap,
)
from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina.options import Lane
    from lamina.results import Hits
    from lamina_engine.recall.absence import Absence
    from lamina_engine.results import Hit, NamedScope, Snippet

_SNIPPET_LINES: Final = 3
_SHORT_LINES: Final = 2
_INDENT: Final = 4
_MOST_NAMES: Final = 3


@command(
    "recall",
    'lamina recall "why did we move to PostgreSQL"',
    'lamina recall "deploy failures" --project api --since 2026-01-01 --profile temporal -k 5',
    'lamina recall "why did the deploy fail" --profile causal',
    'lamina recall "which cache" --as-of 2026-03-01 --json',
    'lamina recall "deploy* +failed -staging project:api"',
    'lamina recall "which cache" --why-not 4f1c09a2b7',
)
@click.argument("query")
@number_option("-k", 10, "Maximum number of hits.")
@click.option(
    "--profile",
    metavar="NAME",
    help="default, lexical, temporal, task, causal, episodic, entity, or a profile of vault.toml.",
)
@filter_options
@click.option("--since", metavar="DATE", help="Only chunks from this date on.")
@click.option("--until", metavar="DATE", help="Only chunks from before this date.")
@click.option("--as-of", metavar="DATE", help="As of this date: only what was recorded by then.")
@click.option("--now", metavar="DATE", help="Date to which ages are counted.")
@click.option(
    "--time",
    metavar="MODE",
    help="Use of a time named in the question: prefer, filter or off. [default: set by the profile]",
)
@click.option(
    "--scope",
    metavar="MODE",
    help="Use of a project, person or folder named in the question: prefer, filter or off. [default: set by the profile]",
)
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: the vault's]")
@click.option("--token-budget", type=int, metavar="N", help="Maximum number of tokens in all texts together.")
@click.option(
    "--lane",
    "lanes",
    multiple=True,
    metavar="NAME",
    help="Search only this lane: lexical, vector or facts; may be repeated.",
)
@click.option(
    "--intent",
    metavar="NAME",
    help="Intent for the causal profile: why, when, entity or what. [default: taken from the question]",
)
@click.option("--session", metavar="NAME", help="Current session; the episodic profile prefers its chunks.")
@click.option("--syntax/--no-syntax", default=True, help="Read quotes and signs of the query as operators.")
@click.option("--all-chunks", is_flag=True, help="Show every chunk that matches, not two of a document at most.")
@click.option(
    "--min-confidence",
    type=float,
    metavar="X",
    help="Show nothing where the vault answers less surely than this, 0 to 1.",
)
@click.option("--min-score", type=float, metavar="X", help="Leave out hits that score less.")
@click.option("--explain", is_flag=True, help="Show the terms of every score.")
@click.option("--why-not", metavar="ID", help="Show why this chunk is no hit, and what would bring it in.")
@click.option("--brief", is_flag=True, help="With --json: snippets in place of texts, and no terms.")
@click.option("--exit-code", is_flag=True, help="Exit with 3 where there is no hit.")
@embedder_option
def recall(
    call: Call,
    query: str,
    where: Where | None,
    lanes: tuple[Lane, ...],
    explain: bool,
    why_not: str | None,
    brief: bool,
    exit_code: bool,
    all_chunks: bool,
    min_score: float | None,
    embedder: str | None,
    **options: Any,
) -> None:
    """Find the chunks that matter for a question.

    QUERY is the question, as you would ask it; "exact phrase", prefix*, typo~, +required, -excluded and title:word (project,
    type, tag, source) narrow it. Dates are ISO 8601, or words such as yesterday.
    """
    from lamina_engine.recall.request import PER_SOURCE

    with call.open(mode="r", embedder=embedder) as vault:
        most = None if all_chunks else PER_SOURCE
        if why_not is not None:
            absence = vault.why_not(query, why_not, where=where, lanes=lanes or None, per_source=most, **options)
            call.answer(absence.to_dict(), lambda: _absence_lines(absence))
            return
        hits = vault.recall(query, where=where, lanes=lanes or None, per_source=most, **options)
    if min_score is not None:
        hits = hits.scoring(min_score)
    document: dict[str, object] = {**hits.to_dict(brief=brief)}
    if explain:
        document["explain"] = hits.explain()
    call.answer(document, lambda: _lines(hits, explain=explain))
    if exit_code and not hits:
        raise click.exceptions.Exit(NOT_FOUND)


def _lines(hits: Hits, *, explain: bool) -> Iterator[str]:
    from lamina_engine.recall.relevance import ENOUGH

    count = f"{len(hits)} hit{'' if len(hits) == 1 else 's'}" if len(hits) else "no hits"
    far = bool(hits) and hits.confidence < ENOUGH
    as_of = f"as of {short_date(hits.as_of)}" if hits.as_of else None
    sure = f"confidence {hits.confidence:.2f}" if len(hits) else None
    without = f"without {printable(', '.join(hits.incomplete))}" if hits.incomplete else None
    yield dim(headline(count, hits.profile, sure, as_of, f"{hits.took_ms:.1f} ms", without))
    if hits.read_as is not None:
        time = hits.explain()["time"]
        yield dim(
            f'"{printable(time["phrase"])}" read as {hits.read_as}{", nothing else is shown" if time["filter"] else ""}'
        )
    for scope in hits.scope:
        yield dim(_scope_line(scope))
    if explain:
        trace = {key: value for key, value in hits.explain().items() if key not in ("query", "profile", "hits")}
        yield from _wrapped_terms(trace, "")
    if not hits:
        yield _advice(hits)
    if far:
        yield "nothing near enough; nearest:"
    room = prose_columns() - _INDENT
    for rank, hit in enumerate(hits, 1):
        yield ""
        lines = snippet_lines(hits.snippet(hit, _SNIPPET_LINES * (room - 8)), hit.text, room, _SNIPPET_LINES, hit.title)
        shown = hit_lines(hit, rank, lines, explain=explain)
        yield from (dim(plain(line)) for line in shown) if far else shown
    left_out = hits.explain()["left_out"]
    if left_out:
        yield ""
        yield dim(f"{count_of(left_out, 'more chunk')} of these documents; --all-chunks shows them")


def _scope_line(scope: NamedScope) -> str:
    """Return what a name was taken for: ``"borg" read as folder borg (0.97), preferred``."""
    shown = ", ".join(map(printable, scope.names[:_MOST_NAMES]))
    if len(scope.names) > _MOST_NAMES:
        shown = f"{shown} and {len(scope.names) - _MOST_NAMES} more"
    whose = f'"{printable(scope.words)}" read as' if scope.words else "this session's"
    shared = f", one name of {len(scope.names)}" if scope.is_shared else ""
    how = "nothing else is shown" if scope.filtered else "preferred"
    return f"{whose} {shown} ({scope.confidence:.2f}{shared}), {how}"


def _absence_lines(absence: Absence) -> Iterator[str]:
    yield dim(headline(short_id(absence.id), absence.profile, absence.status))
    yield from wrap(printable(absence.reason), prose_columns())
    if absence.differences and absence.other is not None:
        parts = ", ".join(f"{part} {value:+.3f}" for part, value in absence.differences.items())
        yield from wrap(
            f"hit {short_id(absence.other)} has {absence.other_score:.3f}, it {absence.score:.3f}: {parts}",
            prose_columns(),
        )
    if absence.remedies:
        yield ""
        yield "any of these brings it in (each was tried):"
    for remedy in absence.remedies:
        room = prose_columns() - _INDENT
        yield from (" " * _INDENT + line for line in wrap(printable(f"{remedy.text}: hit {remedy.rank}"), room))


def _advice(hits: Hits) -> str:
    """Return what to do where nothing was found."""
    found = hits.explain()
    if not found["rows"] and hits.as_of:
        return f"nothing was recorded by {short_date(hits.as_of)}: give a later --as-of, or none"
    if not found["rows"]:
        return "the vault is empty: `lamina ingest FOLDER` or `lamina add TEXT` fill it"
    if not found["selected"]:
        return "no chunk passes the filters, operators and dates: leave some out"
    if not found["query"].strip():
        return "the question is empty: give some words, or list chunks with `lamina list`"
    if found["candidates"]["scored"]:
        return f"nothing near enough: the confidence is {hits.confidence:.2f}; a smaller --min-confidence or --min-score shows the nearest"
    return "no chunk holds these words or is near them in meaning: use other words, or fewer filters and operators"


def hit_lines(hit: Hit, rank: int, shown: Sequence[str] | None = None, *, explain: bool = False) -> list[str]:
    """Return a hit as lines: rank, score and title, its origin, and lines of its text."""
    start, indent, room = f"{rank:>2}  {hit.score:.3f}  ", " " * _INDENT, columns() - _INDENT
    via = f"via {hit.via}" if hit.via else None
    id_ = short_id(hit.id)
    place = place_of(hit, room)
    facts = headline(
        short_date(format_instant(hit.created_at_us)), hit.type, hit.project, state_of(hit), hit.freshness, via
    )
    facts = dim(f"{clip(facts, room - 2 - width(id_))}  {id_}")
    title = [f"{start}{bold(clip(printable(hit.label), columns() - len(start)))}"] if hit.label else []
    lines = [*title, f"{indent}{facts}" if title else f"{start}{facts}", *([f"{indent}{place}"] if place else [])]
    lines += [
        indent + line
        for line in (wrap(printable(hit.text), min(room, prose_columns()), _SHORT_LINES) if shown is None else shown)
    ]
    return [*lines, *_wrapped_terms(hit.terms, indent)] if explain else lines


def snippet_lines(snippet: Snippet, text: str, room: int, most: int, title: str | None = None) -> list[str]:
    """Return the ``most`` best lines of a snippet, matched words bold.

    They hold its best part, and then most matched words.
    """
    lines: list[tuple[str, list[tuple[int, int]]]] = []
    best: list[bool] = []
    at = 0
    for raw in snippet.text.splitlines(keepends=True):
        marks = [(max(start, at) - at, min(stop, at + len(raw)) - at) for start, stop in snippet.ranges]
        is_best = snippet.best[0] < at + len(raw) and snippet.best[1] > at
        at += len(raw)
        if not is_rule(raw) and (title is None or raw.strip("#= \n") != title):  # it stands above
            indent = 0 if snippet.start and not lines else min(len(raw) - len(raw.lstrip(" ")), room // 4)
            lines += _laid_out(raw, [mark for mark in marks if mark[0] < mark[1]], indent, room)
            best += [is_best] * (len(lines) - len(best))
    counts = [len(marks) for _, marks in lines]
    first = max(range(len(lines)), key=lambda i: (sum(best[i : i + most]), sum(counts[i : i + most]), -i), default=0)
    shown = lines[first : first + most]
    if shown and (snippet.start or first):
        line, marks = shown[0]
        shown[0] = clip(f"…{line}", room), [(start + 1, stop + 1) for start, stop in marks]
    if shown and (snippet.start + len(snippet.text) < len(text) or first + most < len(lines)):
        shown[-1] = clip(f"{shown[-1][0]}…", room), shown[-1][1]
    return [_with_bold(line, marks) for line, marks in shown]


def is_rule(line: str) -> bool:
    """Return True for a line that only divides: a fence, a rule, an empty one."""
    return not line.strip(" \t\r\n-=_*~#+`") or line.lstrip().startswith(("```", "~~~"))


def _laid_out(
    raw: str, marks: Sequence[tuple[int, int]], indent: int, room: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return one line of a text as printable lines that fit, with the matched ranges of each."""
    shown, found, at = " " * indent, [], 0
    for start, stop in (*marks, (len(raw),) * 2):
        shown = _joined(shown, raw[at:start])
        first = len(shown)
        shown = _joined(shown, raw[start:stop])
        found.append((first, len(shown)))
        at = stop
    lines, at = [], 0
    for line in wrap(shown.rstrip(), room):
        begin = at = max(shown.find(line, at), at)
        at += len(line)
        inside = [
            (start - begin, stop - begin) for start, stop in found if start < at and stop > begin and stop > start
        ]
        lines.append((line, inside))
    return lines


def _joined(shown: str, more: str) -> str:
    """Append a text made printable; white space at its ends is one space."""
    if more[:1].isspace() and shown.strip() and shown[-1] != " ":
        shown += " "
    shown += printable(more)
    return f"{shown} " if more[-1:].isspace() and shown.strip() and shown[-1] != " " else shown


def _with_bold(line: str, marks: Iterable[tuple[int, int]]) -> str:
    """Return a line with some ranges of it bold; ranges may lie outside."""
    out, at = "", 0
    for start, stop in marks:
        start, stop = max(start, at), min(stop, len(line))
        if start < stop:
            out += line[at:start] + bold(line[start:stop])
            at = stop
    return out + line[at:]


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
