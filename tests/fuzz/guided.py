"""Fuzzing guided by coverage: ``python -m tests.fuzz.guided vault.toml --minutes 60``, where atheris is installed.

Atheris keeps a changed input that reaches code which none before it reached, and changes it further. A find is left in
``tests/fuzz/seeds`` and ends the run.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> int:
    """Change inputs of one format until the time or their number is used up."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target", help="a format, as `tests.fuzz.inputs` names it")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, default=-1, help="at most so many")
    given = parser.parse_args()
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print("atheris is not installed; pip install atheris, on Linux or macOS", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lamina-guided-") as folder:
        child = os.fork()  # atheris ends its process, and would leave the folder
        if child == 0:
            limits = [f"-max_total_time={given.minutes * 60:.0f}", f"-runs={given.cases}"]
            _fuzz(atheris, given.target, limits, Path(folder))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _fuzz(atheris: Any, target: str, limits: list[str], folder: Path) -> None:
    root, corpus = folder / "vault", folder / "corpus"
    with atheris.instrument_imports(include=["lamina", "lamina_engine"]):
        from tests.fuzz.inputs import Drawn, check_batch, draw_example, keep_seed, kept_seeds
        from tests.fuzz.sandbox import run_case

        example = draw_example(target)
        check_batch([example], root)  # what is loaded late is watched too
    corpus.mkdir()
    for i, drawn in enumerate([example, *(seed for seed in kept_seeds() if seed.target == target)]):
        (corpus / f"{i}").write_bytes(drawn.content)

    def act(content: bytes) -> None:
        drawn = Drawn(target, content)
        outcome = run_case(lambda batch: check_batch(batch, root), [drawn])
        if outcome.is_find:
            keep_seed(drawn)
            raise AssertionError(outcome.detail)

    bounds = ["-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *limits, *bounds, str(corpus)], act)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
