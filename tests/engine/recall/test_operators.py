"""Query operators: what is one, what only looks like one, and that nothing is ever an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.recall.operators import Clause, parse_query

CASES: list[tuple[str, str, list[Clause]]] = [
    ('"build failed"', "build failed", [Clause("phrase", "build failed", "must")]),
    ("“build failed” today", "build failed today", [Clause("phrase", "build failed", "must")]),
    ('what does "build failed" mean?', "what does build failed mean?", [Clause("phrase", "build failed", "may")]),
    ('why “build failed” ？ ', "why build failed ？", [Clause("phrase", "build failed", "may")]),
    ('Cannot find module "left-pad" required by the app', "Cannot find module left-pad required by the app",
     [Clause("phrase", "left-pad", "may")]),
    ('"build failed" on main today', "build failed on main today", [Clause("phrase", "build failed", "must")]),
    ("+stale -bread", "stale", [Clause("word", "stale", "must"), Clause("word", "bread", "not")]),
    ("cachf~", "cachf", [Clause("typo", "cachf", "may", edits=1)]),
    ("cachf~2 x", "cachf x", [Clause("typo", "cachf", "may", edits=2)]),
    ("deploy* failed?", "deploy failed?", [Clause("prefix", "deploy", "may")]),
    ("+deploy* -fail~1", "deploy", [Clause("prefix", "deploy", "must"), Clause("typo", "fail", "not", edits=1)]),
    ("project:api deploys", "deploys", [Clause("word", "api", "must", "project")]),
    ("-type:incident deploys", "deploys", [Clause("word", "incident", "not", "type")]),
    ('title:"why not" sqlite', "why not sqlite", [Clause("phrase", "why not", "must", "title")]),
    ("tag:db source:notes/a.md", "", [Clause("word", "db", "must", "tag"), Clause("word", "notes/a.md", "must", "source")]),
    ("why? -because.", "why?", [Clause("word", "because", "not")]),
    ("release -v2 -3e -x9", "release", [Clause("word", "v2", "not"), Clause("word", "3e", "not"), Clause("word", "x9", "not")]),
]  # fmt: skip
TEXT = [
    "", "why did we leave SQLite", 'what is "this', '" ""', "- + -- a", "git commit -m x --force", "-5 degrees +1", "C++ *.py src/* **bold**",
    "https://x.y 12:30 title: foo", "e-mail is well-known", "a~b", "~1", "*", "(x|y)+ [a-z]* \\d{2} $", '"!!"', "foo:bar", "title:", "+", '+"',
    "array([1.0, -1.]) gives (2, -4.8e-02, -1E+3), -12/3; +49-30", "process exited with code -9:",
    "tar -xzf release.tar.gz --strip-components=1", "ffmpeg -i in.mov -movflags +faststart", "ls -l -name", "diff --git a b\n-old\n+new",
    "a list:\n-one\n-two",
]  # fmt: skip


@pytest.mark.parametrize(("query", "text", "clauses"), CASES)
def test_operators_are_read(query: str, text: str, clauses: list[Clause]) -> None:
    got = parse_query(query)
    assert list(got.clauses) == clauses
    assert " ".join(got.text.split()) == text


def test_a_sign_or_a_field_requires_a_phrase_in_a_question_too() -> None:
    got = parse_query('is +"build failed" or -"no disk" under title:"the release" "on monday"?')
    assert [clause.need for clause in got.clauses] == ["must", "not", "must", "may"]


def test_known_flags_are_text_and_other_words_excluded() -> None:
    got = parse_query("tar -xzf release -notes -Xzf", ["xzf"])
    assert [clause.text for clause in got.clauses] == ["notes", "Xzf"]
    assert got.text.split() == ["tar", "-xzf", "release"]
    assert parse_query(got.query).clauses[0].text == "xzf"


@pytest.mark.parametrize("query", TEXT)
def test_what_only_looks_like_an_operator_is_text(query: str) -> None:
    got = parse_query(query)
    assert got.clauses == ()
    assert got.text == query
    assert got.plain


@pytest.mark.parametrize(
    ("query", "plain"), [('"a b"', False), ("+a1 -b1", False), ("+a1 word", True), ("tag:x", False)]
)
def test_words_beside_operators_are_noted(query: str, plain: bool) -> None:
    assert parse_query(query).plain is plain


PIECES = [*"ab \"+-~*:12“”.'\\[(?", "title:", "tag:"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_text_is_an_error_and_signs_are_all_that_goes(query: str) -> None:
    got = parse_query(query)
    assert all(clause.text.strip() and clause.need in ("must", "may", "not") for clause in got.clauses)
    if not got.clauses:
        assert got.text == query


@given(st.lists(st.sampled_from(["why", "did", "we", "move", "e-mail", "v1.2", "3,000", "it's"]), max_size=8))
def test_a_plain_question_is_left_as_it_is(words: list[str]) -> None:
    query = " ".join(words)
    assert parse_query(query).text == query
