"""The command line.

Exit codes: 0 done · 1 a stated problem · 2 wrong usage · 3 no such id · 4 a reindex that did not pass its gate ·
130 stopped by Ctrl-C · 141 the reader of stdout has gone. Results go to stdout, everything else to stderr. With
``--json`` stdout holds one JSON document, or nothing if the command failed: errors are one line of text,
``lamina: ...``, either way.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # `typing` would cost a skipped hook more than the rest of its work
if TYPE_CHECKING:
    from collections.abc import Sequence

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_owns_process = False
"""True where Lamina is the program: only then may it change its own process."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the program's name. [default: those of the process]

    Returns
    -------
    int
        The exit code; see the module's first lines.
    """
    global _owns_process
    _owns_process = _owns_process or arguments is None
    if arguments is None:
        _use_utf8()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["hook"] and not {"-h", "--help"} & set(given):
        from lamina.hooks.program import main as answer_hook  # before click, which costs more than a skipped hook

        return answer_hook(given[1:])
    try:
        return _run(given)
    except KeyboardInterrupt:  # also while modules are being imported
        sys.stderr.write("lamina: interrupted\n")
        return 130
    finally:
        if _owns_process:  # leave the memory to the system: a last collection takes longer than an answer
            gc.disable()
            gc.freeze()


def _use_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale knows ASCII alone.

    Else file names and words with other letters arrive as halves of surrogate pairs. Python does so by itself, unless told not to.
    """
    if sys.getfilesystemencoding() == "ascii" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def use_one_thread() -> None:
    """Keep NumPy's BLAS from starting threads, unless the user has set their number.

    They would spin for 30 ms. Works only before NumPy is imported, and only in a process of Lamina's own.
    """
    if _owns_process and "numpy" not in sys.modules and not any(name in os.environ for name in _BLAS_THREADS):
        os.environ[_BLAS_THREADS[0]] = "1"


def _run(given: list[str]) -> int:
    import logging

    import click

    from lamina.cli import command
    from lamina.cli.app import program

    _complete_streams()
    logging.basicConfig(level=logging.WARNING, format="lamina: %(message)s")
    codes: list[int] = []

    def work() -> None:
        code = program().main(given, prog_name="lamina", standalone_mode=False)
        codes.append(code if isinstance(code, int) else command.DONE)

    try:
        failed = command.exit_code(work, debug="--debug" in given)  # help may meet a full disk too
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return failed or codes[0]


def _complete_streams() -> None:
    """Replace missing standard streams, and make the others print any character."""
    # a process may be started with some of them closed
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow console
