from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.ingest import matching
from lamina_engine.ingest.matching import match

VERSIONS = st.lists(st.sampled_from([bytes([i]) for i in range(6)]), max_size=12)


def of(word: str) -> list[bytes]:
    return [letter.encode() for letter in word]


@pytest.mark.parametrize(
    ("old", "new", "ref"),
    [
        ("", "", []),
        ("", "a", [-1]),
        ("a", "", []),
        ("ab", "ab", [0, 1]),
        ("ab", "xab", [-1, 0, 1]),  # text above
        ("ab", "abx", [0, 1, -1]),
        ("abc", "axc", [0, 1, 2]),  # an edit
        ("abc", "axyc", [0, 1, -1, 2]),  # an edit and a new one
        ("abc", "ac", [0, 2]),  # one is gone
        ("abc", "cab", [2, 0, 1]),  # moved within the source
        ("aaa", "aa", [0, 1]),
        ("ab", "xy", [0, 1]),  # all edited
    ],
)
def test_content_first_then_place(old: str, new: str, ref: list[int]) -> None:
    assert match(of(old), of(new)) == ref


@given(VERSIONS, VERSIONS)
def test_no_old_chunk_is_continued_twice_and_equal_content_is_never_left(old: list[bytes], new: list[bytes]) -> None:
    got = match(old, new)
    used = [position for position in got if position >= 0]
    assert len(got) == len(new)
    assert len(used) == len(set(used))
    assert all(0 <= position < len(old) for position in used)
    for version in set(old) & set(new):
        equal = sum(position >= 0 and old[position] == new[j] == version for j, position in enumerate(got))
        assert equal == min(old.count(version), new.count(version))


@given(VERSIONS)
def test_the_same_again_is_the_same(versions: list[bytes]) -> None:
    assert match(versions, versions) == list(range(len(versions)))


def test_a_source_too_long_for_a_diff_is_matched_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_DIFF_LIMIT", 2)
    assert match(of("abcd"), of("dxbc")) == [3, -1, 1, 2]


def test_repeated_content_is_matched_in_order_without_a_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SequenceMatcher", None)
    old, new = [b"a"] * 2_000, [*[b"a"] * 2_001, b"b"]
    assert match(old, new) == [*range(2_000), -1, -1]
