from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.globs import compile_globs


@given(st.text(alphabet="ab.[]\\^!-é(+", min_size=1, max_size=8))
def test_a_pattern_without_wildcards_matches_itself_only(name: str) -> None:
    if "[" in name:
        return  # a set is a wildcard
    pattern = compile_globs([name], "include")
    if name in (".", "./"):
        return
    assert pattern is not None
    assert pattern.fullmatch(name)
    assert pattern.fullmatch(f"x/{name}/y")
    assert not pattern.fullmatch(name + "z")


@pytest.mark.parametrize(
    ("pattern", "matched", "passed"),
    [
        ("*.md", ["a.md", "x/a.md", "a.md/below"], ["a.mdx", "a"]),
        ("x/*", ["x/a", "x/a/below"], ["a", "y/x/a"]),
        ("x/**", ["x/a", "x/a/b"], ["x", "y/x/a"]),
        ("**/b", ["b", "x/b", "x/y/b"], ["xb"]),
        ("?.md", ["a.md"], ["ab.md", "/.md"]),
        ("[!a]b", ["cb"], ["ab", "/b"]),
    ],
)
def test_what_patterns_match(pattern: str, matched: list[str], passed: list[str]) -> None:
    got = compile_globs([pattern], "include")
    assert got is not None
    assert [name for name in matched + passed if got.fullmatch(name)] == matched


def test_no_patterns_are_no_expression() -> None:
    assert compile_globs(None, "include") is None
    assert compile_globs([], "include") is None
    with pytest.raises(InvalidArgument, match="give a list"):
        compile_globs("*.md", "include")
