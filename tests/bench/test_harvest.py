from __future__ import annotations

from itertools import islice

from bench.harvest import ENOUGH_WORDS, LEAST_WORDS, MOST_OF_A_FILE, MOST_WORDS, chunks, cut


def test_a_chunk_has_whole_paragraphs_until_it_has_enough_words() -> None:
    paragraphs = ["a " * 70, "b " * 40, "c " * 59]
    got = [chunk.text.split() for chunk in cut(paragraphs)]
    assert got == [["a"] * 70 + ["b"] * 40]  # the rest is too short to be a chunk


def test_a_long_paragraph_is_cut_at_the_most_words() -> None:
    assert [len(chunk.text.split()) for chunk in cut(["word " * 300])] == [MOST_WORDS, MOST_WORDS]
    assert [len(chunk.text.split()) for chunk in cut(["word " * 320])] == [MOST_WORDS, MOST_WORDS, LEAST_WORDS]


def test_a_file_gives_no_more_than_its_share() -> None:
    assert len(list(cut(["word " * MOST_WORDS] * 2 * MOST_OF_A_FILE))) == MOST_OF_A_FILE


def test_first_lines_of_four_to_fourteen_words_are_headings() -> None:
    paragraphs = ["Return the rows as they are.\nMore of it.", "Too short.", "word " * ENOUGH_WORDS]
    (chunk,) = cut(paragraphs)
    assert chunk.headings == ("Return the rows as they are.",)


def test_the_text_of_this_python_is_distinct_and_comes_in_the_same_order() -> None:
    got = list(islice(chunks(), 300))
    assert len({chunk.text for chunk in got}) == 300
    assert all(LEAST_WORDS <= len(chunk.text.split()) <= MOST_WORDS for chunk in got)
    assert list(islice(chunks(), 50)) == got[:50]
