from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.request import MAX_QUERY_CHARS, Request, make_request
from lamina_kernels.distances import unit_rows

CLOCK_US = parse_instant("2026-03-01")


def request(text: Any = "q", **options: Any) -> Request:
    return make_request(text, BUILT_IN["default@2"], now_us=CLOCK_US, **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k=0"), ({"k": 10_001}, "k=10001"), ({"k": True}, "k=True"), ({"k": 1.5}, "k=1.5"),
        ({"token_budget": 0}, "token_budget"), ({"token_budget": True}, "token_budget"), ({"token_budget": 9.5}, "token_budget"),
        ({"tz": "Mars"}, "tz="), ({"tz": 3}, "tz="), ({"since": "soon"}, "since="), ({"until": "soon"}, "until="),
        ({"as_of": "soon"}, "as_of="), ({"now": "soon"}, "now="),
        ({"since": "2026-01-02", "until": "2026-01-02"}, "half-open"), ({"since": "2026-01-02", "until": "2026-01-01"}, "half-open"),
        ({"lanes": ()}, "lanes="), ({"lanes": ("fuzzy",)}, "fuzzy"), ({"lanes": "lexical"}, "lanes="),
        ({"where": []}, "where must be"), ({"where": "x"}, "where must be"),
        ({"vector": [1.0]}, "no vectors"), ({"vector": [1.0], "dim": 2}, "dimension 2"), ({"vector": "xy", "dim": 2}, "numbers"),
        ({"vector": [float("nan"), 1], "dim": 2}, "NaN"), ({"vector": np.array([math.inf, 0]), "dim": 2}, "infinity"),
        ({"vector": np.ones(2) + 1j, "dim": 2}, "real numbers"),
        ({"vector": [[1.0, 0.0]], "dim": 2}, "shape"),
    ],
)  # fmt: skip
def test_an_argument_that_cannot_be_used_is_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        request(**options)


def test_a_query_that_is_no_text_is_refused_and_a_long_one_is_cut() -> None:
    with pytest.raises(InvalidArgument, match="NoneType"):
        request(None)
    assert len(request("x" * (MAX_QUERY_CHARS + 5)).text) == MAX_QUERY_CHARS


def test_ages_are_counted_to_now_else_to_the_past_asked_for_else_to_the_clock() -> None:
    assert request().now_us == CLOCK_US
    assert request(as_of="2020-01-01").now_us == parse_instant("2020-01-01")
    assert request(as_of="2020-01-01", now="2021-01-01").now_us == parse_instant("2021-01-01")


def test_naive_dates_are_read_in_the_zone_of_the_call() -> None:
    got = request(
        since="2026-01-01", until="2026-01-02T00:00:00Z", tz="Asia/Tokyo", where={"created_at": {"gte": "2026-01-01"}}
    )
    assert got.since_us == parse_instant("2025-12-31T15:00:00Z")
    assert got.until_us == parse_instant("2026-01-02T00:00:00Z")
    assert getattr(got.where, "value") == got.since_us  # noqa: B009 - a predicate


@pytest.mark.parametrize("compiled", [True, False])
def test_a_vector_is_scaled_alike_before_and_after_the_kernel_is_compiled(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    unit_rows.warm()
    if not compiled:
        monkeypatch.setattr("lamina_engine.recall.request.unit_rows", SimpleNamespace(ready=False))
    given = np.random.default_rng(1).standard_normal((300, 2)).astype(np.float32)[:, 0]  # with gaps in memory
    got, ref = request(vector=given, dim=300).vector, np.empty((1, 300), np.float32)
    unit_rows(np.ascontiguousarray(given)[np.newaxis], ref)
    assert got is not None
    np.testing.assert_array_equal(got, ref[0])
    with pytest.raises(InvalidArgument, match="NaN"):
        request(vector=np.where(np.arange(300) == 7, np.nan, given).astype(np.float32), dim=300)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1.0, 2.0**-140])
def test_vectors_of_any_length_are_scaled_alike(scale: float) -> None:
    got, ref = request(vector=np.array([3.0, 4.0]) * scale, dim=2).vector, request(vector=[3.0, 4.0], dim=2).vector
    assert got is not None
    assert ref is not None
    assert got.tolist() == pytest.approx(ref.tolist(), abs=1e-7)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert request(k=np.int64(3), offset=np.int32(2)).k == 5


def test_vectors_are_scaled_and_lanes_put_in_order() -> None:
    got = request(vector=[3.0, 4.0], dim=2, lanes=["vector", "lexical", "vector"])
    assert got.vector is not None
    assert got.vector.tolist() == pytest.approx([0.6, 0.8])
    assert got.lanes == ("lexical", "vector")
    zero = request(vector=[0, 0], dim=2).vector
    assert zero is not None
    assert not zero.any()
