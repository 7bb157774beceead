"""``lamina context``: context for agents; made for hooks, so a broken vault is not an error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lamina.cli.command import PROBLEM, Call, FilePath, command, embedder_option, group, print_error
from lamina_engine.errors import InvalidArgument, InvalidConfig, LaminaError

if TYPE_CHECKING:
    from lamina import Vault
    from lamina_engine.context.rendering import ContextBlock

_MAX_STDIN = 1_000_000


@command(
    "bootstrap",
    "lamina context bootstrap --session 8f31",
    "lamina context bootstrap --session 8f31 --trigger compact --budget 1500 --json",
)
@click.option("--session", metavar="NAME", help="Session; no memory is shown twice in it.")
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of tokens. [default: $BOOTSTRAP_TOKEN_BUDGET, else 2500]",
)
@click.option("--project", metavar="NAME", help="Only chunks of this project.")
@click.option("--agent", metavar="NAME", help="Only handoffs of this agent.")
@click.option(
    "--repo", type=FilePath(path_type=Path), default=Path(), show_default="the working directory",
    help="Git work tree whose commits since the last session are listed.",
)  # fmt: skip
@click.option(
    "--trigger", type=click.Choice(["startup", "resume", "compact", "clear"]), default="startup", show_default=True,
    help="Why the session begins; after compact and clear, memories may be shown again.",
)  # fmt: skip
@embedder_option
def bootstrap(
    call: Call, session: str | None, budget: int | None, project: str | None, agent: str | None, repo: Path, trigger: str,
    embedder: str | None,
) -> None:  # fmt: skip
    """Print the context for the start of an agent's session.

    What is pinned, the last handoff or session, the work in hand, decisions and insights, and what changed since, within a
    token budget; over plain notes, an overview. If there is nothing, or the vault is missing or damaged, one line on
    stderr says so, nothing else is printed, and the exit code is 0.
    """

    def build(vault: Vault) -> ContextBlock:
        return vault.bootstrap(session, budget, project=project, agent=agent, repo=repo, trigger=trigger)  # type: ignore[arg-type]

    _answer(call, embedder, build)


@command(
    "turn",
    'lamina context turn "why did we leave SQLite" --session 8f31',
    "lamina context turn - --session 8f31 --json < prompt.txt",
)
@click.argument("prompt")
@click.option("--session", metavar="NAME", required=True, help="Session; no memory is shown twice in it.")
@click.option(
    "--floor", type=click.IntRange(1), metavar="N", help="Minimum budget. [default: $INJECTION_BUDGET_FLOOR, else 500]"
)
@click.option(
    "--ceiling",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum budget. [default: $INJECTION_BUDGET_CEILING, else 1500]",
)
@click.option("--project", metavar="NAME", help="Only chunks of this project.")
@click.option(
    "--repo", type=FilePath(path_type=Path), default=Path(), show_default="the working directory",
    help="Folder that the agent works in, by which its project is known.",
)  # fmt: skip
@embedder_option
def turn(
    call: Call,
    prompt: str,
    session: str,
    floor: int | None,
    ceiling: int | None,
    project: str | None,
    repo: Path,
    embedder: str | None,
) -> None:
    """Print the context for one prompt, if there is any.

    PROMPT is the user's text; - reads it from standard input. Nothing is printed if no memory is relevant enough. If the
    vault is missing or damaged, one line on stderr says so, and the exit code is 0.
    """
    text = sys.stdin.buffer.read(_MAX_STDIN).decode("utf-8", "replace") if prompt == "-" else prompt
    _answer(call, embedder, lambda vault: vault.inject(text, session, floor, ceiling, project=project, repo=repo))


def _answer(call: Call, embedder: str | None, build: Callable[[Vault], ContextBlock]) -> None:
    """Print a block; if the vault is missing or broken, print an error and an empty block."""
    from lamina_engine.context.rendering import ContextBlock

    block = ContextBlock(mode="failed")
    try:
        with call.open(embedder=embedder) as vault:
            block = build(vault)
    except (LaminaError, OSError) as error:
        if isinstance(error, InvalidArgument) and not isinstance(error, InvalidConfig):
            raise click.UsageError(str(error)) from error
        if call.debug:
            raise
        print_error(f"no context: {error}", PROBLEM)
    call.answer(block.to_dict(), lambda: block.text.splitlines())


context: click.Group = group(
    "context",
    "Print context for an agent.\n\nAt the start of a session (bootstrap), and for each prompt (turn).",
    [bootstrap, turn],
    'lamina context turn "why did we leave SQLite" --session 8f31',
)
