"""``lamina eval``: recall quality on a labelled set."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lamina.cli.command import Call, command, embedder_option
from lamina.cli.embedders import chosen_embedder
from lamina.cli.terminal import bold, printable
from lamina.progress import reporter
from lamina.vault import Vault, open_vault
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.profiles import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet
    from lamina_engine.evaluation.report import Search
    from lamina_engine.reports import ProgressListener

_ALL: Final = "all"
_DEFAULT: Final = "default"
"""How a report is named where the vault chooses the profile."""


@command("eval", "lamina eval set.jsonl", "lamina eval locomo.json --profile all -k 1 -k 10 --json")
@click.argument("path", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--profile", "profiles", multiple=True, metavar="NAME", help="May be repeated; all for every built-in one."
)
@click.option(
    "-k",
    "ks",
    multiple=True,
    type=click.IntRange(min=1),
    default=(1, 5, 10),
    show_default=True,
    metavar="N",
    help="Cut-off; may be repeated.",
)
@click.option("--now", metavar="DATE", help="Date to which ages are counted. [default: that of the newest record]")
@embedder_option
def eval_(
    call: Call, path: Path, profiles: tuple[str, ...], ks: tuple[int, ...], now: str | None, embedder: str | None
) -> None:
    """Measure recall on a labelled set, with 95 % intervals.

    SET is LoCoMo's file, HotpotQA's files, or JSON lines of records and queries. Its records go into a temporary vault;
    a set of queries alone is asked of --vault. JSON lines have a kind: a record has id, text and any field of add; a
    query has text, gold (ids of records), and may have category and where.
    """
    from lamina_engine.evaluation import evaluate, load_set

    labelled = load_set(path)
    moment = now or _newest(labelled)
    names: list[str | None] = [*sorted(BUILT_IN)] if _ALL in profiles else [*profiles] or [None]
    bar: bool | ProgressListener = True
    with _vault_of(call, labelled, embedder) as vault, reporter(bar) as progress:
        reports = {}
        for name in names:
            search = _search(vault, name, moment, _counted(progress, name or _DEFAULT, len(labelled.queries)))
            reports[name or _DEFAULT] = evaluate(search, labelled, ks=ks, counter=time.perf_counter)
        model = vault.stats()["embedding"]
    found = {name: report.to_dict() for name, report in reports.items()}
    call.answer({"set": labelled.name, "now": moment, "embedding": model, "profiles": found}, lambda: _lines(reports))


def _search(vault: Vault, profile: str | None, now: str | None, asked: Callable[[], None]) -> Search:
    def search(query: EvaluationQuery, k: int) -> list[str]:
        hits = vault.recall(query.text, k, profile=profile, where=query.where, now=now)
        asked()
        return [hit.id for hit in hits]

    return search


def _counted(report: ProgressListener | None, stage: str, total: int) -> Callable[[], None]:
    """Return what is called after each query, for the progress bar."""
    from lamina_engine.reports import Progress

    done = count(1)
    return lambda: None if report is None else report(Progress(stage, next(done), total))


@contextmanager
def _vault_of(call: Call, labelled: EvaluationSet, embedder: str | None) -> Iterator[Vault]:
    """Open a temporary vault with the set's records, or the caller's own where the set has none."""
    if not labelled.records:
        with call.open(mode="r", embedder=embedder) as vault:
            yield vault
        return
    model = chosen_embedder(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder,
        open_vault(Path(folder) / "vault", create=True, embedder=model) as vault,
    ):
        vault.add(labelled.records)
        yield vault


def _newest(labelled: EvaluationSet) -> str | None:
    """Return the newest date of the records: ages count to it, so that a number stays the same next year."""
    given = [record.get("created_at") for record in labelled.records]
    dates = [parse_instant(date) for date in given if isinstance(date, str | int | float)]
    return format_instant(max(dates)) if dates else None


def _lines(reports: Mapping[str, EvaluationReport]) -> Iterator[str]:
    for i, (name, report) in enumerate(reports.items()):
        if i:
            yield ""
        yield bold(printable(name))
        yield from report.table().splitlines()
