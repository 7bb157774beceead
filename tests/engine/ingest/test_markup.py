""""""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.ingest.markup import markup_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tools\n=====\n\n.. currentmodule:: django.test\n", "rst"),
        ("Tools\n=====\n\nSee :ref:`client`.\n", "rst"),
        ("git-x(1)\n========\n\n[verse]\n'git x' [-q]\n\nSee linkgit:git[1].\n", "asciidoc"),
        ("== Part\n\n----\ncode\n----\n\nNOTE: Port is red.\n", "asciidoc"),
        ("Tools\n=====\n\nSee the client::\n\n    code\n", "text"),
        ("== A page of a wiki ==\n\nWords, [[Links]] and:\n\n* a\n", "text"),
        ("Dear Ann,\n\n.. and then: nothing.\n----\n", "text"),
        ("Files\n-----\n\n:a: 1\n", "text"),
        ("", "text"),
    ],
)
def test_marks_tell_what_a_text_is(text: str, kind: str) -> None:
    assert markup_of(text) == kind


def test_documentation_in_txt_files_has_titles_and_headings(lexical_vault: Vault, tmp_path: Path) -> None:
    words = "The pier is long and made of old oak, which the harbour office has repaired every spring. " * 12
    (tmp_path / "tools.txt").write_text(
        f"=====\nPiers\n=====\n\n.. _repair:\n\nRepair\n------\n\n{words}\n\nOak\n---\n\n{words}"
    )
    lexical_vault.ingest(tmp_path)
    assert [(hit.title, hit.label) for hit in lexical_vault.recall("oak", k=1)] == [("Piers", "Piers › Oak")]


@pytest.mark.parametrize("part", ["= ", "a\n=", ":a:`", ".. ", "<<a", "link:", "[source,", "a:", "\n"])
def test_long_texts_are_told_in_linear_time(part: str) -> None:
    text = part * (200_000 // len(part))
    begin = time.perf_counter()
    markup_of(text)
    assert time.perf_counter() - begin < 5
