from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.chunking import ChunkLimits, heading_paths, split
from lamina_engine.ingest.code import language_of, outline_code

PYTHON = '''"""Module."""

import os

# about f
@decorated
def f(x):
    y = 1

    return x


class A(
    Base,
):
    """Doc."""

    async def method(self):
        pass

    value = 1


CONSTANT = 1
'''


def starts(text: str, language: str | None) -> list[tuple[str, tuple[str, ...]]]:
    blocks = outline_code(text, language).blocks
    paths = heading_paths(blocks)
    return [(text[b.start : b.stop].split("\n")[0].strip(), path) for b, path in zip(blocks, paths, strict=True)]


def test_python_definitions_nest() -> None:
    assert starts(PYTHON, "python") == [
        ('"""Module."""', ()),
        ("import os", ()),
        ("# about f", ("f",)),
        ("return x", ("f",)),
        ("class A(", ("A",)),
        ("async def method(self):", ("A", "method")),
        ("value = 1", ("A", "method")),
        ("CONSTANT = 1", ()),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("export default async function load(a) {", "load"),
        ("func (s *Server) Run() error {", "Run"),
        ("pub(crate) fn parse<T>(x: T) {", "parse"),
        ("impl<T> Display for X {", "Display"),
        ("public final class Foo extends Bar {", "Foo"),
        ("module A::B", "A::B"),
        ("interface Props {", "Props"),
    ],
)
def test_definitions_at_the_margin_elsewhere(line: str, name: str) -> None:
    text = f"x\n\n// about\n{line}\n  function inner() {{}}\n}}\n"
    assert starts(text, "other")[1] == ("// about", (name,))
    assert len(starts(text, "other")) == 2


def test_pieces_break_at_definitions() -> None:
    functions = [f"def f{i}():\n" + f"    x = {i}\n" * 60 + "\n\n" for i in range(5)]
    text = "".join(functions)
    got = split(text, outline_code(text, "python").blocks, ChunkLimits())
    assert [text[piece.start : piece.stop] for piece in got] == functions
    assert [piece.headings for piece in got] == [(f"f{i}",) for i in range(5)]


def test_language_by_suffix() -> None:
    assert language_of("a/b.PY") == "python"
    assert language_of("a.rs") == "rust"
    assert language_of("Makefile") is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["", "def f():", "    def g(self):", "class X:", "@d", "# c", "x = 1", "    y", ")"])))
def test_blocks_partition_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    for language in ("python", None):
        got = outline_code(text, language).blocks
        assert "".join(text[block.start : block.stop] for block in got) == text
