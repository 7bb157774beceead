""""""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.graph.hyperlinks import find_links
from lamina_engine.ingest.asciidoc import outline_asciidoc, read_asciidoc_header
from lamina_engine.ingest.drafts import read_source

MANUAL = """= Ferry Manual =
Ada Obi <ada@example.com>
v1.2, 2026-02-01
:toc:
:keywords: ferry, harbour

Who should read this.

[[departure]]
== Departure

At 07:15, see xref:fog.adoc#rules[fog] and <<tides.adoc#,tides>>.

[source,bash]
----
== no section
link:x[y]
----

Options
-------
-q::
--quiet::
	Be quiet.
+
--------
$ ferryctl -q::
--------
`-v`:: Be loud.

This follows the list.

NOTE: Port is red.

* one
** two
|===
| a | b
|===
"""


def marks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.title) for block in outline_asciidoc(text).blocks]


def test_sections_entries_and_blocks() -> None:
    assert marks(MANUAL) == [
        ("heading", 1, "Ferry Manual"),
        *[("paragraph", 0, "")] * 2,
        ("heading", 2, "Departure"),
        ("paragraph", 0, ""),
        ("fence", 0, ""),
        ("heading", 2, "Options"),
        ("heading", 7, "-q, --quiet"),
        ("paragraph", 0, ""),
        ("fence", 0, ""),
        ("heading", 7, "-v"),
        ("paragraph", 7, ""),  # and ends the entries
        ("paragraph", 0, ""),
        *[("item", 0, "")] * 2,
        ("table", 0, ""),
    ]
    found = outline_asciidoc(MANUAL)
    assert found.title == "Ferry Manual"
    assert [MANUAL[start:stop].split("\n")[0] for start, stop in found.code] == ["----", "--------"]
    assert MANUAL[found.blocks[3].start :].startswith("[[departure]]\n== Departure")


def test_fields_of_the_header() -> None:
    got = read_asciidoc_header(MANUAL).fields
    assert got == {"author": ["Ada Obi"], "date": "2026-02-01", "tags": "ferry, harbour"}
    draft = read_source(MANUAL.encode(), "m.adoc")
    assert (draft.title, draft.tags, draft.metadata) == ("Ferry Manual", ("ferry", "harbour"), {"author": ["Ada Obi"]})
    assert draft.created_at_us == 1_769_904_000_000_000
    assert [(link.target, link.heading) for link in draft.links] == [("fog.adoc", "rules"), ("tides.adoc", None)]
    assert read_asciidoc_header("== Section\nAnn Bo wrote this.\n").fields == {}


@pytest.mark.parametrize(
    "text",
    [
        "A paragraph\nTitle\n=====\n",
        "[NOTE]\n======\nwords\n======\n",
        "Some words\n----\ncode\n----\n",
        "  indented:: words\n",
        "std::move is:: meant\n",
        "==\n",
    ],
)
def test_what_is_no_section_and_no_entry(text: str) -> None:
    assert not any(level for _, level, _ in marks(text))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "",
                "a",
                "T",
                "=",
                "== S",
                "----",
                "....",
                "|===",
                "a::",
                "b:: c",
                "* i",
                "+",
                "[x]",
                ".t",
                "--",
                "//",
                " in",
                "```py",
                "```",
            ]
        )
    )
)
def test_blocks_partition_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    blocks = outline_asciidoc(text).blocks
    assert "".join(text[block.start : block.stop] for block in blocks) == text
    assert all(block.start < block.stop for block in blocks)


@pytest.mark.parametrize("part", [":", "a:: ", "```a\n", "a::\n", "<<a.", "link:a", "[[", "= T\n" + "A b ", "'a"])
def test_hostile_texts_are_read_in_linear_time(part: str) -> None:
    text = part * (400_000 // len(part))
    begin = time.perf_counter()
    outline_asciidoc(text)
    read_asciidoc_header(text)
    find_links(text, "asciidoc", ())
    assert time.perf_counter() - begin < 5
