"""All commands, each imported when it is asked for: `lamina recall` does not pay for the others."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from lamina.cli import process
from lamina.cli.command import SETTINGS, Call, call_options

COMMANDS: Final = {
    "demo": "demo:demo",
    "init": "vaults:init",
    "ingest": "ingesting:ingest",
    "add": "ingesting:add",
    "recall": "recalling:recall",
    "get": "chunks:get",
    "list": "chunks:list_",
    "history": "chunks:history",
    "facts": "facts:facts",
    "links": "links:links",
    "traverse": "links:traverse",
    "causes": "links:causes",
    "chain": "episodes:chain",
    "timeline": "links:timeline",
    "similar": "links:similar",
    "invalidate": "chunks:invalidate",
    "restore": "chunks:restore",
    "pin": "chunks:pin",
    "freshness": "freshness:freshness",
    "refresh": "freshness:refresh",
    "review": "freshness:review",
    "snooze": "freshness:snooze",
    "archive": "freshness:archive",
    "forget": "care:forget",
    "compact": "care:compact",
    "backup": "care:backup",
    "verify": "care:verify",
    "stats": "vaults:stats",
    "sessions": "episodes:sessions",
    "reconstruct": "episodes:reconstruct",
    "cluster": "topics:cluster",
    "topics": "topics:topics",
    "context": "context:context",
    "reindex": "reindexing:reindex",
    "export": "vaults:export",
    "import": "vaults:import_",
    "eval": "kg:eval_",
}
"""By name: the module in this package, and the command in it."""

ONE_ANSWER: Final = frozenset({"recall", "get", "list", "history", "facts", "chain", "timeline", "context"})
"""Commands that look something up and end: a second core has nothing to multiply for them."""

_EPILOG: Final = """\b
Environment:
  LAMINA_VAULT           the vault, where --vault does not name it
  LAMINA_EMBEDDER        wordllama, minilm, none or custom
  LAMINA_EMBEDDER_URL    endpoint of 'custom' (OpenAI's embeddings protocol)
  LAMINA_EMBEDDER_MODEL  its model
  LAMINA_EMBEDDER_KEY    its key; else OPENAI_API_KEY
  DECAY_*, FRESHNESS_*, INJECTION_*, BOOTSTRAP_TOKEN_BUDGET, MAX_RETRIEVALS
                         settings, also in .env and in [settings] of vault.toml
  LAMINA_JUDGE_URL       endpoint that judges links and names topics (OpenAI's chat protocol); _MODEL and _KEY as above

\b
Exit codes: 0 done, 1 a stated problem, 2 wrong usage, 3 no such id,
4 a reindex that did not pass its gate, 130 interrupted.
Errors are one line on stderr, also with --json; stdout is empty then.

\b
Example:
  lamina init && lamina ingest notes/ && lamina recall "why did we move to PostgreSQL"
"""


class Program(click.Group):
    """The group of all commands; each is imported at its first look-up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ONE_ANSWER:
            process.one_answer()
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f"lamina.cli.{module}"), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def program() -> Program:
    """Return the whole program."""
    version = click.Option(["--version"], is_flag=True, help="Print Lamina's version.")
    return Program(
        "lamina", callback=_root, params=[*call_options(), version], help=_root.__doc__, epilog=_EPILOG,
        invoke_without_command=True, context_settings=SETTINGS,
    )  # fmt: skip


def _root(*, version: bool, **given: Any) -> None:
    """Lamina: a local memory engine for AI agents. Options may stand before or after the command."""
    context = click.get_current_context()
    context.obj = Call(**given)
    if version:
        from lamina import __version__

        click.echo(f"lamina {__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
