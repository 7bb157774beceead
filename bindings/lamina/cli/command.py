"""What every command has in common: where the vault is, how it answers, what becomes of its errors, and its example.

Built on click and not on typer: typer's present versions build a pydantic validator for each option, which costs 150 ms
before the first of Lamina's own lines runs; click costs 13 ms.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from lamina.cli.embedders import NAMES, chosen_embedder
from lamina.cli.failures import exit_code
from lamina.vault import Vault, open_vault

if TYPE_CHECKING:
    from lamina.options import OpenMode
    from lamina_engine.redact.redactor import Redactor

F = TypeVar("F", bound=Callable[..., Any])

SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True, slots=True)
class Call:
    """Options of one run that all commands share."""

    vault: str | None = None
    as_json: bool = False
    trust: bool = False
    debug: bool = False

    def open(self, *, mode: OpenMode = "w", embedder: str | None = None, redactor: Redactor | None = None) -> Vault:
        """Open the vault that the call is about."""
        return open_vault(
            self.vault, mode=mode, embedder=chosen_embedder(embedder), redactor=redactor, trust=self.trust
        )

    def answer(self, document: Any, lines: Callable[[], Iterable[str]]) -> None:
        """Print the result: the document under ``--json``, else the lines."""
        if self.as_json:
            print_json(document)
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines())

    def after(self, outer: Any) -> Call:
        """Return this call (said after the command's name) completed by what was said before it."""
        if not isinstance(outer, Call):
            return self
        return Call(
            self.vault or outer.vault,
            self.as_json or outer.as_json,
            self.trust or outer.trust,
            self.debug or outer.debug,
        )


def call_options() -> list[click.Parameter]:
    """Return the options that every command has, and that may also stand before it."""
    return [
        click.Option(["--vault"], metavar="PATH", help="Folder of the vault. [default: $LAMINA_VAULT, else ./.lamina]"),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
        click.Option(["--trust"], is_flag=True, help="Open a vault that another user owns."),
        click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
    ]


def embedder_option(function: F) -> F:
    """Add ``--embedder`` to a command."""
    text = "wordllama, minilm, none or custom ($LAMINA_EMBEDDER_URL). Else $LAMINA_EMBEDDER, else the vault's own."
    return click.option("--embedder", type=click.Choice(NAMES), metavar="NAME", help=text)(function)


def command(name: str, *examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function that has click's arguments and options; it receives a `Call` before them.

    Parameters
    ----------
    name : str
        Its name.
    *examples : str
        Command lines that work, for the help.
    """
    # \b keeps click from filling the paragraph
    epilog = "\b\n" + "\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  {line}" for line in examples)])

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(vault: str | None, as_json: bool, trust: bool, debug: bool, **given: Any) -> None:
            context = click.get_current_context()
            call = Call(vault, as_json, trust, debug).after(context.obj)
            context.exit(exit_code(lambda: function(call, **given), debug=call.debug))

        made = click.command(name, epilog=epilog, context_settings=SETTINGS)(run)
        made.params += call_options()
        return made

    return decorate


def print_json(document: Any) -> None:
    """Print one JSON document in UTF-8, indented on a terminal."""
    # a lone surrogate (bytes of a path, say) becomes \udcXX, which is JSON; stdout's own encoding plays no part
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2 if sys.stdout.isatty() else None)
    rest = memoryview(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
    while rest:  # an unbuffered stdout (python -u) may take only a part
        rest = rest[sys.stdout.buffer.write(rest) :]


def json_object(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Read an option's value that is a JSON object; a callback for click.

    Raises
    ------
    click.BadParameter
        When it is anything else: wrong usage.
    """
    if value is None:
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{value!r:.80} is not valid JSON ({error}); {_OBJECT}") from error
    if not isinstance(found, dict):
        raise click.BadParameter(f"{value!r:.80} is a JSON {type(found).__name__}; {_OBJECT}")
    return found


_OBJECT: Final = """give an object such as '{"project": "api"}'"""
