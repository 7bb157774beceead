from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.graph.code_spans import code_ranges
from lamina_engine.graph.hyperlinks import find_links
from lamina_engine.graph.targets import url_key
from lamina_engine.ingest.markdown import outline_markdown
from lamina_engine.ingest.plaintext import outline_rst


def markdown(text: str) -> list[tuple[str, str, str | None]]:
    code = code_ranges(text, outline_markdown(text).code)
    return [(link.form, link.target, link.heading) for link in find_links(text, "markdown", code)]


def rst(text: str) -> list[tuple[str, str]]:
    return [(link.form, link.target) for link in find_links(text, "rst", outline_rst(text).code)]


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("[a](b.md)", [("path", "b.md", None)]),
        ("[a](b.md#h-1 'title')", [("path", "b.md", "h-1")]),
        ("[a](<b c.md>)", [("path", "b c.md", None)]),
        ("[a](b%20c.md)", [("path", "b c.md", None)]),
        ("[a](b_(c).md)", [("path", "b_(c).md", None)]),
        ("[a\nb](../c.md)", [("path", "../c.md", None)]),
        ("[`a`](c.md)", [("path", "c.md", None)]),
        ("[![i](i.png)](c.md)", [("path", "i.png", None), ("path", "c.md", None)]),
        ("[a][r] and [r] and [R][]\n\n[r]: c.md 'x'", [("path", "c.md", None)] * 3),
        ("[^1] text\n\n[^1]: c.md", []),
        ("[a](#here)", [("path", "", "here")]),
        ("<a class='x' href=\"c.md\">c</a>", [("path", "c.md", None)]),
        ("[a](mailto:x@y.z) [b](javascript:void)", []),
        ("`[a](b.md)` \\[a](b.md)\n\n    [a](b.md)", []),
        ("array[i](x) y](z)", [("path", "x", None)]),
        ("[a](https://x.org/y)", [("url", url_key("https://x.org/y"), None)] * 2),
        ("see https://x.org/y.", [("url", url_key("http://www.x.org/y/"), None)]),
        (
            "[a](https://github.com/me/til/blob/master/git/x.md#top)",
            [
                ("hosted", "til/git/x.md", "top"),
                ("url", url_key("https://github.com/me/til/blob/master/git/x.md"), None),
            ]
            * 2,
        ),
    ],
)
def test_markdown_links(text: str, ref: list[tuple[str, str, str | None]]) -> None:
    assert sorted(markdown(text), key=str) == sorted(ref, key=str)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("- implements [[Ledger]]", "implements"),
        ("* depends on [[Ledger]] (since May)", "depends on"),
        ("- **caused by**: [[Ledger]]", "caused by"),
        ("- [[Ledger]]", None),
        ("- see [[Ledger]] for more", None),
        ("- one two three four [[Ledger]]", None),
        ("implements [[Ledger]]", None),
    ],
)
def test_the_word_before_a_link_is_its_relation(text: str, relation: str | None) -> None:
    # findings, stranger 7
    (link,) = find_links(text, "markdown", [])
    assert (link.target, link.relation) == ("Ledger", relation)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        (":doc:`a/b`", [("path", "a/b")]),
        (":doc:`The text <a/b>`", [("path", "a/b")]),
        (":ref:`Some-Label`", [("label", "some-label")]),
        (":ref:`text <Some-Label>`", [("label", "some-label")]),
        (":pep:`572` :rfc:`2119#section-1`", [("number", "pep 572"), ("number", "rfc 2119")]),
        (":py:class:`Foo` ``:doc:`x` ``", []),
        ("`text <other.rst>`_", [("path", "other.rst")]),
        ("See name_ and `a phrase`_.\n\n.. _name: b.rst\n.. _a phrase: c.rst", [("path", "b.rst"), ("path", "c.rst")]),
        ("some_name_ here", []),
        (".. _deep-label:\n\nTitle\n=====\n", [("anchor", "deep-label")]),
        (
            ".. toctree::\n   :maxdepth: 2\n\n   intro\n   Title <part/two>\n   api/*\n",
            [("path", "intro"), ("path", "part/two")],
        ),
        (".. include:: ../shared.rst", [("path", "../shared.rst")]),
        ("Code::\n\n   :doc:`x`\n", []),
    ],
)
def test_references_of_restructuredtext(text: str, ref: list[tuple[str, str]]) -> None:
    assert rst(text) == ref


def test_code_holds_no_links() -> None:
    assert find_links("[a](b.md) [[c]]", "code", []) == []


@given(st.text("[]()<>`_:.#!|\\ ab\n/", max_size=120), st.sampled_from(["markdown", "rst", "text"]))
def test_any_text(text: str, kind: str) -> None:
    for link in find_links(text, kind, []):
        assert 0 <= link.start < link.stop <= len(text)
