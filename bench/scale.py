"""Arithmetic and simulation of vaults far larger than those measured: ``python -m bench.scale`` prints the tables.

The model is fitted on the lines that `bench.experiment_cluster` printed, kept in ``cluster.jsonl``. What was not fitted, the
most shards, is predicted and compared. A recall over shards on machines of their own is simulated: each question goes to
every shard, waits there for those before it, and ends with the last answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

LINES: Final = Path(__file__).with_name("cluster.jsonl")
SEGMENT_ROWS: Final = 65_536
LOGS: Final = 2
"""Logs whose segments fill up: chunks and vectors."""
COMMIT_ROWS: Final = 2_048
OBJECTS_A_COMMIT: Final = 3
GB: Final = 1e9

Line = Mapping[str, Any]


class Prices(NamedTuple):
    """Dollars; list prices of a large provider in 2026, an assumption to be replaced."""

    gb_month: float = 0.023
    thousand_puts: float = 0.005
    thousand_gets: float = 0.0004
    core_hour: float = 0.05


class Model(NamedTuple):
    """Costs fitted on measured runs."""

    stored_row: float
    """Bytes on the storage."""
    cached_row: float
    """Bytes of a cache folder, indexes included."""
    memory: tuple[float, float]
    """Bytes of a replica's own: fixed, and by row."""
    cold_s: tuple[float, float]
    """Seconds from nothing to the first answer: fixed, and by row."""
    recall_ms: tuple[float, float, float]
    """Median of a recall: fixed, by row, by shard in one process."""
    spread: float
    """Standard deviation of its logarithm."""
    hop_ms: float
    """A call to a replica and back, without work."""
    apart_ms: float
    """What a recall whose shard is another process's takes longer than in one process."""
    embedded_s: float
    """Rows that a core embeds with MiniLM in a second."""

    def recall(self, rows: float, shards: int = 1) -> float:
        """Return the median of a recall over shards in one process, ms."""
        fixed, row, shard = self.recall_ms
        return fixed + row * rows + shard * (shards - 1)


