"""What every command has in common: where the vault is, how it answers, and its example."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from lamina.cli.embedders import chosen_embedder
from lamina.vault import Vault, open_vault

if TYPE_CHECKING:
    from lamina_engine.ingest.redact import Redactor

P = ParamSpec("P")

VaultOption = Annotated[
    str | None, typer.Option("--vault", metavar="PATH", help="The vault's folder. Else $LAMINA_VAULT, else ./.lamina.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.", show_default=False)]
TrustOption = Annotated[bool, typer.Option("--trust", help="Open a vault that another user owns.", show_default=False)]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", show_default=False)]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="wordllama, minilm, none, or custom (the endpoint of $LAMINA_EMBEDDER_URL). Else $LAMINA_EMBEDDER, else the vault's own.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Call:
    """What one run of the program was told, whatever its command."""

    vault: str | None = None
    as_json: bool = False
    trust: bool = False

    def open(self, *, mode: str = "w", embedder: str | None = None, redactor: Redactor | None = None) -> Vault:
        """Open the vault that the call is about."""
        return open_vault(self.vault, mode=mode, embedder=chosen_embedder(embedder), redactor=redactor, trust=self.trust)

    def answer(self, document: Any, lines: Callable[[], Iterable[str]]) -> None:
        """Print the result: the document under ``--json``, else the lines."""
        if self.as_json:
            print_json(document)
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines())


@dataclass(frozen=True, slots=True)
class Command:
    """A command ready to be given to typer."""

    run: Callable[..., None]
    epilog: str


def command(*examples: str) -> Callable[[Callable[Concatenate[Call, P], None]], Command]:
    """Make a command of a function: it receives a `Call` first, and typer's values for its own parameters.

    Parameters
    ----------
    *examples : str
        Command lines that work, for the help.
    """
    # \b keeps click from filling the paragraph
    epilog = "\b\n" + "\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  {line}" for line in examples)])

    def decorate(function: Callable[Concatenate[Call, P], None]) -> Command:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(ctx: typer.Context, **given: Any) -> None:
            call = merged(ctx.obj, **{name: given.pop(name) for name in ("vault", "as_json", "trust")})
            given.pop("debug")  # acted on where errors end up: in `lamina.cli.main`
            function(call, **given)  # type: ignore[call-arg]

        parameters = [_CONTEXT, *own, *_COMMON]
        run.__doc__ = function.__doc__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return Command(run, epilog)

    return decorate


def merged(outer: Any, *, vault: str | None, as_json: bool, trust: bool) -> Call:
    """Return what was said before and after the command's name; the later word counts."""
    before = outer if isinstance(outer, Call) else Call()
    return replace(before, vault=vault or before.vault, as_json=as_json or before.as_json, trust=trust or before.trust)


def print_json(document: Any) -> None:
    """Print one JSON document in UTF-8, indented on a terminal."""
    # a lone surrogate (bytes of a path, say) becomes \udcXX, which is JSON; stdout's own encoding plays no part
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2 if sys.stdout.isatty() else None)
    content = text.encode("utf-8", "backslashreplace") + b"\n"
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode())


def parse_json_object(text: str, option: str) -> dict[str, Any]:
    """Read the JSON object that an option was given.

    Raises
    ------
    typer.BadParameter
        When it is something else; the exit code is 2 then.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{text!r:.80} is no JSON ({error}); give an object such as '{{\"project\": \"api\"}}'", param_hint=option) from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{text!r:.80} is a JSON {type(value).__name__}, not an object", param_hint=option)
    return value


_CONTEXT = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
_COMMON = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("vault", None, VaultOption),
        ("as_json", False, JsonOption),
        ("trust", False, TrustOption),
        ("debug", False, DebugOption),
    )
]
