"""The program: a group of commands, each imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from lamina.cli import use_one_thread
from lamina.cli.command import SETTINGS, Call, call_options

GROUPS: Final = {
    "Start": {"demo": "demo:demo", "init": "vaults:init", "ingest": "ingest:ingest", "add": "ingest:add"},
    "Recall and read": {
        "recall": "recalling:recall",
        "diff": "diff:diff",
        "get": "chunks:get",
        "list": "chunks:list_",
        "history": "chunks:history",
        "timeline": "links:timeline",
        "similar": "links:similar",
        "view": "view:view",
    },
    "Facts and links": {
        "facts": "facts:facts",
        "links": "links:links",
        "traverse": "links:traverse",
        "causes": "links:causes",
    },
    "Sessions and topics": {
        "sessions": "sessions:sessions",
        "projects": "sessions:projects",
        "handoff": "sessions:handoff",
        "chain": "sessions:chain",
        "reconstruct": "sessions:reconstruct",
        "cluster": "topics:cluster",
        "topics": "topics:topics",
        "context": "context:context",
    },
    "Keep current": {
        "freshness": "freshness:freshness",
        "refresh": "freshness:refresh",
        "review": "freshness:review",
        "invalidate": "chunks:invalidate",
        "restore": "chunks:restore",
        "pin": "chunks:pin",
        "snooze": "freshness:snooze",
        "archive": "freshness:archive",
        "forget": "vaults:forget",
    },
    "Agents": {
        "install": "install:install",
        "uninstall": "install:uninstall",
        "doctor": "install:doctor",
        "plugin": "install:plugin",
        "hook": "hook:hook",
        "mcp": "mcp:mcp",
        "serve": "mcp:mcp",
    },
    "Beyond one machine": {"serve-cluster": "serving:serve_cluster"},
    "Care": {
        "stats": "vaults:stats",
        "judge": "vaults:judge",
        "verify": "vaults:verify",
        "compact": "vaults:compact",
        "reindex": "vaults:reindex",
        "backup": "vaults:backup",
        "shard": "vaults:shard",
        "trust": "vaults:trust",
        "export": "vaults:export",
        "import": "vaults:import_",
        "eval": "evaluation:eval_",
    },
}
"""Sections of the help; by name of a command: the module in this package, and the command in it."""

COMMANDS: Final = {name: target for section in GROUPS.values() for name, target in section.items()}

ONE_ANSWER: Final = frozenset({"recall", "get", "list", "history", "facts", "chain", "timeline", "context"})
"""Commands that answer one question and exit: a second core has nothing to do for them."""

_EPILOG: Final = """\b
Environment:
  LAMINA_VAULT           the vault, where --vault does not name it; else the nearest .lamina, up to the root of
                         the repository or below the home folder, else the vault of `lamina init --user`
  LAMINA_EMBEDDER        wordllama, minilm, none or custom
  LAMINA_EMBEDDER_URL    endpoint of 'custom' (OpenAI's embeddings protocol)
  LAMINA_EMBEDDER_MODEL  its model
  LAMINA_EMBEDDER_KEY    its key; else OPENAI_API_KEY
  DECAY_*, FRESHNESS_*, INJECTION_*, BOOTSTRAP_TOKEN_BUDGET, MAX_RETRIEVALS
                         settings, also in .env and in [settings] of vault.toml
  LAMINA_JUDGE_URL       endpoint that observes sessions, judges links, names topics (OpenAI's chat protocol); _MODEL and _KEY as above

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections."""
        for section, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            limit = formatter.width - 6 - max(map(len, COMMANDS))
            rows = [(f"{name:<11}", command.get_short_help_str(limit)) for name, command in commands if command]
            with formatter.section(section):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ONE_ANSWER:
            use_one_thread()
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
            hint = f"did you mean {near[0]!r}?" if near else "`lamina --help` lists all commands"
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
    """Lamina: a local memory engine for AI agents.

    Options may come before or after the command.
    """
    context = click.get_current_context()
    context.obj = Call(**given)
    if version:
        from lamina import __version__

        click.echo(f"lamina {__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
