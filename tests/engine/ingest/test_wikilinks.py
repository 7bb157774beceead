from __future__ import annotations

import random

import pytest

from lamina_engine.ingest.drafts import SourceLink
from lamina_engine.ingest.wikilinks import resolve_links

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


def leads_to(target: str, source: str = "b/c/Deep.md") -> str | None:
    link = SourceLink(target, None, None, False, 0)
    return resolve_links({source: [link]}, SOURCES).targets[source][0]


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


def test_ambiguity_is_reported_once_and_dangling_links_are_not() -> None:
    links = [SourceLink(target, None, None, False, 0) for target in ("Note", "Note", "missing", "Index")]
    got = resolve_links({"b/c/Deep.md": links}, SOURCES)
    assert got.targets["b/c/Deep.md"] == (None, None, None, "Index.md")
    (problem,) = got.problems
    assert (problem.source, problem.code) == ("b/c/Deep.md", "wikilink")
    assert "a/Note.md, b/Note.md" in problem.message


def test_order_of_sources_does_not_matter() -> None:
    links = {"Index.md": [SourceLink(t, None, None, False, 0) for t in ("Note", "Same", "Case", "q/Dup", "pic")]}
    shuffled = random.Random(3).sample(SOURCES, len(SOURCES))
    assert resolve_links(links, shuffled) == resolve_links(links, SOURCES)


def test_nothing_to_resolve() -> None:
    assert resolve_links({}, []).targets == {}
    assert resolve_links({"a.md": []}, []).targets == {"a.md": ()}
