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


def test_lines_that_are_broken_for_their_length_or_set_in_below_an_item_are_one_sentence() -> None:
    text = (
        " - The configure option `--with-protected-args` was renamed to\n   `--with-secluded-args`.\n"
        " - Port: 80\n   owner: Ann\n\n"
        "The number of threads that work on requests of the applications is\n`4` here.\n"
    )
    assert [each.written for each in split_text(text)] == [
        "The configure option `--with-protected-args` was renamed to `--with-secluded-args`.",
        "Port: 80",
        "owner: Ann",
        "The number of threads that work on requests of the applications is `4` here.",
    ]


def test_an_underlined_line_is_a_heading_and_what_is_set_in_below_a_line_explains_it() -> None:
    text = (
        "2.1 (2024-05-01)\n----------------\n\nRemoved\n~~~~~~~\n\n- The old parser.\n\n"
        "threads\n    How many work on requests.\n\n    Default: ``4``\n\n        limit = 4\n\nAfter that::\n\n   port = 80\n"
    )
    found = [(each.section, each.release, each.written) for each in split_text(text)]
    assert ("Removed", "2.1 (2024-05-01)", "The old parser.") in found
    assert ("threads", "2.1 (2024-05-01)", "Default: ``4``") in found
    assert all("port = 80" not in written for _, _, written in found)  # code
    assert [section for section, _, written in found if written == "After that::"] == [""]


def test_a_part_of_a_text_stands_below_its_headings_until_another_one() -> None:
    text = "- Drop Python 3.7.\n\n## Version 1.2\n\n- Drop Python 3.6.\n"
    found = [(each.release, each.written) for each in split_text(text, above=["Version 1.3"])]
    assert ("Version 1.3", "Drop Python 3.7.") in found
    assert ("Version 1.2", "Drop Python 3.6.") in found


@pytest.mark.parametrize("filler", ["a", "1", "1.2.", "moved to x ", "not done: ", "identified by ", ". ", "is "])
def test_text_without_ends_is_read_in_linear_time(filler: str, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(f"The price of the barn is 30 EUR, {filler * (40_000 // len(filler))}")
        started = time.perf_counter()
        vault.facts.ask("what is the price of the barn?")
        assert time.perf_counter() - started < 5.0  # a word of 40,000 letters took half a minute
