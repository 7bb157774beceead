from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.graph.entities import entities_of


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", set()),
        ("We moved to PostgreSQL and then asked Ada Lovelace.", {"postgresql", "ada lovelace"}),
        ("Yesterday it rained. Then nothing.", set()),
        ("see [[Meeting Notes|the notes]] and [[a#b]]", {"meeting notes"}),
        ("call `store.open()` or `run_all`; not `rm -rf x`", {"store.open", "run_all"}),
        ("the parseLine and snake_case names", {"parseline", "snake_case"}),
        ("we love Ada’s work", {"ada"}),
        ("会议记录 plus `名前`", set()),
    ],
)
def test_what_is_named(text: str, ref: set[str]) -> None:
    assert entities_of(text) >= ref
    if not ref:
        assert entities_of(text) == set()


def test_tags_count() -> None:
    assert entities_of("x", ["Project/Alpha", "7", "a"]) == {"project/alpha"}


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    assert all(2 <= len(name) <= 80 and name == " ".join(name.split()) for name in entities_of(text))
