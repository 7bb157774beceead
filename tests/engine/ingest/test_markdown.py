from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lamina_engine.ingest.chunking import Block
from lamina_engine.ingest.markdown import outline
from tests.engine.ingest.test_chunking import MARKDOWNISH

FAST = settings(max_examples=60, deadline=None)


def content_start(text: str, block: Block) -> int:
    source = text[block.start : block.stop]
    return block.start + len(source) - len(source.lstrip("\n"))


def headings(text: str) -> list[tuple[int, int]]:
    """Line and level."""
    return [
        (text.count("\n", 0, content_start(text, block)), block.level) for block in outline(text).blocks if block.level
    ]


def fences(text: str) -> list[int]:
    found = []
    for block in outline(text).blocks:
        start = content_start(text, block)
        if (
            block.kind == "fence"
            and not block.depth
            and text[start : block.stop].lstrip(" ").startswith(("```", "~~~"))
        ):
            found.append(text.count("\n", 0, start))
    return found


def parse(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    top = [token for token in tokens if token.level == 0 and token.map]
    return (
        [(token.map[0], int(token.tag[1])) for token in top if token.map and token.type == "heading_open"],
        [token.map[0] for token in top if token.map and token.type == "fence"],
    )


def test_headings_and_fences_agree_with_a_parser_on_a_real_vault(notes_vault: Path) -> None:
    counted = 0
    for path in sorted(notes_vault.rglob("*.md"))[::8]:
        text = path.read_text()
        ref, got = parse(text), (headings(text), fences(text))
        assert ref == got, path
        counted += len(ref[0]) + len(ref[1])
    assert counted > 500


SYNTAX = """# One

para
===

para
two
---
- a
---
* * *
# not `a`
#no heading
####### seven
  ## two ##
    # code

```` md
```
# in a fence
```
````

- item
  ```
  # in an item
  ```
  # in the item

1. a
   # b

> # quoted
> ```
> # x
para

text
    # lazy
~~~
# open to the end
"""


def test_headings_and_fences_agree_with_a_parser_on_odd_syntax() -> None:
    ref, got = parse(SYNTAX), (headings(SYNTAX), fences(SYNTAX))
    assert ref == got
    assert len(ref[0]) == 5


@FAST
@given(MARKDOWNISH)
def test_blocks_partition_any_text(text: str) -> None:
    blocks = outline(text).blocks
    assert "".join(text[block.start : block.stop] for block in blocks) == text
    assert all(block.start < block.stop for block in blocks)


@FAST
@given(st.text("#`~-*_=+>|<!0. \n\tab", max_size=120))
def test_code_ranges_are_ascending_and_inside(text: str) -> None:
    got = outline(text).code
    flat = [place for pair in got for place in pair]
    assert flat == sorted(flat)
    assert all(0 <= place <= len(text) for place in flat)


def test_title_is_the_first_level_one_heading() -> None:
    assert outline("intro\n\n## a\n\n#  The *title* `x`  #\n\n# other").title == "The *title* `x`"
    assert outline("Setext\ntitle\n===\n").title == "Setext title"
    assert outline("## only two").title is None
    assert outline("```\n# no\n```").title is None


def kinds(text: str) -> list[str]:
    return [block.kind for block in outline(text).blocks]


def test_kinds_of_blocks() -> None:
    text = "# h\n\np\n\n- a\n- b\n  - c\n\n  para of c\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n> q\n> r\n"
    text += "\n    code\n\n    more\n"
    assert kinds(text) == [
        *("heading", "paragraph", "item", "item", "item", "paragraph", "table", "rule", "paragraph", "fence"),
    ]
    assert [block.depth for block in outline(text).blocks] == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]


def test_blank_lines_belong_to_the_block_before() -> None:
    blocks = outline("\n\na\n\n\nb\n").blocks
    assert [(block.start, block.stop) for block in blocks] == [(0, 6), (6, 8)]


def test_raw_html_hides_headings() -> None:
    text = "<!-- a\n# no\n-->\n\n<pre>\n# no\n</pre>\n\n# yes\n"
    assert headings(text) == [(8, 1)]


def test_fence_in_an_item_that_is_indented_too_little() -> None:
    assert headings("- a\n  ```\n# code\n  ```\n\n# yes\n") == [(5, 1)]
