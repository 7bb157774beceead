"""Commands about topics: cluster the vault, and look at what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lamina.cli.command import Call, FilePath, command, executor_options, limit_option, number_option, quiet_libraries
from lamina.cli.terminal import bold, count_of, dim, printable, short_id, table

if TYPE_CHECKING:
    from lamina_engine.topics.catalog import Topic, TopicMembers
    from lamina_engine.topics.clustering import ClusterReport

_SHOWN = 20


class _Threshold(click.ParamType[Any]):
    """``auto``, or an angular distance."""

    name = "threshold"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return ``"auto"`` or a number in (0, 1]."""
        if value == "auto":
            return value
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0.0 < number <= 1.0:
            self.fail(f"{value!r} must be auto or an angular distance above 0 and up to 1, such as 0.09", param, ctx)
        return number


@command("cluster", "lamina cluster", "lamina cluster --threshold 0.09 --json", "lamina cluster --selection leaf",
    "lamina cluster --method parts --ray 10.0.0.5:6379",
)  # fmt: skip
@number_option("--min-cluster-size", 4, "Minimum number of chunks in a topic.", click.IntRange(2))
@click.option(
    "--min-samples",
    type=click.IntRange(1),
    metavar="N",
    help="Neighbours of a dense place. [default: --min-cluster-size]",
)
@click.option(
    "--threshold", type=_Threshold(), default="auto", show_default=True, metavar="T",
    help="Angular distance to a topic's centre that its chunks keep to: auto, or 0 to 1.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["auto", "exact", "approx", "parts"]), default="auto", show_default=True,
    help="Search for neighbours; parts: regions by themselves, their topics joined.",
)  # fmt: skip
@click.option(
    "--selection", type=click.Choice(["topics", "eom", "leaf"]), default="topics", show_default=True,
    help="topics: smoothed, noise within the threshold taken in; eom and leaf: plain HDBSCAN.",
)  # fmt: skip
@click.option(
    "--names", type=click.Choice(["auto", "words", "model"]), default="auto", show_default=True,
    help="auto: a language model where $LAMINA_JUDGE_URL is set, else words.",
)  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Token budget of naming. [default: 100000]")
@executor_options("cluster parts (with --method parts)")
@click.option("--full", is_flag=True, help="Cluster everything again instead of continuing the existing topics.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
def cluster(call: Call, no_progress: bool, max_tokens: int | None, spread: dict[str, Any], **options: Any) -> None:
    """Group chunks into topics.

    Run it again when much has changed: topics keep their ids and names. New chunks are counted to topics at once.
    """
    from lamina_engine.embed.chat import Budget

    budget = None if max_tokens is None else Budget(tokens=max_tokens)
    with call.open() as vault, quiet_libraries():
        report = vault.cluster(progress=not no_progress, budget=budget, **spread, **options)
    call.answer(report.to_dict(), lambda: _cluster_lines(report))


def _cluster_lines(report: ClusterReport) -> Iterator[str]:
    if report.note:
        yield printable(report.note)
    if not report.chunks:
        yield "no chunks with vectors yet, so no topics; `lamina ingest` and `lamina add` bring some"
        return
    if not report.written:
        yield f"nothing changed: {count_of(report.topics, 'topic')} of {count_of(report.members, 'chunk')}"
        return
    if report.named:
        yield f"named {count_of(report.named, 'topic')} by a language model"
    verb = "continued" if report.incremental else "found"
    how = f"{'approximate, ' if report.approximate else ''}{report.seconds:.1f} s"
    yield f"{verb} {count_of(report.topics, 'topic')} in {count_of(report.chunks, 'chunk')} ({how})"
    facts = [
        (f"{report.parents:,}", "wider topics above them"),
        (f"{report.members:,}", "chunks in topics"),
        (f"{report.noise:,}", "chunks in none"),
        (f"{report.threshold:.3f}", "angular distance within which a chunk belongs"),
    ]
    yield from map(dim, table(facts, indent=2))


@command("topics", "lamina topics", "lamina topics tef020a8b", "lamina topics --map topics.html")
@click.argument("topic", required=False, metavar="[ID]")
@click.option(
    "--map", "path", type=FilePath(path_type=Path, dir_okay=False), help="Write the map as a page of one file."
)
@limit_option(_SHOWN, "lines")
def topics(call: Call, topic: str | None, path: Path | None, limit: int) -> None:
    """List topics, show one, or draw a map."""
    if topic and path:
        raise click.UsageError("give an id or --map, and not both")
    with call.open(mode="r") as vault:
        if path is not None:
            page = vault.topic_map(path)
            call.answer(page.to_dict(), lambda: [f"wrote {printable(page.path)}: {printable(page.about)}"])
        elif topic:
            _show(call, vault.topic(topic), limit)
        else:
            found = vault.topics()
            call.answer({"topics": [asdict(each) for each in found]}, lambda: _tree_lines(found, limit))


def _show(call: Call, found: TopicMembers, limit: int) -> None:
    call.answer(found.to_dict(), lambda: _topic_lines(found, limit))


def _topic_lines(found: TopicMembers, limit: int) -> Iterator[str]:
    yield _line(found.topic)
    yield from (
        f"  {short_id(each.chunk)}  {each.probability:.2f}  {dim(each.origin)}"
        for each in found.members[: limit or None]
    )
    if 0 < limit < len(found.members):
        yield f"  and {len(found.members) - limit:,} more"


def _tree_lines(found: Sequence[Topic], limit: int) -> Iterator[str]:
    """Yield topics below their parents, the largest first."""
    if not found:
        yield "no topics yet; `lamina cluster` finds them"
        return
    below: dict[str | None, list[Topic]] = {}
    for each in found:
        below.setdefault(each.parent, []).append(each)
    shown, waiting = 0, [(each, 0) for each in reversed(below.get(None, []))]
    while waiting and (shown < limit or not limit):
        each, depth = waiting.pop()
        waiting += [(child, depth + 1) for child in reversed(below.get(each.id, []))]
        yield "  " * depth + _line(each)
        shown += 1
    if len(found) > shown:
        yield f"and {len(found) - shown:,} more"


def _line(topic: Topic) -> str:
    rest = ", ".join(printable(word) for word in topic.words)
    return f"{topic.id}  {bold(printable(topic.name))}  {topic.size:,}  {dim(rest)}"
