"""Sentences of a text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import lamina
from lamina_engine.facts.sentences import split_text


def test_a_broken_line_is_one_sentence_and_a_field_one_of_its_own() -> None:
    text = "The gate opens\nafter the signal.\nport:: 9017\nowner:: Tobiah Renn\non call:: Ann"
    written = [sentence.written for sentence in split_text(text)]
    assert written == ["The gate opens after the signal.", "port:: 9017", "owner:: Tobiah Renn", "on call:: Ann"]


@pytest.mark.parametrize("filler", ["a", "1", "1.2.", "moved to x ", "not done: ", "identified by ", ". ", "is "])
def test_text_without_ends_is_read_in_linear_time(filler: str, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(f"The price of the barn is 30 EUR, {filler * (40_000 // len(filler))}")
        started = time.perf_counter()
        vault.facts.ask("what is the price of the barn?")
        assert time.perf_counter() - started < 5.0  # a word of 40,000 letters took half a minute
