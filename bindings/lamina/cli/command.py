"""Commands: shared options, embedder and filter options, output, exit codes."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from lamina.cli.terminal import printable, show_zone
from lamina.vault import Vault, open_vault
from lamina_engine.errors import (
    ChunkNotFound,
    EmbedderMismatch,
    EntityNotFound,
    InvalidArgument,
    InvalidConfig,
    LaminaError,
    ReindexGateError,
)

if TYPE_CHECKING:
    from lamina.options import OpenMode
    from lamina_engine.redact.redactor import Redactor

EMBEDDER_VARIABLE: Final = "LAMINA_EMBEDDER"
URL_VARIABLE: Final = "LAMINA_EMBEDDER_URL"
MODEL_VARIABLE: Final = "LAMINA_EMBEDDER_MODEL"
KEY_VARIABLE: Final = "LAMINA_EMBEDDER_KEY"
CUSTOM: Final = "custom"
EMBEDDERS: Final = ("wordllama", "minilm", "none", CUSTOM)


def embedder_choice(option: str | None, environ: Mapping[str, str] | None = None) -> str | Mapping[str, object] | None:
    """Return the user's model: a name, an endpoint's options, or None for the vault's own."""
    # endpoints and keys are named in the user's environment only: vault.toml travels with a vault
    environ = os.environ if environ is None else environ
    name = embedder_name(option, environ)
    return _endpoint_options(environ) if name == CUSTOM else name


def embedder_name(option: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """Return one of `EMBEDDERS`, or None. An endpoint's URL alone means ``custom``."""
    environ = os.environ if environ is None else environ
    name = option or environ.get(EMBEDDER_VARIABLE) or (CUSTOM if environ.get(URL_VARIABLE) else None)
    if name is not None and name not in EMBEDDERS:
        raise InvalidConfig(
            f"{'--embedder' if option else f'${EMBEDDER_VARIABLE}'} is {name!r}; give one of {', '.join(EMBEDDERS)}"
        )
    return name


def _endpoint_options(environ: Mapping[str, str]) -> dict[str, object]:
    missing = [f"${variable}" for variable in (URL_VARIABLE, MODEL_VARIABLE) if not environ.get(variable)]
    if missing:
        raise InvalidConfig(
            f"the embedder is 'custom' and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set; "
            f"name the endpoint, such as {URL_VARIABLE}=http://127.0.0.1:11434/v1 {MODEL_VARIABLE}=nomic-embed-text"
        )
    return {
        "url": environ[URL_VARIABLE],
        "model": environ[MODEL_VARIABLE],
        "api_key_env": KEY_VARIABLE if environ.get(KEY_VARIABLE) else "OPENAI_API_KEY",
    }


DONE: Final = 0
PROBLEM: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
GATE: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


def exit_code(work: Callable[[], None], *, debug: bool = False) -> int:
    """Run a command, print its error, and return the exit code; ``debug`` lets errors through."""
    try:
        work()
        sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit):  # wrong usage; a command that set its own code
        raise
    except (KeyboardInterrupt, click.Abort):  # click makes one of what reaches it before a command runs
        return print_error("interrupted; committed work is kept", INTERRUPTED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            silence_stdout()
            return PIPE_CLOSED
        if debug:
            raise
        return _print_exception(error)
    return DONE


def print_error(message: str, code: int) -> int:
    """Print one line on stderr and return a code."""
    print(f"lamina: {printable(message)}", file=sys.stderr)
    return code


def warn_incomplete(missing: Sequence[str]) -> None:
    """Print which shards did not answer, on stderr."""
    names = printable(", ".join(missing))
    print(f"lamina: warning: {names} did not answer; what follows is without what lies there", file=sys.stderr)


def silence_stdout() -> None:
    """Redirect stdout to the null device."""
    # its reader has gone: the interpreter's last flush would fail
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _print_exception(error: Exception) -> int:
    if isinstance(error, (ChunkNotFound, EntityNotFound)):
        return print_error(str(error), NOT_FOUND)
    if isinstance(error, ReindexGateError):
        return print_error(str(error), GATE)
    if isinstance(error, EmbedderMismatch):
        variable = next((name for name in (EMBEDDER_VARIABLE, URL_VARIABLE) if os.environ.get(name)), None)
        return print_error(f"{error}{f' (${variable} is set)' if variable else ''}", PROBLEM)
    if isinstance(error, LaminaError):
        return print_error(str(error), PROBLEM)
    if isinstance(error, OSError):
        return print_error(_os_error_text(error), PROBLEM)
    return print_error(
        f"unexpected {type(error).__name__}: {error}; run it again with --debug and report the traceback", PROBLEM
    )


def _os_error_text(error: OSError) -> str:
    """Return the system's message, with the path if it names one."""
    place = error.filename2 or error.filename  # of a rename, the new name
    named = f"{os.fsdecode(place)}: " if isinstance(place, str | bytes) else ""
    text = f"{named}{error.strerror or error}"
    if error.errno == errno.ENOSPC:
        return f"{text}; committed work is kept: free some space and run it again"
    if error.errno == errno.ENOENT and not named:
        try:
            os.getcwd()  # noqa: PTH109 - called for its error
        except OSError:
            return "the working directory no longer exists; change to another one"
    return text


F = TypeVar("F", bound=Callable[..., Any])

SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True, slots=True)
class Call:
    """Options of one run that all commands share."""

    vault: str | None = None
    as_json: bool = False
    trust: bool = False
    debug: bool = False
    incomplete: bool = False

    def open(self, *, mode: OpenMode = "w", embedder: str | None = None, redactor: Redactor | None = None) -> Vault:
        """Open the vault of this call."""
        vault = open_vault(
            self.vault, mode=mode, embedder=embedder_choice(embedder), redactor=redactor, trust=self.trust,
            incomplete=self.incomplete,
        )  # fmt: skip
        show_zone(vault.tz)
        if self.incomplete and (missing := vault.incomplete):
            warn_incomplete(missing)
        return vault

    def answer(self, document: object, lines: Callable[[], Iterable[str]]) -> None:
        """Print the result: the document under ``--json``, else the lines."""
        if self.as_json:
            print_json(document)
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines())

    def after(self, outer: object) -> Call:
        """Return these options, given after the command's name, completed by those given before it."""
        if not isinstance(outer, Call):
            return self
        return Call(
            self.vault or outer.vault,
            self.as_json or outer.as_json,
            self.trust or outer.trust,
            self.debug or outer.debug,
            self.incomplete or outer.incomplete,
        )


