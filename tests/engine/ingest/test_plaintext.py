from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.plaintext import outline


def paragraphs(text: str) -> list[str]:
    return [text[block.start : block.stop] for block in outline(text).blocks]


def test_paragraphs_keep_their_indentation_and_following_blanks() -> None:
    assert paragraphs("\n\n a\nb\n\n \n  c\n\n") == ["\n\n a\nb\n\n \n", "  c\n\n"]


def test_small_texts() -> None:
    assert paragraphs("") == []
    assert paragraphs("a") == ["a"]
    assert paragraphs("\n") == ["\n"]


@settings(max_examples=60, deadline=None)
@given(st.text("ab \n\t", max_size=80))
def test_blocks_partition_the_text(text: str) -> None:
    got = paragraphs(text)
    assert "".join(got) == text
    assert all(part.strip() for part in got[:-1])
