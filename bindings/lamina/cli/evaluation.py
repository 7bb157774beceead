"""``lamina eval``: labelled sets, questions about people and things, one's own vault."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, FilePath, command, embedder_choice, embedder_option, number_option
from lamina.cli.terminal import bold, printable
from lamina.progress import reporter
from lamina.vault import Vault, open_vault
from lamina_engine.clock import SystemClock, format_instant, parse_instant
from lamina_engine.profiles import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet
    from lamina_engine.evaluation.kg import KgReport, QuestionSet
    from lamina_engine.evaluation.report import Search
    from lamina_engine.evaluation.tuning import TuneReport
    from lamina_engine.evaluation.vault import VaultReport
    from lamina_engine.reports import ProgressListener

_ALL: Final = "all"
_DEFAULT: Final = "default"
"""Name of the report where the vault chooses the profile."""


@command("eval", "lamina eval set.jsonl", "lamina eval locomo.json --profile all -k 1 -k 10 --json")
@click.argument("path", metavar="SET", type=FilePath(path_type=Path))
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
def eval_set(
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
    call.answer(
        {"set": labelled.name, "now": moment, "embedding": model, "profiles": found}, lambda: _recall_lines(reports)
    )


def _search(vault: Vault, profile: str | None, now: str | None, asked: Callable[[], None]) -> Search:
    def search(query: EvaluationQuery, k: int) -> list[str]:
        hits = vault.recall(query.text, k, profile=profile, where=query.where, now=now, syntax=False)
        asked()
        return [hit.id for hit in hits]

    return search


def _counted(report: ProgressListener | None, stage: str, total: int) -> Callable[[], None]:
    """Return a function that counts queries for the progress bar."""
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
    model = embedder_choice(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder,
        open_vault(Path(folder) / "vault", create=True, embedder=model) as vault,
    ):
        vault.add(labelled.records)
        yield vault


def _newest(labelled: EvaluationSet) -> str | None:
    """Return the newest date of the records, to which ages are counted."""
    given = [record.get("created_at") for record in labelled.records]
    dates = [parse_instant(date) for date in given if isinstance(date, str | int | float)]
    return format_instant(max(dates)) if dates else None


def _recall_lines(reports: Mapping[str, EvaluationReport]) -> Iterator[str]:
    for i, (name, report) in enumerate(reports.items()):
        if i:
            yield ""
        yield bold(printable(name))
        yield from report.table().splitlines()


METHODS: Final = ("lexical", "vector", "facts", "hybrid")


@command(
    "kg",
    "lamina eval kg",
    "lamina eval kg questions.jsonl --method facts --verbose",
    "lamina eval kg --category PEOPLE --json",
)
@click.argument("questions", metavar="[QUESTIONS]", required=False, type=FilePath(path_type=Path))
@click.option("--method", type=click.Choice(METHODS), default="hybrid", show_default=True, help="How files are found.")
@click.option("--category", metavar="NAME", help="Only these questions.")
@click.option(
    "--top", "top_k", type=click.IntRange(min=1, max=100), default=6, show_default=True, help="Files that count."
)
@click.option("--at-least", type=click.FloatRange(0, 100), default=80.0, show_default=True, metavar="PCT",
              help="Exit 1 below this share of passes.")  # fmt: skip
@click.option("--world", "worlds", multiple=True, metavar="NAME", help="Only this invented world; may be repeated.")
@click.option("--verbose", is_flag=True, help="Show every question.")
@click.option("--output", type=FilePath(path_type=Path, dir_okay=False), metavar="FILE", help="Also write JSON there.")
@embedder_option
def kg(
    call: Call, questions: Path | None, method: str, category: str | None, top_k: int, at_least: float, worlds: tuple[str, ...],
    verbose: bool, output: Path | None, embedder: str | None,
) -> None:  # fmt: skip
    """Measure how often a question finds the file that answers it.

    QUESTIONS is a file of JSON lines with query, expected (a part of a path; null if nothing answers) and category, asked
    of --vault; or a folder with notes/, seed.toml and questions.jsonl. Without it, the invented worlds that ship with
    Lamina are used. Exit code 0 if every set passes --at-least.
    """
    from lamina_engine.evaluation.kg import evaluate_kg

    reports = []
    for vault, asked in _sets(call, questions, worlds, embedder):
        reports.append(evaluate_kg(vault._memory, asked, method, category=category, top_k=top_k))
    documents = [report.to_dict(str(format_instant(SystemClock().now_us()))) for report in reports]
    document: Any = documents[0] if questions is not None else {"sets": documents}
    if output is not None:
        output.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    call.answer(document, lambda: _kg_lines(reports, verbose=verbose))
    if any(report.answerable and report.recall_pct < at_least for report in reports):
        click.get_current_context().exit(1)


def _sets(
    call: Call, questions: Path | None, worlds: Sequence[str], embedder: str | None
) -> Iterator[tuple[Vault, QuestionSet]]:
    """Yield each set of questions with the vault that it is asked of, open."""
    from lamina_engine.evaluation.kg import WORLDS, load_questions, load_world

    if questions is None:
        for name in worlds or WORLDS:
            world = load_world(name)
            with tempfile.TemporaryDirectory(prefix="lamina-kg-") as folder:
                world.write(Path(folder))
                with _filled(Path(folder), embedder) as vault:
                    yield vault, world.question_set
    elif questions.is_dir():
        with _filled(questions, embedder) as vault:
            yield vault, load_questions(questions / "questions.jsonl")
    else:
        asked = load_questions(questions)
        with call.open(mode="r", embedder=embedder) as vault:
            yield vault, asked


@contextmanager
def _filled(folder: Path, embedder: str | None) -> Iterator[Vault]:
    """Open a temporary vault with the notes and facts of a folder."""
    from lamina_engine.evaluation.kg import fill

    model = embedder_choice(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="lamina-kg-") as place,
        open_vault(Path(place) / "vault", create=True, embedder=model) as vault,
    ):
        fill(vault._memory, folder)
        yield vault


def _kg_lines(reports: Sequence[KgReport], *, verbose: bool) -> Iterator[str]:
    for i, report in enumerate(reports):
        if i:
            yield ""
        yield from printable(report.table(verbose=verbose), lines=True).splitlines()


@command("vault", "lamina eval vault", "lamina eval vault --sample 200 --json")
@number_option("--sample", 50, "Chunks to ask.", click.IntRange(1, 100_000))
@embedder_option
def own_vault(call: Call, sample: int, embedder: str | None) -> None:
    """Measure the vault itself: coverage by chains and topics, lanes of the hits, latency.

    Beginnings of evenly spaced chunks are the questions; no labels are needed and nothing is written.
    """
    from lamina_engine.evaluation.vault import evaluate_vault
    from lamina_engine.reports import Progress

    bar: bool | ProgressListener = True
    with call.open(mode="r", embedder=embedder) as vault, reporter(bar) as progress:
        report = evaluate_vault(
            vault._memory, sample=sample, counter=time.perf_counter,
            progress=lambda stage, done, total: None if progress is None else progress(Progress(stage, done, total)),
        )  # fmt: skip
    call.answer(report.to_dict(), lambda: _vault_lines(report))


def _vault_lines(report: VaultReport) -> Iterator[str]:
    def percent(share: float | None) -> str:
        return "-" if share is None else f"{100 * share:.0f} %"

    length = "-" if report.chain_chunks is None else f"{report.chain_chunks:.1f}"
    rows = [
        ("chunks", f"{report.chunks}, {report.in_sessions} of them in sessions"),
        ("chains", f"{percent(report.in_chains)} of these have a step"),
        ("", f"{percent(report.chains_told)} of {report.chains_asked} questions got a chain, of {length} chunks"),
        ("topics", f"{report.topics}; {percent(report.in_topics)} of the chunks have one"),
        ("hits", f"by words {percent(report.by_words)}, by meaning {percent(report.by_meaning)}, by both "
                 f"{percent(report.by_both)}, by links {percent(report.by_links)}"),
        ("recall", f"p50 {report.recall_ms[0]:.1f} ms, p95 {report.recall_ms[1]:.1f} ms over {report.asked} questions"),
        ("chain", f"p50 {report.chain_ms[0]:.1f} ms, p95 {report.chain_ms[1]:.1f} ms"),
    ]  # fmt: skip
    yield from (f"{bold(f'{name:<7}')} {text}" for name, text in rows)


@command("--tune", "lamina eval --tune", "lamina eval --tune --dry-run --json")
@number_option("--sample", 300, "Questions, at most.", click.IntRange(40, 100_000))
@click.option("--dry-run", is_flag=True, help="Only say what would gain.")
@embedder_option
def tune(call: Call, sample: int, dry_run: bool, embedder: str | None) -> None:
    """Learn how much vectors count beside words in this vault.

    Its titles, headings and the sentences around its links are the questions, asked of a copy without them. A share of
    the vector lane that gains more than two standard errors is written into vault.toml, for this model alone.
    """
    with call.open(mode="r" if dry_run else "w", embedder=embedder) as vault:
        report = vault.tune(sample, write=not dry_run, progress=True)
    call.answer(report.to_dict(), lambda: _tune_lines(report))


def _tune_lines(report: TuneReport) -> Iterator[str]:
    asked = report.titles + report.headings + report.links
    verdict = (
        f"written into vault.toml for {report.model}" if report.written
        else f"{report.before:g} is as good as any" if report.best == report.before
        else "a run without --dry-run writes it" if report.gain > 2.0 * report.error
        else "nothing is written: that may be chance"
    )  # fmt: skip
    rows = [
        ("asked", f"{asked} questions: {report.titles} titles, {report.headings} headings, {report.links} links"),
        ("share", f"{report.before:g} ranks {report.score_before:.3f}, {report.best:g} {report.score_best:.3f} (mean reciprocal rank)"),
        ("gain", f"{report.gain:+.3f} ± {report.error:.3f} over questions that did not choose it"),
        ("", verdict),
    ]  # fmt: skip
    yield from (f"{bold(f'{name:<7}')} {printable(text)}" for name, text in rows)


class EvalCommand(click.Command):
    """``eval SET``, or ``kg``, ``vault`` or ``--tune`` where that is the first argument."""

    def __init__(self) -> None:
        super().__init__(
            "eval", params=eval_set.params, help=eval_set.help, callback=eval_set.callback,
            epilog=f"{eval_set.epilog}\n  lamina eval kg --method facts\n  lamina eval vault\n  lamina eval --tune",
            context_settings=eval_set.context_settings,
        )  # fmt: skip

    def command_for(self, args: list[str]) -> click.Command:
        """Return the command for some arguments."""
        named = {"kg": kg, "vault": own_vault, "--tune": tune}.get(args[0]) if args else None
        return self if named is None or Path(args[0]).is_file() else named

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of the command for the arguments."""
        command = self.command_for(args)
        if command is not self:
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


eval_: click.Command = EvalCommand()
