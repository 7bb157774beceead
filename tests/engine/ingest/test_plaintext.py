""""""

from __future__ import annotations

import pytest
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
    st.lists(
        st.sampled_from(
            [
                "",
                "=====",
                "-----",
                "Title",
                "  code",
                ".. note:: x",
                "like::",
                "- a",
                "+--",
                ">>> 1",
                ".. class:: A",
                "    .. method:: m",
                "      deep",
            ]
        )
    )
)
def test_blocks_partition_an_rst_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    got = outline_rst(text)
    assert "".join(text[block.start : block.stop] for block in got.blocks) == text
    assert all(0 <= start < stop <= len(text) for start, stop in got.code)


ENTRIES = """Reference
=========

apples
    Red fruit::

        code of it

    More of them.
pears : fruit
    Green.

After the list.

.. class:: Pool(size, *, \\
                wait=None)
   :module: net

   Holds connections.

   .. method:: take(timeout)

      Waits.

      .. code-block:: python

         pool.take(3)

   Of the pool again.

.. py:function:: close()

   Ends all.

-v, --verbose  Says
               more.
--quiet  Says less.

.. setting:: LIMIT

Limit
-----

Two lines
of a paragraph.

1. one
   two
"""


def entries(text: str) -> list[tuple[int, str, str]]:
    return [
        (block.level, block.title, text[block.start : block.stop].strip()[:16])
        for block in outline_rst(text).blocks
        if block.level >= 7
    ]


def test_definition_lists_and_descriptions_are_entries() -> None:
    assert entries(ENTRIES) == [
        (7, "apples", "apples"),
        (7, "pears : fruit", "pears : fruit"),
        (7, "", "After the list."),
        (7, "Pool", ".. class:: Pool("),
        (8, "take", ".. method:: take"),
        (8, "", "Of the pool agai"),
        (7, "close", ".. py:function::"),
        (7, "-v, --verbose", "-v, --verbose  S"),
        (7, "", "--quiet  Says le"),
    ]
    code = [ENTRIES[start:stop].strip() for start, stop in outline_rst(ENTRIES).code]
    assert code == ["code of it", ".. code-block:: python\n\n         pool.take(3)", ".. setting:: LIMIT"]


@pytest.mark.parametrize(
    "text",
    [
        "A paragraph of\ntwo lines\n   and a third.\n",
        "- item\n  goes on\n",
        "1. item\n   goes on\n",
        ".. note:: Mind\n   the gap.\n\n   And the step.\n",
        ".. code-block:: python\n\n   class A:\n       x = 1\n",
        "Code::\n\n    term\n        below\n",
        ":field: body\n   goes on\n",
        "| a line\n  block\n",
        ".. class:: Bare\n\nNot its body.\n",
    ],
)
def test_what_is_no_entry(text: str) -> None:
    assert entries(text) == []
