"""The command line.

Exit codes: 0 done · 1 a stated problem · 2 wrong usage · 3 nothing found under an id that was asked for · 4 a reindex
that did not pass its gate · 130 stopped by Ctrl-C · 141 nobody reads stdout any more. Results go to stdout, everything
else to stderr. With ``--json`` stdout holds one JSON document, or nothing where the command failed: errors are one line
of text, ``lamina: ...``, either way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


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
    from lamina.cli import process

    if arguments is None:
        process.begin()
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # also while modules are being imported
        sys.stderr.write("lamina: interrupted\n")
        return 130
    finally:
        process.end()


def _run(given: list[str]) -> int:
    import logging

    import click

    from lamina.cli import failures
    from lamina.cli.app import program

    _complete_streams()
    logging.basicConfig(level=logging.WARNING, format="lamina: %(message)s")
    codes: list[int] = []

    def work() -> None:
        code = program().main(given, prog_name="lamina", standalone_mode=False)
        codes.append(code if isinstance(code, int) else failures.DONE)

    try:
        failed = failures.exit_code(work, debug="--debug" in given)  # help may meet a full disk too
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return failures.say("interrupted", failures.INTERRUPTED)
    return failed or codes[0]


def _complete_streams() -> None:
    """Have all three streams, as where a process is started with some closed, and let none stop a command half-way."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow console
