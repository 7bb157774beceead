"""The command line: what a process does with its arguments, its errors and its exit code.

Exit codes: 0 done · 1 a stated problem · 2 wrong usage · 3 nothing found under an id that was asked for · 130 stopped by
Ctrl-C. Results go to stdout, everything else to stderr; with ``--json`` stdout holds one JSON document, or nothing where
the command failed. Errors are one line, ``lamina: ...``, with or without ``--json``: scripts go by the exit code.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

from lamina.cli.terminal import printable

DONE, PROBLEM, USAGE, NOT_FOUND, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; the process's own unless given.

    Returns
    -------
    int
        The exit code; see the module's first lines.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow console must not stop a command half-way
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    return code


def _run(arguments: list[str]) -> int:
    from lamina.cli.app import program

    try:
        code = program().main(arguments, prog_name="lamina", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _say("interrupted; what was committed before stays", INTERRUPTED)
    except Exception as error:
        if "--debug" in arguments and not _is_usage(error):
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Say on stderr what went wrong, and return the exit code that it has."""
    from lamina_engine.errors import ChunkNotFound, LaminaError

    if _is_usage(error):
        error.show()  # type: ignore[attr-defined]
        return USAGE
    if isinstance(error, ChunkNotFound):
        return _say(str(error), NOT_FOUND)
    if isinstance(error, LaminaError):
        return _say(str(error), PROBLEM)
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            raise BrokenPipeError from error
        place = f"{os.fspath(error.filename)!s}: " if error.filename else ""
        return _say(f"{place}{error.strerror or error}", PROBLEM)
    if type(error).__name__ == "Abort":  # how typer passes on an interrupted prompt
        return _say("interrupted; what was committed before stays", INTERRUPTED)
    return _say(f"unexpected {type(error).__name__}: {error}; run it again with --debug and report the traceback", PROBLEM)


def _is_usage(error: Any) -> bool:
    """Tell whether typer refused the arguments; the class itself has moved between its versions."""
    return hasattr(error, "show") and getattr(error, "exit_code", None) == USAGE


def _say(message: str, code: int) -> int:
    print(f"lamina: {printable(message)}", file=sys.stderr)
    return code


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own last flush does not complain either."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - lives as long as the process
