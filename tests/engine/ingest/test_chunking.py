from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.chunking import Block, ChunkLimits, Piece, heading_paths, split
from lamina_engine.ingest.markdown import outline_markdown

FAST = settings(max_examples=60, deadline=None)

WORDS = "The quick brown fox jumps over the lazy dog. "
LINES = st.sampled_from(
    (
        *("", "", "# A", "## B", "### C d", "#### E", "- item one", "  - nested", "1. first", "```", "~~~py", "x = 1"),
        *("> quote", "| a | b |", "|---|---|", "text that goes on. And on!", "   indented", "\tcode", "===", "---"),
        *(
            "héllo wörld。日本語！",
            "w" * 70,
            "<!-- note",
            "-->",
            WORDS * 3,
            "like this:",
            "e\u0301" * 30,
            "👩‍👩‍👧" * 12,
        ),
    )
)
MARKDOWNISH = st.lists(LINES, max_size=40).map("\n".join) | st.text(max_size=120)


def cut(text: str, max_chars: int = 1600, min_chars: int | None = None) -> list[str]:
    pieces = split(text, outline_markdown(text).blocks, ChunkLimits(max_chars, min_chars))
    return [text[piece.start : piece.stop] for piece in pieces]


@FAST
@given(MARKDOWNISH, st.integers(40, 400))
def test_pieces_partition_the_text_within_the_limit(text: str, max_chars: int) -> None:
    got = cut(text, max_chars)
    assert "".join(got) == (text if text.strip() else "")
    assert all(0 < len(piece) <= max_chars for piece in got)


@FAST
@given(st.integers(1, 400), st.integers(40, 90), st.sampled_from(["e\u0301", "👍🏽", "🇩🇪", "a\u200db"]))
def test_hard_cuts_fall_between_characters(count: int, max_chars: int, letter: str) -> None:
    for piece in cut(letter * count, max_chars):
        assert len(piece) % len(letter) == 0


@FAST
@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=30), st.integers(40, 100))
def test_no_border_falls_into_a_whole_range(parts: list[tuple[int, bool]], max_chars: int) -> None:
    text, whole = "", []
    for length, masked in parts:
        if masked:
            whole.append((len(text), len(text) + length))
        text += ("m" if masked else "w") * length
    pieces = split(text, [Block(0, len(text), "paragraph")] if text else [], ChunkLimits(max_chars), whole=whole)
    assert all(len(text[p.start : p.stop]) <= max_chars for p in pieces)
    for piece in pieces:
        assert not any(start < piece.start < stop for start, stop in whole)


def test_one_huge_paragraph() -> None:
    got = cut(WORDS * 400)
    assert len(got) == 12
    assert all(len(piece) <= 1600 and piece.endswith(". ") for piece in got)
    assert min(map(len, got)) >= 400


def test_one_huge_word() -> None:
    assert [len(piece) for piece in cut("x" * 4000)] == [1600, 1600, 800]


def test_cjk_is_cut_at_its_sentence_ends() -> None:
    got = cut("これは長い文章です。本当に長いですね！そうでしょう？" * 100, 200)
    assert all(piece[-1] in "。！？" for piece in got)


def test_fence_is_cut_only_when_it_alone_is_over_the_limit() -> None:
    fence = "```\n" + "x = 1\n" * 250 + "```\n"
    assert 1500 < len(fence) <= 1600
    text = "# T\n\n" + WORDS * 20 + "\n\n" + fence + "\n" + WORDS * 20
    assert sum(fence.strip() in piece for piece in cut(text)) == 1
    # its heading does not fit beside it: the fence stays whole all the same
    full = "```\n" + "y" * (1600 - 8) + "\n```"
    assert any(full in piece for piece in cut("## A long enough heading\n\n" + full + "\n\n\n" + WORDS * 10))
    huge = "```\n" + "x = 1\n" * 600 + "```\n"
    pieces = cut(huge)
    assert len(pieces) == 3
    assert all(piece.endswith("\n") for piece in pieces)


@FAST
@given(st.integers(1, 60), st.integers(0, 40), st.integers(60, 200))
def test_heading_never_ends_a_piece_when_prose_follows(before: int, after: int, max_chars: int) -> None:
    text = "word " * before + "\n\n## Heading here\n\n" + "body. " * (after + 1)
    for piece in cut(text, max_chars)[:-1]:
        assert not piece.rstrip().endswith("## Heading here")


def test_whole_text_that_fits_is_one_piece() -> None:
    text = "# T\n\nintro\n\n## A\n\n" + WORDS * 10 + "\n\n## B\n\n" + WORDS * 10
    assert cut(text) == [text]


def test_breaks_prefer_headings() -> None:
    sections = [f"## S{i}\n\n{WORDS * 20}\n\n" for i in range(4)]
    assert cut("".join(sections)) == sections


