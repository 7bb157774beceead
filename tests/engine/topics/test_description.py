from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.topics.description import make_topic_id, match_topics

names = st.sets(st.sampled_from("abcdefghij"), min_size=1)


def test_half_in_common_is_the_same() -> None:
    assert match_topics({"t1": set("abcd")}, [set("ab")]) == {0: "t1"}
    assert match_topics({"t1": set("abcd")}, [set("abxy")]) == {}
    assert match_topics({"t1": set("abcde")}, [set("ab")]) == {}


def test_the_most_alike_first_and_each_once() -> None:
    assert match_topics({"t1": set("abcd")}, [set("abc"), set("abcd")]) == {1: "t1"}
    assert match_topics({"t1": set("abcd"), "t0": set("abcd")}, [set("abcd"), set("abcd")]) == {0: "t0", 1: "t1"}
    assert match_topics({}, [set("a")]) == {}
    assert match_topics({"t1": set("a")}, []) == {}


@given(st.lists(names, max_size=5), st.lists(names, max_size=5))
def test_matches_are_alike_and_one_to_one(old: list[set[str]], new: list[set[str]]) -> None:
    before = {f"t{i}": chunks for i, chunks in enumerate(old)}
    got = match_topics(before, new)
    assert len(set(got.values())) == len(got)
    for position, identity in got.items():
        assert len(new[position] & before[identity]) >= 0.5 * len(new[position] | before[identity])
    for position, chunks in enumerate(new):  # nothing that could still be matched is left
        free = [i for i in before if i not in got.values()]
        assert position in got or not any(len(chunks & before[i]) >= 0.5 * len(chunks | before[i]) for i in free)


def test_new_ids_are_stable_and_never_taken() -> None:
    first = make_topic_id({"a", "b"}, 1, set())
    assert first == make_topic_id({"b", "a"}, 1, set())
    assert first != make_topic_id({"a", "b"}, 2, set())
    assert first != make_topic_id({"a", "b"}, 1, {first})
