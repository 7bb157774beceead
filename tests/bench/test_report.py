from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.history import read
from bench.pictures import curves, draw
from bench.record import FOLDER, PAGES
from bench.report import END, SMALL_END, SMALL_START, START, current, main, newest, render, replaced

MACHINE = {"cpu": "A processor", "cores": 2, "memory_gib": 24, "system": "Linux", "python": "3.11.7", "numpy": "2.4.6"}


def line(
    system: str, ms: float, size: int | None = 10_000, *, date: str = "2026-03-01T10:00:00Z", **more: Any
) -> dict[str, Any]:
    times = {"median": ms / 1e3, "p50": ms / 1e3, "p90": 2 * ms / 1e3, "p99": 3 * ms / 1e3}
    given = {
        "date": date, "commit": "0123456789ab", "bench": "bench/bench_recall.py::bench_hybrid", "param": "x", "group": "Hybrid",
        "system": system, "kind": "latency", "settings": "as set", "size": size, "unit": "ms", "machine": MACHINE,
    }  # fmt: skip
    return given | times | more


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("|")]


def test_a_bench_that_is_gone_has_no_row() -> None:
    there = line("Lamina", 1.0)
    gone = [
        line("a", 1.0, bench="bench/bench_decay.py::bench_blend[x]"),
        line("b", 1.0, bench="bench/bench_recall.py::bench_gone"),
    ]
    assert current([there, *gone]) == [there]


def test_no_history_no_tables() -> None:
    assert render([]) == ""


def test_a_losing_row_stays_and_stands_where_it_belongs() -> None:
    text = render([line("Lamina", 2.0, recall=0.991), line("peer", 1.0, recall=0.95, versions={"peer": "1.2"})])
    assert [row[0] for row in rows(text)[2:]] == ["peer", "**Lamina**"]
    assert rows(text)[2][1] == "1.00 / 2.00 / 3.00 (0.950)"
    assert rows(text)[3][1] == "2.00 / 4.00 / 6.00 (0.991)"
    assert "A processor, 2 cores, 24 GiB, Linux, Python 3.11.7, numpy 2.4.6; 2026-03-01, commit 0123456789ab" in text
    assert "Peers: peer 1.2." in text
    assert (
        "**Hybrid** (ms: p50 / p90 / p99, in brackets recall@10 of the vectors), A processor, 2026-03-01, commit 0123456789ab"
        in text
    )


def test_sizes_are_columns_with_the_growth_between_them() -> None:
    text = render([line("Lamina", 1.0), line("Lamina", 6.5, 100_000), line("small", 0.5)])
    header, _, first, second = rows(text)
    assert header == ["", "10k rows", "100k rows", "growth", "settings"]
    assert first == ["**Lamina**", "1.00 / 2.00 / 3.00", "6.50 / 13.0 / 19.5", "×6.5 for ×10", "as set"]
    assert second == ["small", "0.50 / 1.00 / 1.50", "-", "-", "as set"]


def test_rates_and_values_have_their_own_cells() -> None:
    rate = line("Lamina", 250.0, kind="rate", amount=10_000, unit="rows/s")
    value = line(
        "Lamina", 1.0, None, group="recall@10", kind="value", value=0.785, low=0.7, high=0.85, unit="recall@10"
    )
    text = render([rate, value])
    assert "**Hybrid** (rows/s)" in text
    assert rows(text)[2][1] == "40,000"
    assert rows(text)[5][1] == "0.785 [0.700, 0.850]"


def test_processor_time_stands_beside_wall_time() -> None:
    text = render([line("Lamina", 2.0, cpu=0.0031), line("Lamina", 6.0, 100_000, cpu=0.0099), line("old", 1.0)])
    header, _, first, second = rows(text)
    assert header[-2:] == ["CPU", "settings"]
    assert (first[-2], second[-2]) == ("9.90 ms", "-")
    rate = render([line("Lamina", 250.0, kind="rate", amount=10_000, unit="rows/s", cpu=0.5)])
    assert rows(rate)[2][-2] == "50.0 µs"


def test_the_picture_shows_what_one_call_or_one_row_costs_by_size() -> None:
    one = [line("Lamina", 6.0, 100_000), line("Lamina", 2.0), line("peer", 1.0)]
    assert curves(one) == {"Lamina": [(10_000, 2.0), (100_000, 6.0)], "peer": [(10_000, 1.0)]}
    assert curves([line("Lamina", 250.0, kind="rate", amount=10_000)]) == {"Lamina": [(10_000, 0.025)]}


def test_the_picture_is_drawn_of_what_was_recorded(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs lamina[bench]")
    groups = {"Hybrid recall": [line("Lamina", 2.0), line("Lamina", 6.0, 100_000), line("qdrant-edge", 1.0)]}
    draw(groups, tmp_path / "one.svg")
    draw(groups, tmp_path / "again.svg")
    drawn = (tmp_path / "one.svg").read_text()
    assert drawn == (tmp_path / "again.svg").read_text()
    assert {"Lamina", "qdrant-edge", "100,000"} <= set(re.findall(r">([^<>]+)</text>", drawn))


def test_every_bench_of_the_pages_is_there() -> None:
    assert [name for name in PAGES if not (FOLDER / f"bench_{name}.py").is_file()] == []
    shown = {line["bench"].partition("::")[0] for lines in newest(current(read())).values() for line in lines}
    assert shown <= {f"bench/bench_{name}.py" for name in PAGES}


def test_the_newest_run_of_a_group_counts_with_its_own_peers_alone() -> None:
    old = [line("Lamina", 9.0), line("peer", 1.0), line("Lamina", 5.0, group="Other", date="2026-02-01T00:00:00Z")]
    new = [line("Lamina", 2.0, date="2026-03-02T00:00:00Z")]
    larger = {**line("Lamina", 99.0), "size": 1_000_000}
    got = newest([larger, *old, *new])
    assert got["Hybrid"] == new
    assert [each["median"] for each in got["Other"]] == [0.005]


def test_only_what_is_between_the_marks_is_replaced() -> None:
    assert replaced(f"head\n{START}\nold\n{END}\ntail", "new\n") == f"head\n{START}\nnew\n{END}\ntail"
    for wrong in ("no marks", f"{END}{START}", f"{START}{END}{START}{END}"):
        with pytest.raises(ValueError, match="the page needs"):
            replaced(wrong, "new\n")


def test_check_fails_until_the_pages_show_the_history(tmp_path: Path) -> None:
    page, readme, history = tmp_path / "benchmarks.md", tmp_path / "README.md", tmp_path / "history.jsonl"
    page.write_text(f"# Benchmarks\n{START}\n{END}\n")
    readme.write_text(f"# Lamina\n{SMALL_START}\n{SMALL_END}\n")

    def run(*arguments: str) -> int:
        return main(arguments, page=page, readme=readme, history=history)

    assert run("--check") == 0
    history.write_text(json.dumps(line("Lamina", 1.0, group="Hybrid recall")) + "\n")
    assert run("--check") == 1
    assert run() == 0
    assert run("--check") == 0
    assert "**Lamina**" in page.read_text()
    assert "| Hybrid recall | **Lamina** | 10k | 1.00 ms | A processor |" in readme.read_text()


def test_the_project_s_own_pages_show_its_history() -> None:
    assert main(["--check"]) == 0
