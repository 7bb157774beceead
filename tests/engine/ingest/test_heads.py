"""Heads of documents: PEP-like fields, mail, field lists of reStructuredText."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina_engine.clock import format_instant
from lamina_engine.ingest.drafts import SourceDraft, read_source
from tests.engine.ingest.proposals import Expected, generate_all


def read(text: str, name: str = "a.rst", **options: Any) -> SourceDraft:
    return read_source(text.encode(), name, **options)


def day(draft: SourceDraft) -> str | None:
    return (format_instant(draft.created_at_us) or "")[:10] or None


@pytest.mark.parametrize("expected", generate_all(), ids=lambda each: each.name)
def test_proposals_written_before_the_reader(expected: Expected) -> None:  # findings, stranger 8
    draft = read(expected.text, expected.name)
    names = tuple(draft.metadata.get("author", ()))
    assert (draft.title, day(draft), names, draft.metadata.get("status")) == (
        expected.title, expected.created, expected.authors, expected.status,
    )  # fmt: skip
    assert (draft.problems, draft.type) == ([], "note")
    assert "".join(chunk.text for chunk in draft.chunks) == expected.text, "a head is read, and stays"


def test_a_mail_and_the_date_it_was_sent() -> None:
    text = (
        "From: Ada Byron <ada@example.org>\nSubject: The engine\nDate: Fri, 05 Jul 2010 22:30:00 -0300\n\nIt works.\n"
    )
    draft = read(text, "mail.txt")
    assert (draft.title, format_instant(draft.created_at_us)) == ("The engine", "2010-07-06T01:30:00Z")
    assert draft.metadata == {"from": ["Ada Byron"]}


def test_a_field_list_below_the_title_or_above_it() -> None:
    fields = ":Author: Ada Byron, g@example.net (Grete Hermann)\n:Date: $Date: 2024-08-15 10:43:38 +0200 (Do) $\n:Status: done\n"
    for text in (
        f"=====\nTitle\n=====\n\n{fields}\nText.\n",
        f"Title\n=====\n{fields}\nText.\n",
        f"{fields}\nTitle\n=====\n",
    ):
        draft = read(text)
        assert (draft.title, format_instant(draft.created_at_us)) == ("Title", "2024-08-15T08:43:38Z"), text
        assert draft.metadata == {"author": ["Ada Byron", "Grete Hermann"], "status": "done"}


@pytest.mark.parametrize(
    "text",
    [
        "Note: this is a sentence.\nWarning: so is this.\n\nText.\n",
        "Title: alone\n\nText.\n",
        "Title: A\nwith a line between\nDate: 2020-01-01\n\nText.\n",
        "Some text first.\n\nTitle: A\nDate: 2020-01-01\n",
        "Title: A\nDate: 2020-01-01\n" + "X-Line: 1\n" * 300,
    ],
)
def test_what_is_no_head(text: str) -> None:
    draft = read(text, "a.txt")
    assert (draft.title, draft.created_at_us, draft.metadata) == ("a", None, {})


def test_frontmatter_comes_before_a_head_and_reads_the_same_dates() -> None:
    draft = read("---\ntitle: Front\ndate: July 5th, 2010\n---\nTitle: Below\nDate: 2001-01-01\n\nText.\n", "a.md")
    assert (draft.title, day(draft)) == ("Front", "2010-07-05")
    pelican = read("Title: A page\nDate: 2010-12-02 10:14\nCategory: x\n\nText.\n", "a.md", tz="UTC")
    assert (pelican.title, format_instant(pelican.created_at_us)) == ("A page", "2010-12-02T10:14:00Z")


def test_a_type_of_a_head_is_one_only_where_it_is_known() -> None:
    assert read("Title: A\nType: Standards Track\n\nText.\n").type == "note"
    assert read("Title: A\nType: decision\n\nText.\n").type == "decision"


def test_a_numbered_proposal_is_known_by_its_number_and_facts_answer_its_status(tmp_path: Path) -> None:
    note = tmp_path / "peps" / "pep-0572.rst"
    note.parent.mkdir()
    note.write_text(
        "PEP: 572\nTitle: Assignment Expressions\nStatus: Final\nCreated: 28-Feb-2018\n\nAbstract\n====\n\nText.\n"
    )
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(note.parent), facts=True)
        assert vault.list()[0].title == "Assignment Expressions"
        answers = vault.facts.ask("what is the status of PEP 572")
        assert [answer.value for answer in answers][:1] == ["Final"]