class FilePath(click.Path):
    """Path that is not empty.

    An empty one comes from a variable that is not set, and would mean another place.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("it is empty; give a path, or leave it out", param, ctx)
        return super().convert(value, param, ctx)


def call_options() -> list[click.Parameter]:
    """Return the options of every command; they may also come before its name."""
    return [
        click.Option(
            ["--vault"],
            type=FilePath(),
            metavar="PATH",
            help="Folder or address of the vault. [default: $LAMINA_VAULT, else the nearest .lamina]",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
        click.Option(["--trust"], is_flag=True, help="Write to a vault that is not trusted."),
        click.Option(["--incomplete"], is_flag=True, help="Answer without shards that are missing, and name them."),
        click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
    ]


def embedder_option(function: F) -> F:
    """Add ``--embedder`` to a command."""
    text = "wordllama, minilm, none or custom ($LAMINA_EMBEDDER_URL). Else $LAMINA_EMBEDDER, else the vault's own."
    return click.option("--embedder", type=click.Choice(EMBEDDERS), metavar="NAME", help=text)(function)


def command(name: str, *examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function with click's parameters; its first argument is a `Call`."""
    # built on click, not typer: typer builds a pydantic validator per option, 150 ms before a command runs; click takes 13
    # \b keeps click from filling the paragraph
    epilog = "\b\n" + "\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  {line}" for line in examples)])

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(vault: str | None, as_json: bool, trust: bool, debug: bool, incomplete: bool, **given: Any) -> None:
            context = click.get_current_context()
            call = Call(vault, as_json, trust, debug, incomplete).after(context.obj)
            context.exit(exit_code(lambda: function(call, **given), debug=call.debug))

        made = click.command(name, epilog=epilog, context_settings=SETTINGS)(run)
        made.params += call_options()
        return made

    return decorate


