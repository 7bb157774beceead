"""Tables of the newest recorded run of each bench, in docs/benchmarks.md and the README: ``python -m bench.report [--check]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.history import HISTORY, Line, read
from bench.machine import sentence
from bench.timing import size_name

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "benchmarks.md"
README: Final = ROOT / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"
SMALL_START, SMALL_END = "<!-- numbers:start -->", "<!-- numbers:end -->"
SMALL: Final = (
    ("Hybrid recall", "Lamina"),
    ("Hybrid recall", "LanceDB"),
    ("Hybrid recall", "qdrant-edge"),
    ("Hybrid recall", "hand-written, stop words dropped"),
    ("Adding one memory", "Lamina, durable"),
    ("Adding a table with vectors", "Lamina"),
    ("Fresh process", "lamina recall"),
    ("HDBSCAN of sentence embeddings, 256-d", "Lamina, exact"),
    ("HDBSCAN of sentence embeddings, 256-d", "scikit-learn brute"),
)
"""Rows of the README's own table: by group, the systems shown."""
ORDER: Final = ("recall", "quality", "add", "cold", "embed", "ingest", "scoring", "kernels")
"""Benches by file, as the page shows them; others follow."""


def current(history: Sequence[Line]) -> list[Line]:
    """Return the lines of benches that are still there: what no longer exists has no row."""
    sources = {name: (ROOT / name) for name in {line["bench"].partition("::")[0] for line in history}}
    texts = {name: path.read_text(encoding="utf-8") if path.is_file() else "" for name, path in sources.items()}

    def is_there(bench: str) -> bool:
        file, _, function = bench.partition("[")[0].partition("::")
        return f"def {function}(" in texts[file]

    return [line for line in history if is_there(line["bench"])]


def newest(history: Sequence[Line]) -> dict[str, list[Line]]:
    """Return by group the lines of its newest run, all systems and sizes of it: what is compared is of one commit and machine."""
    last = {line["group"]: line["date"] for line in history}
    groups: dict[str, list[Line]] = {}
    for line in history:
        if last[line["group"]] == line["date"]:
            groups.setdefault(line["group"], []).append(line)
    return dict(sorted(groups.items(), key=lambda item: _place(item[1][0])))


def render(history: Sequence[Line]) -> str:
    """Return the tables as Markdown; nothing for an empty history."""
    groups = newest(history)
    if not groups:
        return ""
    lines = [line for group in groups.values() for line in group]
    runs: dict[str, dict[str, None]] = {}
    for line in lines:
        runs.setdefault(sentence(line["machine"]), {})[f"{line['date'][:10]}, commit {line['commit']}"] = None
    versions = {name: version for line in lines for name, version in line.get("versions", {}).items()}
    parts = [f"Measured on {machine}; {'; '.join(dates)}." for machine, dates in runs.items()]
    if versions:
        parts.append("Peers: " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + ".")
    return "\n\n".join([*parts, *(_table(group, rows) for group, rows in groups.items())]) + "\n"


def _table(group: str, lines: list[Line]) -> str:
    sizes = sorted({line["size"] for line in lines if line["size"]})
    columns: list[int | None] = [*sizes] or [None]
    if sizes and any(line["size"] is None for line in lines):
        columns = [None, *sizes]
    systems: dict[str, dict[int | None, Line]] = {}
    for line in lines:
        systems.setdefault(line["system"], {})[line["size"]] = line
    grows = len(sizes) > 1
    weighed = any("cpu" in line for line in lines)
    header = [
        "", *(f"{size_name(size)} rows" if size else "" for size in columns), *["growth"] * grows, *["CPU"] * weighed,
        "settings",
    ]  # fmt: skip
    rows = []
    for system, cells in sorted(systems.items(), key=lambda item: _rank(item[1])):
        name = f"**{system}**" if system.lower().startswith("lamina") else system
        growth = [_growth([cells[size] for size in sizes if size in cells])] * grows
        settings = next(iter(cells.values()))["settings"]
        cpu = [_processor_time([cells[size] for size in columns if size in cells][-1])] * weighed
        rows.append([name, *(_cell(cells.get(size)) for size in columns), *growth, *cpu, settings])
    table = [header, ["---"] * len(header), *rows]
    return "\n".join(
        [f"**{group}** ({_measure(lines)}), {_origin(lines)}", "", *("| " + " | ".join(row) + " |" for row in table)]
    )


def _origin(lines: list[Line]) -> str:
    """Processor, date and commit of the runs that a table shows: tables of one page may be of several hosts."""
    runs = dict.fromkeys(f"{line['machine']['cpu']}, {line['date'][:10]}, commit {line['commit']}" for line in lines)
    return "; ".join(runs)