def read_lines(path: Path = LINES) -> list[Line]:
    """Return the recorded lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{")]


def fit(lines: Iterable[Line]) -> Model:
    """Fit the model by least squares; of runs over shards, those with the most are left out."""
    by = _by_name(lines)
    cold, recalls = by["cold replica"], by["recall"]
    fixed, row = _line_through(recalls, "p50_ms")
    sharded = [line for line in by["recall in shards"] if line["shards"] < most_shards(lines)]
    shard = np.mean(
        [
            _line_through([x for x in sharded if x["rows"] == rows], "p50_ms", "shards")[1]
            for rows in {line["rows"] for line in sharded}
        ]
    )
    return Model(
        stored_row=by["objects"][-1]["bytes_per_row"],
        cached_row=by["cache"][-1]["bytes_per_row"],
        memory=_line_through(by["warm replica"], "own_bytes"),
        cold_s=_line_through(cold, "first_answer_s"),
        recall_ms=(fixed, row, float(shard)),
        spread=float(np.mean([math.log(line["p95_ms"] / line["p50_ms"]) for line in recalls])) / 1.645,
        hop_ms=by["served count"][-1]["p50_ms"],
        apart_ms=next(
            line["p50_ms"] - fixed - row * line["rows"] for line in by["recall over replicas"] if line["shards"] == 1
        ),
        embedded_s=next(line["rows_per_s"] for line in by["reindex with MiniLM"] if line["workers"] == 1),
    )


def most_shards(lines: Iterable[Line]) -> int:
    """Return the number of shards that is predicted, not fitted."""
    return max(int(line["shards"]) for line in _by_name(lines)["recall in shards"])


def simulate(
    model: Model, rows: float, shards: int, rate: float, *, asked: int = 4_000, seed: int = 22
) -> tuple[float, float]:
    """Return p50 and p95 in ms of recalls over shards on machines of their own, at so many questions a second.

    Every shard answers one question after the other; the way to it costs what was measured for one, merging what a shard more
    costs in one process.
    """
    draw = np.random.default_rng(seed)
    arrive = np.cumsum(draw.exponential(1e3 / rate, asked))
    work = model.recall(rows / shards) * np.exp(draw.normal(0.0, model.spread, (asked, shards)))
    ready = np.zeros(shards)
    done = np.empty(asked)
    for i in range(asked):
        ready = np.maximum(ready, arrive[i]) + work[i]
        done[i] = ready.max() - arrive[i]
    total = done + model.apart_ms + model.recall_ms[2] * (shards - 1)
    p50, p95 = np.percentile(total, [50, 95])
    return float(p50), float(p95)


def plan(model: Model, rows: float, shard_rows: float, prices: Prices = Prices()) -> dict[str, str]:  # noqa: B008
    """Return the arithmetic of a vault, each value in words."""
    shards = max(1, round(rows / shard_rows))
    stored, cached = rows * model.stored_row / GB, rows * model.cached_row / GB
    parts = math.ceil(rows / SEGMENT_ROWS) * LOGS
    own = rows * model.memory[1] / GB
    shard_memory = (model.memory[0] + shard_rows * model.memory[1]) / GB
    cold = model.cold_s[0] + shard_rows * model.cold_s[1]
    one = model.recall(rows, shards)
    apart = simulate(model, rows, shards, 5.0)
    core_ms = shards * model.recall(rows / shards)
    hours = rows / model.embedded_s / 3_600
    puts = rows / COMMIT_ROWS * OBJECTS_A_COMMIT
    return {
        "shards": f"{shards:,} of {shard_rows / 1e6:,.0f} million rows",
        "on the storage": f"{stored:,.0f} GB in {parts:,} parts, ${stored * prices.gb_month:,.0f} a month",
        "in caches": f"{cached:,.0f} GB; {cached / shards:,.0f} GB a shard",
        "memory of one process": f"{own:,.0f} GB",
        "memory of a replica of one shard": f"{shard_memory:,.1f} GB",
        "a cold replica of one shard": f"{parts / shards:,.0f} requests, {cold:,.0f} s",
        "a recall in one process, p50": f"{one:,.0f} ms (no request; each replica asks for news once a second)",
        "a recall over machines, p50 / p95, simulated at 5 a second": f"{apart[0]:,.0f} / {apart[1]:,.0f} ms",
        "a million of those recalls": f"{core_ms / 3.6:,.0f} core hours, ${core_ms / 3.6 * prices.core_hour:,.0f}",
        "a reindex with MiniLM": f"{hours:,.0f} core hours, ${hours * prices.core_hour:,.0f}; {hours / 1_000:,.1f} hours on 1,000 cores",
        "its requests": f"{puts:,.0f} writes, ${puts / 1e3 * prices.thousand_puts:,.2f}; "
        f"{parts:,} reads, ${parts / 1e3 * prices.thousand_gets:,.2f}",
    }  # fmt: skip


def tables(lines: Sequence[Line]) -> str:
    """Return the tables of the page, as Markdown."""
    model = fit(lines)
    fixed, row, shard = model.recall_ms
    most = most_shards(lines)
    held = [line for line in _by_name(lines)["recall in shards"] if line["shards"] == most]
    checks = ", ".join(
        f"{line['rows']:,} rows: {model.recall(line['rows'], most):.1f} ms predicted, {line['p50_ms']:.1f} measured"
        for line in held
    )
    small, large = plan(model, 1e8, 2e6), plan(model, 1e9, 2e6)
    rows = [f"| {name} | {small[name]} | {large[name]} |" for name in small]
    return "\n".join(
        [
            f"Fitted: a recall of {fixed:.1f} + {1e6 * row:.1f} · millions of rows + {shard:.1f} · (shards − 1) ms, "
            f"spread {model.spread:.2f}; "
            f"{model.stored_row:,.0f} bytes a row stored, {model.cached_row:,.0f} cached, {model.memory[1]:,.0f} in memory; "
            f"{model.cold_s[1] * 1e6:,.0f} s of a cold replica for a million rows; {model.hop_ms:.1f} ms for a call and back, "
            f"{model.apart_ms:.0f} ms for the rounds to shards of other processes; "
            f"{model.embedded_s:.0f} rows a second and core with MiniLM. Not fitted, {most} shards: {checks}.",
            "",
            "| | 100 million chunks | 1 billion chunks |",
            "|---|---|---|",
            *rows,
        ]
    )


def _by_name(lines: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line["name"], []).append(line)
    return found


def _line_through(lines: Sequence[Line], key: str, by: str = "rows") -> tuple[float, float]:
    slope, start = np.polyfit([line[by] for line in lines], [line[key] for line in lines], 1)
    return float(start), float(slope)


if __name__ == "__main__":
    print(tables(read_lines()))
