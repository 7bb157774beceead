"""What a command's end means to whoever started it: an exit code, and one line on stderr where it failed."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Final

import click

from lamina.cli.embedders import NAME, URL
from lamina.cli.terminal import printable
from lamina_engine.errors import ChunkNotFound, EmbedderMismatch, EntityNotFound, LaminaError, ReindexGateError

DONE: Final = 0
PROBLEM: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
GATE: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


def exit_code(work: Callable[[], None], *, debug: bool = False) -> int:
    """Do some work, say on stderr what went wrong, and return the exit code.

    Parameters
    ----------
    work : callable
        What the command does, its output included.
    debug : bool
        Let an error through as it is, for its traceback.
    """
    try:
        work()
        sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit):  # wrong usage; a command that has said all and names its code
        raise
    except KeyboardInterrupt:
        return say("interrupted; what was committed before stays", INTERRUPTED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            silence_stdout()
            return PIPE_CLOSED
        if debug:
            raise
        return _report(error)
    return DONE


def say(message: str, code: int) -> int:
    """Print one line on stderr and return a code."""
    print(f"lamina: {printable(message)}", file=sys.stderr)
    return code


def silence_stdout() -> None:
    """Point stdout at nothing once nobody reads it; else the interpreter's own last flush would complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _report(error: Exception) -> int:
    if isinstance(error, (ChunkNotFound, EntityNotFound)):
        return say(str(error), NOT_FOUND)
    if isinstance(error, ReindexGateError):
        return say(str(error), GATE)
    if isinstance(error, EmbedderMismatch):
        variable = next((name for name in (NAME, URL) if os.environ.get(name)), None)
        return say(f"{error}{f' (${variable} is set)' if variable else ''}", PROBLEM)
    if isinstance(error, LaminaError):
        return say(str(error), PROBLEM)
    if isinstance(error, OSError):
        return say(_told(error), PROBLEM)
    return say(
        f"unexpected {type(error).__name__}: {error}; run it again with --debug and report the traceback", PROBLEM
    )


def _told(error: OSError) -> str:
    """Return what the system says, with the place where it names one."""
    place = error.filename2 or error.filename  # of a rename, the name that was wanted
    named = f"{os.fsdecode(place)}: " if isinstance(place, str | bytes) else ""
    told = f"{named}{error.strerror or error}"
    if error.errno == errno.ENOSPC:
        return f"{told}; what was committed before stays: make room and run it again"
    if error.errno == errno.ENOENT and not named:
        try:
            os.getcwd()  # noqa: PTH109 - asked for its error alone
        except OSError:
            return "the folder that this was started in is gone; change to another one"
    return told
