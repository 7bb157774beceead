"""``lamina diff``: what changed between two moments."""

from __future__ import annotations

from typing import Any

import click

from lamina.cli.command import Call, Where, command, embedder_option, filter_options
from lamina.cli.terminal import printable, prose_columns, wrap


@command(
    "diff",
    "lamina diff --since 2026-03-01",
    'lamina diff "which database" --since 2026-03-01 --until 2026-06-01',
    'lamina diff --since "last week" --project api --budget 400',
)
@click.argument("query", required=False)
@click.option("--since", required=True, metavar="DATE", help="The earlier moment.")
@click.option("--until", metavar="DATE", help="The later moment. [default: now]")
@click.option("--budget", type=int, metavar="N", help="Most tokens of the text. [default: 1000 without a question]")
@click.option("-k", "k", type=int, metavar="N", help="Hits that are compared. [default: 10]")
@click.option("--profile", metavar="NAME", help="Profile of the recall.")
@click.option(
    "--scope", metavar="MODE", help="Use of a project, person or folder named in the question: prefer, filter or off."
)
@click.option("--session", metavar="NAME", help="Current session; it stands for its project.")
@filter_options
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: the vault's]")
@embedder_option
def diff(call: Call, query: str | None, where: Where | None, embedder: str | None, **options: Any) -> None:
    """Show what changed between two moments.

    With QUERY, which of its hits entered, left or moved, and the causes. Without one, what the vault learnt, by project and
    type. Dates are ISO 8601, or words such as yesterday.
    """
    given = {name: value for name, value in options.items() if value is not None}
    with call.open(mode="r", embedder=embedder) as vault:
        found = vault.diff(query, where=where, **given)

    def lines() -> list[str]:
        shown = [line for each in found.text.split("\n") for line in wrap(printable(each), prose_columns())]
        return [*shown, f"{found.left_out} more; a larger --budget shows them"] if found.left_out else shown

    call.answer(found.to_dict(), lines)
