from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina_engine.graph.targets import Note, TargetResolver, slug, slug_lines, url_key

SOURCES = [
    *(
        "Index.md",
        "a/Note.md",
        "b/Note.md",
        "b/c/Deep.md",
        "x/Same.md",
        "y/z/Same.md",
        "img/pic.png",
        "pic.md",
        "v1.2.md",
    ),
    *("p/q/Dup.md", "r/q/Dup.md", "Root.md", "sub/Root.md", "a/Case.md", "b/case.md", "Größe.md"),
]


def leads_to(target: str, source: str = "b/c/Deep.md", form: str = "wiki") -> str | None:
    found = TargetResolver({name: Note() for name in SOURCES}).find(form, target, source).sources
    return found[0] if len(found) == 1 else None


@pytest.mark.parametrize(
    ("target", "ref"),
    [
        ("Index", "Index.md"),
        ("index", "Index.md"),
        ("Index.md", "Index.md"),
        ("Deep", "b/c/Deep.md"),
        ("c/deep", "b/c/Deep.md"),
        ("b/c/Deep", "b/c/Deep.md"),
        ("/b/c/Deep", "b/c/Deep.md"),
        ("/c/Deep", None),
        ("a/Note", "a/Note.md"),
        ("Note", None),
        ("Same", "x/Same.md"),
        ("Root", "Root.md"),
        ("Case", "a/Case.md"),
        ("case", "b/case.md"),
        ("CASE", None),
        ("q/Dup", None),
        ("p/q/Dup", "p/q/Dup.md"),
        ("pic.png", "img/pic.png"),
        ("pic", "pic.md"),
        ("v1.2", "v1.2.md"),
        ("GRO\u0308SSE", "Größe.md"),
        ("missing", None),
        ("", "b/c/Deep.md"),
        ("./Deep", "b/c/Deep.md"),
        ("../Note", "b/Note.md"),
        ("../../Index", "Index.md"),
        ("../../../Index", None),
        ("..", None),
        ("b\\c\\Deep", "b/c/Deep.md"),
    ],
)
def test_targets(target: str, ref: str | None) -> None:
    assert leads_to(target) == ref


@pytest.mark.parametrize("source", ["pages/Book%2FDune.md", "pages/Book___Dune.md"])
def test_a_page_in_a_namespace_is_found_by_what_links_call_it(source: str) -> None:
    # Logseq: the file's own heading is another title
    resolver = TargetResolver({source: Note(title="About the book"), "pages/Dune.md": Note()})
    found = [
        resolver.find("wiki", target, "journals/2026_11_03.md").sources for target in ("Book/Dune", "book/dune", "Dune")
    ]
    assert found == [(source,), (source,), ("pages/Dune.md",)]


def test_several_that_fit_alike_are_all_named() -> None:
    found = TargetResolver({name: Note() for name in SOURCES}).find("wiki", "Note", "b/c/Deep.md")
    assert found.sources == ("a/Note.md", "b/Note.md")


def test_order_of_sources_does_not_matter() -> None:
    shuffled = random.Random(3).sample(SOURCES, len(SOURCES))
    one, other = (TargetResolver({name: Note() for name in names}) for names in (SOURCES, shuffled))
    for target in ("Note", "Same", "Case", "q/Dup", "pic"):
        assert one.find("wiki", target, "Index.md") == other.find("wiki", target, "Index.md")


NOTES = {
    "sub/retry.md": Note("Retry Policy", urls=("https://notes.example/retry/", "docs/retry")),
    "pay.md": Note("Payments", aliases=("Pay", "Ledger")),
    "guide/index.rst": Note("Guide", labels={"guide-start": 2}),
    "guide/install.rst": Note("Installation"),
    "pep-0572.rst": Note("Assignment Expressions"),
    "my notes/a b.md": Note("A b"),
}


@pytest.mark.parametrize(
    ("form", "target", "source", "ref"),
    [
        ("wiki", "Retry Policy", "pay.md", "sub/retry.md"),  # findings, stranger 7: a title
        ("wiki", "retry policy", "pay.md", "sub/retry.md"),
        ("wiki", "Pay", "sub/retry.md", "pay.md"),  # a path before an alias
        ("wiki", "Ledger", "sub/retry.md", "pay.md"),
        ("wiki", "docs/retry", "pay.md", "sub/retry.md"),
        ("path", "sub/retry.md", "pay.md", "sub/retry.md"),
        ("path", "../pay.md", "sub/retry.md", "pay.md"),
        ("path", "/pay.md", "sub/retry.md", "pay.md"),
        ("path", "pay.md", "sub/retry.md", "pay.md"),  # not beside it: from the root
        ("path", "install", "guide/index.rst", "guide/install.rst"),
        ("path", "guide/", "pay.md", "guide/index.rst"),
        ("path", "my notes/a b.md", "pay.md", "my notes/a b.md"),
        ("path", "Retry Policy", "pay.md", None),
        ("path", "", "pay.md", "pay.md"),
        ("label", "guide-start", "pay.md", "guide/index.rst"),
        ("label", "no-such", "pay.md", None),
        ("number", "pep 572", "pay.md", "pep-0572.rst"),
        ("url", url_key("http://www.notes.example/retry#top"), "pay.md", "sub/retry.md"),
        ("hosted", "vault/pay.md", "sub/retry.md", "pay.md"),
        ("hosted", "other/pay.md", "sub/retry.md", None),
    ],
)
def test_notes_by_what_they_are_called(form: str, target: str, source: str, ref: str | None) -> None:
    found = TargetResolver(NOTES, "/home/me/vault").find(form, target, source).sources
    assert found == (() if ref is None else (ref,))


def test_a_label_leads_to_its_chunk_and_that_of_its_own_file_comes_first() -> None:
    notes = {"a.rst": Note(labels={"x": 1}), "b.rst": Note(labels={"x": 4})}
    resolver = TargetResolver(notes)
    assert resolver.find("label", "x", "b.rst") == (("b.rst",), 4)
    assert resolver.find("label", "x", "c.rst").sources == ("a.rst", "b.rst")


def test_slugs_are_those_of_anchors() -> None:
    assert slug("Set Up: the `env`, twice") == slug("set-up-the-env-twice") == "set-up-the-env-twice"


LETTERS = st.sampled_from("aZ\u0301\u00e9\u00df\u0130\u1e9e9_- \t\n\r\x0b\x1c\x85\u2028\u00a0#*`.,\u037e")


@example("")
@example("\n")
@example("# Set Up\r\n\u0301a--b\u2028- c_\n")
@given(st.one_of(st.text(), st.text(LETTERS)))
def test_the_lines_of_a_text_have_the_slugs_of_each_line(text: str) -> None:
    assert slug_lines(text) == [slug(line) for line in text.splitlines()]
