"""Generated pages: the reference from docstrings and `--help`, the list of decisions. ``python docs/build.py [--check]``."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

import lamina
from lamina.cli.app import COMMANDS, program

DOCS: Final = Path(__file__).parent
DECISIONS: Final = DOCS.parent / "engine" / "decisions"
ACCESSORS: Final = ("facts", "links", "topics", "sessions", "context", "freshness")
_SECTION: Final = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
_ENTRIES: Final = ("Parameters", "Returns", "Yields", "Attributes", "Raises")
_WIDTH: Final = 100


def pages() -> dict[str, str]:
    """Return the text of every generated page, by its path below ``docs``."""
    return {
        "reference/python.md": python_page(),
        "reference/command-line.md": command_page(),
        "explanation/decisions.md": decisions_page(),
    }


def decisions_page() -> str:
    """Return the list of decision records, by number."""
    titles = [(path.name, path.read_text(encoding="utf-8").splitlines()[0]) for path in sorted(DECISIONS.glob("*.md"))]
    rows = [f"- [{title.removeprefix('# ')}](../../engine/decisions/{name})" for name, title in titles]
    lead = "One page each: the question, the measured facts, the choice, and what would change it."
    return "\n".join(["# Decisions", "", lead, "", *rows]) + "\n"


def python_page() -> str:
    """Return the page of the Python interface: every public name, in the order in which people meet them."""
    names = list(lamina.__all__)
    first: list[str] = [name for name in ("open", "aopen", "Vault") if name in names]
    errors = [name for name in names if _is_error(getattr(lamina, name))]
    others = [name for name in names if name not in first and name not in errors]
    parts = ["# Python reference", "Made from the docstrings by `python docs/build.py`.", "`import lamina`"]
    for name in first:
        parts += _public(name)
    for accessor in ACCESSORS:
        kind = _accessor(accessor)
        if kind is not None:
            parts += [f"## vault.{accessor}", *_docstring(kind), *_members(kind, f"vault.{accessor}")]
    for name in others:
        parts += _public(name)
    parts.append("## Errors")
    for name in errors:
        kind = getattr(lamina, name)
        bases = [base.__name__ for base in kind.__mro__[1:] if base.__module__ == "builtins"]
        built_in = next((base for base in bases if base not in ("Exception", "BaseException", "object")), "Exception")
        parts += [f"### {name}", f"Also a `{built_in}`.", *_docstring(kind)]
    return "\n\n".join(parts) + "\n"


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _accessor(name: str) -> type | None:
    """Return the class behind an accessor of a vault."""
    member = inspect.getattr_static(lamina.Vault, name, None)
    function = getattr(member, "fget", None) or getattr(member, "func", None)
    if function is None:
        return None
    annotation = str(inspect.signature(function).return_annotation).strip("'\"")
    module = sys.modules[function.__module__]
    kind = getattr(module, annotation, None)
    if kind is None:  # imported for type checkers alone
        for candidate in ("accessors", name, "vault"):
            try:
                kind = getattr(__import__(f"lamina.{candidate}", fromlist=["_"]), annotation, None)
            except ImportError:
                continue
            if kind is not None:
                break
    return kind if isinstance(kind, type) else None


def _public(name: str) -> list[str]:
    value = getattr(lamina, name)
    parts = [f"## {name}"]
    if isinstance(value, type):
        if _has_signature(value):
            parts.append(_signature(name, value))
        parts += _docstring(value)
        if value is lamina.AsyncVault:
            parts.append("The methods of `Vault`, awaited; the accessors are those of `Vault`, their calls awaited.")
        else:
            parts += _members(value, "vault" if value is lamina.Vault else name)
    elif callable(value):
        parts += [_signature(f"lamina.{name}", value), *_docstring(value)]
    else:
        parts.append(f"`{value!r}`")
    return parts


def _has_signature(kind: type) -> bool:
    return kind is not lamina.Vault and not issubclass(kind, Exception) and "__init__" in vars(kind)


def _members(kind: type, prefix: str) -> Iterator[str]:
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("lamina"):
            continue
        for name, member in vars(base).items():
            if (name.startswith("_") and name != "__call__") or name in seen:
                continue
            seen.add(name)
            target = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(member, property):
                if prefix == "vault" and name in ACCESSORS:
                    continue
                yield f"### {prefix}.{name}"
                yield from _docstring(target)
            elif isinstance(target, types.FunctionType) and inspect.getdoc(target):
                shown = prefix if name == "__call__" else f"{prefix}.{name}"
                yield f"### {shown}" + ("()" if name == "__call__" else "")
                yield _signature(shown, target)
                yield from _docstring(target)


def _signature(name: str, function: object) -> str:
    """Return a call's signature as code, a parameter a line where it is long."""
    assert callable(function)
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    result = signature.return_annotation
    returns = "" if result is inspect.Signature.empty or isinstance(function, type) else f" -> {_plain(result)}"
    shown: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        shown.append(_parameter(parameter))
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) > _WIDTH:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){returns}"
    return f"```text\n{line}\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    """Return a parameter as it is written in code."""
    star = "*" * (int(parameter.kind is parameter.VAR_POSITIONAL) + 2 * int(parameter.kind is parameter.VAR_KEYWORD))
    empty = inspect.Parameter.empty
    kind = "" if parameter.annotation is empty else f": {_plain(parameter.annotation)}"
    if parameter.default is empty:
        return f"{star}{parameter.name}{kind}"
    return f"{star}{parameter.name}{kind}{' = ' if kind else '='}{_plain(repr(parameter.default))}"


def _plain(value: object) -> str:
    text = re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "...", value if isinstance(value, str) else str(value))
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    packages = r"\b(?:lamina\w*|collections\.abc|typing|pathlib|datetime|builtins|pyarrow\.lib)\.(?:\w+\.)*"
    return re.sub(packages, "", text)


def _docstring(value: object) -> Iterator[str]:
    text = inspect.getdoc(value) or ""
    heads = list(_SECTION.finditer(text))
    summary = text[: heads[0].start()] if heads else text
    if summary.strip():
        yield _prose(summary)
    for head, after in zip(heads, [*heads[1:], None], strict=False):
        title = head["title"]
        body = text[head.end() : after.start() if after is not None else len(text)].strip("\n")
        yield f"**{title}**"
        if title in _ENTRIES:
            yield "\n".join(_entries(body))
        elif title == "Examples":
            yield f"```pycon\n{body}\n```" if ">>>" in body else f"```text\n{body}\n```"
        else:
            yield _prose(body)


def _entries(body: str) -> Iterator[str]:
    """Yield a section's entries as a list: names at the margin, what they mean below them."""
    name, lines = "", list[str]()
    for line in [*body.splitlines(), ""]:
        if line and not line[0].isspace():
            if name:
                yield _entry(name, lines)
            name, lines = line, []
        else:
            lines.append(line.strip())
    if name:
        yield _entry(name, lines)


