from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.restructured import outline

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
    got = outline(DOCUMENT)
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
    assert outline("A long title\n----\n").title == "A long title"
    assert outline("A long title\n--\n").title is None


def test_a_rule_under_a_paragraph_is_no_section() -> None:
    assert outline("one\ntwo\n---\n").title is None


def test_small_texts() -> None:
    assert outline("").blocks == []
    assert [block.kind for block in outline("\n\n").blocks] == ["paragraph"]
    assert outline("=").title is None


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(["", "=====", "-----", "Title", "  code", ".. note:: x", "like::", "- a", "+--", ">>> 1"]))
)
def test_blocks_partition_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    got = outline(text)
    assert "".join(text[block.start : block.stop] for block in got.blocks) == text
    assert all(0 <= start < stop <= len(text) for start, stop in got.code)
