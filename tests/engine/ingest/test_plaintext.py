""""""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.plaintext import outline_rst, outline_text


def paragraphs(text: str) -> list[str]:
    return [text[block.start : block.stop] for block in outline_text(text).blocks]


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


DOCUMENT = """
=====
Title
=====

Intro words.

Section
-------

.. code-block:: python

   x = 1

   y = 2

After. Like this::

    literal

    more

- item
  more
- item

Sub
~~~

>>> 1 + 1
2

+---+
| a |
+---+

Section two
-----------

----

end
"""


def test_sections_blocks_and_title() -> None:
    got = outline_rst(DOCUMENT)
    assert got.title == "Title"
    assert [(block.level, block.title) for block in got.blocks if block.level] == [
        *((1, "Title"), (2, "Section"), (3, "Sub"), (2, "Section two")),
    ]
    assert [block.kind for block in got.blocks] == [
        *("heading", "paragraph", "heading", "fence", "paragraph", "fence", "item", "item", "heading", "fence"),
        *("table", "heading", "rule", "paragraph"),
    ]
    code = [DOCUMENT[start:stop] for start, stop in got.code]
    assert code[0] == ".. code-block:: python\n\n   x = 1\n\n   y = 2\n"
    assert code[1] == "    literal\n\n    more\n"


def test_underline_shorter_than_its_title() -> None:
    assert outline_rst("A long title\n----\n").title == "A long title"
    assert outline_rst("A long title\n--\n").title is None


def test_a_rule_under_a_paragraph_is_no_section() -> None:
    assert outline_rst("one\ntwo\n---\n").title is None


def test_small_rst_texts() -> None:
    assert outline_rst("").blocks == []
    assert [block.kind for block in outline_rst("\n\n").blocks] == ["paragraph"]
    assert outline_rst("=").title is None


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(["", "=====", "-----", "Title", "  code", ".. note:: x", "like::", "- a", "+--", ">>> 1"]))
)
def test_blocks_partition_an_rst_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    got = outline_rst(text)
    assert "".join(text[block.start : block.stop] for block in got.blocks) == text
    assert all(0 <= start < stop <= len(text) for start, stop in got.code)
