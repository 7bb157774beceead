""""""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lamina_engine.graph.code_spans import code_ranges
from lamina_engine.graph.hyperlinks import WrittenLink, find_wikilinks
from lamina_engine.ingest.chunking import Block
from lamina_engine.ingest.markdown import clean_tag, find_tags, outline_markdown
from tests.engine.ingest.test_chunking import MARKDOWNISH

FAST = settings(max_examples=60, deadline=None)


def content_start(text: str, block: Block) -> int:
    source = text[block.start : block.stop]
    return block.start + len(source) - len(source.lstrip("\n"))


def headings(text: str) -> list[tuple[int, int]]:
    """Line and level."""
    return [
        (text.count("\n", 0, content_start(text, block)), block.level)
        for block in outline_markdown(text).blocks
        if block.level
    ]


def fences(text: str) -> list[int]:
    found = []
    for block in outline_markdown(text).blocks:
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
    blocks = outline_markdown(text).blocks
    assert "".join(text[block.start : block.stop] for block in blocks) == text
    assert all(block.start < block.stop for block in blocks)


@FAST
@given(st.text("#`~-*_=+>|<!0. \n\tab", max_size=120))
def test_code_ranges_are_ascending_and_inside(text: str) -> None:
    got = outline_markdown(text).code
    flat = [place for pair in got for place in pair]
    assert flat == sorted(flat)
    assert all(0 <= place <= len(text) for place in flat)


def test_title_is_the_first_level_one_heading() -> None:
    assert outline_markdown("intro\n\n## a\n\n#  The *title* `x`  #\n\n# other").title == "The *title* `x`"
    assert outline_markdown("Setext\ntitle\n===\n").title == "Setext title"
    assert outline_markdown("## only two").title is None
    assert outline_markdown("```\n# no\n```").title is None


def kinds(text: str) -> list[str]:
    return [block.kind for block in outline_markdown(text).blocks]


def test_kinds_of_blocks() -> None:
    text = "# h\n\np\n\n- a\n- b\n  - c\n\n  para of c\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n> q\n> r\n"
    text += "\n    code\n\n    more\n"
    assert kinds(text) == [
        *("heading", "paragraph", "item", "item", "item", "paragraph", "table", "rule", "paragraph", "fence"),
    ]
    assert [block.depth for block in outline_markdown(text).blocks] == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]


def test_blank_lines_belong_to_the_block_before() -> None:
    blocks = outline_markdown("\n\na\n\n\nb\n").blocks
    assert [(block.start, block.stop) for block in blocks] == [(0, 6), (6, 8)]


def test_raw_html_hides_headings() -> None:
    text = "<!-- a\n# no\n-->\n\n<pre>\n# no\n</pre>\n\n# yes\n"
    assert headings(text) == [(8, 1)]


def test_fence_in_an_item_that_is_indented_too_little() -> None:
    assert headings("- a\n  ```\n# code\n  ```\n\n# yes\n") == [(5, 1)]


def tags(text: str) -> list[str]:
    return find_tags(text, code_ranges(text, outline_markdown(text).code))


def links(text: str) -> list[WrittenLink]:
    return find_wikilinks(text, code_ranges(text, outline_markdown(text).code))


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("#a and #b/c, #d-e_f.", ["a", "b/c", "d-e_f"]),
        ("# Heading\n## Other #tag", ["tag"]),
        ("#Heading-less", ["Heading-less"]),
        ("issue #123 and #12/3 but #1a", ["1a"]),
        ("https://x.org/#frag [a](#frag) [b](http://x/#y) a#b", []),
        ("see <http://x.org/ab?q=(#no)> now", []),
        ("`#no` ``a ` #no`` #yes", ["yes"]),
        ("```\n#no\n```\n#yes\n\n    #no", ["yes"]),
        ("(#a) ,#b ;#c", ["a", "b", "c"]),
        ("#日本語 #ünïcode #emoji🎉", ["日本語", "ünïcode", "emoji🎉"]),
        ("，#标签。", ["标签"]),
        ("#a//b/ ##c #", ["a/b"]),
        ("[[note#heading]] [[#heading]] &#39; \\#x", []),
        ("- #todo\n> #quoted", ["todo", "quoted"]),
    ],
)
def test_tags(text: str, ref: list[str]) -> None:
    assert tags(text) == ref


@pytest.mark.parametrize(
    ("text", "target", "heading", "block", "alias", "embed"),
    [
        ("[[note]]", "note", None, None, None, False),
        ("[[ folder/My Note | shown ]]", "folder/My Note", None, None, "shown", False),
        ("[[note#Some heading]]", "note", "Some heading", None, None, False),
        ("[[note#a#b|c]]", "note", "a#b", None, "c", False),
        ("[[note^b1]]", "note", None, "b1", None, False),
        ("[[note#^b1]]", "note", None, "b1", None, False),
        ("![[image.png|300]]", "image.png", None, None, "300", True),
        ("[[#here]]", "", "here", None, None, False),
        ("| a | [[note\\|x]] |", "note", None, None, "x", False),
    ],
)
def test_links(text: str, target: str, heading: str | None, block: str | None, alias: str | None, embed: bool) -> None:
    (got,) = links(text)
    assert got[2:7] == (target, heading, block, alias, embed)
    assert text[got.start : got.stop].endswith("]]")


@pytest.mark.parametrize("text", ["`[[a]]`", "```\n[[a]]\n```", "[[]]", "[[ | x]]", "[[a\nb]]", "[a]", "    [[a]]"])
def test_what_is_no_link(text: str) -> None:
    assert links(text) == []


def test_code_span_ends_with_its_paragraph() -> None:
    assert links("a ` tick\n\n[[note]] ` tick") != []


def test_clean_tag() -> None:
    assert clean_tag(" #a/ ") == "a"
    assert clean_tag("#2024") is None
    assert clean_tag("#/") is None


@FAST
@given(st.text("`ab \n", max_size=80))
def test_code_ranges_are_ascending_and_disjoint(text: str) -> None:
    flat = [place for pair in code_ranges(text, ()) for place in pair]
    assert flat == sorted(flat)


@FAST
@given(st.text("#[]|^!`ab/ \n", max_size=80))
def test_nothing_raises(text: str) -> None:
    assert all("[" not in link.target for link in links(text))
    assert all("#" not in tag for tag in tags(text))


def test_a_link_that_only_marks_a_heading_is_not_of_its_title() -> None:
    found = outline_markdown("# Packages [¶](#packages)\n\n## See [here](#x)\n\n[#](#y)\n=====\n")
    assert [block.title for block in found.blocks if block.kind == "heading"] == ["Packages", "See [here](#x)", ""]


DEFINITIONS = """# Words

Apple
:   Red fruit.

    More of it.

        code

**Pear**

: Green.
: Also a tree.

A paragraph.

Two
lines
: of one

- item
: goes on

`--flag`
:   Does it.

- of no entry
"""


def test_definition_lists_are_entries() -> None:
    blocks = outline_markdown(DEFINITIONS).blocks
    assert [(b.title, DEFINITIONS[b.start : b.stop].strip()) for b in blocks if b.level == 7] == [
        ("Apple", "Apple"), ("Pear", "**Pear**"), ("", "A paragraph."), ("--flag", "`--flag`"), ("", "- of no entry"),
    ]  # fmt: skip
    assert [DEFINITIONS[b.start : b.stop].strip() for b in blocks if b.kind == "fence"] == ["code"]
