from __future__ import annotations

from itertools import pairwise

import pytest

from lamina_engine.chunks import lifecycle
from lamina_engine.errors import ChunkNotFound, InvalidArgument
from lamina_engine.graph import log
from lamina_engine.graph.links import causes
from lamina_engine.graph.log import Draft
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill, tie


@pytest.fixture
def chain(memory: Memory) -> Memory:
    fill(memory, list("abcdefghijklmno"))
    log.write(memory, [Draft("a", "b", "causal", 0.5, "one"), Draft("b", "c", "causal", 0.25, "two")])
    return memory


def test_each_hop_has_its_own_confidence_and_reason(chain: Memory) -> None:
    found = causes(chain.view(), "a", depth=2)
    got = [(each.id, each.direction, each.depth, each.confidence, each.product, each.reason) for each in found]
    assert got == [("b", "causes", 1, 0.5, 0.5, "one"), ("c", "causes", 2, 0.25, 0.125, "two")]
    assert found[1].chain == ("a", "b", "c")
    assert [(each.id, each.direction) for each in causes(chain.view(), "b")] == [("a", "caused_by"), ("c", "causes")]
    assert [each.id for each in causes(chain.view(), "c", direction="caused_by")] == ["b", "a"]
    assert causes(chain.view(), "c", direction="causes") == []


def test_a_cycle_ends_and_each_chunk_is_listed_once_at_its_least_depth(chain: Memory) -> None:
    tie(chain, "c>a a>c", weight=0.75)
    assert [(each.id, each.depth) for each in causes(chain.view(), "a", direction="causes", depth=10)] == [
        ("c", 1), ("b", 1),
    ]  # fmt: skip
    both = causes(chain.view(), "a")
    assert [(each.id, each.direction) for each in both] == [("c", "causes"), ("b", "causes")]


def test_of_two_chains_of_one_length_the_surer_counts(chain: Memory) -> None:
    log.write(chain, [Draft("a", "d", "causal", 0.9), Draft("d", "c", "causal", 0.9, "surer")])
    (c,) = (each for each in causes(chain.view(), "a") if each.id == "c")
    assert (c.chain, c.reason) == (("a", "d", "c"), "surer")
    assert c.product == pytest.approx(0.81)


def test_a_depth_is_kept_to_and_one_out_of_range_is_refused(memory: Memory) -> None:
    names = "abcdefghijklmno"
    fill(memory, list(names))
    tie(memory, " ".join(f"{u}>{v}" for u, v in pairwise(names)))
    assert [len(causes(memory.view(), "a", depth=depth)) for depth in (1, 3, 10)] == [1, 3, 10]
    for depth in (0, -3, 11):
        with pytest.raises(InvalidArgument, match=f"depth={depth} must be a whole number from 1 to 10"):
            causes(memory.view(), "a", depth=depth)


def test_removed_chunks_are_not_passed_through(chain: Memory) -> None:
    lifecycle.invalidate(chain, "b", "no")
    assert [(each.id, each.status) for each in causes(chain.view(), "a")] == [("b", "invalidated"), ("c", "active")]
    lifecycle._event(chain, "b", "remove", lambda *_: True)
    assert causes(chain.view(), "a") == []


def test_the_standing_claim_gives_the_reason(chain: Memory) -> None:
    log.write(chain, [Draft("a", "b", "causal", 1.0, "a model's")], origin="judged")
    assert causes(chain.view(), "a")[0].reason == "one"


def test_bad_arguments(chain: Memory) -> None:
    with pytest.raises(ChunkNotFound):
        causes(chain.view(), "nobody")
    with pytest.raises(InvalidArgument, match="direction"):
        causes(chain.view(), "a", direction="up")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="depth"):
        causes(chain.view(), "a", depth=1.5)  # type: ignore[arg-type]
    assert causes(chain.view(), "o") == []
