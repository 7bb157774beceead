"""The command that makes everything derived again: as a job, it tells how far it is and what its end means."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, command
from lamina.cli.embedders import NAMES, chosen_embedder
from lamina.cli.terminal import dim, printable, table

if TYPE_CHECKING:
    from lamina_engine.reports import Progress

_NARROW: Final = ("wordllama-128", "wordllama-64")
_EVENTS: Final = "Append progress to FILE, one JSON object a line (stage, done, total, rate, remaining_s); - is stderr."


@command(
    "reindex",
    "lamina reindex --engine lexical",
    "lamina reindex --embedder minilm --workers 2",
    "lamina reindex --embedder wordllama-64 --json --events progress.jsonl",
)
@click.option(
    "--embedder",
    type=click.Choice([*NAMES, *_NARROW]),
    metavar="NAME",
    help="Model of the new vectors. [default: the vault's own]",
)
@click.option("--engine", type=click.Choice(["lexical", "vectors", "keys"]), help="Rebuild only this index.")
@click.option("--restart", is_flag=True, help="Start over instead of resuming an interrupted run.")
@click.option("--accept", is_flag=True, help="Swap even if recall dropped; counts must still be right.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Share of recall that may be lost.",
)
@click.option(
    "--batch-rows",
    type=click.IntRange(1, 65_536),
    default=2_048,
    show_default=True,
    metavar="N",
    help="Rows per commit.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that embed and analyse.",
)
@click.option("--drop-old", is_flag=True, help="Remove the vectors of the former model.")
@click.option("--events", metavar="FILE", help=_EVENTS)
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
def reindex(
    call: Call, embedder: str | None, restart: bool, events: str | None, no_progress: bool, **options: Any
) -> None:
    """Rebuild indexes and vectors from the log.

    Recall and writes go on meanwhile; the new generation is swapped in at once, if it passes its gate: equal counts,
    and recall on the vault's own titles and headings. Run it again after an interruption: it goes on where it was.
    Exit code 4: the gate was not passed, the old generation serves on.
    """
    chosen = embedder if embedder in _NARROW else chosen_embedder(embedder) if embedder else None
    with call.open() as vault, _listener(events, show=not no_progress) as progress:
        report = vault.reindex(chosen, not restart, progress=progress, **options)
    document = report.to_dict()
    call.answer(document, lambda: _lines(document))


@contextlib.contextmanager
def _listener(events: str | None, *, show: bool) -> Iterator[bool | Callable[[Progress], None]]:
    """Give the run something to report to: a file of events in place of the bar."""
    if events is None:
        yield show
        return
    with contextlib.ExitStack() as stack:
        stream = sys.stderr if events == "-" else stack.enter_context(Path(events).open("a", encoding="utf-8"))

        def write(step: Progress) -> None:
            stream.write(json.dumps(step.to_dict()) + "\n")
            stream.flush()

        yield write


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"reindexed {report['rows']:,} rows in {report['seconds']:.1f} s ({report['rate']:,.0f} rows a second)"
    facts = [("model", printable(report["model"]))] if report["space"] else []
    counts = {
        "embedded": "texts embedded",
        "cached": "rows with the vector of an equal text",
        "resumed": "rows of an earlier run",
    }
    facts += [(f"{report[name]:,}", what) for name, what in counts.items() if report[name]]
    if report["unmatched"]:
        facts.append((f"{report['unmatched']:,}", "rows whose text is not what they were hashed from"))
    for lane, found in report["gate"].get("recall_at_10", {}).items():
        if found["new"] is not None:
            before = "" if found["old"] is None else f" (before {found['old']:.3f})"
            facts.append(
                (lane, f"recall@10 {found['new']:.3f}{before} on {report['gate']['queries']} titles and headings")
            )
    yield from map(dim, table(facts, indent=2))
