from __future__ import annotations

from lamina.cli.filters import merged_where


def test_nothing_is_no_filter() -> None:
    assert merged_where(None, project=(), type=()) is None


def test_one_filter_is_that_filter() -> None:
    assert merged_where({"tags": {"contains": "db"}}) == {"tags": {"contains": "db"}}
    assert merged_where(None, project=("api",)) == {"project": "api"}


def test_several_are_all_wanted_and_values_of_one_field_are_alternatives() -> None:
    ref = {"AND": [{"OR": [{"a": 1}, {"b": 2}]}, {"project": "api"}, {"type": {"in": ["decision", "note"]}}]}
    assert merged_where({"OR": [{"a": 1}, {"b": 2}]}, project=("api",), type=("decision", "note")) == ref
