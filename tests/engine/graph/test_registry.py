from __future__ import annotations

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.registry import KNOWN, imported_relation, masks, relation_of


def test_every_relation_of_the_profiles_is_there() -> None:
    assert set(KNOWN) == {
        "semantic", "supporting", "contradicts", "causal", "temporal", "entity", "usage", "blocks", "related_to",
        "derived_from", "similar_to", "next", "brief", "debrief", "related", "mention",
    }  # fmt: skip
    assert all(each.walk_in for each in KNOWN.values() if each.symmetric)
    assert [each.name for each in KNOWN.values() if not each.raises] == ["contradicts"]


@pytest.mark.parametrize("name", ["contradict", "Causal", "", None, 3])
def test_an_unknown_relation_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidArgument, match="allowed are blocks, brief, causal"):
        relation_of(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("blocks", "causal"), ("conditional-blocks", "causal"), ("waits-for", "causal"), ("caused-by", "causal"),
        ("discovered-from", "supporting"), ("supersedes", "supporting"), ("duplicates", "supporting"),
        ("relates-to", "semantic"), ("related", "semantic"), ("parent-child", "semantic"), ("tracks", "semantic"),
    ],
)  # fmt: skip
def test_names_of_beads(name: str, ref: str) -> None:
    assert imported_relation("beads", name).name == ref


def test_imports_guess_nothing() -> None:
    assert imported_relation("clawpy", "blocks").name == "blocks"
    with pytest.raises(InvalidArgument, match="has no relation 'causes'"):
        imported_relation("clawpy", "causes")


def test_masks() -> None:
    names = ("causal", "semantic", "likes")
    out, back = masks(names)
    assert (out[:4].tolist(), back[:4].tolist()) == ([1, 1, 1, 0], [0, 1, 0, 0])
    out, back = masks(names, ["causal", "semantic"], "in")
    assert (out[:3].tolist(), back[:3].tolist()) == ([0, 1, 0], [1, 1, 0])
    with pytest.raises(InvalidArgument, match="direction"):
        masks(names, direction="up")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="likes"):
        masks(names, ["likes"])
