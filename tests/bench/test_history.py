from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import history
from bench.record import merged


def result(
    median: float = 0.001, *, date: str = "2026-03-01T10:00:00.5+00:00", cores: int = 2, **note: Any
) -> dict[str, Any]:
    """What pytest-benchmark writes, cut down to what is read."""
    extra = {"group": "Hybrid recall", "system": "Lamina", "kind": "latency", "settings": "s", "size": 10_000, **note}
    extra |= {"p50": median, "p90": 2 * median, "p99": 3 * median}
    bench = {
        "fullname": "bench/bench_recall.py::bench_hybrid[10k-Lamina]",
        "param": "10k-Lamina",
        "stats": {"median": median, "min": median / 2, "rounds": 600},
        "extra_info": extra,
    }
    return {
        "datetime": date,
        "commit_info": {"id": "0123456789abcdef", "dirty": False},
        "machine_info": {"node": "secret-host", "stamp": {"cpu": "c", "cores": cores}},
        "benchmarks": [bench],
    }


def write(folder: Path, *results: dict[str, Any]) -> list[Path]:
    paths = [folder / f"{i}.json" for i in range(len(results))]
    for path, each in zip(paths, results, strict=True):
        path.write_text(json.dumps(each))
    return paths


def test_a_result_becomes_a_line_with_everything_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    assert history.read(file) == []
    assert history.record(*write(tmp_path, result(recall=0.99)), history=file) == []
    (line,) = history.read(file)
    assert line["bench"] == "bench/bench_recall.py::bench_hybrid"
    assert (line["param"], line["date"], line["commit"]) == ("10k-Lamina", "2026-03-01T10:00:00Z", "0123456789ab")
    assert (line["median"], line["min"], line["p90"], line["p99"], line["rounds"]) == (0.001, 0.0005, 0.002, 0.003, 600)
    assert (line["recall"], line["machine"]) == (0.99, {"cpu": "c", "cores": 2})
    assert "secret-host" not in file.read_text()


def test_lines_are_appended_and_an_unclean_tree_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    dirty = result()
    dirty["commit_info"]["dirty"] = True
    for path in write(tmp_path, result(), dirty):
        history.record(path, history=file)
    assert [line["commit"] for line in history.read(file)] == ["0123456789ab", "0123456789ab+"]


def test_two_runs_that_differ_are_told(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    assert history.record(*write(tmp_path, result(0.00100), result(0.00104)), history=file) == []
    (remark,) = history.record(*write(tmp_path, result(0.00100), result(0.00110)), history=file)
    assert "two runs differ by 10%" in remark
    assert [round(line["spread"], 2) for line in history.read(file)] == [0.04, 0.1]


@pytest.mark.parametrize(("median", "cores", "told"), [(0.00114, 2, False), (0.00117, 2, True), (0.00117, 4, False)])
def test_a_slower_bench_is_told_where_the_stamp_is_equal(tmp_path: Path, median: float, cores: int, told: bool) -> None:
    file = tmp_path / "history.jsonl"
    first, second = write(tmp_path, result(0.001), result(median, cores=cores))
    history.record(first, history=file)
    assert any("slower than on 2026-03-01" in remark for remark in history.record(second, history=file)) is told


def test_results_of_one_run_are_merged_and_others_refused() -> None:
    got = merged([result(0.001), result(0.002, date="2026-03-01T11:00:00+00:00")])
    assert [bench["stats"]["median"] for bench in got["benchmarks"]] == [0.001, 0.002]
    assert got["datetime"].startswith("2026-03-01T10")
    with pytest.raises(ValueError, match="different machines"):
        merged([result(), result(cores=4)])
    with pytest.raises(ValueError, match="nothing was recorded"):
        merged([])
