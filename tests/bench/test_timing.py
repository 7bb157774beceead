from __future__ import annotations

import pytest

from bench.timing import parse_size, percentiles, size_name


@pytest.mark.parametrize(("text", "size"), [("10k", 10_000), ("100K", 100_000), ("1M", 1_000_000), ("2500", 2_500)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(size_name(size)) == size


@pytest.mark.parametrize("text", ["", "k", "ten", "10", "999", "-1k", "1.5M", "10g"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_size(text)


def test_percentiles_are_values_by_nearest_rank() -> None:
    assert percentiles([float(i) for i in range(1, 101)]) == {"p50": 50.0, "p90": 90.0, "p99": 99.0}
    assert percentiles([3.0]) == {"p50": 3.0, "p90": 3.0, "p99": 3.0}
    assert percentiles([1.0, 2.0]) == {"p50": 1.0, "p90": 2.0, "p99": 2.0}
