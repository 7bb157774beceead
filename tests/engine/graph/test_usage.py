from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.care.forgetting import forget
from lamina_engine.errors import ChunkNotFound, InvalidArgument
from lamina_engine.graph import log
from lamina_engine.graph.links import claims_of, links_of
from lamina_engine.graph.log import Draft
from lamina_engine.graph.usage import Use, record_use, uses
from lamina_engine.graph.walks import neighbours
from lamina_engine.index.view import View
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def three(memory: Memory) -> Memory:
    fill(memory, [A, B, C])
    return memory


def test_a_use_together_counts_every_pair(three: Memory) -> None:
    got = record_use(three, [C, A, B])
    assert [(link.source, link.target, link.count, link.weight) for link in got] == [
        (A, B, 1, 0.25), (A, C, 1, 0.25), (B, C, 1, 0.25),
    ]  # fmt: skip
    (again,) = record_use(three, [B, A])
    assert (again.count, again.origin, again.relation) == (2, "usage", "usage")
    assert again.weight == pytest.approx(0.4)
    assert claimed(three, "usage") == {(A, B, "usage"): 2.0, (A, C, "usage"): 1.0, (B, C, "usage"): 1.0}


def test_the_link_keeps_when_it_came_to_be(three: Memory, clock: FixedClock) -> None:
    (first,) = record_use(three, [A, B])
    clock.advance(60)
    (second,) = record_use(three, [A, B])
    assert (second.created_at, second.recorded_at > first.recorded_at) == (first.created_at, True)


def test_one_chunk_is_used_and_linked_with_nothing(three: Memory) -> None:
    assert record_use(three, [A, A]) == []
    assert {name: use.times for name, use in uses(three.view()).items()} == {A: 1}
    assert three.view().snapshot.rows("links") == 0


def test_walks_go_both_ways_along_it(three: Memory) -> None:
    record_use(three, [A, B])
    assert [near.id for near in neighbours(three.view(), B, relations=["usage"])] == [A]
    assert [near.id for near in neighbours(three.view(), A, relations=["usage"])] == [B]


def test_what_the_user_says_stands_and_the_count_goes_on_below(three: Memory) -> None:
    log.write(three, [Draft(A, B, "usage", 7)])
    (link,) = record_use(three, [A, B])
    assert (link.count, link.origin) == (7, "user")
    log.withdraw(three, [(A, B, "usage")])
    (link,) = record_use(three, [A, B])
    assert (link.count, link.origin) == (2, "usage")


def test_uses_are_counted_with_their_last_moment(three: Memory, clock: FixedClock) -> None:
    before = clock.now_us()
    record_use(three, [A, B])
    clock.advance(3600)
    record_use(three, [B])
    found = uses(three.view())
    assert (found[A].times, found[B].times, C in found) == (1, 2, False)
    assert found[B].last_us - found[A].last_us == pytest.approx(3.6e9, abs=1e3)
    past = View(three.view().snapshot, three.view().tables, as_of_us=before + 1_000_000)
    assert uses(past) == {A: Use(1, found[A].last_us), B: Use(1, found[A].last_us + 1)}
    assert uses(three.view()) == found


def test_forgetting_takes_uses_along(three: Memory) -> None:
    record_use(three, [A, B])
    forget(three, ids=[A], dry_run=False)
    assert claims_of(three.view(), "usage") == []
    reader = Memory(three.root, mode="r")
    found = uses(reader.view())
    assert (A in found, found[B].times) == (False, 1)
    reader.close()


@pytest.mark.parametrize("given", [[], ["x"] * 65, A])
def test_refused(given: object, three: Memory) -> None:
    with pytest.raises(InvalidArgument, match="ids"):
        record_use(three, given)  # type: ignore[arg-type]


def test_nothing_is_written_for_an_unknown_chunk(three: Memory) -> None:
    with pytest.raises(ChunkNotFound):
        record_use(three, [A, "nothing"])
    assert uses(three.view()) == {}


@settings(max_examples=12)
@given(answers=st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5), max_size=6))
def test_counts_are_those_of_a_plain_count(answers: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    ref: Counter[tuple[str, str]] = Counter()
    with_memory = Memory(tmp_path_factory.mktemp("v") / "vault", create=True, clock=FixedClock(0), embedder="none")
    fill(with_memory, [letter * 32 for letter in "abcdef"])
    for answer in answers:
        record_use(with_memory, [letter * 32 for letter in answer])
        ref.update((x * 32, y * 32) for x, y in combinations(sorted(set(answer)), 2))
    got = {(link.source, link.target): int(link.weight) for link in claims_of(with_memory.view(), "usage")}
    assert got == dict(ref)
    for letter in "ab":
        shown = links_of(with_memory.view(), letter * 32)
        assert {link.count for link in shown} <= set(ref.values())
    with_memory.close()
