from __future__ import annotations

import copy
import re
import subprocess
import sys

import pytest

from lamina_engine import expressions
from lamina_engine.expressions import late


def test_it_is_compiled_once_and_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_counting(pattern: str, flags: int) -> re.Pattern[str]:
        compiled.append(pattern)
        return re.compile(pattern, flags)

    monkeypatch.setattr(expressions, "re", type("Re", (), {"compile": staticmethod(compile_counting)}))
    word = late(r"\bsqlite\b", re.IGNORECASE)
    assert word.pattern == r"\bsqlite\b"
    assert not compiled
    assert word.search("we left SQLite") is not None
    assert word.sub("it", "SQLite, sqlite") == "it, it"
    assert compiled == [r"\bsqlite\b"]


def test_it_answers_as_a_compiled_expression_does() -> None:
    pattern, text = r"(?P<day>\d+)\. (?P<month>\w+)", "on 3. May, not 4. June"
    one, other = late(pattern), re.compile(pattern)
    assert one.findall(text) == other.findall(text)
    assert [each.span() for each in one.finditer(text)] == [each.span() for each in other.finditer(text)]
    assert one.split(text) == other.split(text)
    assert one.subn("x", text) == other.subn("x", text)
    assert one.fullmatch("3. May") is not None
    assert one.match(text) is None
    assert (one.flags, one.groups, one.groupindex) == (other.flags, other.groups, other.groupindex)


def test_a_wrong_one_raises_at_its_first_use() -> None:
    wrong = late("(")
    with pytest.raises(re.error):
        wrong.search("")


def test_it_can_be_copied_unused() -> None:
    assert copy.copy(late("a+")).findall("caat") == ["aa"]


def test_a_hook_compiles_few_expressions_before_it_knows_that_it_needs_them() -> None:
    # those that know phrases of sessions took 33 ms of each start of a session, used or not
    code = (
        "import re, sys\nfrom re import _compiler\ninner, count = _compiler.compile, []\n"
        "def counting(pattern, flags=0):\n    count.append(pattern)\n    return inner(pattern, flags)\n"
        "_compiler.compile = counting\nimport lamina_engine.index.languages, lamina_engine.context.turn\nbefore = len(count)\n"
        "import lamina_engine.context.content, lamina_engine.sessions.closures\nprint(len(count) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) <= 15
