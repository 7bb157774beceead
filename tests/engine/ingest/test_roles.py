"""Roles of chunks: lists of links, tests and benches."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.ingest.roles import BENCH, TEST, role_of_code, role_of_text
from lamina_engine.profiles import INDEX

LIST = "## Git\n\n- [Undo a commit](git/undo.md)\n- [Stash one file](git/stash.md)\n* [[Rebase|Rebasing]]\n"


@pytest.mark.parametrize(
    ("text", "kind", "ref"),
    [
        (LIST, "markdown", INDEX),
        ("1. https://example.org/a\n2. <https://example.org/b>\n3. https://example.org/c\n", "markdown", INDEX),
        ("Title\n=====\n\n.. toctree::\n   :maxdepth: 2\n\n   intro\n   guide/index\n   API <api>\n", "rst", INDEX),
        (":doc:`intro`, :ref:`guide`\n`Home <https://example.org>`_\n", "rst", INDEX),
        ("- [Undo a commit](git/undo.md)\n- [Stash one file](git/stash.md)\n", "markdown", None),
        (
            LIST + "\nThese notes are about a program that keeps versions of files, as far as I have understood it.\n",
            "markdown",
            None,
        ),
        (
            "We moved to [PostgreSQL](pg.md) because [MySQL](my.md) and [SQLite](lite.md) lost what was written.\n",
            "markdown",
            None,
        ),
        ("No links at all.\n", "markdown", None),
        ("", "markdown", None),
    ],
)
def test_a_list_of_links_is_an_index(text: str, kind: str, ref: str | None) -> None:  # findings, stranger 11
    assert role_of_text(text, kind) == ref


def entries(*terms: str, behind: str = "[Where It Is Told](told.html#{})") -> str:
    return "\n\n".join(f"{term}, {behind.format(place)}" for place, term in enumerate(terms))


BEES = (
    "acarid",
    "aging of wax",
    "apiary",
    "site of an",
    "bait hive",
    "bee_space parameter",
    "brood",
    "colony",
    "cover of a",
    "drone",
)


@pytest.mark.parametrize(
    "text",
    [
        entries(*BEES),
        entries(*BEES, behind="[{}](t.html)"),
        "### A\n\n" + entries(*BEES[:5]) + "\n\n### B\n\n" + entries(*BEES[5:]),
        entries(*BEES, behind="[Hives](hives.html), [The Year of a Keeper](year.html#{})"),
        entries(*BEES) + "\n\nfeeding\n\n" + entries("in autumn", "in spring"),
        "\n".join(
            f"* {line}"
            for line in entries("Abgabe", "Ablage", "Bau", "Beute", "Brut", "Drohne", "Ei", "Futter").split("\n\n")
        ),
    ],
)
def test_a_page_of_a_books_index_is_an_index(text: str) -> None:
    assert role_of_text(text) == INDEX


def test_what_looks_like_an_index_and_says_something_is_none() -> None:
    glossary = "\n\n".join(f"{term}, what keepers call a thing of theirs; see [more](more.html)" for term in BEES)
    people = entries(
        "Abel", "Berg", "Cole", "Dorn", "Ebert", "Falk", "Gross", "Hahn", behind="[write](mailto:{}@example.org)"
    )
    sites = entries(
        "Abel", "Berg", "Cole", "Dorn", "Ebert", "Falk", "Gross", "Hahn", behind="[page](https://example.org/{})"
    )
    changes = "\n".join(
        f"- {verb} the lid of the hive, so that it no longer leaks in a storm and in the snow, [#{n}](issues/{n}.md)"
        for n, verb in enumerate(("Add", "Bend", "Cut", "Drop", "Extend", "Fix", "Glue", "Hang", "Improve"))
    )
    unordered = entries(
        "zinc", "yeast", "wax", "veil", "tin", "straw", "rope", "queen", "pollen", "oak", behind="[{}](t.html)"
    )
    contents = "\n".join(
        f"{n}. The chapter of {term} and of all that keepers have to say of it" for n, term in enumerate(BEES)
    )
    prices = entries(*BEES, behind="4.{} euros")
    for text in (
        glossary,
        people,
        sites,
        changes,
        unordered,
        contents,
        prices,
        entries(*BEES[:6], behind="[{}](t.html)"),
    ):
        assert role_of_text(text) is None, text


@pytest.mark.parametrize(
    ("source", "ref"),
    [
        ("tests/engine/test_x.py", TEST),
        ("src/app.test.ts", TEST),
        ("pkg/store_test.go", TEST),
        ("conftest.py", TEST),
        ("bench/latency.py", BENCH),
        ("benches/scan.rs", BENCH),
        ("src/contest.py", None),
        ("src/testing_grounds.py", None),
        ("src/latest.py", None),
    ],
)
def test_code_is_a_test_by_its_folder_or_its_name(source: str, ref: str | None) -> None:
    assert role_of_code(source) == ref


def test_the_index_of_a_book_stands_below_the_page_that_it_leads_to(lexical_vault: Vault, tmp_path: Path) -> None:
    terms = "".join(f'<dt>{term}, <a href="hives.html#{n}">Kinds of Hives</a></dt>' for n, term in enumerate(BEES))
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "back.html").write_text(f"<html><body><h1>Index</h1><dl>{terms}</dl></body></html>")
    words = (
        "The bee_space parameter is the gap that bees leave between combs and walls. " + "Keepers build by it. " * 12
    )
    (tmp_path / "book" / "hives.html").write_text(f"<html><body><h1>Kinds of Hives</h1><p>{words}</p></body></html>")
    lexical_vault.ingest(tmp_path / "book")
    hits = lexical_vault.recall("bee_space")
    assert [(Path(hit.path or "").name, hit.role) for hit in hits] == [("hives.html", None), ("back.html", INDEX)]


def test_a_line_of_white_space_is_read_in_linear_time() -> None:
    began = time.process_time()
    assert role_of_text(" " * 60_000 + "word", "rst") is None
    assert time.process_time() - began < 2.0  # it was 10 s


def test_a_line_of_blanks_costs_no_time() -> None:
    started = time.perf_counter()
    assert role_of_text(f"{' ' * 60_000}x\n   Setup <setup>\n   Use <use>\n   Help <help>\n", "rst") == "index"
    assert time.perf_counter() - started < 5.0
