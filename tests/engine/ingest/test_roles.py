"""Roles of chunks: lists of links, tests and benches."""

from __future__ import annotations

import pytest

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
