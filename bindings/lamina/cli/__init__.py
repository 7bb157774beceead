"""The command line.

Exit codes: 0 done · 1 a stated problem · 2 wrong usage · 3 nothing found under an id that was asked for · 4 a reindex
that did not pass its gate · 130 stopped by Ctrl-C · 141 nobody reads stdout any more. Results go to stdout, everything
else to stderr. With ``--json`` stdout holds one JSON document, or nothing where the command failed: errors are one line
of text, ``lamina: ...``, either way.
"""

from __future__ import annotations

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
    import logging

    import click

    from lamina.cli import failures
    from lamina.cli.app import program

    logging.basicConfig(level=logging.WARNING, format="lamina: %(message)s")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow console must not stop a command half-way
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = program().main(given, prog_name="lamina", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return failures.say("interrupted", failures.INTERRUPTED)
    return code if isinstance(code, int) else failures.DONE
