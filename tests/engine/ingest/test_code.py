from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina_engine.ingest.chunking import ChunkLimits, heading_paths, split
from lamina_engine.ingest.code import language_of, outline_code
from lamina_engine.profiles import ROLE_FACTORS

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


@pytest.mark.parametrize(
    ("language", "line", "name"),
    [
        ("javascript", "export const load = async (a) => {", "load"),
        ("javascript", "const parse = function (a) {", "parse"),
        ("typescript", "export const useThing: Hook = (a) =>", "useThing"),
        ("c", "static PyObject *list_item(PyListObject *a, Py_ssize_t i)", "list_item"),
        ("cpp", "void Store::open(const Path& p) {", "Store::open"),
        ("shell", "deploy() {", "deploy"),
        ("sql", "CREATE TABLE IF NOT EXISTS orders (", "orders"),
        ("sql", "create or replace function total(a int)", "total"),
    ],
)
def test_definitions_of_some_languages(language: str, line: str, name: str) -> None:
    assert starts(f"x\n\n{line}\n  y\n", language)[1] == (line, (name,))


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("c", "return call(x)"),
        ("c", "int list_item(PyObject *a);"),
        ("c", "if (x)"),
        ("javascript", "const n = 4;"),
        ("python", "x"),
    ],
)
def test_uses_are_no_definitions(language: str, line: str) -> None:
    assert starts(f"x\n\n{line}\n", language)[-1] == (line, ())


def test_words_of_a_docstring_define_nothing_and_what_does_not_parse_is_read_by_its_lines() -> None:
    text = (
        '"""Text.\n\nclass of things, and\ndef inition\n"""\n\n\nclass A:\n    def f(self):\n        def inner(): ...\n'
    )
    assert {path for _, path in starts(text, "python")} == {(), ("A",), ("A", "f")}
    assert {path for _, path in starts("print 'x'\n\nclass A:\n    def f(self):\n        pass\n", "python")} == {
        (),
        ("A",),
        ("A", "f"),
    }


def test_code_is_known_by_its_file_and_its_symbols(tmp_path: Path) -> None:  # findings, stranger 16
    root = tmp_path / "src"
    (root / "tests").mkdir(parents=True)
    (root / "errors.py").write_text(
        'class OpenError(Exception):\n    """Trouble."""\n\n\nclass EmbedderMismatch(OpenError):\n    pass\n'
    )
    (root / "memory.py").write_text(
        "from errors import EmbedderMismatch\n\n\ndef check(a):\n    raise EmbedderMismatch(a)\n"
    )
    (root / "tests" / "test_memory.py").write_text(
        "from errors import EmbedderMismatch\n\n\ndef test_it():\n    EmbedderMismatch()\n"
    )
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(root))
        hits = vault.recall("EmbedderMismatch")
        assert [hit.source for hit in hits] == ["errors.py", "memory.py", "tests/test_memory.py"], (
            "definitions before uses"
        )
        assert [hit.label for hit in hits] == [
            "errors.py · OpenError, EmbedderMismatch",
            "memory.py · check",
            "test_memory.py · test_it",
        ]
        assert [hit.terms["factor"] for hit in hits] == [1.0, 1.0, ROLE_FACTORS["test"]]


def test_a_line_of_a_megabyte_takes_no_time() -> None:
    started = time.perf_counter()
    for language in ("c", "javascript", "sql", "shell", "go"):
        outline_code("int data " + "a b " * 250_000, language)
    assert time.perf_counter() - started < 5.0


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
