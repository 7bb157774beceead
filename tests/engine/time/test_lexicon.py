from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.recall.time_expression import understand_time
from lamina_engine.time.lexicon import anchors, may_mention_time

NOW = "2026-08-12T14:30:00Z"
"""A Wednesday."""


def test_nothing_that_is_understood_is_passed_over(data: Path) -> None:
    path = data / "time-phrases-dev" / "phrases.json"
    if not path.is_file():
        pytest.skip("no labelled phrases beside the project")
    for phrase, moments in json.loads(path.read_text()).items():
        for text in (phrase, f"what did we decide {phrase}?"):
            if not may_mention_time(text):
                assert all(understand_time(text, now).confidence == 0.0 for now in moments), text


_SOME = sorted(anchors())[::9]


@given(
    st.lists(
        st.sampled_from(["last", "next", "in", "the", "vor", "il", "y", "a", "two", "en", "an", "before", *_SOME]),
        max_size=6,
    )
)
def test_what_is_passed_over_means_nothing(words: list[str]) -> None:
    text = " ".join(words)
    if not may_mention_time(text):
        assert understand_time(text, NOW).confidence == 0.0


def test_a_text_without_words_of_time_costs_next_to_nothing() -> None:
    text = "how does the writer's lock behave when another process holds an open snapshot of the vault"
    assert not may_mention_time(text)
    best = float("inf")
    for _ in range(20):
        started = time.process_time()
        for _ in range(100):
            may_mention_time(text)
        best = min(best, time.process_time() - started)
    assert best / 100 <= 1e-4
