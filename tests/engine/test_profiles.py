from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.profiles import BUILT_IN, TYPE_HALF_LIFE_DAYS, Decay, Profiles, parse_type_half_lives
from lamina_engine.recall.score import half_life_days


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        (" foo : 7 , bar:14, ", {"foo": 7.0, "bar": 14.0}),
        ("a:1,a:2", {"a": 2.0}),
        (",", {}),
        ("", {}),
        (" , ,", {}),
        ("x:100000000", {"x": 1e8}),
        ("x:007", {"x": 7.0}),
    ],
)
def test_overrides_that_are_read(text: str, ref: dict[str, float]) -> None:
    assert parse_type_half_lives(text) == ref


@pytest.mark.parametrize(
    "piece",
    [
        "foo",
        "foo:abc",
        "foo:0",
        "foo:00",
        "foo:-1",
        "foo:+1",
        "foo:1.5",
        ":7",
        "foo:",
        "a:b:7",
        "a:7:",
        "foo:١",
        "foo:²",
        "foo:1 2",
        "x:" + "9" * 5000,
    ],
)
def test_one_bad_override_refuses_all_and_is_named(piece: str) -> None:
    with pytest.raises(InvalidConfig) as error:
        parse_type_half_lives(f"good:7, {piece} ,more:8")
    assert repr(piece) in str(error.value)


def test_overrides_change_the_types_they_name_in_every_profile_with_a_map() -> None:
    # findings, seeds-b row 7: the example of the source took CI results from 7 days to 21
    got = Profiles({"mine": {"base": "default", "decay": {"semantic_weight": 0.5}}}, {"guideline": 30.0, "new": 3.0})
    for name in ("temporal", "temporal@1", "default", "mine"):
        assert got.get(name).decay.type_half_life_days == {**TYPE_HALF_LIFE_DAYS, "guideline": 30.0, "new": 3.0}
    assert got.get("task").decay.type_half_life_days == {}
    assert Profiles(None, {}).get("temporal").decay.type_half_life_days == {}
    assert Profiles().get("temporal").decay.type_half_life_days == TYPE_HALF_LIFE_DAYS


@pytest.mark.parametrize(
    ("type_", "collection", "ref"),
    [
        ("github_commit", "discussions", 14),
        ("unheard of", "code-patterns", 14),
        ("unheard of", "conventions", 60),
        ("unheard of", "discussions", 21),
        ("unheard of", "github", 14),
        ("unheard of", "jira-data", 30),
        ("unheard of", "unheard of", 21),
        (None, None, 21),
        (None, "conventions", 60),
        ("agent_handoff", "code-patterns", 180),
        ("architecture_decision", None, 90),
    ],
)
def test_half_life_is_of_the_type_else_of_the_collection_else_general(
    type_: str | None, collection: str | None, ref: float
) -> None:
    assert half_life_days(BUILT_IN["temporal@1"].decay, type_, collection) == ref


def test_fourteen_types_and_five_collections_have_a_half_life() -> None:
    decay = Decay()
    assert (len(decay.type_half_life_days), len(decay.collection_half_life_days)) == (
        14,
        5,
    )  # the thirteen of the source system, and decision
    assert decay.type_half_life_days["decision"] == decay.type_half_life_days["architecture_decision"]


def test_a_derived_map_gains_entries_and_the_rest_is_replaced() -> None:
    got = Profiles(
        {"mine": {"base": "temporal@1", "decay": {"type_half_life_days": {"decision": 365, "rule": 1}}, "depth": 7}}
    ).get("mine")
    assert got.id == "mine@1"
    assert got.decay.type_half_life_days == {**TYPE_HALF_LIFE_DAYS, "decision": 365, "rule": 1}
    assert (got.decay.semantic_weight, got.depth) == (0.7, 7)
    assert BUILT_IN["temporal@1"].decay.type_half_life_days == TYPE_HALF_LIFE_DAYS  # the base is as it was


def test_a_profile_may_derive_from_a_derived_one() -> None:
    got = Profiles({"a": {"base": "temporal", "spread": 0.1}, "b": {"base": "a", "depth": 9}}).get("b@1")
    assert (got.spread, got.depth, got.decay.semantic_weight) == (0.1, 9, 0.5)


@pytest.mark.parametrize(
    ("name", "table", "says"),
    [
        ("mine", {}, "needs base"),
        ("mine", 3, "needs base"),
        ("mine", {"base": 3}, "needs base"),
        ("mine", {"base": "nowhere"}, "nowhere"),
        ("mine", {"base": "default", "detph": 3}, "detph"),
        ("mine", {"base": "default", "decay": {"weight": 1}}, "weight"),
        ("mine", {"base": "default", "decay": {"semantic_weight": 1.1}}, "semantic_weight"),
        ("mine", {"base": "default", "decay": {"semantic_weight": float("nan")}}, "semantic_weight"),
        ("mine", {"base": "default", "decay": {"half_life_days": 0}}, "half_life_days"),
        ("mine", {"base": "default", "decay": {"half_life_days": float("inf")}}, "half_life_days"),
        ("mine", {"base": "default", "decay": {"type_half_life_days": {"a": -1}}}, "type_half_life_days"),
        ("mine", {"base": "default", "decay": {"missing_created_at": "long ago"}}, "long ago"),
        ("mine", {"base": "default", "decay": 3}, "decay"),
        ("mine", {"base": "default", "depth": 0}, "depth"),
        ("mine", {"base": "default", "fusion": "sum"}, "fusion"),
        ("mine", {"base": "default", "id": "x@1"}, "sets id"),
        ("temporal", {"base": "default"}, "built-in"),
        ("temporal@2", {"base": "default"}, "name"),
        ("", {"base": "default"}, "name"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused(name: str, table: Any, says: str) -> None:
    with pytest.raises(InvalidConfig, match=says):
        Profiles({name: table})


def test_profiles_are_found_by_name_and_by_id_and_are_frozen() -> None:
    known = Profiles()
    assert known.get("temporal") is known.get("temporal@2")
    ids = "causal@2, default@1, default@2, entity@2, episodic@2, lexical@1, task@1, temporal@1, temporal@2"
    assert known.ids() == ids.split(", ")
    with pytest.raises(InvalidConfig, match=ids):
        known.get("fuzzy")
    with pytest.raises(AttributeError):
        known.get("temporal").depth = 3  # type: ignore[misc]


def test_a_stand_in_date_that_is_none_is_refused_in_code_too() -> None:
    with pytest.raises(InvalidArgument, match="missing_created_at"):
        msgspec.structs.replace(Decay(), missing_created_at="x").__post_init__()
