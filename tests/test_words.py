"""The words of the glossary: retired ones name nothing, and docstrings begin as the house rules say."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [path for root in ("kernels", "engine", "bindings") for path in sorted((ROOT / root).rglob("*.py"))]
GLOSSARY = (ROOT / "engine" / "README.md").read_text(encoding="utf-8").partition("## Glossary")[2].partition("\n## ")[0]
ROWS = [line.split("|")[1:-1] for line in GLOSSARY.splitlines() if line.startswith("| ")][1:]
RETIRED = {word.strip() for row in ROWS for word in row[2].split(",") if word.strip()}
RIDDLE = re.compile(r"(?:what|which|who|whom|whose|whether|how|where|when)\b", re.IGNORECASE)
LONGEST = 90


@functools.cache  # both tests of a source read it; of the tree nothing is kept
def read(path: Path) -> tuple[list[str], list[str]]:
    """Return the names that a source defines, and the first lines of its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    firsts = [text.splitlines()[0] for node in [tree, *found] if (text := ast.get_docstring(node))]
    return [path.stem, *(node.name for node in found)], firsts


def words_of(name: str) -> set[str]:
    """Return a name's words, and neighbours joined, so that ``keep_level`` is one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    return {*words, *(f"{a}_{b}" for a, b in itertools.pairwise(words))}


def test_the_glossary_is_short_and_names_each_word_once() -> None:
    assert len(GLOSSARY.splitlines()) <= 40
    words = [word.strip() for row in ROWS for word in row[0].split(",")]
    assert len(words) == len(set(words))
    assert len(RETIRED) > 30
    assert not RETIRED & set(words)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_uses_a_retired_word(path: Path) -> None:
    assert [name for name in read(path)[0] if words_of(name) & RETIRED] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_begin_with_their_subject(path: Path) -> None:
    assert [line for line in read(path)[1] if RIDDLE.match(line) or len(line) > LONGEST] == []
