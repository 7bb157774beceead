from __future__ import annotations

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.registry import BUILT_IN, Registry, Relation

LIKES = Relation("likes", "mine", False, True, True, "the source likes the target")


def test_every_relation_of_the_profiles_is_there() -> None:
    assert {each.name for each in BUILT_IN} == {
        "semantic", "supporting", "contradicts", "causal", "temporal", "entity", "usage", "blocks", "related_to",
        "derived_from", "similar_to", "next", "brief", "debrief", "related", "mention",
    }  # fmt: skip
    assert all(each.walk_in for each in BUILT_IN if each.symmetric)
    assert [each.name for each in BUILT_IN if not each.raises] == ["contradicts"]


def test_users_register_their_own() -> None:
    registry = Registry()
    assert registry.register(LIKES) is registry.register(LIKES)
    assert registry.get("likes") == LIKES
    with pytest.raises(InvalidArgument, match="known already"):
        registry.register(Relation("likes", "mine", True, True, True, "something else"))
    with pytest.raises(InvalidArgument, match="lower-case word"):
        registry.register(Relation("Likes it", "mine", True, True, True, ""))


@pytest.mark.parametrize("name", ["contradict", "Causal", "", None, 3])
def test_an_unknown_relation_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidArgument, match="allowed are blocks, brief, causal"):
        Registry().get(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("blocks", "causal"), ("conditional-blocks", "causal"), ("waits-for", "causal"), ("caused-by", "causal"),
        ("discovered-from", "supporting"), ("supersedes", "supporting"), ("duplicates", "supporting"),
        ("relates-to", "semantic"), ("related", "semantic"), ("parent-child", "semantic"), ("tracks", "semantic"),
    ],
)  # fmt: skip
def test_names_of_beads(name: str, ref: str) -> None:
    assert Registry().imported("beads", name).name == ref


def test_imports_guess_nothing() -> None:
    assert Registry().imported("clawpy", "blocks").name == "blocks"
    with pytest.raises(InvalidArgument, match="has no relation 'causes'"):
        Registry().imported("clawpy", "causes")
    with pytest.raises(InvalidArgument, match="no relations are known of 'jira'"):
        Registry().imported("jira", "blocks")


def test_masks() -> None:
    names = ("causal", "semantic", "likes")
    registry = Registry()
    out, back = registry.masks(names)
    assert (out[:4].tolist(), back[:4].tolist()) == ([1, 1, 1, 0], [0, 1, 0, 0])
    out, back = registry.masks(names, ["causal", "semantic"], "in")
    assert (out[:3].tolist(), back[:3].tolist()) == ([0, 1, 0], [1, 1, 0])
    with pytest.raises(InvalidArgument, match="direction"):
        registry.masks(names, direction="up")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="likes"):
        registry.masks(names, ["likes"])
