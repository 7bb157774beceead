"""All commands, each imported when it is asked for: `lamina recall` does not pay for the others."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from lamina.cli.command import Call, Command, DebugOption, JsonOption, TrustOption, VaultOption

COMMANDS: Final = {
    "init": "vaults:init",
    "ingest": "ingesting:ingest",
    "add": "ingesting:add",
    "recall": "recalling:recall",
    "get": "chunks:get",
    "list": "chunks:list_",
    "history": "chunks:history",
    "invalidate": "chunks:invalidate",
    "restore": "chunks:restore",
    "pin": "chunks:pin",
    "stats": "vaults:stats",
    "export": "vaults:export",
    "import": "vaults:import_",
    "eval": "measuring:eval_",
}
"""By name: the module in this package, and the `Command` in it."""

_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_EPILOG: Final = """\b
Environment:
  LAMINA_VAULT           the vault, where --vault does not name it
  LAMINA_EMBEDDER        wordllama, minilm, none or custom
  LAMINA_EMBEDDER_URL    endpoint of 'custom' (OpenAI's embeddings protocol)
  LAMINA_EMBEDDER_MODEL  its model
  LAMINA_EMBEDDER_KEY    its key; else OPENAI_API_KEY

\b
Exit codes: 0 done, 1 a stated problem, 2 wrong usage, 3 no such id, 130 interrupted.
Errors are one line on stderr, also with --json; stdout is empty then.

\b
Example:
  lamina init && lamina ingest notes/ && lamina recall "why did we move to PostgreSQL"
"""


class Commands(MutableMapping[str, Any]):
    """Typer's commands by name; each is imported and built at its first look-up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, _, attribute = COMMANDS[name].partition(":")
            self._built[name] = _build(name, getattr(import_module(f"lamina.cli.{module}"), attribute))
        return self._built[name]

    def __setitem__(self, name: str, built: Any) -> None:
        self._built[name] = built

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def program() -> Any:
    """Return the whole program as typer's own command object."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True, context_settings=_SETTINGS)
    app.callback(epilog=_EPILOG)(_root)
    built: Any = typer.main.get_command(app)
    built.commands = Commands()
    return built


def _build(name: str, command: Command) -> Any:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    app.command(name, epilog=command.epilog, context_settings=_SETTINGS)(command.run)
    return typer.main.get_command(app)


def _root(
    ctx: typer.Context,
    vault: VaultOption = None,
    as_json: JsonOption = False,
    trust: TrustOption = False,
    debug: DebugOption = False,
    version: Annotated[bool, typer.Option("--version", help="Print Lamina's version.", show_default=False)] = False,
) -> None:
    """Lamina: a local memory engine for AI agents. Options may stand before or after the command."""
    ctx.obj = Call(vault, as_json, trust)
    if version:
        from lamina import __version__

        typer.echo(f"lamina {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
