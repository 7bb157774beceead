"""Sentences of a text."""

from __future__ import annotations

from lamina_engine.facts.sentences import split_text


def test_a_broken_line_is_one_sentence_and_a_field_one_of_its_own() -> None:
    text = "The gate opens\nafter the signal.\nport:: 9017\nowner:: Tobiah Renn\non call:: Ann"
    written = [sentence.written for sentence in split_text(text)]
    assert written == ["The gate opens after the signal.", "port:: 9017", "owner:: Tobiah Renn", "on call:: Ann"]
