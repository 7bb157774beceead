"""The model of large vaults: it finds what it was made of, and the page has what it prints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from bench import scale

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "beyond-one-machine.md"


def lines() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for rows in (10_000, 100_000):
        found += [
            {"name": "objects", "rows": rows, "bytes_per_row": 2_000.0},
            {"name": "cache", "rows": rows, "bytes_per_row": 3_000.0},
            {"name": "cold replica", "rows": rows, "first_answer_s": 1.0 + 1e-5 * rows},
            {"name": "warm replica", "rows": rows, "own_bytes": 1e8 + 500.0 * rows},
            {
                "name": "recall",
                "rows": rows,
                "p50_ms": 3 + 1e-5 * rows,
                "p95_ms": (3 + 1e-5 * rows) * math.exp(1.645 * 0.2),
            },
            *({"name": "recall in shards", "rows": rows, "shards": n, "p50_ms": 3 + 0.5 * (n - 1)} for n in (1, 4, 16)),
        ]
    found.append({"name": "served count", "rows": rows, "p50_ms": 10.0})
    found.append({"name": "recall over replicas", "rows": rows, "shards": 1, "p50_ms": 84.0})
    found.append({"name": "recall over replicas", "rows": rows, "shards": 4, "p50_ms": 200.0})
    found.append({"name": "reindex with MiniLM", "rows": 1_000, "workers": 1, "rows_per_s": 30.0})
    return found


def test_the_fit_finds_the_model_that_made_the_lines() -> None:
    model = scale.fit(lines())
    assert model.recall_ms == pytest.approx((3.0, 1e-5, 0.5))
    assert model.memory == pytest.approx((1e8, 500.0))
    assert model.cold_s == pytest.approx((1.0, 1e-5))
    assert model.spread == pytest.approx(0.2)
    assert model.apart_ms == pytest.approx(80.0)
    assert model.recall(1e6, 16) == pytest.approx(3 + 10 + 7.5)


def test_the_simulation_waits_for_the_slowest_shard_and_for_those_before() -> None:
    model = scale.fit(lines())._replace(spread=0.0, apart_ms=0.0, recall_ms=(10.0, 0.0, 0.0))
    assert scale.simulate(model, 1e6, 4, 0.001) == pytest.approx((10.0, 10.0))
    assert scale.simulate(model, 1e6, 4, 90.0)[1] > 20.0  # nine tenths busy: most wait
    spread = model._replace(spread=0.3)
    one, many = (scale.simulate(spread, 1e6, shards, 0.001)[0] for shards in (1, 64))
    assert many > one * 1.5


def test_the_page_has_what_the_model_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("<!-- scale:start -->\n")[2].partition("\n<!-- scale:end -->")[0]
    assert shown == scale.tables(scale.read_lines())