def group(name: str, help_: str, commands: Sequence[click.Command], example: str) -> click.Group:
    """Return a group of commands; the options of every command may also come before their names."""

    def keep(**given: Any) -> None:
        context = click.get_current_context()
        context.obj = Call(**given).after(context.obj)

    return click.Group(
        name, callback=keep, help=help_, commands=commands, params=call_options(), context_settings=SETTINGS,
        epilog=f"\b\nExample:\n  {example}",
    )  # fmt: skip


def print_json(document: object) -> None:
    """Print one JSON document in UTF-8, indented on a terminal."""
    # a lone surrogate (bytes of a path, say) becomes \udcXX, which is JSON; stdout's own encoding plays no part
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2 if sys.stdout.isatty() else None)
    rest = memoryview(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
    while rest:  # an unbuffered stdout (python -u) may take only a part
        rest = rest[sys.stdout.buffer.write(rest) :]


def json_object(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Read an option's JSON object; a callback for click."""
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


def limit_option(default: int, noun: str) -> Callable[[F], F]:
    """Return the option for how much is listed; 0 is all."""
    return number_option("--limit", default, f"Maximum number of {noun}; 0 for all.", click.IntRange(0))


def number_option(
    flag: str, default: float, help_: str, type_: type[int] | click.ParamType[Any] = int
) -> Callable[[F], F]:
    """Return the option of a number with a default, a whole one by default."""
    return click.option(flag, type=type_, default=default, show_default=True, metavar="N", help=help_)


def executor_options(work: str) -> Callable[[F], F]:
    """Add the options for where work runs; the function receives them as one ``spread``."""

    def add(function: F) -> F:
        @functools.wraps(function)
        def run(call: Any, *, workers: int, ray: str | None, resources: dict[str, float], **given: Any) -> None:
            function(call, spread={"workers": workers, "ray": ray, "ray_resources": resources or None}, **given)

        resources_option("each task")(run)
        ray_help = "Running Ray cluster whose workers do that: host:port, or auto."
        click.option("--ray", metavar="ADDRESS", help=ray_help)(run)
        number_option("--workers", 1, f"Processes that {work}.", click.IntRange(1))(run)
        return cast("F", run)

    return add


def quiet_libraries() -> contextlib.AbstractContextManager[object]:
    """Send what libraries print, as Ray does, to stderr: a document stands alone on stdout."""
    return contextlib.redirect_stdout(sys.stderr)


def resources_option(owner: str) -> Callable[[F], F]:
    """Return the option for what is reserved of a Ray cluster."""
    return click.option(
        "--resources", multiple=True, metavar="NAME=N", callback=_resources,
        help=f"Reserve this of the cluster for {owner}; may be repeated.",
    )  # fmt: skip


def _resources(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in given:
        name, _, count = each.partition("=")
        try:
            found[name] = float(count)
        except ValueError:
            raise click.BadParameter(f"{each!r} must be a name and a number, such as big_memory=1") from None
    return found


Where = Mapping[str, Any]

_FILTER_FIELDS = ("project", "type", "collection")


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the filter options; the function receives them as one ``where``."""

    @functools.wraps(function)
    def run(call: Any, *, where: Where | None, **given: Any) -> None:
        short = {field: given.pop(field) for field in _FILTER_FIELDS}
        for field, values in short.items():
            if "" in values:
                raise InvalidArgument(f"--{field} is empty; give a value, or leave it out")
        function(call, where=merged_where(where, **short), **given)

    for field in reversed(_FILTER_FIELDS):
        click.option(f"--{field}", multiple=True, metavar="NAME", help=f"Only this {field}; may be repeated.")(run)
    filter_help = 'A filter, such as {"tags": {"contains": "db"}}; AND, OR and NOT nest.'
    click.option("--where", callback=json_object, metavar="JSON", help=filter_help)(run)
    return run


def merged_where(where: Where | None, **short: Sequence[str]) -> Where | None:
    """Join ``where`` and the values of each field into one filter; None without either."""
    parts: list[Where] = [] if where is None else [where]
    parts += [
        {field: values[0] if len(values) == 1 else {"in": list(values)}} for field, values in short.items() if values
    ]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"AND": parts}
