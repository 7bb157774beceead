from __future__ import annotations

from typing import Any

import pytest

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.where import (
    FIELDS,
    OPERATORS,
    All,
    Not,
    Predicate,
    Some,
    fields_of,
    is_only_required_terms,
    mentions_field,
    parse_filter,
    required_terms,
)
from lamina_engine.recall.where import compare_values as compare


def test_nothing_is_true_everywhere() -> None:
    assert parse_filter(None) == parse_filter({}) == All(())
    assert parse_filter({"AND": []}) == All(())
    assert parse_filter({"OR": []}) == Some(())


def test_the_grammar() -> None:
    got = parse_filter(
        {
            "project": "api",
            "OR": [{"type": "rule"}, {"owner": {"gt": 3, "lt": 9}}],
            "NOT": [{"title": "*"}, {"metadata.project": None}],
        }
    )
    assert got == All(
        (
            Predicate("project", "eq", "api"),
            Some(
                (
                    Predicate("type", "eq", "rule"),
                    All((Predicate("metadata.owner", "gt", 3), Predicate("metadata.owner", "lt", 9))),
                )
            ),
            Not(Predicate("title", "exists", True)),
            Not(Predicate("metadata.project", "eq", None)),
        )
    )
    assert fields_of(got) == {"project", "type", "metadata.owner", "title", "metadata.project"}
    assert mentions_field(got, "title")
    assert not mentions_field(got, "status")


def test_required_terms_are_those_that_every_match_has() -> None:
    node = parse_filter(
        {
            "project": "api",
            "AND": [{"type": "rule"}],
            "OR": [{"agent": "x"}],
            "session": {"ne": "y"},
            "collection": None,
        }
    )
    assert required_terms(node) == [("project", "api"), ("type", "rule")]
    assert not is_only_required_terms(node)
    assert is_only_required_terms(parse_filter({"project": "api", "type": "rule"}))
    assert not is_only_required_terms(parse_filter({"NOT": {"project": "api"}}))


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (3, "mapping"), ("x", "mapping"), ([], "mapping"), ([{"a": 1}], "mapping"), ({"AND": {"a": 1}}, "list"), ({"OR": "x"}, "list"),
        ({"AND": [3]}, "mapping"), ({"NOT": 3}, "mapping"), ({"NOT": "x"}, "mapping"), ({"project": {}}, "empty"),
        ({"project": {"like": "x"}}, "'like'"), ({"project": {"EQ": "x"}}, "'EQ'"), ({"project": ["a"]}, "'in'"), ({"project": 3}, "text"),
        ({"project": {"in": "abc"}}, "list"), ({"project": {"in": [1]}}, "text"), ({"project": {"exists": 1}}, "true or false"),
        ({"created_at": "soon"}, "created_at"), ({"created_at": {"in": ["2026-01-01", "soon"]}}, "soon"), ({"recorded_at": {"gt": True}}, "recorded_at"),
        ({"success": 1}, "true or false"), ({"pinned": "yes"}, "true or false"), ({"status": "gone"}, "superseded"),
        ({"ordinal": "1"}, "number"), ({"ordinal": True}, "number"), ({"tags": {"contains": 5}}, "text"), ({"id": 5}, "text"),
        ({"owner": {"eq": [1]}}, "one value"), ({"owner": {"eq": {"a": 1}}}, "one value"), ({"owner": {"eq": {1}}}, "one value"),
        ({"title": "\ud800"}, "surrogate"), ({"owner": {"in": ["\ud800"]}}, "surrogate"),
    ],
)  # fmt: skip
def test_what_is_no_filter_is_refused(where: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        parse_filter(where)


@pytest.mark.parametrize("key", ["AND", "OR", "NOT"])
def test_nesting_has_a_limit_and_no_recursion_error(key: str) -> None:
    def nested(levels: int) -> dict[str, Any]:
        where: dict[str, Any] = {"type": "rule"}
        for _ in range(levels):
            where = {key: where if key == "NOT" else [where]}
        return where

    assert mentions_field(parse_filter(nested(32)), "type")
    for levels in (33, 5000):
        with pytest.raises(InvalidArgument, match="32 levels"):
            parse_filter(nested(levels))


def test_dates_are_read_in_the_zone_given() -> None:
    got = parse_filter({"created_at": {"in": ["2026-01-01", None]}}, "Europe/Berlin")
    assert got == Predicate("created_at", "in", (parse_instant("2025-12-31T23:00:00Z"), None))


@pytest.mark.parametrize(
    ("operator", "have", "want", "ref"),
    [
        ("eq", None, None, True), ("eq", "a", None, False), ("ne", None, "a", True), ("ne", "a", "a", False), ("ne", None, None, False),
        ("eq", True, 1, False), ("eq", 1, True, False), ("eq", 1, 1.0, True), ("eq", False, False, True),
        ("gt", None, 1, False), ("lte", 1, None, False), ("gt", "b", "a", True), ("gt", "b", 1, False), ("gte", 2, 2, True), ("lt", 2, 2, False),
        ("in", "a", ("a", "b"), True), ("in", None, ("a",), False), ("in", None, (None,), True), ("in", "a", (), False), ("in", 1, (True,), False),
        ("contains", "PostgreSQL", "gres", True), ("contains", "STRASSE", "straße", True), ("contains", "abc", 1, False),
        ("contains", ["a", "b"], "a", True), ("contains", ["ab"], "a", False), ("contains", [1], True, False), ("contains", None, "a", False), ("contains", 7, 7, False),
        ("exists", None, True, False), ("exists", None, False, True), ("exists", 0, True, True), ("exists", False, True, True),
        ("eq", ["a", "b"], "b", True), ("ne", ["a", "b"], "b", False), ("eq", ["a"], None, False), ("in", ["a", "b"], ("x", "b"), True), ("gt", ["a"], "A", False),
    ],
)  # fmt: skip
def test_one_comparison(operator: str, have: Any, want: Any, ref: bool) -> None:
    assert compare(operator, have, want) is ref


def test_the_lists_of_names_are_whole() -> None:
    assert OPERATORS == ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists")
    assert {
        "project",
        "type",
        "collection",
        "session",
        "agent",
        "created_at",
        "recorded_at",
        "id",
        "source",
        "title",
        "tags",
        "status",
    } <= set(FIELDS)