def _entry(name: str, lines: list[str]) -> str:
    label, _, kind = name.partition(" : ")
    text = " ".join(line for line in lines if line)
    return f"- `{label}`" + (f" ({kind})" if kind else "") + (f": {_prose(text)}" if text else "")


def _prose(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", text.strip())


def command_page() -> str:
    """Return the page of the command line: every command's own help."""
    parts = [
        "# Command line reference",
        "Made from `--help` by `python docs/build.py`.",
        "Exit codes: 0 done, 1 a stated problem, 2 wrong usage, 3 nothing with this id, 4 a reindex that did not pass its "
        "gate, 130 stopped by Ctrl-C. `--json` prints one JSON document on stdout and nothing else there.",
    ]
    group = program()
    with click.Context(group, info_name="lamina", terminal_width=_WIDTH, max_content_width=_WIDTH) as outer:
        for name in sorted(COMMANDS):
            command = group.get_command(outer, name)
            assert command is not None
            parts += _command(command, name, outer)
    return "\n\n".join(parts) + "\n"


def _command(command: click.Command, name: str, outer: click.Context) -> Iterator[str]:
    with click.Context(
        command, parent=outer, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH
    ) as context:
        yield f"## {context.command_path}"
        yield f"```text\n{command.get_help(context).strip()}\n```"
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                below = command.get_command(context, each)
                assert below is not None
                for part in _command(below, each, context):
                    yield part.replace("## ", "### ", 1) if part.startswith("## ") else part


def main(arguments: Iterable[str] | None = None) -> int:
    """Write the pages, or with ``--check`` say which are old."""
    parser = argparse.ArgumentParser(prog="python docs/build.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a page is not up to date")
    given = parser.parse_args(None if arguments is None else list(arguments))
    old = []
    for name, text in pages().items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        old.append(name)
        if not given.check:
            path.write_text(text, encoding="utf-8")
    if given.check and old:
        print(f"{', '.join(old)}: not up to date; run: python docs/build.py", file=sys.stderr)
    return int(given.check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
