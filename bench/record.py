"""One command for a recorded run: ``python -m bench.record --all``, or ``--only recall,add --sizes 10k,100k``.

Runs the bench files one after the other, each in a process of its own, appends their lines to the history and puts the
tables into the README. Corpora and vaults are shared by way of ``$LAMINA_BENCH_DIR``, else of a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench import history, pictures, report
from bench.conftest import CACHE, TIMED
from bench.machine import busy_cores

FOLDER: Final = Path(__file__).parent
SIZES: Final = "10k,100k"
PAGES: Final[dict[str, str]] = {
    "cold": SIZES, "recall": SIZES, "add": SIZES, "kernels": SIZES, "hierarchy": "6k,20k,50k", "integrations": SIZES, "mcp": SIZES,
}  # fmt: skip
"""Benches whose tables docs/benchmarks.md and the README show, with the rows that they are run at; the cheapest come first, so
that a mistake shows soon. Exact peers of the hierarchy take no more than 20,000 rows."""
QUIET_CORES: Final = 0.3
"""Cores that others may use when a run begins."""


def merged(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return several results of one run as one, with the date of the first.

    Raises
    ------
    ValueError
        When there is none, or they are of different machines or commits.
    """
    if not results:
        raise ValueError("no bench file gave a result; nothing was recorded")
    first = results[0]
    for other in results[1:]:
        same_stamp = other["machine_info"]["stamp"] == first["machine_info"]["stamp"]
        if not same_stamp or other["commit_info"].get("id") != first["commit_info"].get("id"):
            raise ValueError("the results are of different machines or commits; record them one by one")
    return {**first, "benchmarks": [bench for result in results for bench in result["benchmarks"]]}


def compile_kernels() -> None:
    """Compile, into the cache, what a vault compiles on threads behind its first calls.

    After a change of any kernel's file that takes up to two minutes of one core, and would be timed beside the first bench.
    """
    from lamina_engine.embed import bundled
    from lamina_engine.index import wordtable
    from lamina_engine.recall.warming import KERNELS, WALK_KERNELS
    from lamina_engine.redact import search
    from lamina_kernels._jit import warm

    for compiling in (
        warm(KERNELS + WALK_KERNELS), wordtable.begin_compiling(), search.load_kernel(), bundled.begin_compiling(),
    ):  # fmt: skip
        compiling.join()


def run(benches: Mapping[str, str], folder: Path) -> tuple[Path, list[str]]:
    """Run benches at their sizes into ``folder/result.json``; return it, and the names of the files that failed."""
    results, failed = [], []
    for name, sizes in benches.items():
        path = FOLDER / f"bench_{name}.py"
        target = folder / f"{path.stem}.json"
        command = [sys.executable, "-m", "pytest", "-q", str(path), "--benchmark-only", f"--sizes={sizes}"]
        done = subprocess.run(
            [*command, f"--benchmark-json={target}", "--benchmark-quiet"], cwd=FOLDER.parent, check=False
        )
        if done.returncode != 0:
            failed.append(path.name)
        elif target.stat().st_size:  # empty where every bench of the file was skipped
            results.append(history.load(target))
            merged(results)  # a commit made in between shows now, not after an hour
    target = folder / "result.json"
    target.write_text(json.dumps(merged(results)), encoding="utf-8")
    return target, failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__)
    parser.add_argument("--all", action="store_true", help=f"every table of the pages in one run: {', '.join(PAGES)}")
    parser.add_argument(
        "--sizes", help=f"rows, such as 10k,100k,1M; {TIMED} unless given, with --all those of the pages"
    )
    parser.add_argument("--only", metavar="NAME,NAME", help="such as recall,scoring; all files unless given")
    parser.add_argument("--twice", action="store_true", help="run everything again, and say where the two differ")
    parser.add_argument("--show", action="store_true", help="print the tables and record nothing")
    parser.add_argument("--busy", action="store_true", help="record although other programs are running")
    given = parser.parse_args(arguments)
    if not (given.busy or given.show) and (used := busy_cores()) > QUIET_CORES:
        print(
            f"other programs use {used:.1f} cores; wait until it is less than {QUIET_CORES}, or give --busy",
            file=sys.stderr,
        )
        return 2
    if given.all:
        benches = {name: given.sizes or sizes for name, sizes in PAGES.items()}
    else:
        every = [path.stem.removeprefix("bench_") for path in sorted(FOLDER.glob("bench_*.py"))]
        benches = dict.fromkeys(sorted(given.only.split(",")) if given.only else every, given.sizes or TIMED)
    compile_kernels()
    with tempfile.TemporaryDirectory(prefix="lamina-bench-") as scratch:
        os.environ.setdefault(CACHE, str(Path(scratch) / "cache"))
        results, failed = [], list[str]()
        for number in range(2 if given.twice else 1):
            folder = Path(scratch) / f"run-{number}"
            folder.mkdir()
            result, wrong = run(benches, folder)
            results.append(result)
            failed += wrong
        if given.show:
            print(report.render(history.lines_of(*map(history.load, results))))
        else:
            for remark in history.record(*results):
                print(remark)
            report.main([])
            pictures.draw(report.newest(report.current(history.read())))
    for name in dict.fromkeys(failed):
        print(f"{name} failed and was not recorded", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
