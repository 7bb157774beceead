""""""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.drafts import read_source
from lamina_engine.ingest.orgmode import outline_org, read_org_keywords

LOG = """:PROPERTIES:
:ID:       20260201
:ROAM_ALIASES: "The ferry log" log
:END:
#+title: Ferry log
#+DATE: <2026-02-01 Sun 10:30>
#+AUTHOR: Ada Obi <ada@example.com>
#+filetags: :ferry:work:

* TODO [#A] Replace the gearbox :urgent:home:
  SCHEDULED: <2026-02-03 Tue>
  See [[file:parts.org::*Seals][parts]], [[https://a.example/x][vendor]], [[id:77][note]].
** Parts
   - [ ] bearing
   - seal
   | a | b |
#+BEGIN_SRC org
* no headline
#+END_SRC
#+begin_quote
Said by Ben.
#+end_quote
* Winter dock
"""


def marks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.title) for block in outline_org(text).blocks]


def test_headlines_items_and_blocks() -> None:
    code = LOG.replace("* no headline", "no headline")
    assert marks(code) == [
        ("fence", 0, ""),
        ("paragraph", 0, ""),
        ("heading", 1, "Replace the gearbox"),
        ("paragraph", 0, ""),
        ("heading", 2, "Parts"),
        *[("item", 0, "")] * 2,
        ("table", 0, ""),
        ("fence", 0, ""),
        ("paragraph", 0, ""),
        ("heading", 1, "Winter dock"),
    ]
    assert outline_org(code).title is None


def test_keywords_and_links() -> None:
    assert read_org_keywords(LOG).fields == {
        "title": "Ferry log",
        "date": "2026-02-01T10:30",
        "author": ["Ada Obi"],
        "tags": ["ferry", "work"],
        "aliases": ["The ferry log", "log"],
    }
    draft = read_source(LOG.encode(), "2026/log.org")
    assert (draft.title, draft.tags, draft.aliases) == ("Ferry log", ("ferry", "work"), ("The ferry log", "log"))
    assert draft.created_at_us == 1_769_941_800_000_000
    assert [(link.target, link.heading, link.form) for link in draft.links if link.form == "path"] == [
        ("parts.org", "Seals", "path")
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "",
                "a",
                "* H",
                "** TODO",
                "- i",
                "  * i",
                "| t |",
                "#+begin_src",
                "#+end_src",
                ":D:",
                ":END:",
                "#+t: x",
                "*b*",
            ]
        )
    )
)
def test_blocks_partition_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    blocks = outline_org(text).blocks
    assert "".join(text[block.start : block.stop] for block in blocks) == text
    assert all(block.start < block.stop for block in blocks)


@pytest.mark.parametrize(
    "part",
    ["#+begin_a\n", ":a:\n", "[[", "[[a][b]]", "* ", "* TODO ", ':ROAM_ALIASES: "a', "#+date: <2026-01-01 ", "a :b"],
)
def test_hostile_texts_are_read_in_linear_time(part: str) -> None:
    text = part * (400_000 // len(part))
    begin = time.perf_counter()
    read_source(text.encode(), "x.org")
    assert time.perf_counter() - begin < 20