def test_tiny_section_is_packed_with_its_parents_text() -> None:
    parent = "## P\n\n" + WORDS * 30 + "\n\n"
    tiny = "### See also\n\n[[x]]\n\n"
    other = "## Q\n\n" + WORDS * 30
    assert cut(parent + tiny + other) == [parent + tiny, other]


def test_small_sections_are_packed_up_to_the_limit() -> None:
    text = "".join(f"## S{i}\n\n{WORDS * 3}\n\n" for i in range(40))
    got = cut(text)
    assert all(piece.startswith("## S") for piece in got)
    assert len(got) <= len(text) // 1300


def test_beginning_of_a_large_section_is_not_torn_off() -> None:
    first = "## P\n\n" + WORDS * 10 + "\n\n"
    # its own first paragraph is small and its fence is large
    second = "## Q\n\nshort words\n\n```\n" + "x = 1\n" * 260 + "```\n"
    assert cut(first + second)[0] == first


def test_lists_are_cut_between_items() -> None:
    items = [f"- item {i} {WORDS * 2}\n" for i in range(40)]
    got = cut("".join(items))
    assert all(piece.startswith("- item") for piece in got)


def test_what_a_colon_introduces_stays_with_it() -> None:
    lead = "It works like this:\n\n"
    text = WORDS * 20 + "\n\n" + lead + "```\n" + "x = 1\n" * 120 + "```\n"
    assert cut(text)[1].startswith(lead)


def test_last_piece_is_evened_out() -> None:
    paragraphs = [WORDS * 10 + "\n\n" for _ in range(3)] + ["short end " * 10 + "\n"]
    got = cut("".join(paragraphs), 1400)
    assert len(got) == 2
    assert len(got[1]) > 400


def test_blank_texts_have_no_pieces() -> None:
    assert cut("") == []
    assert cut(" \n\n\t\n") == []


def test_blank_lines_join_a_neighbour() -> None:
    assert cut("a" * 100 + "\n" * 30 + "b", 100)[0] == "a" * 100
    assert all(piece.strip() for piece in cut("\n" * 20 + "a" * 30 + "\n" * 200 + "b", 300))


def test_heading_paths_open_and_close() -> None:
    blocks = [
        Block(0, 1, "paragraph"),
        Block(1, 2, "heading", 1, "A"),
        Block(2, 3, "heading", 3, "B"),
        Block(3, 4, "paragraph"),
        Block(4, 5, "heading", 2, "C"),
        Block(5, 6, "heading", 1, ""),
        Block(6, 7, "paragraph"),
    ]
    assert heading_paths(blocks) == [(), ("A",), ("A", "B"), ("A", "B"), ("A", "C"), (), ()]


def test_pieces_carry_the_path_at_their_start() -> None:
    text = "## A\n\n" + WORDS * 30 + "\n\n### B\n\n" + WORDS * 60
    got = split(text, outline_markdown(text).blocks, ChunkLimits())
    assert [piece.headings for piece in got] == [("A",), ("A", "B"), ("A", "B")]
    assert isinstance(got[0], Piece)


def entry(term: str, *paragraphs: int) -> str:
    return f"{term}\n" + "\n".join(f": {'word ' * count}\n" for count in paragraphs) + "\n"


def test_what_goes_on_with_an_entry_is_called_by_its_term() -> None:
    text = (
        "## Settings\n\n"
        + entry("first", 100)
        + entry("second", 200, 200, 60)
        + entry("third", 100)
        + "Text after. " * 60
    )
    got = split(text, outline_markdown(text).blocks, ChunkLimits())
    assert [piece.headings for piece in got] == [
        ("Settings", "first"), ("Settings", "second"), ("Settings", "second"), ("Settings", "third"), ("Settings",),
    ]  # fmt: skip
    assert text[got[1].start : got[2].stop] == entry("second", 200, 200, 60)
    assert [piece.term for piece in got] == ["first", "second", "second", "third", ""]


def test_short_entries_stand_together_and_none_names_the_others() -> None:
    text = "## Options\n\n" + "".join(entry(f"opt{i}", 40) for i in range(9)) + entry("big", 180)
    got = split(text, outline_markdown(text).blocks, ChunkLimits())
    assert [piece.headings for piece in got] == [("Options",), ("Options",), ("Options", "big")]
    assert "opt0" in text[: got[0].stop]
    assert all(len(text[piece.start : piece.stop]) > 400 for piece in got)


@pytest.mark.parametrize(("max_chars", "min_chars"), [(39, None), (0, None), (100, 51), (100, -1)])
def test_bad_limits_are_refused(max_chars: int, min_chars: int | None) -> None:
    with pytest.raises(InvalidArgument):
        ChunkLimits(max_chars, min_chars)