def _measure(lines: list[Line]) -> str:
    line = lines[0]
    if line["kind"] != "latency":
        return str(line["unit"])
    beside = ", in brackets recall@10 of the vectors" if any("recall" in each for each in lines) else ""
    return f"ms: p50 / p90 / p99{beside}"


def _cell(line: Line | None) -> str:
    if line is None:
        return "-"
    if line["kind"] == "latency":
        cell = " / ".join(_number(line[p] * 1e3) for p in ("p50", "p90", "p99"))
        return f"{cell} ({line['recall']:.3f})" if "recall" in line else cell
    if line["kind"] == "value":
        return f"{line['value']:.3f} [{line['low']:.3f}, {line['high']:.3f}]"
    return _number(line["amount"] / line["median"])


def _growth(lines: list[Line]) -> str:
    """Time (or the time of one item) at the largest size over that at the smallest, and how many times larger it is."""
    if len(lines) < 2:
        return "-"
    first, last = lines[0], lines[-1]
    times = last["median"] / first["median"]
    if last["kind"] == "rate":
        times *= first["amount"] / last["amount"]
        return f"×{times:.2g} a row"
    return f"×{times:.2g} for ×{last['size'] // first['size']}"


def _processor_time(line: Line) -> str:
    """Processor time of one call, or of one item of a rate, over all threads and child processes."""
    if "cpu" not in line:
        return "-"
    seconds = line["cpu"] / line["amount"] if line["kind"] == "rate" else line["cpu"]
    unit, scale = ("ms", 1e3) if seconds >= 1e-4 else ("µs", 1e6)
    return f"{_number(seconds * scale)} {unit}"


def _rank(cells: dict[int | None, Line]) -> tuple[int, float]:
    """Best first at the largest size; a system that was left out there comes last."""
    largest = max(cells, key=lambda size: size or 0)
    line = cells[largest]
    by = {"latency": line["median"], "rate": line["median"] / line.get("amount", 1.0), "value": -line.get("value", 0.0)}
    return -(largest or 0), by[line["kind"]]


def _place(line: Line) -> tuple[int, str]:
    name = Path(line["bench"].partition("::")[0]).stem.removeprefix("bench_")
    return (ORDER.index(name), "") if name in ORDER else (len(ORDER), name)


def _number(value: float) -> str:
    """Three significant digits, thousands with commas."""
    if value >= 100:
        return f"{value:,.0f}" if value < 1000 else f"{round(value, -len(str(int(value))) + 3):,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def render_small(history: Sequence[Line]) -> str:
    """Return the README's table: one median for each row of `SMALL`, at the largest size that was recorded."""
    groups = newest(history)
    rows = []
    for group, system in SMALL:
        lines = [line for line in groups.get(group, ()) if line["system"] == system]
        if lines:
            line = max(lines, key=lambda each: each["size"] or 0)
            cell = f"{_number(line['p50'] * 1e3)} ms" if line["kind"] == "latency" else f"{_cell(line)} {line['unit']}"
            name = f"**{system}**" if system.lower().startswith("lamina") else system
            size, host = size_name(line["size"]) if line["size"] else "-", line["machine"]["cpu"]
            rows.append(f"| {group} | {name} | {size} | {cell} | {host} |")
    return "\n".join(["| | | rows | median | processor |", "|---|---|---|---|---|", *rows]) + "\n" if rows else ""


def replaced(page: str, tables: str, start: str = START, end: str = END) -> str:
    """Return the page with the tables between its marks.

    Raises
    ------
    ValueError
        When the marks are not there once each, in order.
    """
    if page.count(start) != 1 or page.count(end) != 1 or page.index(start) > page.index(end):
        raise ValueError(f"the page needs {start} and, below it, {end}, once each")
    head, _, rest = page.partition(start)
    return f"{head}{start}\n{tables}{end}{rest.partition(end)[2]}"


def main(
    arguments: Iterable[str] | None = None, *, page: Path = PAGE, readme: Path = README, history: Path = HISTORY
) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a page is not up to date")
    given = parser.parse_args(None if arguments is None else list(arguments))
    lines = current(read(history))
    old = {page: page.read_text(encoding="utf-8"), readme: readme.read_text(encoding="utf-8")}
    new = {
        page: replaced(old[page], render(lines)),
        readme: replaced(old[readme], render_small(lines), SMALL_START, SMALL_END),
    }
    stale = [path for path in new if new[path] != old[path]]
    if given.check and stale:
        names = ", ".join(path.name for path in stale)
        print(f"{names}: not the newest recorded run; run: python -m bench.report", file=sys.stderr)
        return 1
    if not given.check:
        for path in stale:
            path.write_text(new[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
