"""``lamina eval kg``: do questions about people, projects and things lead to the file that answers them?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, command, embedder_option
from lamina.cli.embedders import chosen_embedder
from lamina.cli.measuring import eval_ as eval_set
from lamina.cli.terminal import printable
from lamina.vault import Vault, open_vault
from lamina_engine.clock import SystemClock, format_instant

if TYPE_CHECKING:
    from lamina_engine.evaluation.kg import KgReport, QuestionSet

METHODS: Final = ("lexical", "vector", "facts", "hybrid")


@command(
    "kg",
    "lamina eval kg",
    "lamina eval kg questions.jsonl --method facts --verbose",
    "lamina eval kg --category PEOPLE --json",
)
@click.argument("questions", metavar="[QUESTIONS]", required=False, type=click.Path(path_type=Path))
@click.option("--method", type=click.Choice(METHODS), default="hybrid", show_default=True, help="How files are found.")
@click.option("--category", metavar="NAME", help="Only these questions.")
@click.option(
    "--top", "top_k", type=click.IntRange(min=1, max=100), default=6, show_default=True, help="Files that count."
)
@click.option("--at-least", type=click.FloatRange(0, 100), default=80.0, show_default=True, metavar="PCT",
              help="Exit 1 below this share of passes.")  # fmt: skip
@click.option("--world", "worlds", multiple=True, metavar="NAME", help="Only this invented world; may be repeated.")
@click.option("--verbose", is_flag=True, help="Show every question.")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write JSON there."
)
@embedder_option
def kg(
    call: Call, questions: Path | None, method: str, category: str | None, top_k: int, at_least: float, worlds: tuple[str, ...],
    verbose: bool, output: Path | None, embedder: str | None,
) -> None:  # fmt: skip
    """Measure how often a question finds the file that answers it.

    QUESTIONS is JSON lines with query, expected (a part of a path; null where nothing answers) and category, asked of
    --vault; or a folder with notes/, seed.toml and questions.jsonl. Without it the invented worlds are asked, which
    ship with Lamina. Exit code 0 where every set passes --at-least.
    """
    from lamina_engine.evaluation.kg import evaluate_kg

    reports = []
    for vault, asked in _sets(call, questions, worlds, embedder):
        reports.append(evaluate_kg(vault._memory, asked, method, category=category, top_k=top_k))
    documents = [report.to_dict(str(format_instant(SystemClock().now_us()))) for report in reports]
    document: Any = documents[0] if questions is not None else {"sets": documents}
    if output is not None:
        output.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    call.answer(document, lambda: _lines(reports, verbose=verbose))
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

    model = chosen_embedder(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="lamina-kg-") as place,
        open_vault(Path(place) / "vault", create=True, embedder=model) as vault,
    ):
        fill(vault._memory, folder)
        yield vault


def _lines(reports: Sequence[KgReport], *, verbose: bool) -> Iterator[str]:
    for i, report in enumerate(reports):
        if i:
            yield ""
        yield from printable(report.table(verbose=verbose), lines=True).splitlines()


class Either(click.Command):
    """``eval SET``, or ``eval kg``: which of them is meant shows in the first word."""

    def __init__(self) -> None:
        super().__init__(
            "eval", params=eval_set.params, help=eval_set.help, epilog=f"{eval_set.epilog}\n  lamina eval kg --method facts",
            callback=eval_set.callback, context_settings=eval_set.context_settings,
        )  # fmt: skip

    def meant(self, args: list[str]) -> click.Command:
        """Return the command that some arguments are for."""
        return kg if args[:1] == ["kg"] and not Path("kg").exists() else self

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context of the command that is meant."""
        if self.meant(args) is kg:
            return kg.make_context(f"{info_name} kg", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


eval_: click.Command = Either()
