from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.inline import WrittenLink, clean_tag, code_ranges, find_links, find_tags
from lamina_engine.ingest.markdown import outline

FAST = settings(max_examples=60, deadline=None)


def tags(text: str) -> list[str]:
    return find_tags(text, code_ranges(text, outline(text).code))


def links(text: str) -> list[WrittenLink]:
    return find_links(text, code_ranges(text, outline(text).code))


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
    assert got[2:] == (target, heading, block, alias, embed)
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
