"""The recorded runs, one line a bench: ``python -m bench.history record RESULT.json [SECOND.json]``.

RESULT.json is what ``pytest bench --benchmark-only --benchmark-json=RESULT.json`` writes. A second run of the same says
how far two runs differ; lines are only ever compared with lines of an equal machine stamp.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

HISTORY: Final = Path(__file__).parent / "history.jsonl"
AGREEING: Final = 0.05
"""Two runs that differ by more were not made on a quiet machine."""
SLOWER: Final = 0.15
"""A bench that is slower by more than the last one of an equal stamp needs a fix or a decision record."""

Line = dict[str, Any]


def read(history: Path = HISTORY) -> list[Line]:
    """Return all lines, oldest first."""
    if not history.exists():
        return []
    return [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines() if line]


def load(result: Path) -> dict[str, Any]:
    """Return what pytest-benchmark wrote."""
    loaded: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return loaded


def lines_of(result: dict[str, Any], second: dict[str, Any] | None = None) -> list[Line]:
    """Return a line for each bench of a pytest-benchmark result; times are in seconds.

    With a second result each line gets ``spread``, the relative difference of the two medians.
    """
    commit = result["commit_info"]
    again = {bench["fullname"]: bench["stats"]["median"] for bench in (second or {"benchmarks": []})["benchmarks"]}
    made: list[Line] = []
    for bench in result["benchmarks"]:
        stats, note = bench["stats"], bench["extra_info"]
        line = {
            "date": result["datetime"][:19] + "Z",
            "commit": str(commit.get("id"))[:12] + ("+" if commit.get("dirty") else ""),
            "bench": bench["fullname"].partition("[")[0],
            "param": bench["param"],
            "time_unit": "s",
            "median": stats["median"],
            "min": stats["min"],
            "rounds": stats["rounds"],
            **note,
            "machine": result["machine_info"]["stamp"],
        }
        if bench["fullname"] in again:
            line["spread"] = abs(again[bench["fullname"]] / stats["median"] - 1.0)
        made.append(line)
    return made


def remarks(new: Iterable[Line], old: Sequence[Line]) -> list[str]:
    """Return what is worth a look: runs that do not agree, and benches slower than the last of an equal stamp."""
    found = []
    for line in new:
        name = _name(line)
        if line.get("spread", 0.0) > AGREEING:
            found.append(f"{name}: two runs differ by {line['spread']:.0%}")
        before = [o for o in old if _name(o) == name and o["machine"] == line["machine"] and o["kind"] != "value"]
        if before and line["median"] > before[-1]["median"] * (1.0 + SLOWER):
            slower = line["median"] / before[-1]["median"] - 1.0
            found.append(f"{name}: {slower:.0%} slower than on {before[-1]['date']} ({before[-1]['commit']})")
    return found


def record(result: Path, second: Path | None = None, *, history: Path = HISTORY) -> list[str]:
    """Append a result's lines to the history; return `remarks` on them."""
    new, old = lines_of(*(load(path) for path in (result, second) if path is not None)), read(history)
    with history.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in new)
    return remarks(new, old)


def _name(line: Line) -> str:
    return f"{line['bench']}[{line['param']}]" if line["param"] else str(line["bench"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("record", help="append the lines of a result")
    command.add_argument("result", type=Path)
    command.add_argument("second", type=Path, nargs="?", help="a second run of the same benches")
    given = parser.parse_args(arguments)
    for remark in record(given.result, given.second):
        print(remark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
